"""Values where a softmax or a merge of partial results went wrong elsewhere.

One program holds all cases; it runs under every layout and with several numbers
of ranks, with fresh memory full of NaN.
"""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program, configurations

program = Program()
expected = {}  # name: (out, lse), float64


def case(name, q, k, v, out, lse, **more):
    program.add(name, q, k, v, **more)
    expected[name] = out, lse


def heads(*rows):
    return np.array(rows, float)[None, :, :, None]


# A merge through log(1 + exp(b - a)) overflows past a gap of 88.7.
case(
    "gap of 100 and of 1e4 between ranks, either first",
    np.ones((1, 4, 2, 1)),
    heads([0, 100], [100, 0], [0, 1e4], [1e4, 0]),
    heads([1, 3], [3, 1], [1, 3], [3, 1]),
    np.full((1, 4, 2, 1), 3.0),
    np.array([100, 100, 1e4, 1e4])[None, :, None],
    scale=1.0,
)
# Query i is at position 14 + i: ranks that own neither key merge nothing first.
values = np.arange(16.0)
values[13:] = 1, 3, 1
case(
    "first blocks masked, then scores of -200",
    [1, 1],
    np.full(16, -200.0),
    values,
    2.0,
    -199.30685282,
    mask=Mask(window=(1, 0), align="bottom_right"),
    scale=1.0,
)
case(
    "rows that see nothing",
    np.zeros(5),
    [3, -4],
    [10, 20],
    np.array([0, 0, 0, 10, 15.0])[:, None],
    [-np.inf, -np.inf, -np.inf, 0, 0.69314718],
    mask=Mask(True, align="bottom_right"),
    scale=1.0,
)
case(
    "rows that see nothing, sinks of -inf and 0",
    np.zeros((2, 3, 1)),
    np.ones((2, 1, 1)),
    np.full((2, 1, 1), 8.0),
    heads([0, 0, 8], [0, 0, 4]),
    np.array([[-np.inf, -np.inf, 0], [0, 0, 0.69314718]])[None],
    mask=Mask(True, align="bottom_right"),
    scale=1.0,
    sinks=np.array([-np.inf, 0]),
)
# Heads 0 and 1 read the values of the first key/value head, 2 and 3 the second's.
case(
    "rows that see nothing give the mean of their head",
    np.zeros((4, 3, 1)),
    np.ones((2, 2, 1)),
    np.array([[1, 3], [10, 30]])[:, :, None],
    heads([2, 1, 2], [2, 1, 2], [20, 10, 20], [20, 10, 20]),
    np.array([[-np.inf, 0, 0.69314718]] * 4)[None],
    mask=Mask(True, align="bottom_right"),
    scale=1.0,
    empty_rows="uniform",
)
# A base-2 LSE taken for a natural one gives 4.32 or 2.0.
case("one key against three", [0.0], np.ones(4), [5, 5, 5, 1], 4.0, 1.38629436, scale=1.0)
case(
    "f16 whose dot is beyond its range",
    np.full((2, 64), 32.0),
    np.full((2, 64), 32.0),
    [1, 3],
    2.0,
    8192.69314718,
    dtype="f16",
)
# log2 e multiplied in before the maximum is subtracted makes inf of -1e30.
case(
    "every score -1e30", np.ones(3), np.full(3, -1e30), [1, 2, 6], 3.0, -1e30, scale=1.0
)
# P kept in f16 without a scale is 0.
case(
    "f16 weights of 5.6e-9",
    np.ones(3),
    np.r_[19.0, np.zeros(4096)],
    np.r_[0.0, np.ones(4096)],
    2.2949e-05,
    19.000022949,
    scale=1.0,
    dtype="f16",
)

# No values of their own: compared with float64.
normal = np.random.default_rng(3).standard_normal
random_cases = {
    "first tiles masked": ((1, 14, 88, 16), (1, 2, 448, 16), Mask(True, align="top_left")),
    "tail of 9": ((1, 1, 9, 8), (1, 1, 9, 8), Mask()),
    "tail of 12": ((1, 1, 12, 8), (1, 1, 12, 8), Mask(True)),
    "tails of 1001 x 503": ((1, 1, 1001, 8), (1, 1, 503, 8), Mask(True, align="bottom_right")),
}
for name, (queries, keys, mask) in random_cases.items():
    program.add(name, normal(queries), normal(keys), normal(keys), mask)

# striped:3 gives three of four keys to one rank.
for ranks, layout in [*configurations(), (2, "striped:3")]:
    results, _ = program.run(ranks, layout, env={"RING_POISON": "1"})
    where = f"{ranks} ranks, {layout}"
    program.check(results, where)
    for name, (out, lse) in expected.items():
        got = results[name]
        near = dict(rtol=1e-6, atol=1e-6)
        if program.cases[name].dtype == "f16":
            near = dict(rtol=0, atol=2.0**-24)  # one step where it is finest
        assert np.allclose(got.out, out, **near), f"{where}: {name}: {got.out}"
        assert np.allclose(got.lse, lse, rtol=1e-6, atol=1e-6), f"{where}: {name}: {got.lse}"
