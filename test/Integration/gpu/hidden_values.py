"""Case K24 on virtual GPUs: a NaN or an infinity in V reaches the rows that see it, and
no other, though 0 * Inf is NaN in a matrix product."""
# RUN: %python %s ring-run %t

import subprocess
import sys
from pathlib import Path

import numpy as np

RING_RUN, OUT = sys.argv[1], Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)
S, D = 70, 32
# Key, column, value.
POISON = [(40, 3, np.nan), (41, 4, np.inf), (42, 5, -np.inf), (50, 6, np.inf), (51, 6, -np.inf), (69, 31, np.nan)]


def reference(q, k, v):
    """In float64; a poisoned value adds what it is to the rows that see its key."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    visible = np.tril(np.ones((S, S), bool))
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = weights @ np.where(np.isfinite(v), v, 0)
    with np.errstate(invalid="ignore"):
        for key, column, value in POISON:
            out[..., key:, column] += value
    return out


for kind, dtype, tolerance in ("f32", np.float32, 1e-5), ("f16", np.float16, 1e-2):
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 2, S, D)).astype(dtype) for _ in range(3))
    for key, column, value in POISON:
        v[..., key, column] = value
    for name, array in ("q", q), ("k", k), ("v", v):
        np.save(OUT / f"{name}.npy", array)
    tensor = f"tensor<1x2x{S}x{D}x{kind}>"
    program = OUT / f"{kind}.mlir"
    program.write_text(
        f"func.func @f(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{\n"
        f"  %o = ring.attention %q, %k, %v mask(<causal>) : ({tensor}, {tensor}, {tensor}) -> {tensor}\n"
        f"  return %o : {tensor}\n}}\n")
    expected = reference(*(x.astype(np.float64) for x in (q, k, v)))
    for ranks in 1, 3:
        inputs = [f"--input={n}={OUT / name}.npy" for n, name in enumerate("qkv")]
        subprocess.run([RING_RUN, program, "--device=vgpu", f"--ranks={ranks}", *inputs, f"--output=0={OUT / 'out.npy'}"],
                       check=True, stdout=subprocess.DEVNULL)
        out = np.load(OUT / "out.npy").astype(np.float64)
        same = np.isclose(out, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert same.all(), (kind, ranks, np.argwhere(~same)[:5], out[~same][:5], expected[~same][:5])
