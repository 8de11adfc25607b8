"""--check knows what a `score` region does, whatever it captures; so does the
program."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import report, ring_run

os.chdir(sys.argv[1])
B, H, S, D = 2, 2, 12, 4
T = f"tensor<{B}x{H}x{S}x{D}xf32>"
HEADER = f"""func.func @f(%x: {T}, %slopes: tensor<{H}xf32>, %gain: tensor<f32>, %far: tensor<i64>, %odd: tensor<{S}xi1>) -> {T} {{
  %g = tensor.extract %gain[] : tensor<f32>
  %f64 = tensor.extract %far[] : tensor<i64>
  %f = arith.index_cast %f64 : i64 to index
  %low = arith.constant -1.0e4 : f32
  %table = arith.constant dense<[0.0, 1.0, -2.0]> : tensor<3xf32>
  %c3 = arith.constant 3 : index
  %o = ring.attention %x, %x, %x mask(<causal>) score {{
  ^bb0(%s: f32, %batch: index, %head: index, %qi: index, %ki: index):
"""
FOOTER = f"""  }} : ({T}, {T}, {T}) -> {T}
  return %o : {T}
}}
"""
# A tensor by the head, a scalar, an index, a tensor of booleans by the key and a
# constant one by the query.
BODY = f"""    %slope = tensor.extract %slopes[%head] : tensor<{H}xf32>
    %d = index.sub %qi, %ki
    %d32 = arith.index_cast %d : index to i32
    %df = arith.sitofp %d32 : i32 to f32
    %y = math.fma %slope, %df, %s : f32
    %z = arith.mulf %y, %g : f32
    %near = index.cmp slt(%d, %f)
    %odd1 = tensor.extract %odd[%ki] : tensor<{S}xi1>
    %m = index.remu %qi, %c3
    %t = tensor.extract %table[%m] : tensor<3xf32>
    %w = arith.select %odd1, %t, %z : f32
    %r = arith.select %near, %w, %low : f32
    ring.yield %r : f32
"""
open("program.mlir", "w").write(HEADER + BODY + FOOTER)

rng = np.random.default_rng(3)
x = rng.standard_normal((B, H, S, D)).astype(np.float32)
slopes = np.array([0.5, -0.25], np.float32)
gain, far, odd = np.float32(1.5), np.int64(6), np.arange(S) % 4 == 1
inputs = []
for index, array in enumerate((x, slopes, gain, far, odd)):
    np.save(f"in{index}.npy", array)
    inputs.append(f"--input={index}=in{index}.npy")


def expected():
    """In float64, from the text above."""
    i, j = np.arange(S)[:, None], np.arange(S)[None, :]
    dots = x.astype(float) @ x.astype(float).swapaxes(-1, -2) / np.sqrt(D)
    score = (dots + slopes[:, None, None].astype(float) * (i - j)) * float(gain)
    score = np.where(odd[j], np.array([0.0, 1.0, -2.0])[i % 3], score)
    score = np.where(i - j < far, score, -1e4)
    score = np.where(j <= i, score, -np.inf)
    weights = np.exp(score - score.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ x.astype(float)


flags = [*inputs, "--ranks=3", "--layout=striped:2", "--output=0=out.npy"]
got = report("program.mlir", *flags, "--check")
assert got["ok"] and 0 < got["max_error"][0]["out"] <= 1, got
assert np.allclose(np.load("out.npy"), expected(), rtol=1e-4, atol=1e-5)

# Two attentions whose regions differ are checked each by its own.
second = BODY.replace("arith.mulf %y, %g", "arith.subf %y, %g")
text = (HEADER + BODY + FOOTER).replace(f"  return %o : {T}\n}}\n", "")
other = (HEADER + second + FOOTER).split("  %c3 = arith.constant 3 : index\n")[1]
open("two.mlir", "w").write(text + other.replace("%o = ring.attention %x,", "%p = ring.attention %o,").replace("return %o", "return %p"))
got = report("two.mlir", *inputs, "--ranks=2", "--check")
assert got["ok"] and got["attentions"] == 2 and len(got["max_error"]) == 2, got

# A constant table within the region.
inner = BODY.replace("    %t = tensor.extract %table", """    %here = arith.constant dense<[0.0, 1.0, -2.0]> : tensor<3xf32>
    %t = tensor.extract %here""")
open("inner.mlir", "w").write(HEADER + inner + FOOTER)
got = report("inner.mlir", *inputs, "--ranks=2", "--check", "--layout=striped:2")
assert got["ok"], got

# A program whose numbers are wrong is found out: a transfer brings the wrong
# block.
os.environ["RING_FAULT"] = "swap:rank=0,transfer=1"
_, stderr = ring_run("program.mlir", *inputs, "--ranks=3", "--layout=zigzag", "--check", code=1)
assert "attention 0: " in stderr, stderr
del os.environ["RING_FAULT"]
