"""Masks of data that depend on the key alone, by themselves and joined with masks of
positions: nothing of queries x keys is left, and rows that see nothing are the same."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import Tensor, inf, main, missed, raised

SCALE = "scale(2.500000e-01)"
CAUSAL = f"mask(<causal>) {SCALE}"


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


def padding(p, element="i1"):
    """Of the first entry, the first keys are hidden: rows that are causal, too, see
    nothing."""
    keys = np.ones((2, 8), bool)
    keys[0, :2] = keys[0, 6:] = keys[1, 5:] = False
    return p.input("bk", element, keys)


def causal(p):
    return p.index("q") >= p.index("k")


def gathered(p, mask):
    """mask[b, k] as PyTorch indexes: tensor.extract at positions that are tested for
    being negative."""
    name, (init, type) = p.fresh(), p.empty("bk", mask.element)
    p.write(f"{name} = linalg.generic {{indexing_maps = [affine_map<(b, k) -> (b, k)>],")
    p.write(f'    iterator_types = ["parallel", "parallel"]}} outs({init} : {type}) {{')
    p.write(f"^bb0(%acc: {mask.element}):")
    p.write("  %zero = arith.constant 0 : i64")
    for name_of, dim in (("b", 0), ("k", 1)):
        p.write(f"  %{name_of}0 = linalg.index {dim} : index")
        p.write(f"  %{name_of}1 = arith.index_cast %{name_of}0 : index to i64")
        p.write(f"  %{name_of}size = arith.constant {mask.array.shape[dim]} : i64")
        p.write(f"  %{name_of}neg = arith.cmpi slt, %{name_of}1, %zero : i64")
        p.write(f"  %{name_of}2 = arith.addi %{name_of}1, %{name_of}size : i64")
        p.write(f"  %{name_of}3 = arith.select %{name_of}neg, %{name_of}2, %{name_of}1 : i64")
        p.write(f"  %{name_of}4 = arith.index_cast %{name_of}3 : i64 to index")
    p.write(f"  %r = tensor.extract {mask.name}[%b4, %k4] : {mask.type}")
    p.write(f"  linalg.yield %r : {mask.element}")
    p.write(f"}} -> {type}")
    return Tensor(p, name, "bk", mask.element, mask.array)


@raised(f"bias(%) {CAUSAL} empty_rows(nan)", element="i1")
@raised(f"bias(%) {CAUSAL} empty_rows(nan)", element="i64")
def added(p, element):
    """transformers: causal and padding are joined, and added."""
    s, v = scores(p)
    mask = gathered(p, padding(p, element))
    seen = causal(p) & (mask if element == "i1" else mask.compare("ne", 0))
    return p.attend(s + p.select(seen, 0.0, -inf), v)


@raised(f"bias(%) {SCALE} empty_rows(nan)")
def added_alone(p):
    s, v = scores(p)
    return p.attend(s + p.select(padding(p), 0.0, -inf), v)


@raised(f"bias(%) {CAUSAL}")
def rows_that_see_nothing(p):
    """PyTorch: 0 where all scores of a row are -inf."""
    s, v = scores(p)
    s = s + p.select(causal(p) & padding(p), 0.0, -inf)
    empty = s.compare("oeq", -inf).reduce("andi", "k", True)
    # Scores are NaN there, which the choice takes no part in.
    weights = p.select(empty, 0.0, p.softmax(s))
    return p.dot("bhqc", weights, v)


@raised(f"{CAUSAL} empty_rows(nan)")
def chosen(p):
    s, v = scores(p)
    hidden = padding(p).compare("eq", False) | (p.index("k") > p.index("q"))
    return p.attend(p.select(hidden, -inf, s), v)


@raised(f"{CAUSAL} empty_rows(nan)")
def chosen_by_several(p):
    """Two masks of keys, and one of positions, one after the other."""
    s, v = scores(p)
    s = p.select(padding(p), s, -inf)
    s = p.select(causal(p), s, -inf)
    other = np.array([[1, 0, 1, 1, 1, 1, 1, 1]] * 2)
    return p.attend(p.select(p.input("bk", "i64", other).compare("eq", 1), s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def of_each_head(p):
    """Some heads see less: computed from positions of heads and keys."""
    s, v = scores(p)
    return p.attend(p.select(p.index("k") - p.index("h") < 4, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def of_pairs(p):
    """Which depends on both stays a tensor of both."""
    s, v = scores(p)
    pairs = p.random.integers(0, 2, (2, 8, 8)).astype(bool)
    pairs[0, 3] = False
    return p.attend(p.select(p.input("bqk", "i1", pairs) & padding(p), s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def by_a_low_number(p):
    """Where padding hides all that is causal, the mean is of what both hide, so they
    are not taken apart."""
    s, v = scores(p)
    return p.attend(p.select(causal(p) & padding(p), s, -3e38), v)


main()
