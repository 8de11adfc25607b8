"""Values where a mask, a window, a bias or a group of heads went wrong elsewhere.

One program holds all cases; it runs under every layout and with several numbers
of ranks.
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


case("causal top_left", 2, 5, [0, 0.5], Mask(True, align="top_left"))
case("causal bottom_right", 2, 5, [1.5, 2], Mask(True, align="bottom_right"))
case("window (2, 0)", 6, 6, [0, 0.5, 1, 2, 3, 4], Mask(window=(2, 0)))
case("window longer than the sequence", 4, 4, [0, 0.5, 1, 1.5], Mask(True, (8, None)))

normal = np.random.default_rng(5).standard_normal
small = [normal((2, 13, 4)) for _ in range(3)]
program.add("only itself", *small, Mask(window=(0, 0)))

# V of key/value head h is h; heads 0 and 1 read the first.
program.add(
    "grouped heads",
    np.zeros((4, 6, 1)),
    np.ones((2, 6, 1)),
    np.broadcast_to(np.arange(2.0)[:, None, None], (2, 6, 1)),
)

long = [normal((257, 8)) for _ in range(3)]
for left in (256, 257):
    program.add(f"window of {left}", *long, Mask(window=(left, 0)))
program.add("causal", *long, CAUSAL)
# A row for each query, of more queries than a tile has.
program.add("bias", *long, CAUSAL, bias=normal((1, 1, 257, 257)))

for left in (32, 1):
    program.add(f"window {left} of 64", *(x[:64] for x in long), Mask(window=(left, 0)))

# Only rows that see a value or a key that is not finite may be so themselves.
q, k, v = (normal((2, 41, 8)) for _ in range(3))
last, some, key = v.copy(), v.copy(), k.copy()
last[0, -1], last[1, -1, 3] = np.nan, np.inf
some[0, 7], some[1, 30, 0] = -np.inf, np.nan
key[:, -1] = np.nan
program.add("last V not finite", q, k, last, CAUSAL)
program.add("V not finite, windowed", q, k, some, Mask(window=(5, 2)), dtype="bf16")
program.add("last K not finite", q, key, last, CAUSAL, dtype="f16")

for ranks, layout in configurations():
    results, _ = program.run(ranks, layout)
    where = f"{ranks} ranks, {layout}"
    program.check(results, where)

    for name, out in expected.items():
        got = results[name].out.ravel()
        assert np.allclose(got, out, rtol=0, atol=1e-6), f"{where}: {name}: {got}"

    itself = results["only itself"]
    case_of = program.cases["only itself"]
    scores = np.einsum("bhid,bhid->bhi", case_of.q, case_of.k) / 2
    assert np.array_equal(itself.out, case_of.v), where
    assert np.allclose(itself.lse, scores, rtol=1e-6, atol=1e-6), where

    grouped = results["grouped heads"].out[0, :, :, 0]
    assert np.array_equal(grouped, np.repeat([[0], [0], [1], [1]], 6, axis=1)), where

    causal = results["causal"].out
    step = np.spacing(abs(causal).astype(np.float32))
    for left in (256, 257):
        difference = abs(results[f"window of {left}"].out - causal)
        assert (difference <= 2 * step).all(), f"{where}: window of {left}"
    assert not np.array_equal(
        results["window 32 of 64"].out[..., 2:, :], results["window 1 of 64"].out[..., 2:, :]
    )

    for name in ("last V not finite", "V not finite, windowed", "last K not finite"):
        finite = np.isfinite(program.cases[name].reference().out)
        assert np.array_equal(np.isfinite(results[name].out), finite), f"{where}: {name}"
