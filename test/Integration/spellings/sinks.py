"""Sinks: a column that is concatenated to the scores, takes weight and is sliced off."""
# RUN: %python %s

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

LOW = -2.38e38
CAUSAL = "sinks(%) mask(<causal>) scale(2.500000e-01)"


def scores(p, fill=-inf):
    p.sizes["u"] = 1
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    if fill is not None:
        s = p.select(p.index("q") >= p.index("k"), s, fill)
    return s, v


def column(p, element="f32", dims="h"):
    return p.broadcast_to(p.input(dims, element), "bhqu")


def join(p, s, sink, how="concat"):
    return p.concat("k", "e", s, sink.named(k="u"), how=how)


@raised(CAUSAL, how="concat")
@raised(CAUSAL, how="insert")
def gpt_oss(p, how):
    """transformers: the maximum is subtracted twice."""
    s, v = scores(p)
    s = join(p, s, column(p), how)
    weights = p.softmax(s - s.max("e"), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised(CAUSAL)
def maximum_once(p):
    s, v = scores(p)
    weights = p.softmax(join(p, s, column(p)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised("sinks(%) scale(2.500000e-01)")
def without_a_mask(p):
    s, v = scores(p, None)
    weights = p.softmax(join(p, s, column(p)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised("sinks(%) scale(2.500000e-01)", value=0.0)
@raised("sinks(%) scale(2.500000e-01)", value=1.5)
def constant(p, value):
    """Off by one: a sink of 0."""
    s, v = scores(p, None)
    weights = p.softmax(join(p, s, p.filled("bhqu", value)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised("sinks(%) mask(<causal>) scale(2.500000e-01)")
def halves(p):
    q, k, v = p.operands("bf16")
    p.sizes["u"] = 1
    s = p.dot("bhqk", q, k).to("bf16") * 0.25
    s = s + p.select(p.index("q") >= p.index("k"), p.filled("qk", 0.0, "bf16"), -inf)
    s = join(p, s, column(p, "bf16"))
    weights = p.softmax((s - s.max("e")).to("f32"), "e").to("bf16")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v).to("bf16")


@raised("sinks(%) mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01)", fill=-inf)
@raised("sinks(%) mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01)", fill=LOW)
def rows_that_see_nothing(p, fill):
    """All their weight is on the sink."""
    p.sizes["q"] = 12
    s, v = scores(p, None)
    i, j = p.index("q"), p.index("k")
    s = p.select((i >= j) & (i < j + 3), s, fill)
    weights = p.softmax(join(p, s, column(p)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised("bias(%) sinks(%) scale(2.500000e-01) softcap(2.000000e+00)")
def capped_and_biased(p):
    q, k, v = p.operands()
    p.sizes["u"] = 1
    s = (p.dot("bhqk", q, k) * 0.25 / 2.0).apply("tanh") * 2.0 + p.input("hqk")
    weights = p.softmax(join(p, s, column(p)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@raised("sinks(%) mask(<causal>) scale(2.500000e-01)")
def in_one_dimension(p):
    """Batch and heads are merged after the slice."""
    s, v = scores(p)
    weights = p.softmax(join(p, s, column(p)), "e")
    weights = p.collapse(p.slice(weights, "e", "k", 0), "bh", "n")
    return p.expand(p.dot("nqc", weights, p.collapse(v, "bh", "n")), "n", "bh")


@missed("the weights of the values are not a softmax's quotient", "tensor.extract_slice")
def other_side(p):
    """The sink is kept, the first key sliced off."""
    s, v = scores(p)
    weights = p.softmax(join(p, s, column(p)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 1), v)


@missed("the weights of the values are not a softmax's quotient", "tensor.extract_slice")
def sink_first(p):
    s, v = scores(p)
    joined = p.concat("k", "e", column(p).named(k="u"), s)
    return p.dot("bhqc", p.slice(p.softmax(joined, "e"), "e", "k", 1), v)


@missed("the sum of the exponentials runs over one more than the keys, which is no sink", "arith.addf")
def columns_weighed(p):
    """In the sum, the sink and each key count by a number of their own."""
    s, v = scores(p)
    joined = join(p, s, column(p))
    e = (joined - joined.max("e")).apply("exp")
    total = (e * p.input("e")).sum("e")
    return p.dot("bhqc", p.slice(e, "e", "k", 0) / total, v)


@missed("the sum and the maximum have different sinks", "arith.addf")
def only_in_the_maximum(p):
    s, v = scores(p)
    joined = join(p, s, column(p))
    e = p.slice((joined - joined.max("e")).apply("exp"), "e", "k", 0)
    return p.dot("bhqc", e / e.sum("k"), v)


@missed("the sum and the maximum have different sinks", "arith.addf")
def another_in_the_sum(p):
    s, v = scores(p)
    m = join(p, s, column(p)).max("e")
    e = (join(p, s, column(p)) - m).apply("exp")
    return p.dot("bhqc", p.slice(e, "e", "k", 0) / e.sum("e"), v)


@missed("scores and sinks are changed together", "arith.mulf")
def scaled_together(p):
    s, v = scores(p, None)
    weights = p.softmax(join(p, s, column(p)) * 0.5, "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@missed("the sink is not read as [heads]", "linalg.generic", dims="hq")
@missed("the sink is not read as [heads]", "linalg.generic", dims="bh")
def sink_of_queries(p, dims):
    s, v = scores(p)
    weights = p.softmax(join(p, s, column(p, dims=dims)), "e")
    return p.dot("bhqc", p.slice(weights, "e", "k", 0), v)


@missed("the softmax's numerator is no exponential", "arith.select")
def masked_together(p):
    """By a mask of one more key."""
    s, v = scores(p, None)
    joined = join(p, s, column(p))
    e = p.select(p.index("q") >= p.index("e"), (joined - joined.max("e")).apply("exp"), 0.0)
    return p.dot("bhqc", p.slice(e, "e", "k", 0) / e.sum("e"), v)


main()
