"""Values where a mask, a window, a bias or a group of heads went wrong elsewhere.

One program holds all cases; it runs under every layout and with several numbers
of ranks. Cases with equal heads and head sizes share their kernels.
"""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program, configurations

program = Program()
expected = {}  # name: out, one number a query

CAUSAL = Mask(causal=True)


def case(name, queries, keys, out, mask):
    """All scores 0, V = 0, 1, 2, ...: a row is the mean of what it sees."""
    program.add(name, np.zeros(queries), np.ones(keys), np.arange(keys), mask)
    expected[name] = np.array(out, float)


case("K1 top_left", 2, 5, [0, 0.5], Mask(True, align="top_left"))
case("K1 bottom_right", 2, 5, [1.5, 2], Mask(True, align="bottom_right"))
case("K4", 6, 6, [0, 0.5, 1, 2, 3, 4], Mask(window=(2, 0)))
case("K9", 4, 4, [0, 0.5, 1, 1.5], Mask(True, (8, None)))
case("K9, both sides", 4, 4, [0, 0.5, 1, 1.5], Mask(True, (8, 8)))

normal = np.random.default_rng(5).standard_normal
program.add("K7", *(normal((13, 8)) for _ in range(3)), Mask(window=(0, 0)))

# K18: V of key/value head h is h; heads 0 and 1 read the first.
program.add(
    "K18",
    np.zeros((4, 6, 1)),
    np.ones((2, 6, 1)),
    np.broadcast_to(np.arange(2.0)[:, None, None], (2, 6, 1)),
)

long = [normal((257, 8)) for _ in range(3)]
for left in (256, 257):
    program.add(f"K3, window of {left}", *long, Mask(window=(left, 0)))
program.add("K3, causal", *long, CAUSAL)
# A row for each query, of more queries than a tile has.
program.add("bias", *long, CAUSAL, bias=normal((1, 1, 257, 257)))

for left in (32, 1):
    program.add(f"K6, {left}", *(x[:64] for x in long), Mask(window=(left, 0)))

# K24: only rows that see a value or a key that is not finite may be so themselves.
NOT_FINITE = {
    "K24, last V": CAUSAL,
    "K24, last K": CAUSAL,
    "K24, some V": Mask(window=(5, 2)),
}
for (name, mask), dtype in zip(NOT_FINITE.items(), ("f32", "f16", "bf16")):
    q, k, v = (normal((41, 8)) for _ in range(3))
    if name == "K24, some V":
        v[7], v[30, 0] = -np.inf, np.nan
    else:
        v[-1] = np.nan, np.inf, *[-np.inf] * 6
    if name == "K24, last K":
        k[-1] = np.nan
    program.add(name, q, k, v, mask, dtype=dtype)


def check_itself(where, got):
    """K7: O = V and LSE = s_ii."""
    case_ = program.cases["K7"]
    scores = np.einsum("bhid,bhid->bhi", case_.q, case_.k) / np.sqrt(8)
    assert np.array_equal(got.out, case_.v), where
    assert np.allclose(got.lse, scores, rtol=1e-6, atol=1e-6), where


def check_windows(where, results):
    """K3 within 2 ulp, K6 different."""
    causal = results["K3, causal"].out
    step = np.spacing(abs(causal).astype(np.float32))
    for left in (256, 257):
        difference = abs(results[f"K3, window of {left}"].out - causal)
        assert (difference <= 2 * step).all(), f"{where}: window of {left}"
    wide, narrow = (results[f"K6, {left}"].out[..., 2:, :] for left in (32, 1))
    assert not np.array_equal(wide, narrow), where


for ranks, layout in configurations():
    results, _ = program.run(ranks, layout)
    where = f"{ranks} ranks, {layout}"
    program.check(results, where)

    for name, out in expected.items():
        got = results[name].out.ravel()
        assert np.allclose(got, out, rtol=0, atol=1e-6), f"{where}: {name}: {got}"

    check_itself(where, results["K7"])
    check_windows(where, results)
    grouped = results["K18"].out[0, :, :, 0]
    assert np.array_equal(grouped, np.repeat([[0], [0], [1], [1]], 6, axis=1)), where

    for name in NOT_FINITE:
        finite = np.isfinite(program.cases[name].reference().out)
        got = np.isfinite(results[name].out)
        assert np.array_equal(got, finite), f"{where}: {name}"
        assert finite.any() and not finite.all()
