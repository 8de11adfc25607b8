"""f16 and bf16 around a softmax in f32: roundings of scores and weights are left out."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

LOWEST = {"f16": -65504.0, "bf16": -3.3895313892515355e38}
CAUSAL = "mask(<causal>) scale(2.500000e-01)"


def attend(p, s, v, element):
    """The softmax in f32, the product with the values and its result in 16 bits."""
    if s.element != "f32":
        s = s.to("f32")
    return p.dot("bhqc", p.softmax(s).to(element), v).to(element)


def causal(p):
    return p.index("q") >= p.index("k")


def triangle(p, fill):
    return np.where(np.tri(p.sizes["q"], p.sizes["k"], dtype=bool), 0.0, fill)


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)", element="f16")
@raised("bias(%) scale(2.500000e-01) empty_rows(nan)", element="bf16")
def mask_argument(p, element):
    """transformers' eager attention: the mask is an argument of the scores' type."""
    q, k, v = p.operands(element)
    mask = p.input("qk", element, triangle(p, LOWEST[element]))
    s = p.dot("bhqk", q, k).to(element) / 4.0
    return attend(p, s + mask, v, element)


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)", element="f16")
@raised(CAUSAL, element="bf16")
def lowest_added(p, element):
    """The lowest f16 takes up no score of more than 16, so it stays a bias."""
    q, k, v = p.operands(element)
    s = p.dot("bhqk", q, k).to(element) * 0.25
    mask = p.select(causal(p), p.filled("qk", 0.0, element), LOWEST[element])
    return attend(p, s + mask, v, element)


@raised("bias(%) scale(1.000000e+00) empty_rows(nan)")
def hidden_above_visible(p):
    """All that query 0 sees is below the lowest f16 plus what it does not see."""
    q = p.input("bhqd", "f16", np.ones([2, 4, 8, 16]))
    keys = np.full([2, 4, 8, 16], 3750.0)
    keys[:, :, 0] = -350
    k = p.input("bhkd", "f16", keys)
    v = p.input("bhkc", "f16")
    s = p.dot("bhqk", q, k).to("f16")
    mask = p.select(causal(p), p.filled("qk", 0.0, "f16"), -65504.0)
    return attend(p, s + mask, v, "f16")


@raised("scale(2.500000e-01) empty_rows(nan)", element="f16")
@raised(CAUSAL, element="bf16")
def lowest_chosen(p, element):
    """The lowest f16 is a score like any other, which the score region chooses."""
    q, k, v = p.operands(element)
    s = p.dot("bhqk", q, k).to(element) * 0.25
    return attend(p, p.select(causal(p), s, LOWEST[element]), v, element)


@raised("scale(2.500000e-01) empty_rows(nan)", element="f16")
@raised(
    "mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(uniform)",
    element="bf16",
)
def rows_hidden_by_the_lowest(p, element):
    """A row that is hidden all along is the mean of the values."""
    p.sizes["q"] = 12
    q, k, v = p.operands(element)
    s = p.dot("bhqk", q, k).to(element) * 0.25
    seen = causal(p) & (p.index("q") < p.index("k") + 3)
    return attend(p, p.select(seen, s, LOWEST[element]), v, element)


@raised(CAUSAL, element="f16")
@raised(CAUSAL, element="bf16")
def infinite(p, element):
    q, k, v = p.operands(element)
    s = p.dot("bhqk", q, k).to(element) * 0.25
    return attend(p, p.select(causal(p), s, -inf), v, element)


@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(nan)", added=True)
@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(nan)", added=False)
def overflows(p, added):
    """finfo(f32).min is -inf in f16, so rows that see nothing are NaN and no mean."""
    p.sizes["q"] = 12
    q, k, v = p.operands("f16")
    s = p.dot("bhqk", q, k) * 0.25
    seen = causal(p) & (p.index("q") < p.index("k") + 3)
    lowest = -3.4028234663852886e38
    if added:
        mask = p.select(seen, p.filled("qk", 0.0), lowest).to("f16")
        s = s.to("f16") + mask
    else:
        s = p.select(seen, s, lowest).to("f16")
    out = attend(p, s, v, "f16")
    out.array = np.where(seen.array.any(axis=1)[:, None], out.array, np.nan)
    return out


@missed("a bias is rounded with the scores to a type in which it may be infinite", "linalg.generic")
def bias_overflows(p):
    """A row of -1e9 is the softmax of its scores in f32, and NaN in f16."""
    q, k, v = p.operands("f16")
    mask = p.input("qk", "f32", triangle(p, -1e9))
    s = (p.dot("bhqk", q, k) * 0.25 + mask).to("f16")
    return attend(p, s, v, "f16")


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)", mask="f32")
@raised("bias(%) scale(2.500000e-01) empty_rows(nan)", mask="bf16")
def scores_in_f32(p, mask):
    """JAX: only inputs, weights and results are bf16."""
    q, k, v = p.operands("bf16")
    bias = p.input("hqk", mask)
    bias = bias.to("f32") if mask != "f32" else bias
    return attend(p, p.dot("bhqk", q, k) * 0.25 + bias, v, "bf16")


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)")
def bias_of_another_type(p):
    q, k, v = p.operands("bf16")
    bias = p.input("hqk", "f16")
    return attend(p, p.dot("bhqk", q, k) * 0.25 + bias.to("f32"), v, "bf16")


@raised("scale(2.500000e-01)")
def scaled_twice(p):
    """PyTorch: queries and keys are each multiplied by d^-0.25, in f16."""
    q, k, v = p.operands("f16")
    return attend(p, p.dot("bhqk", q * 0.5, k * 0.5), v, "f16")


@raised("scale(2.500000e-01) softcap(2.000000e+00)")
def capped(p):
    q, k, v = p.operands("bf16")
    s = p.dot("bhqk", q, k).to("bf16") * 0.25
    return attend(p, (s / 2.0).apply("tanh") * 2.0, v, "bf16")


@raised("scale(2.500000e-01)")
def softmax_in_halves(p):
    """flax: all but the sum is bf16."""
    q, k, v = p.operands("bf16")
    s = p.dot("bhqk", q, k).to("bf16") * 0.25
    e = (s - s.max("k")).apply("exp")
    weights = e / e.to("f32").sum("k").to("bf16")
    return p.dot("bhqc", weights, v).to("bf16")


@raised("scale(2.500000e-01)")
def result_in_f32(p):
    """The product with the values is not rounded, so attention is computed in f32."""
    q, k, v = p.operands("f16")
    return p.dot("bhqc", p.softmax(p.dot("bhqk", q, k) * 0.25).to("f16"), v)


@raised("scale(2.500000e-01)")
def values_in_f32(p):
    q, k = p.input("bhqd", "bf16"), p.input("bhkd", "bf16")
    v = p.input("bhkc", "f32")
    return p.dot("bhqc", p.softmax(p.dot("bhqk", q, k) * 0.25), v)


@missed("the weights of the values are not a softmax's quotient", "arith.truncf")
def softmax_in_f64(p):
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    return p.dot("bhqc", p.softmax(s.to("f64")).to("f32"), v)


main()
