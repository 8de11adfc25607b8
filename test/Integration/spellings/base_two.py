"""Softmax in base 2, as kernels write it: log2(e) is somewhere among the factors. Without
it the weights are powers of 2, which is a scale of ln(2)."""
# RUN: %python %s

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

LOG2E = 1.4426950216293335  # in f32
LOWEST = -3.4028234663852886e38
CAUSAL = "mask(<causal>) scale(2.500000e-01)"


def scores(p, scale=0.25):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * scale, v


def causal(p, s, fill=-inf):
    return p.select(p.index("q") >= p.index("k"), s, fill)


def attend(p, exponent, v):
    e = exponent.apply("exp2")
    return p.dot("bhqc", e / e.sum("k"), v)


@raised(CAUSAL)
def in_the_exponent(p):
    s, v = scores(p)
    s = causal(p, s)
    return attend(p, (s - s.max("k")) * LOG2E, v)


@raised(CAUSAL)
def divided_by_ln2(p):
    s, v = scores(p)
    s = causal(p, s)
    return attend(p, (s - s.max("k")) / math.log(2), v)


@raised(CAUSAL)
def both_multiplied(p):
    """FlashAttention: the maximum is that of the scores, without the factor."""
    s, v = scores(p)
    s = causal(p, s)
    return attend(p, s * LOG2E - s.max("k") * LOG2E, v)


@raised(CAUSAL)
def scores_multiplied(p):
    s, v = scores(p)
    s = causal(p, s) * LOG2E
    return attend(p, s - s.max("k"), v)


@raised(CAUSAL, fill=-inf)
@raised(CAUSAL, fill=LOWEST)
def in_the_scale(p, fill):
    s, v = scores(p, 0.25 * LOG2E)
    s = causal(p, s, fill)
    return attend(p, s - s.max("k"), v)


@raised("mask(<causal>) scale(0.173286796)")
def powers_of_two(p):
    s, v = scores(p)
    s = causal(p, s)
    return attend(p, s - s.max("k"), v)


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)")
def bias_multiplied(p):
    s, v = scores(p)
    s = (s + p.input("hqk")) * LOG2E
    return attend(p, s - s.max("k"), v)


@raised("bias(%) scale(2.500000e-01) empty_rows(nan)")
def bias_in_the_exponent(p):
    s, v = scores(p)
    s = s + p.input("hqk")
    return attend(p, (s - s.max("k")) * LOG2E, v)


@missed("the scores have more than one bias, or one that is multiplied", "linalg.generic")
def bias_not_multiplied(p):
    """In base e, the bias would be another."""
    s, v = scores(p, 0.25 * LOG2E)
    s = s + p.input("hqk")
    return attend(p, s - s.max("k"), v)


def some_keys(p, s, fill):
    p.sizes["q"] = 8
    flags = p.random.integers(0, 2, (2, 8)).astype(bool)
    flags[0], flags[1, 3] = False, True
    return p.select(p.input("bk", "i1", flags), s, fill)


@raised("scale(2.500000e-01) empty_rows(nan)", fill=-inf)
@raised("scale(2.500000e-01) empty_rows(nan)", fill=-1e9)
@raised("scale(2.500000e-01) empty_rows(nan)", fill=-2.0)
def chosen(p, fill):
    """What replaces a score is multiplied by ln(2)."""
    s, v = scores(p, 0.25 * LOG2E)
    s = some_keys(p, s, fill)
    return attend(p, s - s.max("k"), v)


@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(uniform)", how="exponent")
@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(nan)", how="scores")
def rows_hidden_by_the_lowest(p, how):
    """The lowest float times log2(e) is -inf, unless it is subtracted first."""
    p.sizes["q"] = 12
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    seen = (i >= j) & (i < j + 3)
    s = p.select(seen, s, LOWEST)
    if how == "exponent":
        return attend(p, (s - s.max("k")) * LOG2E, v)
    s = s * LOG2E
    s.array = s.array.astype("f4").astype("f8")
    return attend(p, s - s.max("k"), v)


@missed("the maximum is not multiplied as the scores are that it is subtracted from", "arith.mulf")
def only_the_maximum_multiplied(p):
    s, v = scores(p)
    return attend(p, s - s.max("k") * LOG2E, v)


@missed("the maximum is not multiplied as the scores are that it is subtracted from", "arith.mulf")
def other_factors(p):
    s, v = scores(p)
    return attend(p, s * LOG2E - s.max("k") * 1.5, v)


@missed("the exponent is multiplied by a factor that is not positive", "math.exp2")
def negative(p):
    s, v = scores(p)
    return attend(p, (s - s.max("k")) * -LOG2E, v)


@missed("the sum of the exponentials does not run over the keys of the same scores", "arith.addf")
def another_base_in_the_sum(p):
    s, v = scores(p)
    d = s - s.max("k")
    return p.dot("bhqc", d.apply("exp2") / d.apply("exp").sum("k"), v)


main()
