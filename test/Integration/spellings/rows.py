"""Masks of positions that are more than bounds of their difference: chunks, prefixes,
conditions joined by or. Whatever leaves each query one interval that a mask has words
for becomes that mask; what is close stays a tensor."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

SCALE = "scale(2.500000e-01)"
DATA = f"{SCALE} empty_rows(nan)"
DOCUMENTS = f"segments(%, %) {DATA}"


def masked(p, seen, fill=-inf):
    """Attention of which `seen` gives the visible pairs."""
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    return p.attend(p.select(seen, s, fill), v)


def positions(p):
    return p.index("q"), p.index("k")


def floor_div(p, x, by):
    """As torch.div(rounding_mode="floor") of integers is exported."""
    x = p.map("arith.sitofp", lambda x: x, x, result="f64", cast=True)
    x = p.map("math.floor", np.floor, x / by)
    return p.map("arith.fptosi", lambda x: x, x, result="i64", cast=True)


@raised(f"mask(<chunk = 3>) {SCALE}", op="divsi")
@raised(f"mask(<chunk = 3>) {SCALE}", op="divui")
@raised(f"mask(<chunk = 3>) {SCALE}", op="floordivsi")
def chunk(p, op):
    i, j = (p.map(f"arith.{op}", np.floor_divide, x, 3) for x in positions(p))
    return masked(p, i.compare("eq", j))


@raised(f"mask(<chunk = 3>) {SCALE}", by=3.0)
@raised(DOCUMENTS, by=2.5)
def chunk_by_floats(p, by):
    """Chunks of 3, 2, 3 keys are no chunks of one size, but documents."""
    i, j = (floor_div(p, x, by) for x in positions(p))
    return masked(p, i.compare("eq", j))


@raised(f"mask(<causal, chunk = 3>) {SCALE}", size=3)
@raised(f"mask(<causal, chunk = 5>) {SCALE}", size=5)
@raised(f"mask(<causal>) {SCALE}", size=8)
def chunk_and_causal(p, size):
    """Llama 4. One chunk of everything is none."""
    i, j = positions(p)
    a, b = (p.map("arith.divsi", np.floor_divide, x, size) for x in (i, j))
    return masked(p, a.compare("eq", b) & (j <= i))


@raised(f"mask(<causal, window = [1, 0], chunk = 4>) {SCALE}")
def chunk_and_window(p):
    i, j = positions(p)
    a, b = (p.map("arith.divsi", np.floor_divide, x, 4) for x in (i, j))
    return masked(p, a.compare("eq", b) & (j <= i) & (i - j < 2))


@raised(f"mask(<chunk = 4, align = top_left>) {SCALE} empty_rows(nan)", shift=0)
@raised(f"mask(<chunk = 4, align = bottom_right>) {SCALE}", shift=-5)
@raised(DOCUMENTS, shift=1)
def chunk_of_a_rectangle(p, shift):
    """12 queries at 8 keys, the last at the end or the first at the beginning."""
    p.sizes["q"] = 12 if shift >= 0 else 3
    i, j = positions(p)
    a, b = (p.map("arith.divsi", np.floor_divide, x, 4) for x in (i - shift + 8, j + 8))
    return masked(p, a.compare("eq", b))


@raised(f"mask(<causal, prefix = 3>) {SCALE}")
def prefix(p):
    """PaliGemma: the prompt sees itself all through."""
    i, j = positions(p)
    return masked(p, (j <= i) | (j < 3))


@raised(f"mask(<causal, prefix = 3>) {SCALE}")
def prefix_hidden(p):
    i, j = positions(p)
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    return p.attend(p.select((j > i) & (j >= 3), -inf, s), v)


@raised(f"mask(<causal, prefix = 3>) {SCALE}")
def prefix_selected(p):
    i, j = positions(p)
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    yes = p.filled("qk", True, "i1")
    return p.attend(s + p.select(p.select(j < 3, yes, j <= i), 0.0, -inf), v)


@raised(f"mask(<causal, window = [4, *], prefix = 3>) {SCALE}")
def prefix_and_window(p):
    i, j = positions(p)
    return masked(p, ((j <= i) | (j < 3)) & (i - j <= 4))


@raised(f"mask(<causal>) {DATA}")
def prefix_beside_a_window(p):
    """Attention sinks: a query sees two intervals, so this part stays data."""
    i, j = positions(p)
    return masked(p, (j <= i) & ((i - j < 3) | (j < 1)))


@raised(f"mask(<window = [2, 1]>) {SCALE}", both=True)
@raised(f"mask(<causal, window = [2, 0]>) {SCALE}", both=False)
def window(p, both):
    """The subtraction on the side of one position, or of both."""
    i, j = positions(p)
    return masked(p, (j > i - 3) & (j < i + 2) if both else (i - j < 3) & (j <= i))


@raised(SCALE)
def all_seen(p):
    i, j = positions(p)
    return masked(p, (j <= i) | (j > i))


@raised(DATA)
def two_intervals(p):
    """All but itself."""
    i, j = positions(p)
    return masked(p, i.compare("ne", j))


@raised(f"mask(<causal>) {SCALE}")
def not_the_last(p):
    """A comparison with ne that leaves one interval."""
    i, j = positions(p)
    return masked(p, (j <= i) & p.map("arith.xori", np.logical_xor, i.compare("eq", j - 8), True))


@raised(f"lengths(%) {DATA}")
def keys_before(p):
    """Of every query, the same: no mask has a word for it, but a length is it."""
    i, j = positions(p)
    return masked(p, (j < 5) & (i >= 0))


@raised(f"mask(<chunk = 2>) {SCALE}", ids=[0, 0, 1, 1, 2, 2, 3, 3])
@raised(f"mask(<chunk = 2>) {SCALE}", ids=[9, 9, 7, 7, 4, 4, -3, -3])
@raised(f"mask(<chunk = 5>) {SCALE}", ids=[4, 4, 4, 4, 4, 5, 5, 5])
@raised(DOCUMENTS, ids=[0, 0, 1, 1, 2, 2, 0, 0])
@raised(DOCUMENTS, ids=[0, 0, 1, 1, 1, 2, 2, 2])
@raised(SCALE, ids=[6, 6, 6, 6, 6, 6, 6, 6])
def documents(p, ids):
    """Constant ids of documents. Only those of one length are chunks."""
    i, j = p.dense("q", np.array(ids), "i64"), p.dense("k", np.array(ids), "i64")
    return masked(p, i.compare("eq", j))


main()
