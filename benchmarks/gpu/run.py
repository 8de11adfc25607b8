#!/usr/bin/env python3
"""Runs what prepare.py has put into this folder, on this machine's GPU: first whether results are right, then times.

    run.py --json FILE [--device cuda|vgpu] [--only NAME,...] [--lengths S,...] [--budget SECONDS]

Each program has a process and a time limit of its own, so that one that fails stops no other. The file is written anew
after each program. Exit code: 0 where all that ran is right, 1 otherwise. Standard library only.
"""
import argparse
import array
import concurrent.futures
import ctypes
import json
import math
import operator
import os
import pathlib
import platform
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2}
UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}
CHECKS = 0.6  # of the time
LENGTHS = {"cuda": "2048,4096,8192,16384,32768", "vgpu": ""}


class HostOptions(ctypes.Structure):
    """ring_host_options"""
    _fields_ = [("ranks", ctypes.c_int32), ("threads", ctypes.c_int32), ("deadline", ctypes.c_double),
                ("trace", ctypes.c_int32), ("devices", ctypes.c_char_p), ("transport", ctypes.c_char_p),
                ("sm_margin", ctypes.c_int32), ("graph", ctypes.c_int32)]


class Counters(ctypes.Structure):
    """ring_counters"""
    _fields_ = [(name, ctypes.c_int64) for name in (
        "runs", "transfers", "bytes_sent", "buffers_allocated", "slots_in_flight", "launches", "peak_bytes",
        "local_bytes")] + [(name, ctypes.c_double) for name in ("balance", "round_balance", "seconds")]


class NoHost(Exception):
    """The machine lacks what a program asks for."""


class Failed(Exception):
    """A program has ended with an error."""


class Host:
    """A ring of ranks, and a compiled function for it."""

    def __init__(self, library, devices, ranks=1, transport="threads", graph=False, trace=False):
        self.runtime = ctypes.CDLL(str(HERE / "libring_runtime.so"), mode=ctypes.RTLD_GLOBAL)
        self.runtime.ring_host_create.restype = ctypes.c_void_p
        for name in "error", "graph_note":
            function = getattr(self.runtime, f"ring_host_{name}")
            function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
        self.function = ctypes.CDLL(str(HERE / library)).attention
        options = HostOptions(ranks, 0, 30.0, trace, devices.encode(), transport.encode(), 0, graph)
        message = ctypes.create_string_buffer(512)
        pointer = self.runtime.ring_host_create(ctypes.byref(options), message, ctypes.c_size_t(len(message)))
        if not pointer:
            raise NoHost(message.value.decode())
        self.pointer = ctypes.c_void_p(pointer)

    def run(self, tensors):
        """Calls the function on (memory, shape) of each argument and result."""
        descriptors = [self._descriptor(*tensor) for tensor in tensors]
        if self.function(self.pointer, *map(ctypes.byref, descriptors)):
            raise Failed(self.runtime.ring_host_error(self.pointer).decode())

    @staticmethod
    def _descriptor(memory, shape):
        numbers = ctypes.c_int64 * max(len(shape), 1)

        class Memref(ctypes.Structure):
            _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                        ("sizes", numbers), ("strides", numbers)]
        address = ctypes.addressof((ctypes.c_char * max(len(memory), 1)).from_buffer(memory)) if memory else None
        strides = [math.prod(shape[n + 1:]) for n in range(len(shape))]
        return Memref(address, address, 0, numbers(*shape), numbers(*strides))

    def counters(self):
        counters = Counters()
        self.runtime.ring_host_counters(self.pointer, ctypes.byref(counters))
        return counters

    def reset_counters(self):
        self.runtime.ring_host_reset_counters(self.pointer)

    def graph_note(self):
        return self.runtime.ring_host_graph_note(self.pointer).decode()

    def compute_times(self):
        """Seconds on the GPU of each launch since the counters were reset, in their order."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            if not self.runtime.ring_host_write_trace(self.pointer, file.name.encode()):
                raise Failed("cannot write the trace")
            events = json.load(file)["traceEvents"]
        events = [e for e in events if e.get("cat") == "compute"]
        return [e["dur"] / 1e6 for e in sorted(events, key=lambda e: e["ts"])]


def numbers(memory, kind):
    """What is in memory, as Python's floats."""
    if kind == "f32":
        return array.array("f", bytes(memory))
    if kind == "f16":
        return struct.unpack(f"<{len(memory) // 2}e", memory)
    wide = array.array("I", (x << 16 for x in array.array("H", bytes(memory))))
    return array.array("f", wide.tobytes())


