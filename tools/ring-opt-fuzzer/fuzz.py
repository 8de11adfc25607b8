"""Runs ring-opt-fuzzer for some time and says what it found.

  fuzz.py FUZZER --seeds DIR --dictionary FILE [--seconds N] [--keep DIR]
          [--seed N] [--skip PASS,...] [--known FILE] [--symbolizer PATH]

A finding ends the fuzzer, which is then started again with what it has learnt.
A crash whose stack has no code of ours between the fuzzer's and upstream's is
upstream's: it is counted and not kept. Findings that a line of FILE, a regular
expression, matches are counted, too. The inputs of others are left in DIR, and
make it exit with 1.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# The flags that decide what is a finding: seconds for one input, MiB.
LIMITS = ["-timeout=30", "-rss_limit_mb=3000", "-max_len=16384", "-detect_leaks=0"]


def frames(output):
    """(function, whether it is in the fuzzer's own file), innermost first."""
    found = []
    for line in output.splitlines():
        if not re.match(r" *#\d+ 0x", line):
            if found:
                break
            continue
        function = re.search(r" in (.*)", line)
        name = function.group(1) if function else ""
        library = re.search(r"\.so[.\d]*\+0x|/libc\.so|nptl/|\.\./sysdeps|csu/|stdlib/", line)
        found.append((name, not library))
    return found


def own_frames(output):
    """Our functions on the stack, up to the fuzzer itself."""
    own = []
    for name, ours in frames(output):
        # Ours may print or parse theirs.
        if not own and re.match(r"mlir::(?!ring::)(\w+::)*\w+Op::(print|parse)\(", name):
            break
        if re.match(r"(ring::fuzz::|LLVMFuzzer)", name):
            break
        if ours and not re.match(r"(fuzzer::|__sanitizer|__asan|__ubsan)", name):
            own.append(re.sub(r" \(.*|\(.*", "", name))
    return own


def finding(output):
    """What was found, in one line; None where it is upstream's."""
    said = re.search(r"^ring-opt-fuzzer: (.*)", output, re.MULTILINE)
    if said:
        return said.group(1)
    fatal = re.search(r"^LLVM ERROR: .*|.*Assertion .* failed.*", output, re.MULTILINE)
    slow = re.search(r"ERROR: libFuzzer: (timeout|out-of-memory)", output)
    own = own_frames(output)
    if not own and not slow:
        return None
    what = (fatal and fatal.group(0)) or (slow and slow.group(1)) or "crash"
    return f"{what} in {', '.join(own[:3]) or 'upstream code'}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fuzzer")
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--dictionary", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", default="")
    parser.add_argument("--keep", default="fuzz-findings")
    parser.add_argument("--known", default=os.devnull)
    parser.add_argument("--symbolizer", default="")
    options = parser.parse_args()

    environment = dict(os.environ)
    if options.symbolizer:
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            path = f"external_symbolizer_path={options.symbolizer}"
            environment[name] = ":".join(filter(None, [environment.get(name), path]))
    with open(options.known) as file:
        known = [re.compile(line.strip()) for line in file if line.strip()[:1] not in ("", "#")]
    found, seen, upstream, inputs = {}, 0, 0, 0
    seed, end = options.seed, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        corpus, artifacts = os.path.join(folder, "corpus"), os.path.join(folder, "artifacts")
        os.mkdir(corpus)
        while (left := end - time.monotonic()) > 0:
            shutil.rmtree(artifacts, ignore_errors=True)
            os.mkdir(artifacts)
            command = [options.fuzzer, *LIMITS, f"-max_total_time={int(left) + 1}"]
            command += [f"-seed={seed}", f"-dict={options.dictionary}"]
            command += [f"-artifact_prefix={artifacts}/", "-print_final_stats=1"]
            command += [f"--skip={options.skip}"] if options.skip else []
            command += [corpus, options.seeds]
            run = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
            output = run.stdout.decode(errors="replace")
            counts = [int(n) for n in re.findall(r"^#(\d+)\t", output, re.MULTILINE)]
            inputs += max(counts, default=0)
            seed += 1
            if run.returncode == 0:
                continue
            what = finding(output)
            if what is None:
                upstream += 1
                continue
            if any(expression.search(what) for expression in known):
                seen += 1
                continue
            key = re.sub(r"\d+", "", what)
            if key in found:
                continue
            found[key] = what
            os.makedirs(options.keep, exist_ok=True)
            kept = [
                shutil.copy(os.path.join(artifacts, name), options.keep)
                for name in os.listdir(artifacts)
            ]
            print(f"\n{output[-6000:]}\nfound: {what}\ninput: {' '.join(kept)}", flush=True)
    print(f"{inputs} inputs, {len(found)} findings, {seen} known ones, {upstream} upstream crashes")
    for what in found.values():
        print(f"  {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
