"""What changes scores and is data: a bias, and a mask that chooses by a tensor. Rows
may be hidden all along, and biases are -inf in places."""
# RUN: %python %s

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

SCALE = "scale(2.500000e-01)"
LOW = -3.0e38


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


def bias(p, dims="bhqk"):
    values = p.random.standard_normal([p.sizes[d] for d in dims])
    if dims == "bhqk":
        values[0, 0, 2] = values[0, 1, :3] = -inf
        values[1, 1, :, 3] = -inf
    return p.input(dims, array=values)


def flags(p):
    """For each key of a batch entry; the first sees nothing."""
    values = p.random.integers(0, 2, (p.sizes["b"], p.sizes["k"])).astype(bool)
    values[0] = False
    values[1, 3] = True
    return p.input("bk", "i1", values)


@raised(f"bias(%) {SCALE} empty_rows(nan)", dims="bhqk")
@raised(f"bias(%) {SCALE} empty_rows(nan)", dims="hqk")
@raised(f"bias(%) {SCALE} empty_rows(nan)", dims="bk")
def added(p, dims):
    s, v = scores(p)
    return p.attend(s + bias(p, dims), v)


@missed("the scores have more than one bias, or one that is multiplied", "linalg.generic")
def added_before_the_scale(p):
    q, k, v = p.operands()
    s = (p.dot("bhqk", q, k) + bias(p)) * 0.25
    return p.attend(s, v)


@raised(f"{SCALE} empty_rows(nan)")
def chosen(p):
    s, v = scores(p)
    return p.attend(p.select(flags(p), s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def chosen_by_a_low_number(p):
    """All weights of a row are equal that is hidden all along."""
    s, v = scores(p)
    return p.attend(p.select(flags(p), LOW, s), v)


@raised(f"mask(<causal>) {SCALE} empty_rows(nan)")
def chosen_and_causal(p):
    s, v = scores(p)
    seen = (p.index("q") >= p.index("k")) & flags(p)
    return p.attend(p.select(seen, s, -inf), v)


@raised(f"{SCALE} empty_rows(nan)")
def chosen_and_causal_by_a_low_number(p):
    """Which rows are equal all along depends on both parts, so both are data."""
    s, v = scores(p)
    seen = (p.index("q") >= p.index("k")) & flags(p)
    return p.attend(p.select(seen, s, LOW), v)


@raised(f"bias(%) {SCALE} empty_rows(nan)")
def chosen_after_a_bias(p):
    s, v = scores(p)
    s = s + bias(p)
    return p.attend(p.select(flags(p), s, -inf), v)


@missed("scores are replaced twice, or changed after that", "arith.select")
def chosen_before_a_bias(p):
    s, v = scores(p)
    return p.attend(p.select(flags(p), s, -inf) + bias(p), v)


main()
