#!/usr/bin/env python3
"""How close matrix products come to the FMA peak of the machine.

    matmul.py [--assert] [--ring-run PROGRAM] [--turns T] [--repeat K] [--threads N ...]

The projections and the feed-forward layers of a model of width 1024, on 2048 positions and on fewer, in f32 and with bf16
weights, which are stored as frameworks do: [out, in]. The peak is that of fma_peak.c on one core. Two numbers are
compared with it: operations per second of processor time, which other processes hardly change, and operations per second
by the clock, the best of T turns. In each turn a program runs K times and once; the difference is that of the product
alone. `--assert` fails where a product of 2048 rows stays below half of the peak of the cores that it used. Standard
library only.
"""
import argparse
import itertools
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import bench

LIMIT = 0.5
# rows, in, out, the type of the weights
PRODUCTS = [
    (2048, 1024, 1024, "f32"),
    (2048, 1024, 4096, "f32"),
    (2048, 4096, 1024, "f32"),
    (2048, 1024, 4096, "bf16"),
    (999, 1025, 1023, "f32"),
    (128, 1024, 4096, "f32"),
    (1, 1024, 4096, "f32"),
]


def linear(rows, inputs, outputs, weights):
    """x W^T as torch-mlir writes it; activations have the weights' type."""
    tensor = lambda rows, columns, type: f"tensor<{rows}x{columns}x{type}>"
    x, w, t = tensor(rows, inputs, weights), tensor(outputs, inputs, weights), tensor(inputs, outputs, weights)
    y = tensor(rows, outputs, "f32")
    return f"""func.func @linear(%x: {x}, %w: {w}) -> {y} {{
  %e = tensor.empty() : {t}
  %t = linalg.transpose ins(%w : {w}) outs(%e : {t}) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : {y}
  %z = linalg.fill ins(%zero : f32) outs(%f : {y}) -> {y}
  %y = linalg.matmul ins(%x, %t : {x}, {t}) outs(%z : {y}) -> {y}
  return %y : {y}
}}
"""


def register_lanes():
    """Floats of a vector register, and flags that make a compiler use them."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return 4, []
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    if "avx512f" in flags:
        return 16, ["-mprefer-vector-width=512"]
    return (8 if "avx2" in flags and "fma" in flags else 4), []


class Peak:
    """Of one core, in GFLOP/s: the best that was seen."""

    def __init__(self, folder):
        self.program = folder / "fma_peak"
        compiler = next(filter(shutil.which, ("clang-22", "clang", "cc")), None)
        if not compiler:
            sys.exit("no C compiler: expected clang-22, clang or cc")
        lanes, flags = register_lanes()
        source = pathlib.Path(__file__).with_name("fma_peak.c")
        line = [compiler, "-O2", "-march=native", "-ffp-contract=fast", f"-DLANES={lanes}", *flags, source]
        subprocess.run([*line, "-o", self.program], check=True)
        self.best = 0.0

    def measure(self):
        self.best = max(self.best, float(subprocess.run([self.program], check=True, capture_output=True).stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assert", dest="check", action="store_true", help=f"fail below {LIMIT} of the peak")
    parser.add_argument("--ring-run", default=bench.ROOT / "build/bin/ring-run")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    options = parser.parse_args()

    machine = bench.machine()
    walls, cpus = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        peak = Peak(pathlib.Path(folder))
        for _ in range(options.turns):
            peak.measure()
            for product, threads in itertools.product(PRODUCTS, options.threads):
                for repeat in 1, options.repeat:
                    run = bench.ring_run(options.ring_run, linear(*product), "--threads", threads, "--repeat", repeat)
                    cpus.setdefault((product, threads, repeat), []).append(run["cpu_s"])
                    walls.setdefault((product, threads), []).append(run["time_ms"])
        peak.measure()
    print(f"peak of a core: {peak.best:.1f} GFLOP/s")
    results, low = [], []
    for (product, threads), of in walls.items():
        rows, inputs, outputs, weights = product
        work = 2e-9 * rows * inputs * outputs
        once, often = (min(cpus[product, threads, repeat]) for repeat in (1, options.repeat))
        cpu = max(often - once, 1e-9) / (options.repeat - 1)
        rate, part = 1e3 * work / min(of), work / cpu / peak.best
        name = f"[{rows}, {inputs}] x [{outputs}, {inputs}]^T {weights}, {threads} thread{'s' * (threads > 1)}"
        print(f"{name}: {min(of):8.3f} ms, {rate:6.1f} GFLOP/s, {100 * part:5.1f} % of the peak of the cores used")
        results.append({"rows": rows, "in": inputs, "out": outputs, "weights": weights, "threads": threads,
                        "time_ms": of, "gflops": rate, "cpu_ms": 1e3 * cpu, "of_peak": part})
        if rows >= 2048 and part < LIMIT:
            low.append(name)
    bench.write("matmul", {"machine": machine, "peak_gflops": peak.best, "repeat": options.repeat,
                           "products": results, "limit": LIMIT})
    if options.check and low:
        sys.exit(f"below {LIMIT} of the peak: {'; '.join(low)}")


if __name__ == "__main__":
    main()
