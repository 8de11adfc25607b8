"""Values where a softmax or a merge of partial results went wrong elsewhere.

One program holds all cases; it runs under every layout and with several numbers
of ranks, with fresh memory full of NaN. Where cases have heads, head sizes and
scale in common they share the kernels, which take most of the time.
"""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program, configurations

program = Program()
halves = Program()  # of 16-bit types
expected = {}  # name: (out, lse), float64


def case(name, q, k, v, out, lse, dtype="f32", **more):
    (program if dtype == "f32" else halves).add(name, q, k, v, dtype=dtype, **more)
    expected[name] = out, lse


def heads(*rows):
    """[1, heads, queries, 1]"""
    return np.array(rows, float)[None, :, :, None]


# M1. A merge through log(1 + exp(b - a)) overflows past a gap of 88.7.
for first, second in (0, 100), (100, 0), (0, 1e4), (1e4, 0):
    case(
        f"keys of {first} and then {second}",
        [1, 1],
        [first, second],
        [1, 3] if second else [3, 1],
        3.0,
        max(first, second),
        scale=1.0,
    )
# M3. Query i is at position 14 + i: ranks that own neither key merge nothing first.
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
    "M6: rows that see nothing",
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
# M7. A base-2 LSE taken for a natural one gives 4.32 or 2.0.
case(
    "one key against three",
    [0.0],
    np.ones(4),
    [5, 5, 5, 1],
    4.0,
    1.38629436,
    scale=1.0,
)
# M17. log2 e multiplied in before the maximum is subtracted makes inf of -1e30.
case(
    "every score -1e30",
    np.ones(3),
    np.full(3, -1e30),
    [1, 2, 6],
    3.0,
    -1e30,
    scale=1.0,
)

# M16. The key of score -10 is masked in three ways. A mask before the softcap would
# give an LSE of 1.4248. The query stands at position 1.
MASKED = {
    "by the mask": dict(mask=Mask(window=(None, 0)), offsets=[1]),
    "by its length": dict(lengths=[2]),
    "by its id": dict(query_segments=[[5]], key_segments=[[5, 5, -1]]),
}
for way, clauses in MASKED.items():
    for softcap, out, lse in (1.0, 1.268941, 1.313262), (30.0, 1.000065, 9.645447):
        case(
            f"softcap {softcap}, a key masked {way}",
            [10.0],
            [1, 0, -1],
            [1, 2, 3],
            out,
            lse,
            scale=1.0,
            softcap=softcap,
            **clauses,
        )

# M20. An approximate tanh is off by 1e-2 in the score, and so in the LSE.
scores = np.linspace(-0.1, 0.1, 41)
capped = np.exp(30 * np.tanh(scores / 30))
case(
    "softcap 30, scores below 0.1",
    [1.0],
    scores,
    np.arange(41.0),
    (capped * np.arange(41)).sum() / capped.sum(),
    np.log(capped.sum()),
    scale=1.0,
    softcap=30.0,
)


# M18. What frameworks add to mask: on the last third of the keys, whose weights are
# 0 then, and on all keys of a row, which is a row as any other. One batch entry for
# each.
FILLS = -1e4, -1e9, -2.38e38, -3.4028234e38
bias = np.zeros((8, 1, 1, 9))
for n, fill in enumerate(FILLS):
    bias[2 * n, ..., 6:] = bias[2 * n + 1] = fill
for dtype in "f32", "bf16":
    case(
        f"fills of a bias, {dtype}",
        np.zeros((8, 1, 1, 1)),
        np.ones((8, 1, 9, 1)),
        np.tile(np.arange(1.0, 10)[:, None], (8, 1, 1, 1)),
        np.tile([3.5, 5.0], 4)[:, None, None, None],
        np.ravel([(np.log(6), fill + np.log(9)) for fill in FILLS])[:, None, None],
        scale=1.0,
        bias=bias,
        dtype=dtype,
    )

case(
    "M11: f16 whose dot is beyond its range",
    np.full((2, 64), 32.0),
    np.full((2, 64), 32.0),
    [1, 3],
    2.0,
    8192.6931,
    dtype="f16",
)
# M19. P kept in f16 without a scale is 0.
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

# No values of their own: compared with float64. M3 and M9 (tails).
normal = np.random.default_rng(3).standard_normal
random_cases = {
    "first tiles masked": (
        (1, 14, 88, 16),
        (1, 2, 448, 16),
        Mask(True, align="top_left"),
    ),
    "tail of 9": ((1, 1, 9, 8), (1, 1, 9, 8), Mask()),
    "tail of 12": ((1, 1, 12, 8), (1, 1, 12, 8), Mask(True)),
    "tails of 1001 x 503": (
        (1, 1, 1001, 8),
        (1, 1, 503, 8),
        Mask(True, align="bottom_right"),
    ),
}
for name, (queries, keys, mask) in random_cases.items():
    program.add(name, normal(queries), normal(keys), normal(keys), mask)


def check(program, ranks, layout):
    """Against float64, and the values of the cases that have some."""
    results, _ = program.run(ranks, layout, env={"RING_POISON": "1"})
    where = f"{ranks} ranks, {layout}"
    program.check(results, where)
    for name, got in results.items():
        if name not in expected:
            continue
        out, lse = expected[name]
        near = dict(rtol=1e-6, atol=1e-6)
        if program.cases[name].dtype == "f16":
            near = dict(rtol=0, atol=2.0**-24)  # one step where it is finest
        assert np.allclose(got.out, out, **near), f"{where}: {name}: {got.out}"
        close = np.allclose(got.lse, lse, rtol=1e-6, atol=1e-6)
        assert close, f"{where}: {name}: {got.lse}"


for ranks, layout in configurations():
    check(program, ranks, layout)
# Three of four keys on one rank.
uneven = "one key against three"
check(Program({uneven: program.cases[uneven]}), 2, "striped:3")
some = configurations() if "RING_TEST_ALL" in os.environ else []
for ranks, layout in some or [(2, "contiguous"), (3, "balanced")]:
    check(halves, ranks, layout)
