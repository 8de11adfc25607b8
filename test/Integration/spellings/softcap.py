"""Scores that are capped: c * tanh(s / c), before a mask or a bias."""
# RUN: %python %s

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k), v


def causal(p):
    return p.index("q") >= p.index("k")


def bias(p):
    return p.input("hqk")


@raised("mask(<causal>) scale(2.500000e-01) softcap(3.000000e+00)")
def gemma(p):
    """transformers: the mask is added afterwards."""
    s, v = scores(p)
    s = (s * 0.25 / 3.0).apply("tanh") * 3.0
    return p.attend(s + p.select(causal(p), 0.0, -inf), v)


@raised("bias(%) scale(2.500000e-01) softcap(2.000000e+00) empty_rows(nan)")
def by_the_inverse(p):
    s, v = scores(p)
    s = 2.0 * (0.5 * (s / 4.0)).apply("tanh")
    return p.attend(s + bias(p), v)


@raised("mask(<causal>) scale(1.250000e-01) softcap(2.000000e+00)")
def scaled_queries(p):
    """The scale is in the queries, before the product."""
    q, k, v = p.operands()
    s = p.dot("bhqk", q * 0.125, k)
    s = (s / 2.0).apply("tanh") * 2.0
    return p.attend(p.select(causal(p), s, -inf), v)


@raised("scale(1.500000e+00) softcap(3.000000e+00)")
def other_constants(p):
    """c * tanh(s / d) is a cap by c of s * c / d."""
    s, v = scores(p)
    return p.attend((s / 2.0).apply("tanh") * 3.0, v)


@raised("scale(2.500000e-01) softcap(1.000000e+00)")
def only_tanh(p):
    s, v = scores(p)
    return p.attend((s * 0.25).apply("tanh"), v)


@missed("scores are masked before they are capped", "arith.select")
def masked_before(p):
    """-inf becomes -3, and hides nothing."""
    s, v = scores(p)
    s = p.select(causal(p), s * 0.25, -inf)
    return p.attend((s / 3.0).apply("tanh") * 3.0, v)


@missed("a bias is added to scores before they are capped", "linalg.generic")
def biased_before(p):
    s, v = scores(p)
    s = s * 0.25 + bias(p)
    return p.attend((s / 3.0).apply("tanh") * 3.0, v)


@missed("a bias is added to scores before they are capped", "arith.select")
def mask_added_before(p):
    s, v = scores(p)
    s = s * 0.25 + p.select(causal(p), 0.0, -1e30)
    return p.attend((s / 3.0).apply("tanh") * 3.0, v)


@missed("the scores are capped twice", "math.tanh")
def twice(p):
    s, v = scores(p)
    s = (s / 3.0).apply("tanh") * 3.0
    return p.attend((s / 2.0).apply("tanh") * 2.0, v)


@missed("the scores are capped by a number that is not positive and finite", "math.tanh", cap=-2.0)
@missed("the scores are capped by a number that is not positive and finite", "math.tanh", cap=0.0)
def sign(p, cap):
    s, v = scores(p)
    return p.attend((s / 2.0).apply("tanh") * cap, v)


@missed("the scores are changed before the softmax in a way that is not understood", "math.exp")
def no_tanh(p):
    s, v = scores(p)
    return p.attend((s / 3.0).apply("exp") * 3.0, v)


main()
