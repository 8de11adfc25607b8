"""What the benchmark scripts share: programs, runs of ring-run, and where their results go. Standard library only."""
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def attention(heads, length, depth, mask="causal"):
    """A module with one f32 self-attention of one batch entry."""
    tensor = f"tensor<1x{heads}x{length}x{depth}xf32>"
    return f"""func.func @attention(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{
  %out = ring.attention %q, %k, %v mask(<{mask}>) : ({tensor}, {tensor}, {tensor}) -> {tensor}
  return %out : {tensor}
}}
"""


def ring_run(tool, program, *flags):
    """The object that `ring-run --json` prints for a module given as text, with `max_rss_bytes` and `cpu_s` of the
    process added."""
    command = [str(tool), "-", "--random", "1", "--json", *map(str, flags)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(program)
        process.stdin.close()
        output = process.stdout.read()
        # wait4 and not getrusage: the largest child so far is not this one.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode} from: {' '.join(command)}")
    used = {"max_rss_bytes": usage.ru_maxrss * 1024, "cpu_s": usage.ru_utime + usage.ru_stime}
    return {**json.loads(output), **used}


def machine():
    """What a reader needs to know about the machine that a result is from."""
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": list(os.getloadavg()),
    }


def write(name, result):
    """benchmarks/results/NAME-DATE.json"""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}-{datetime.date.today().isoformat()}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written: {path.relative_to(ROOT)}")
