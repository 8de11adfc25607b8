"""Bytes of a feed-forward: in blocks of c positions it holds c times its live widths and the
result, S/N times h; all at once it holds S/N times its widths.

Counted from the allocations of the lowered rank function, one at a time: what is live where."""
# RUN: %python %s %t.mlir

import re
import subprocess
import sys

FILE = sys.argv[1]
RANKS, LENGTH, HIDDEN, WIDTH, BLOCK = 2, 1024, 64, 256, 32
LOCAL = LENGTH // RANKS

# A gated feed-forward (Llama): up, gate, their product, down; norm and residual.
MODEL = """
func.func @main(%x: tensor<1x{S}x{h}xf32>, %up: tensor<{h}x{w}xf32>, %gate: tensor<{h}x{w}xf32>,
                %down: tensor<{w}x{h}xf32>) -> tensor<1x{S}x{h}xf32> {{
  %zero = arith.constant 0.0 : f32
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 1, {S}, {h}] : tensor<1x{S}x{h}xf32> into tensor<1x1x{S}x{h}xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x{S}x{h}xf32>, tensor<1x1x{S}x{h}xf32>, tensor<1x1x{S}x{h}xf32>) -> tensor<1x1x{S}x{h}xf32>
  %a = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x{S}x{h}xf32> into tensor<1x{S}x{h}xf32>
  %e = tensor.empty() : tensor<1x{S}x{h}xf32>
  %h = linalg.add ins(%x, %a : tensor<1x{S}x{h}xf32>, tensor<1x{S}x{h}xf32>) outs(%e : tensor<1x{S}x{h}xf32>) -> tensor<1x{S}x{h}xf32>
  %n = linalg.tanh ins(%h : tensor<1x{S}x{h}xf32>) outs(%e : tensor<1x{S}x{h}xf32>) -> tensor<1x{S}x{h}xf32>
  %f = tensor.collapse_shape %n [[0, 1], [2]] : tensor<1x{S}x{h}xf32> into tensor<{S}x{h}xf32>
  %we = tensor.empty() : tensor<{S}x{w}xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%we : tensor<{S}x{w}xf32>) -> tensor<{S}x{w}xf32>
  %u = linalg.matmul ins(%f, %up : tensor<{S}x{h}xf32>, tensor<{h}x{w}xf32>) outs(%wide : tensor<{S}x{w}xf32>) -> tensor<{S}x{w}xf32>
  %g = linalg.matmul ins(%f, %gate : tensor<{S}x{h}xf32>, tensor<{h}x{w}xf32>) outs(%wide : tensor<{S}x{w}xf32>) -> tensor<{S}x{w}xf32>
  %m = linalg.mul ins(%u, %g : tensor<{S}x{w}xf32>, tensor<{S}x{w}xf32>) outs(%we : tensor<{S}x{w}xf32>) -> tensor<{S}x{w}xf32>
  %ne = tensor.empty() : tensor<{S}x{h}xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%ne : tensor<{S}x{h}xf32>) -> tensor<{S}x{h}xf32>
  %d = linalg.matmul ins(%m, %down : tensor<{S}x{w}xf32>, tensor<{w}x{h}xf32>) outs(%narrow : tensor<{S}x{h}xf32>) -> tensor<{S}x{h}xf32>
  %b = tensor.expand_shape %d [[0, 1], [2]] output_shape [1, {S}, {h}] : tensor<{S}x{h}xf32> into tensor<1x{S}x{h}xf32>
  %y = linalg.add ins(%h, %b : tensor<1x{S}x{h}xf32>, tensor<1x{S}x{h}xf32>) outs(%e : tensor<1x{S}x{h}xf32>) -> tensor<1x{S}x{h}xf32>
  return %y : tensor<1x{S}x{h}xf32>
}}
"""


def rank_function(block):
    line = ["ring-opt", FILE, f"--ring-to-cpu=ranks={RANKS} blockwise-ffn={block}"]
    line += ["--mlir-print-ir-after=ring-free-early", "-o", "/dev/null"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    function = done.stderr[done.stderr.index("func.func private @main_rank(") :]
    return function[: function.index("\n  }\n")]


def live_bytes(function, block):
    """Most bytes live at once from the call of attention on, but for what attention gave
    and the sum that the feed-forward starts from; those of the loop's body apart."""
    sizes, live = {}, {}
    started, most, most_inside, depth = False, 0, 0, 0
    for line in function.splitlines():
        if "scf.for" in line:
            depth += 1
        allocated = re.search(r"(%\S+) = memref\.alloc.*: memref<([\dx?]+)xf32", line)
        if allocated:
            size = 4
            for dim in allocated.group(2).split("x"):
                size *= int(dim) if dim != "?" else (block if depth else LOCAL)
            sizes[allocated.group(1)] = size
            if started:
                live[allocated.group(1)] = size, depth
        freed = re.search(r"memref\.dealloc (%\S+)", line)
        if freed:
            live.pop(freed.group(1), None)
        if "ring.call @main_attention" in line:
            started = True
        most = max(most, sum(size for size, _ in live.values()))
        most_inside = max(most_inside, sum(size for size, inside in live.values() if inside))
        if depth and line.strip() == "}":
            depth -= 1
    assert started and sizes
    return most, most_inside


with open(FILE, "w") as file:
    file.write(MODEL.format(S=LENGTH, h=HIDDEN, w=WIDTH))
plain, _ = live_bytes(rank_function(0), 0)
blocks, inside = live_bytes(rank_function(BLOCK), BLOCK)
print(f"all at once {plain} bytes, in blocks {blocks}, of which {inside} are of a block")

# What is alive at once: the norm's result and two products, then three wide tensors.
widths = max(HIDDEN + 2 * WIDTH, 3 * WIDTH)
assert inside <= 4 * BLOCK * widths, (inside, 4 * BLOCK * widths)
assert blocks <= 4 * BLOCK * widths + 4 * LOCAL * HIDDEN, blocks
assert plain >= 4 * LOCAL * 3 * WIDTH, plain

# The numbers are the same.
line = ["ring-run", FILE, f"--ranks={RANKS}", "--layout=zigzag", "--random=3"]
subprocess.run(line + [f"--output=0={FILE}.plain.npy"], check=True, stdout=subprocess.DEVNULL)
for block in (1, BLOCK, 100, LOCAL + 7):
    line_of_block = line + [f"--blockwise-ffn={block}", f"--expect=0={FILE}.plain.npy", "--atol=1e-3", "--rtol=1e-4"]
    subprocess.run(line_of_block, check=True, stdout=subprocess.DEVNULL)
