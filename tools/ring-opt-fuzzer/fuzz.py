"""Runs ring-opt-fuzzer for some time and says what it found.

  fuzz.py FUZZER --seeds DIR --dictionary FILE [--seconds N] [--keep DIR]
          [--seed N] [--skip PASS,...] [--known FILE] [--symbolizer PATH]

Says its seed first, and after a finding how to repeat it. A finding ends the
fuzzer, which is then started again with what it has learnt.
A crash whose stack has no code of ours between the fuzzer's and upstream's is
upstream's: it is counted, its input is left in DIR/upstream. Findings that a
line of FILE, a regular expression, matches are counted, too. The inputs of
others are left in DIR, and make it exit with 1. An input that was too slow is
run again alone: it is a finding where it takes as many seconds of the
processor, however busy the machine is.

A crash within malloc can block its own report. Then the fuzzer is ended, and
the inputs that it ran last, left in DIR/stuck, are run again one by one. Where
none of them crashes alone, the heap was broken before them: a finding as well.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

# What decides what is a finding: seconds for one input, MiB.
SECONDS = 30
LIMITS = ["-rss_limit_mb=3000", "-max_len=16384", "-detect_leaks=0"]
# Fills memory that is freed, so that its use is seen without a sanitizer.
MEMORY = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


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


def takes_long(command, path):
    """Whether an input alone takes SECONDS of the processor, or ends badly."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))

    run = subprocess.run(
        [*command, "-timeout=0", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limit,
    )
    return run.returncode != 0


def run_for(seconds, command, environment):
    """Runs a command; ends it, without a return code, where it takes longer: a
    crash within malloc can block its own report."""
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=environment
        )
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
        file.seek(0)
        return subprocess.CompletedProcess(command, code, stdout=file.read())


def newest_first(folder):
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    return sorted(paths, key=os.path.getmtime, reverse=True)


def crash_of_one(paths, fuzzer, environment):
    """The first of the inputs that ends the fuzzer badly, alone, and its output;
    None where none does, or where its report is blocked again."""
    for path in paths:
        run = run_for(2 * SECONDS, [*fuzzer, f"-timeout={SECONDS}", path], environment)
        if run.returncode:
            return path, run.stdout.decode(errors="replace")
    return None, ""


def keep(paths, folder):
    """Copies files and returns their new paths, in one line."""
    os.makedirs(folder, exist_ok=True)
    return " ".join(shutil.copy(path, folder) for path in paths)


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

    environment = {**os.environ, **MEMORY}
    if options.symbolizer:
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            path = f"external_symbolizer_path={options.symbolizer}"
            environment[name] = ":".join(filter(None, [environment.get(name), path]))
    with open(options.known) as file:
        known = [re.compile(line.strip()) for line in file if line.strip()[:1] not in ("", "#")]
    fuzzer = [options.fuzzer, *LIMITS, *([f"--skip={options.skip}"] if options.skip else [])]
    print(f"seed {options.seed}, {options.seconds:g} seconds", flush=True)
    found, seen, upstream, slow, inputs = {}, 0, 0, 0, 0
    seed, end = options.seed, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        corpus, artifacts, trail = (
            os.path.join(folder, name) for name in ("corpus", "artifacts", "trail")
        )
        os.mkdir(corpus)
        os.mkdir(trail)
        while (left := end - time.monotonic()) > 0:
            shutil.rmtree(artifacts, ignore_errors=True)
            os.mkdir(artifacts)
            command = [*fuzzer, f"-timeout={SECONDS}", f"-max_total_time={int(left) + 1}"]
            command += [f"-seed={seed}", f"-dict={options.dictionary}"]
            command += [f"-artifact_prefix={artifacts}/", "-print_final_stats=1"]
            command += [f"--trail={trail}", corpus, options.seeds]
            run = run_for(left + 4 * SECONDS, command, environment)
            output = run.stdout.decode(errors="replace")
            counts = [int(n) for n in re.findall(r"^#(\d+)\t", output, re.MULTILINE)]
            inputs += max(counts, default=0)
            seed += 1
            if run.returncode == 0:
                continue
            if not re.search(r"^INFO: Seed: ", output, re.MULTILINE):
                print(output[-6000:])
                sys.exit(f"{options.fuzzer} did not run: exit status {run.returncode}")
            left_behind = [os.path.join(artifacts, name) for name in os.listdir(artifacts)]
            if run.returncode is None:
                print(f"{output[-2000:]}\nthe fuzzer was stuck and has been ended", flush=True)
                last = newest_first(trail)
                kept = os.path.join(options.keep, "stuck")
                keep(last, kept)
                path, output = crash_of_one(last, fuzzer, environment)
                if path is None:
                    found["stuck"] = f"a broken heap, by an input in {kept} or one before them"
                    print(f"\nfound: {found['stuck']}", flush=True)
                    continue
                left_behind = [path]
            what = finding(output)
            if what is None:
                upstream += 1
                keep(left_behind, os.path.join(options.keep, "upstream"))
                continue
            if what.startswith("timeout") and not any(
                takes_long(fuzzer, path) for path in left_behind
            ):
                slow += 1
                continue
            if any(expression.search(what) for expression in known):
                seen += 1
                continue
            key = re.sub(r"\d+", "", what)
            if key in found:
                continue
            found[key] = what
            kept = keep(left_behind, options.keep)
            memory = " ".join(f"{name}={value}" for name, value in MEMORY.items())
            print(f"\n{output[-6000:]}\nfound: {what}\nrepeat: {memory} {' '.join(fuzzer)} {kept}", flush=True)
    if inputs == 0:
        sys.exit("no input has been run")
    print(
        f"{inputs} inputs, {len(found)} findings, {seen} known ones, {upstream} upstream crashes"
        f"{f', {slow} inputs on a busy machine' if slow else ''}"
    )
    for what in found.values():
        print(f"  {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
