"""NaN, infinities and the largest numbers on virtual GPUs. In V they reach the rows
that see their key and no other, though 0 * Inf is NaN in a matrix product (case K24);
in Q and K they make a score what float64 makes of it."""
# RUN: %python %s ring-run %t

import subprocess
import sys
from pathlib import Path

import numpy as np

RING_RUN, OUT = sys.argv[1], Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)
S, D = 70, 32
NAN, INF = np.nan, np.inf
# Key, column, value; of a column with two infinities the sum is NaN.
IN_VALUES = [(40, 3, NAN), (41, 4, INF), (42, 5, -INF), (50, 6, INF), (51, 6, -INF),
             (69, 31, NAN)]
# Row of Q or K, column, value.
IN_QUERIES = [(7, 2, INF), (20, 3, NAN), (33, 4, -INF)]
IN_KEYS = [(30, 5, INF), (44, 9, -INF), (60, 1, NAN)]
LARGEST = np.finfo(np.float32).max


def bfloat16(x):
    """The nearest bf16 numbers, as f32."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isfinite(x), rounded.view(np.float32), x)


def reference(q, k, v, causal):
    """In float64. A weight that is not 0 times what is not finite is the latter; a row
    of which a score is +Inf or NaN is NaN."""
    with np.errstate(invalid="ignore"):
        scores = np.einsum("bhqd,bhkd->bhqkd", q, k).sum(-1) / np.sqrt(D)
        visible = np.tril(np.ones((S, S), bool)) if causal else np.ones((S, S), bool)
        scores = np.where(visible, scores, -INF)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out = weights @ np.where(np.isfinite(v), v, 0)
        for key, column in np.argwhere(~np.isfinite(v[0, 0])):
            out[..., column] += np.where(weights[..., key] > 0, v[0, 0, key, column], 0)
    return out


def save(name, x, kind):
    """As a file that ring-run reads, and the values in it."""
    if kind == "bf16":
        x = bfloat16(x)
        bits = x.view(np.uint32) >> 16
        np.save(OUT / name, np.where(np.isnan(x), 0x7FC0, bits).astype(np.uint16))
    else:
        np.save(OUT / name, x)
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def check(what, kind, q, k, v, causal, tolerance):
    expected = reference(*(save(f"{n}.npy", x, kind) for n, x in zip("qkv", (q, k, v))),
                         causal)
    tensor = f"tensor<1x2x{S}x{D}x{kind}>"
    mask = "mask(<causal>) " if causal else ""
    program = OUT / f"{kind}.mlir"
    program.write_text(
        f"func.func @f(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{\n"
        f"  %o = ring.attention %q, %k, %v {mask}: ({tensor}, {tensor}, {tensor})"
        f" -> {tensor}\n  return %o : {tensor}\n}}\n")
    for ranks in 1, 3:
        inputs = [f"--input={n}={OUT / name}.npy" for n, name in enumerate("qkv")]
        subprocess.run([RING_RUN, program, "--device=vgpu", f"--ranks={ranks}", *inputs,
                        f"--output=0={OUT / 'out.npy'}"],
                       check=True, stdout=subprocess.DEVNULL)
        out = np.load(OUT / "out.npy")
        if kind == "bf16":
            out = (out.astype(np.uint32) << 16).view(np.float32)
        out = out.astype(np.float64)
        same = np.isclose(out, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert same.all(), (what, kind, causal, ranks, np.argwhere(~same)[:5],
                            out[~same][:5], expected[~same][:5])


def poisoned(x, places):
    x = x.copy()
    for row, column, value in places:
        x[..., row, column] = value
    return x


def main():
    for kind, dtype, tolerance, nan_bits in (
        ("f32", np.float32, 1e-5, np.uint32(0xFF800001)),
        ("f16", np.float16, 1e-2, np.uint16(0xFC01)),
        ("bf16", np.float32, 3e-2, None),
    ):
        rng = np.random.default_rng(5)
        q, k, v = (rng.standard_normal((1, 2, S, D)).astype(dtype) for _ in range(3))
        for causal in True, False:
            check("values", kind, q, k, poisoned(v, IN_VALUES), causal, tolerance)
            check("queries", kind, poisoned(q, IN_QUERIES), k, v, causal, tolerance)
            check("keys", kind, q, poisoned(k, IN_KEYS), v, causal, tolerance)
        if nan_bits is None:
            continue
        # A NaN whose payload a shorter type does not hold: not an infinity.
        quiet = nan_bits.view(dtype)
        check("NaN in values", kind, q, k, poisoned(v, [(9, 8, quiet)]), True, tolerance)
        check("NaN in keys", kind, q, poisoned(k, [(9, 8, quiet)]), v, True, tolerance)
    # The largest numbers are numbers, though they round to an infinity of fewer bits.
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    check("large values", "f32", q, k, poisoned(v, [(3, 2, LARGEST), (9, 7, -LARGEST)]),
          True, 1e-5)
    tiny = poisoned(q, [(row, 8, 1e-36) for row in range(S)])
    check("large keys", "f32", tiny, poisoned(k, [(3, 8, LARGEST), (9, 8, -LARGEST)]), v,
          True, 1e-5)
    # A product that overflows, and its low parts with another sign.
    huge, negative = q.copy(), k.copy()
    huge[..., 3] = 1.234567e30
    negative[..., 3] = 0
    negative[..., 10, 3] = -1.7654321e30
    check("overflow", "f32", huge, negative, v, False, 1e-5)


main()
