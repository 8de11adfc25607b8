"""Lengths and ids of documents, which are data: clauses of their own, by which blocks
are left out, for all numbers that there are."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, raised

SCALE = "scale(2.500000e-01)"
CAUSAL = f"mask(<causal>) {SCALE}"
LENGTHS, SEGMENTS = "lengths(%)", "segments(%, %)"
HUGE = 2**62


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


def causal(p):
    return p.index("q") >= p.index("k")


def bounds(p, numbers, element="i64"):
    return p.input("b", element, np.array(numbers))


# Lengths


@raised(f"{LENGTHS} {CAUSAL} empty_rows(nan)", numbers=(3, 6))
@raised(f"{LENGTHS} {CAUSAL} empty_rows(nan)", numbers=(0, HUGE))
@raised(f"{LENGTHS} {CAUSAL} empty_rows(nan)", numbers=(-HUGE, 8))
def added(p, numbers):
    s, v = scores(p)
    seen = causal(p) & (p.index("k") < bounds(p, numbers))
    return p.attend(s + p.select(seen, 0.0, -inf), v)


@raised(f"{LENGTHS} {SCALE} empty_rows(nan)", element="i64", numbers=(3, 2**63 - 1))
@raised(f"{LENGTHS} {SCALE} empty_rows(nan)", element="i32", numbers=(-1, 2**31 - 1))
def up_to(p, element, numbers):
    """The last key is given, and one after it does not exist."""
    s, v = scores(p)
    return p.attend(p.select(bounds(p, numbers, element) >= p.index("k", element), s, -inf), v)


@raised(f"{LENGTHS} {SCALE} empty_rows(nan)")
def hidden_from(p):
    s, v = scores(p)
    return p.attend(p.select(p.index("k") >= bounds(p, (2, 7)), -inf, s), v)


@raised(f"bias(%) {LENGTHS} {CAUSAL} empty_rows(nan)")
def beside_other_data(p):
    s, v = scores(p)
    flags = p.input("bk", "i1", np.array([[1, 0] * 4, [1, 1, 0, 1] * 2], bool))
    seen = causal(p) & flags & (p.index("k") < bounds(p, (3, 6)))
    return p.attend(s + p.select(seen, 0.0, -inf), v)


@raised(f"{LENGTHS} {SCALE} empty_rows(nan)", first=True)
@raised(f"{LENGTHS} {SCALE} empty_rows(nan)", first=False)
def chosen_beside_other_data(p, first):
    """What is left stays a look-up, whichever was the first."""
    s, v = scores(p)
    flags = p.input("bk", "i1", np.array([[1, 0] * 4, [1, 1, 0, 1] * 2], bool))
    short = p.index("k") < bounds(p, (3, 6))
    return p.attend(p.select(short & flags if first else flags & short, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def left_padding(p):
    """Keys from a number on: no length."""
    s, v = scores(p)
    return p.attend(p.select(p.index("k") >= bounds(p, (2, 5)), s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def of_each_query(p):
    """As many keys as the query says."""
    s, v = scores(p)
    limits = p.input("bq", "i64", p.random.integers(0, 9, (2, 8)))
    return p.attend(p.select(p.index("k") < limits, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def of_each_head(p):
    s, v = scores(p)
    limits = p.input("bh", "i64", p.random.integers(1, 9, (2, 4)))
    return p.attend(p.select(p.index("k") < limits, s, -inf), v)


# Documents

SORTED = [[0, 0, 0, 1, 1, 2, 2, 2], [5, 5, 5, 5, 9, 9, 9, 9]]
MIXED = [[3, -1, 3, -1, 7, 7, -8, 3], [0, 1, 2, 0, 1, 2, 0, 1]]
LARGE = [[HUGE, HUGE, -HUGE, -HUGE, HUGE + 2**32, 0, 0, 2**32], [-1] * 8]


@raised(f"{SEGMENTS} {CAUSAL} empty_rows(nan)", ids=SORTED, element="i64")
@raised(f"{SEGMENTS} {CAUSAL} empty_rows(nan)", ids=MIXED, element="i32")
@raised(f"{SEGMENTS} {CAUSAL} empty_rows(nan)", ids=LARGE, element="i64")
def documents(p, ids, element):
    """Of keys and queries, ids that are equal; -1 is one as any other."""
    s, v = scores(p)
    of_query = p.input("bq", element, np.array(ids))
    of_key = p.input("bk", element, np.array(ids))
    seen = of_query.compare("eq", of_key) & causal(p)
    return p.attend(s + p.select(seen, 0.0, -inf), v)


@raised(f"{SEGMENTS} {SCALE} empty_rows(nan)")
def hidden_where_unequal(p):
    s, v = scores(p)
    of_query = p.input("bq", "i64", np.array(MIXED))
    of_key = p.input("bk", "i64", np.array(SORTED))
    return p.attend(p.select(of_key.compare("ne", of_query), -inf, s), v)


@raised(f"{SEGMENTS} {LENGTHS} {CAUSAL} empty_rows(nan)")
def documents_and_lengths(p):
    s, v = scores(p)
    of_query = p.input("bq", "i64", np.array(SORTED))
    of_key = p.input("bk", "i64", np.array(SORTED))
    seen = of_query.compare("eq", of_key) & causal(p) & (p.index("k") < bounds(p, (7, 6)))
    return p.attend(p.select(seen, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def before_another_document(p):
    """Another comparison is none of documents."""
    s, v = scores(p)
    of_query = p.input("bq", "i64", np.array(SORTED))
    of_key = p.input("bk", "i64", np.array(SORTED))
    return p.attend(p.select(of_key <= of_query, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def by_a_low_number(p):
    """A row that sees nothing is the mean of all values."""
    s, v = scores(p)
    of_query = p.input("bq", "i64", np.array(MIXED))
    of_key = p.input("bk", "i64", np.array(SORTED))
    return p.attend(p.select(of_query.compare("eq", of_key), s, -3e38), v)


main()