def multiple(got, expected, allowed):
    """The error as a multiple of what is allowed. NaN stands for any number that is not finite."""
    if got == expected or (math.isnan(expected) and not math.isfinite(got)):
        return 0.0
    if not math.isfinite(got) or not math.isfinite(expected) or not allowed > 0:
        return math.inf
    return abs(got - expected) / allowed


def compare(result, memory, data):
    """The largest error of a result, as a multiple of what is allowed, and where it is."""
    count = math.prod(result["shape"])
    got = numbers(memory, result["type"])
    expected = array.array("d", data[result["expected"]:result["expected"] + 8 * count])
    allowed = array.array("f", data[result["allowed"]:result["allowed"] + 4 * count])
    errors = list(map(multiple, got, expected, allowed))
    worst = max(errors, default=0.0)
    at = errors.index(worst) if errors else 0
    where = f"{result['name']}[{at}]: expected {expected[at]:.9g}, got {got[at]:.9g}" if errors else ""
    if result["rms"] and worst < math.inf:
        squares = [(a - b) ** 2 for a, b in zip(got, expected) if math.isfinite(a) and math.isfinite(b)]
        rms = math.sqrt(sum(squares) / len(squares)) / result["rms"]
        if rms > worst:
            worst, where = rms, f"{result['name']}: root mean square"
    return worst, where


def check(program, device):
    """Results against what has to come out; the same bits in each run."""
    data = (HERE / program["data"]).read_bytes()
    size = lambda tensor: math.prod(tensor["shape"]) * BYTES[tensor["type"]]
    inputs = [(bytearray(data[x["data"]:x["data"] + size(x)]), x["shape"]) for x in program["arguments"]]
    host = Host(program["library"], device, program["ranks"], program["transport"], program["graph"])
    first = None
    # With a graph the first run is none, the second records it, the third launches it.
    for _ in range(3 if program["graph"] else 2):
        outputs = [(bytearray(b"\xff" * size(x)), x["shape"]) for x in program["results"]]
        host.run(inputs + outputs)
        bits = [bytes(memory) for memory, _ in outputs]
        if first not in (None, bits):
            raise Failed("two runs differ")
        first = bits
    if program["graph"] and host.graph_note():
        raise Failed(f"no graph: {host.graph_note()}")
    worst, where = max((compare(x, memory, data) for x, memory in zip(program["results"], first)),
                       key=lambda pair: pair[0])
    return judged(worst, where)


def judged(worst, where):
    """What is said of the largest error; JSON has no infinity."""
    report = {"ok": worst <= 1, "max_error": worst if worst < math.inf else "inf"}
    return report if report["ok"] else {**report, "error": where}


