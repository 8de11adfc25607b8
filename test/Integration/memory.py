"""A rank needs its inputs and outputs, the f32 state of its queries and fixed
scratch; the process twice the inputs and outputs (whole, and of the ranks).

ThreadSanitizer's shadow is several times the memory that it watches."""
# UNSUPPORTED: tsan
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import json
import os
import subprocess
import sys

HEADS, KV_HEADS, DEPTH, VALUE_DEPTH = 4, 2, 8, 16
FIXED = 4096  # tables and descriptors


def run(length, ranks, dtype="f32", prefetch=1, mask="causal"):
    """The report of --json, and the most memory the process had."""
    q = f"tensor<1x{HEADS}x{length}x{DEPTH}x{dtype}>"
    k = f"tensor<1x{KV_HEADS}x{length}x{DEPTH}x{dtype}>"
    v = f"tensor<1x{KV_HEADS}x{length}x{VALUE_DEPTH}x{dtype}>"
    out = f"tensor<1x{HEADS}x{length}x{VALUE_DEPTH}x{dtype}>, tensor<1x{HEADS}x{length}xf32>"
    path = os.path.join(sys.argv[1], "attention.mlir")
    with open(path, "w") as file:
        file.write(
            f"func.func @attention(%q: {q}, %k: {k}, %v: {v}) -> ({out}) {{\n"
            f"  %o, %l = ring.attention %q, %k, %v mask(<{mask}>) : ({q}, {k}, {v}) -> ({out})\n"
            f"  return %o, %l : {out}\n}}\n"
        )
    line = ["ring-run", path, "--json", "--random=1", "--threads=2", f"--ranks={ranks}"]
    line.append(f"--prefetch-distance={prefetch}")
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return json.loads(text), usage.ru_maxrss * 1024


def token(dtype):
    """Bytes of one token of a rank: its inputs and outputs, and its state."""
    size = 4 if dtype == "f32" else 2
    arrays = HEADS * (DEPTH + VALUE_DEPTH) + KV_HEADS * (DEPTH + VALUE_DEPTH)
    return arrays * size + HEADS * 4, HEADS * (VALUE_DEPTH + 2) * 4


for ranks, dtype, prefetch in (1, "f32", 1), (4, "f32", 1), (4, "bf16", 3):
    fixed = set()
    for length in 1024, 2048, 4096, 8192:
        report, _ = run(length, ranks, dtype, prefetch)
        listed = length // ranks * sum(token(dtype))
        rest = report["peak_bytes_per_rank"] - listed
        assert 0 <= rest <= FIXED, f"S={length}, {ranks} ranks: {rest} bytes beside {listed}"
        # Ranks in one process lend each other their shards: no slot at all.
        assert report["buffers_allocated"] == 0
        assert report["buffers"] == min(prefetch + 1, ranks - 1)
        fixed.add(rest)
    assert len(fixed) == 1, f"scratch grows with S: {fixed}"

# 999 tokens in 8 chunks: at most 125 each, 250 a rank.
report, _ = run(999, 4)
assert 0 <= report["peak_bytes_per_rank"] - 250 * sum(token("f32")) <= FIXED

# The process itself, from 1k to 64k: 64-bit scores of one head would need 32 GiB.
mask = "causal, window = [127, *]"
_, small = run(1024, 4, mask=mask)
_, large = run(65536, 4, mask=mask)
arrays, state = token("f32")
allowed = (65536 - 1024) * (2 * arrays + state) + 16 * 2**20
assert large - small <= allowed, f"grew by {large - small} bytes, allowed {allowed}"
print(f"process grew by {large - small} bytes, allowed {allowed}")
