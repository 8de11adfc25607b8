"""What ptxas says of kernels: no spill, no stack frame, no external symbol but the
shared memory, no warning, registers within the plan."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import concurrent.futures
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from gpu_kernels import assemble, make_ptx  # noqa: E402

FOLDER = sys.argv[1]

# Head size of keys, of values, type, what is done.
VARIANTS = [
    (256, 256, "f32", "causal"),
    (64, 64, "bf16", "plain"),
    (64, 64, "bf16", "causal"),
    (64, 64, "bf16", "generic"),
    (64, 64, "bf16", "bias_score"),
    (64, 64, "f16", "generic"),
    (64, 64, "f32", "causal"),
    (64, 64, "f32", "bias_score"),
    (80, 80, "bf16", "causal"),
    (96, 96, "bf16", "causal"),
    (96, 96, "f16", "bias_score"),
    (96, 96, "f32", "generic"),
    (128, 128, "bf16", "plain"),
    (128, 128, "bf16", "causal"),
    (128, 128, "bf16", "generic"),
    (128, 128, "bf16", "bias_score"),
    (128, 128, "f16", "causal"),
    (128, 128, "f32", "causal"),
    (128, 128, "f32", "bias_score"),
    (192, 128, "bf16", "causal"),
    (192, 128, "f16", "bias_score"),
    (192, 128, "f32", "causal"),
    (256, 256, "bf16", "causal"),
    (256, 256, "f16", "generic"),
]
MOST_REGISTERS = 255  # of the plan, with two blocks of 128 threads a multiprocessor


def check(variant):
    """What is wrong; prints what was measured."""
    stem = os.path.join(FOLDER, "_".join(map(str, variant)))
    start = time.monotonic()
    ptx, _ = make_ptx(variant, stem)
    middle = time.monotonic()
    said = assemble(stem)
    end = time.monotonic()
    frames = re.findall(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads",
        said,
    )
    registers = re.findall(r"Used (\d+) registers", said)
    print(variant, "stack, stores, loads", frames, "registers", registers,
          f"ring-opt {middle - start:.1f} s, ptxas {end - middle:.1f} s", flush=True)
    wrong = []
    if not frames or not registers:
        wrong.append("ptxas -v names no kernel")
    if re.search("warning", said, re.IGNORECASE):
        wrong.append("ptxas warns: " + said)
    for line in ptx.splitlines():
        if ".extern" in line and "ring_shared" not in line:
            wrong.append(line)
    # Generous: a kernel should take 1.5 s on a quiet machine, which is a goal.
    if end - start > 60:
        wrong.append("took over a minute")
    spills = any(number != "0" for frame in frames for number in frame)
    if spills:
        wrong.append("spills")
    if any(int(number) > MOST_REGISTERS for number in registers):
        wrong.append("more registers than planned")
    return wrong


def main():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(check, VARIANTS))
    failed = [(v, w) for v, w in zip(VARIANTS, results) if w]
    for variant, wrong in failed:
        print("WRONG", variant, *wrong)
    sys.exit(bool(failed))


main()