def random_memory(kind, count, seed):
    """Normal numbers; a prime number of them, again and again."""
    source, period = random.Random(seed), min(count, 65521)
    values = array.array("f", (source.gauss(0, 1) for _ in range(period)))
    if kind == "bf16":
        values = array.array("H", (x + 0x8000 >> 16 for x in array.array("I", values.tobytes())))
    block = values.tobytes()
    return bytearray((block * (count // period + 1))[:count * BYTES[kind]])


def row_error(timed, tensors, keys, head, row):
    """The error of one row of a timed program against float64, as a multiple of docs/numerics.md's tolerance. Of many
    keys `out` is close to 0 whatever was summed; `lse` tells whether each of them was, once."""
    depth, kind = timed["depth"], timed["dtype"]
    row_bytes = depth * BYTES[kind]
    queries = 1 if timed["decode"] else keys
    kv_head = head // (timed["heads"] // timed["kv_heads"])
    part = lambda n, first, rows: numbers(tensors[n][0][first * row_bytes:(first + rows) * row_bytes], kind)
    at = head * queries + row
    q, got, got_lse = part(0, at, 1), part(3, at, 1), numbers(tensors[4][0][4 * at:4 * at + 4], "f32")[0]
    seen = row + 1 if timed["causal"] else keys
    k, v = part(1, kv_head * keys, seen), part(2, kv_head * keys, seen)
    products = [list(map(operator.mul, q, k[n * depth:(n + 1) * depth])) for n in range(seen)]
    scores = [sum(p) / math.sqrt(depth) for p in products]
    top = max(scores)
    weights = [math.exp(x - top) for x in scores]
    total = sum(weights)
    bound = max(sum(map(abs, p)) / math.sqrt(depth) + abs(x) for p, x in zip(products, scores) if x >= top - 32)
    # Of the values that the row sees, which is no more than of all.
    largest = max(map(abs, v))
    lse = top + math.log(total)
    worst = multiple(got_lse, lse, 1e-5 * (1 + bound + abs(lse)))
    for column in range(depth):
        values = v[column::depth]
        expected = sum(map(operator.mul, weights, values)) / total
        magnitude = sum(map(operator.mul, weights, map(abs, values))) / total
        if kind == "f32":
            allowed = 1e-5 * (1 + bound / 32) * largest
        else:
            allowed = UNIT[kind] * (2 * magnitude + abs(expected)) + 2.0**-22 * bound * magnitude
        worst = max(worst, multiple(got[column], expected, allowed))
    return worst


def measure(program, device, length, repeat):
    """Seconds of a length on one rank: on the GPU, without copies, and of the whole run."""
    timed = program["timed"]
    queries = 1 if timed["decode"] else length
    shape = lambda heads, rows: [1, heads, rows, timed["depth"]]
    shapes = [shape(timed["heads"], queries), *[shape(timed["kv_heads"], length)] * 2, shape(timed["heads"], queries)]
    kind = timed["dtype"]
    tensors = [(random_memory(kind, math.prod(s), n), s) for n, s in enumerate(shapes[:3])]
    tensors.append((bytearray(b"\xff" * (math.prod(shapes[3]) * BYTES[kind])), shapes[3]))
    tensors.append((bytearray(b"\xff" * (math.prod(shapes[3][:3]) * 4)), shapes[3][:3]))
    host = Host(program["library"], device, trace=True)
    begin = time.monotonic()
    host.run(tensors)
    first = time.monotonic() - begin
    host.reset_counters()
    for _ in range(repeat):
        host.run(tensors)
    launches = host.compute_times()
    per_run = len(launches) // repeat
    if per_run < 1 or per_run * repeat != len(launches):
        raise Failed(f"{len(launches)} launches in {repeat} runs")
    runs = [sum(launches[n:n + per_run]) for n in range(0, len(launches), per_run)]
    seconds = statistics.median(runs)
    flops = 4 * queries * length * timed["depth"] * timed["heads"] / (2 if timed["causal"] else 1)
    read = 2 * length * timed["depth"] * timed["kv_heads"] * BYTES[kind]
    rows = [(timed["heads"] - 1, queries - 1), (0, 0), (timed["heads"] // 2, queries // 3)]
    # Of the long ones one: Python takes seconds for it.
    rows = rows[:1 if length > 8192 else 3]
    error = max(row_error(timed, tensors, length, head, row) for head, row in rows)
    report = {**judged(error, "a row differs from float64"), "rows_checked": len(rows), "length": length,
              "launches": per_run, "seconds": seconds, "seconds_best": min(runs), "repeat": repeat,
              "seconds_first_call": first, "seconds_with_copies": host.counters().seconds / repeat,
              "tflops": flops / seconds / 1e12}
    if timed["decode"]:
        report["gigabytes_per_second"] = read / seconds / 1e9
    return report


def run_one(options, programs):
    """In a process of its own: the report of one program."""
    program = next(p for p in programs if p["name"] == options.child)
    try:
        if "timed" in program:
            return measure(program, options.device, int(options.lengths), options.repeat)
        return check(program, options.device)
    except NoHost as error:
        # NCCL need not be there.
        missing = program.get("transport") == "nccl"
        return {"ok": None if missing else False, "error": str(error)}
    except Failed as error:
        return {"ok": False, "error": str(error)}


def start(options, program, length=None):
    """The report of a program, from a process that may crash or hang."""
    command = [sys.executable, __file__, "--child", program["name"], "--device", options.device]
    command += ["--repeat", str(options.repeat)] + (["--lengths", str(length)] if length else [])
    what = {"name": program["name"]}
    left = options.end - time.monotonic()
    if left <= 0:
        return {**what, "ok": None, "error": "not run: the time for it was over"}
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=min(options.limit, left))
        lines = done.stdout.splitlines()
        if done.returncode or not lines:
            report = {"ok": False, "error": f"exit {done.returncode}: {done.stderr.strip()[-400:]}"}
        else:
            report = json.loads(lines[-1])
    except subprocess.TimeoutExpired:
        report = {"ok": False, "error": "time limit"}
    return {**what, **({"length": length} if length else {}), **report,
            "seconds_process": round(time.monotonic() - begin, 3)}


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine(device):
    """What a reader needs to know about the machine; the driver says what it is, nvidia-smi how it runs."""
    facts = {"system": f"{platform.system()} {platform.release()}", "libc": " ".join(platform.libc_ver()),
             "python": platform.python_version(), "cores": os.cpu_count()}
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    models = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")] if cpuinfo.exists() else []
    facts["cpu"] = models[0].split(":")[1].strip() if models else platform.processor()
    if device.startswith("vgpu"):
        return facts
    fields = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit,persistence_mode,pstate"
    facts["nvidia_smi"] = output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        version, name, handle = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_int()
        if driver.cuInit(0) == 0 and driver.cuDriverGetVersion(ctypes.byref(version)) == 0:
            facts["cuda_version_of_driver"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        if driver.cuDeviceGet(ctypes.byref(handle), 0) == 0 and driver.cuDeviceGetName(name, 256, handle) == 0:
            facts["gpu"] = name.value.decode()
    except OSError as error:
        facts["driver_error"] = str(error)
    return facts


def run_all(options, manifest):
    begin = time.monotonic()
    if options.lengths is None:
        options.lengths = LENGTHS[options.device.split(":")[0]]
    lengths = [int(n) for n in options.lengths.split(",") if n]
    chosen = [p for p in manifest["programs"] if p["name"].startswith(tuple(options.only.split(",")))]
    results = {"machine": machine(options.device), "device": options.device, "chip": manifest["chip"],
               "ok": False, "checked": [], "timed": []}

    def add(kind, report):
        results[kind].append(report)
        state = {True: "right", False: "WRONG", None: "skipped"}[report["ok"]]
        print(f"{report['name']} {report.get('length', '')}: {state}",
              *(f"{key} {report[key]:.4g}" for key in ("max_error", "tflops", "gigabytes_per_second")
                if isinstance(report.get(key), float)), report.get("error", ""), flush=True)
        reports = results["checked"] + results["timed"]
        results["right"], results["wrong"], results["skipped"] = (
            sum(r["ok"] is state for r in reports) for state in (True, False, None))
        results["ok"] = results["wrong"] == 0 and results["right"] > 0
        options.json.write_text(json.dumps(results, indent=1) + "\n")

    checked = [p for p in chosen if "timed" not in p]
    options.end = begin + CHECKS * options.budget
    jobs = options.jobs or max(1, min(4, (os.cpu_count() or 2) // 2))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for report in pool.map(lambda program: start(options, program), checked):
            add("checked", report)
    # One after another, the short ones of all programs first.
    options.end = begin + options.budget
    for length in lengths:
        for program in chosen:
            if "timed" in program:
                add("timed", start(options, program, length))
    return 0 if results["ok"] else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="where the results go")
    parser.add_argument("--device", default="cuda", help="cuda or vgpu (RING_VGPU_LIBRARY names its library)")
    parser.add_argument("--only", default="", help="programs whose names begin so, with commas between")
    parser.add_argument("--lengths", help="of the programs that are timed (cuda: to 32768; vgpu: none)")
    parser.add_argument("--repeat", type=int, default=7, help="timed runs of a length")
    parser.add_argument("--jobs", type=int, help="programs checked at once (half of the cores, at most 4)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a program")
    parser.add_argument("--budget", type=float, default=450, help="seconds for all, 6 of 10 of them for checks")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    manifest = json.loads((HERE / "manifest.json").read_text())
    if options.child:
        print(json.dumps(run_one(options, manifest["programs"])))
        return 0
    if not options.json:
        parser.error("--json is needed")
    with tempfile.TemporaryDirectory() as cache:
        # PTX that the driver has compiled, for the processes to come.
        os.environ.setdefault("CUDA_CACHE_PATH", cache)
        return run_all(options, manifest)


if __name__ == "__main__":
    sys.exit(main())
