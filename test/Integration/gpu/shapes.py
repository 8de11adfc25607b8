"""Head sizes, groups and lengths that fill no tile, on virtual GPUs: --check compares
with dense float64."""
# RUN: %python %s ring-run %t

import subprocess
import sys
from pathlib import Path

RING_RUN, OUT = sys.argv[1], Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)

# Heads, key/value heads, queries, keys, head size, of values, type, mask, ranks.
SHAPES = [
    (1, 1, 1, 1, 1, 1, "f32", "", 1),
    (3, 1, 5, 300, 20, 36, "bf16", "", 2),  # few queries: keys are split over blocks
    (12, 1, 33, 33, 8, 24, "f16", "<causal>", 3),
    (8, 2, 65, 65, 40, 40, "bf16", "<causal, window = [7, 0]>", 4),
    (2, 2, 129, 129, 112, 112, "f16", "<causal>", 2),
    (2, 1, 63, 127, 256, 256, "bf16", "<causal, align = bottom_right>", 2),
    (2, 2, 64, 64, 192, 128, "f32", "", 2),
    (4, 1, 1, 500, 128, 128, "bf16", "", 1),  # decoding
    (2, 1, 31, 62, 5, 3, "f32", "<chunk = 9, align = top_left>", 2),
]

for number, (heads, kv_heads, queries, keys, depth, values, kind, mask, ranks) in enumerate(SHAPES):
    q, k, v, o = (f"tensor<2x{h}x{s}x{d}x{kind}>" for h, s, d in [
        (heads, queries, depth), (kv_heads, keys, depth), (kv_heads, keys, values), (heads, queries, values)])
    lse = f"tensor<2x{heads}x{queries}xf32>"
    clause = f" mask({mask})" if mask else ""
    program = OUT / f"shape{number}.mlir"
    program.write_text(
        f"func.func @f(%q: {q}, %k: {k}, %v: {v}) -> ({o}, {lse}) {{\n"
        f"  %o, %l = ring.attention %q, %k, %v{clause} : ({q}, {k}, {v}) -> ({o}, {lse})\n"
        f"  return %o, %l : {o}, {lse}\n}}\n")
    done = subprocess.run([RING_RUN, program, f"--ranks={ranks}", "--device=vgpu", "--random=7", "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, (SHAPES[number], done.stdout, done.stderr)
