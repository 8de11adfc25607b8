"""JAX's softmax(where=): the mask is applied to the maximum, the numerator, the sum and the
quotient. A row that it hides all along is 0."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

LOW = -2.38e38
WINDOW = "mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01)"


def scores(p):
    """Divided by sqrt(constant 16)."""
    q, k, v = p.operands()
    root = p.filled("bhqk", 16, "i32").to("f32").apply("sqrt")
    return p.dot("bhqk", q, k) / root, v


def where(p, s, seen, v, fill=-inf, in_sum=None, in_weights=None, number=None):
    """The last number is a converted integer 0."""
    s = p.select(seen, s, fill)
    e = (s - s.max("k")).apply("exp")
    total = p.select(in_sum or seen, e, 0.0).sum("k")
    zero = number or p.filled("bhqk", 0, "i32").to("f32")
    return p.dot("bhqc", p.select(in_weights or seen, e / total, zero), v)


def window(p):
    """Some rows are hidden all along."""
    p.sizes["q"] = 12
    return (p.index("q") >= p.index("k")) & (p.index("q") < p.index("k") + 3)


def flags(p):
    values = p.random.integers(0, 2, (p.sizes["b"], p.sizes["k"])).astype(bool)
    values[0], values[1, 3] = False, True
    return p.input("bk", "i1", values)


@raised(WINDOW, fill=-inf)
@raised(WINDOW, fill=LOW)
def positions(p, fill):
    seen = window(p)
    s, v = scores(p)
    return where(p, s, seen, v, fill)


@raised("scale(2.500000e-01)", fill=-inf)
@raised("scale(2.500000e-01)", fill=LOW)
def data(p, fill):
    s, v = scores(p)
    return where(p, s, flags(p), v, fill)


@raised("mask(<causal>) scale(2.500000e-01)")
def positions_and_data(p):
    s, v = scores(p)
    return where(p, s, (p.index("q") >= p.index("k")) & flags(p), v)


@raised(WINDOW)
def sum_of_all(p):
    """What is hidden adds 0."""
    seen = window(p)
    s, v = scores(p)
    s = p.select(seen, s, -inf)
    return p.dot("bhqc", p.select(seen, p.softmax(s), 0.0), v)


@missed("a query that sees nothing gives 0 under a mask, and NaN under a bias of -inf", "linalg.generic")
def with_a_bias(p):
    s, v = scores(p)
    values = p.random.standard_normal((4, 8, 8))
    values[0, 2] = -inf
    return where(p, s + p.input("hqk", array=values), p.index("q") >= p.index("k"), v)


@missed("a query that sees nothing gives 0 under one mask, and NaN under another", "arith.select")
def with_another_mask(p):
    seen = window(p)
    s, v = scores(p)
    return where(p, p.select(p.index("q") >= p.index("k"), s, -inf), seen, v)


@missed("the weights are replaced by 0 where the scores are not hidden", "arith.divf")
def only_the_weights(p):
    s, v = scores(p)
    weights = p.select(p.index("q") >= p.index("k"), p.softmax(s), 0.0)
    return p.dot("bhqc", weights, v)


@missed("the weights are replaced by 0 where the scores are not hidden", "arith.select")
def other_weights(p):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    s = p.select(i >= j, s, -inf)
    return p.dot("bhqc", p.select(i > j, p.softmax(s), 0.0), v)


@missed("the weights are replaced by 0 where the scores are not hidden", "arith.select")
def high_fill(p):
    s, v = scores(p)
    return where(p, s, p.index("q") >= p.index("k"), v, -1.0)


@missed("the sum of the exponentials leaves other pairs out than the weights", "arith.addf")
def other_sum(p):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    return where(p, s, i >= j, v, in_sum=i > j - 2)


@missed("the weights of the values are not a softmax's quotient", "arith.select")
def not_zero(p):
    s, v = scores(p)
    one = p.filled("bhqk", 1, "i32").to("f32")
    return where(p, s, p.index("q") >= p.index("k"), v, number=one)


@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(uniform)")
def padded_queries(p):
    """dot_product_attention: a uniform softmax, and the result times the queries' mask."""
    seen = window(p)
    s, v = scores(p)
    out = p.attend(p.select(seen, s, LOW), v)
    lengths = p.input("b", "i64", np.array([5, 12]))
    return p.select(p.index("q") < p.broadcast_to(lengths, "bq"), out, 0.0)


@raised("bias(%) scale(1.000000e+00) empty_rows(nan)")
def baddbmm(p):
    """PyTorch: the mask of -1e4 is the left operand of the sum."""
    q, k, v = p.operands()
    mask = p.input("qk", array=np.where(np.tri(8, 8, dtype=bool), 0.0, -1e4))
    return p.attend(p.broadcast_to(mask, "bhqk") + p.dot("bhqk", q, k), v)


@raised("bias(%) scale(1.000000e+00) empty_rows(nan)")
def product_starts_at_the_mask(p):
    q, k, v = p.operands()
    mask = p.input("qk", array=np.where(np.tri(8, 8, dtype=bool), 0.0, -1e4))
    return p.attend(p.dot("bhqk", q, k, p.broadcast_to(mask, "bhqk")), v)


@missed("the product of queries and keys does not start at 0", "linalg.generic")
def product_starts_at_the_mask_and_is_scaled(p):
    q, k, v = p.operands()
    mask = p.input("qk", array=np.where(np.tri(8, 8, dtype=bool), 0.0, -1e4))
    return p.attend(p.dot("bhqk", q, k, p.broadcast_to(mask, "bhqk")) * 0.25, v)


main()
