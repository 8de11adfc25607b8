"""K22: every pair of clauses, and each alone, in every layout, against float64.

Nothing may be refused: exit code 0 is part of what is tested, and so is --check. By
default the pairs that need a kernel of their own are dealt to the layouts, and each
layout has one type and one number of ranks; RING_TEST_ALL runs all in all.
"""
# RUN: %python %s

import itertools
import os
import sys
from dataclasses import replace

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case
from ring_attention import LAYOUTS, Program
from score_regions import ALIBI

BATCH, HEADS, KV_HEADS, LENGTH, DEPTH = 3, 4, 2, 37, 8


def masked(**parts):
    return lambda case, rng: {"mask": replace(case.mask, **parts)}


def documents(case, rng):
    """Three a batch entry, the last one with padding behind it."""
    ids = np.sort(rng.integers(0, 3, (BATCH, LENGTH)))
    ids[:, 31:] = -1
    return {"query_segments": ids, "key_segments": ids}


def bias(case, rng):
    return {"bias": rng.standard_normal((BATCH, HEADS, LENGTH, LENGTH))}


CLAUSES = {
    "causal": masked(causal=True),
    "window": masked(window=(9, 3)),
    "chunk": masked(chunk=12),
    "prefix": masked(causal=True, prefix=7),
    "documents": documents,
    # The last batch entry sees nothing, the first everything.
    "lengths": lambda case, rng: {"lengths": np.array([LENGTH, 20, 0])},
    "offsets": lambda case, rng: {"offsets": np.array([0, 11, -20])},
    "sinks": lambda case, rng: {"sinks": rng.standard_normal(HEADS)},
    "softcap": lambda case, rng: {"softcap": 2.0},
    "bias": bias,
    "score": lambda case, rng: {"score": ALIBI},
    "empty_rows(uniform)": lambda case, rng: {"empty_rows": "uniform"},
    "empty_rows(nan)": lambda case, rng: {"empty_rows": "nan"},
}
# These change the kernel; the others only what a round computes.
OF_KERNEL = "softcap", "bias", "score"
IMPOSSIBLE = {("empty_rows(uniform)", "empty_rows(nan)")}


def attention(names, dtype, rng):
    draw = lambda heads: rng.standard_normal((BATCH, heads, LENGTH, DEPTH))
    case = Case(draw(HEADS), draw(KV_HEADS), draw(KV_HEADS), dtype=dtype)
    for name in names:
        case = case.replace(**CLAUSES[name](case, rng))
    if "offsets" in names and not case.mask.positional:
        case = case.replace(mask=replace(case.mask, causal=True))
    # Queries that see nothing, and keys that nobody sees, hold NaN.
    seen = case.visible()
    for n in range(BATCH):
        case.q[n][:, ~seen[n].any(axis=1)] = np.nan
        case.k[n][:, ~seen[n].any(axis=0)] = np.nan
        if case.empty_rows != "uniform":
            case.v[n][:, ~seen[n].any(axis=0)] = np.nan
    return case


def choices():
    """Tuples of one clause or two."""
    singles = [(name,) for name in CLAUSES]
    pairs = itertools.combinations(CLAUSES, 2)
    return singles + [pair for pair in pairs if pair not in IMPOSSIBLE]


def program(chosen, dtype):
    rng = np.random.default_rng(22)
    result = Program()
    for names in chosen:
        result.cases[" and ".join(names)] = attention(names, dtype, rng)
    return result


def run(chosen, dtype, ranks, layout):
    made = program(chosen, dtype)
    where = f"{dtype}, {ranks} ranks, {layout}"
    results, report = made.run(ranks, layout, flags=["--check"])
    made.check(results, where)
    assert report["attentions"] == len(chosen), report
    print(f"{where}: {len(chosen)} attentions", flush=True)


def everything():
    for layout, dtype in itertools.product(LAYOUTS, ("f32", "bf16", "f16")):
        for ranks in 1, 2, 3, 4, 8:
            run(choices(), dtype, ranks, layout)


def some():
    """Each pair in one layout; those that share a kernel in the same one."""
    kernels = {name: [] for name in OF_KERNEL}
    others = []
    for names in choices():
        group = next((kernels[n] for n in OF_KERNEL if n in names), others)
        group.append(names)
    types, ranks = ("f32", "bf16", "f16", "f32"), (3, 4, 2, 8)
    groups = [*kernels.values(), []]
    for n, (layout, group) in enumerate(zip(LAYOUTS, groups)):
        run(group + others[n::4], types[n], ranks[n], layout)


everything() if "RING_TEST_ALL" in os.environ else some()
