"""The logarithm of the sum of the exponentials: a result beside the output, or what the
weights are computed from."""
# RUN: %python %s

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

CAUSAL = "mask(<causal>) scale(2.500000e-01)"
WINDOW = "mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01)"
LOW = -2.38e38


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


def causal(p, s):
    return p.select(p.index("q") >= p.index("k"), s, -inf)


def guarded(p, m, predicate="oeq"):
    """PyTorch: 0 where the maximum is infinite."""
    test = m.apply("absf").compare(predicate, inf)
    return p.select(test, 0.0, m) if predicate == "oeq" else p.select(test, m, 0.0)


def logsumexp(p, s, over="k"):
    m = guarded(p, s.max(over))
    return (s - m).apply("exp").sum(over).apply("log") + m


@raised(CAUSAL)
def beside_the_softmax(p):
    """From its own maximum and sum."""
    s, v = scores(p)
    s = causal(p, s)
    m = s.max("k")
    e = (s - m).apply("exp")
    total = e.sum("k")
    return p.dot("bhqc", e / total, v), m + total.apply("log")


@raised(CAUSAL)
def computed_again(p):
    """torch.logsumexp beside torch.softmax."""
    s, v = scores(p)
    s = causal(p, s)
    return logsumexp(p, s), p.attend(s, v)


@raised(CAUSAL)
def weights_from_it(p):
    """exp(s - lse), and it is a result."""
    s, v = scores(p)
    s = causal(p, s)
    lse = logsumexp(p, s)
    return p.dot("bhqc", (s - lse).apply("exp"), v), lse


@raised(CAUSAL)
def only_weights_from_it(p):
    s, v = scores(p)
    s = causal(p, s)
    return p.dot("bhqc", (s - logsumexp(p, s)).apply("exp"), v)


@raised(f"{WINDOW} empty_rows(nan)", predicate="oeq")
@raised(f"{WINDOW} empty_rows(nan)", predicate="olt")
def rows_that_see_nothing(p, predicate):
    """-inf, where the output is NaN."""
    p.sizes["q"] = 12
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    s = p.select((i >= j) & (i < j + 3), s, -inf)
    m = guarded(p, s.max("k"), predicate)
    lse = (s - m).apply("exp").sum("k").apply("log") + m
    return p.dot("bhqc", (s - lse).apply("exp"), v), lse


@missed("the logarithm of the sum is NaN where a query sees nothing", "linalg.generic")
def nan_for_rows_that_see_nothing(p):
    p.sizes["q"] = 12
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    s = p.select((i >= j) & (i < j + 3), s, -inf)
    m = s.max("k")
    e = (s - m).apply("exp")
    total = e.sum("k")
    return p.dot("bhqc", e / total, v), m + total.apply("log")


@missed("the logarithm of the sum is finite where a finite score hides all keys from a query", "linalg.generic")
def hidden_by_a_finite_score(p):
    p.sizes["q"] = 12
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    s = p.select((i >= j) & (i < j + 3), s, LOW)
    out = p.attend(s, v)
    lse = logsumexp(p, s)
    return out, p.select(p.index("q") < 8, lse, 0.0)


@raised("sinks(%) mask(<causal>) scale(2.500000e-01)")
def with_sinks(p):
    """The sink is part of it."""
    p.sizes["u"] = 1
    s, v = scores(p)
    s = p.concat("k", "e", causal(p, s), p.broadcast_to(p.input("h"), "bhqu").named(k="u"))
    lse = logsumexp(p, s, "e")
    weights = p.slice(p.softmax(s, "e"), "e", "k", 0)
    return p.dot("bhqc", weights, v), lse


@missed("the scores or the weights of the values have another use", "linalg.generic")
def without_the_sink(p):
    p.sizes["u"] = 1
    s, v = scores(p)
    s = causal(p, s)
    joined = p.concat("k", "e", s, p.broadcast_to(p.input("h"), "bhqu").named(k="u"))
    weights = p.slice(p.softmax(joined, "e"), "e", "k", 0)
    return p.dot("bhqc", weights, v), logsumexp(p, s)


@raised(CAUSAL)
def other_dimensions(p):
    """Heads and batch in one dimension for the product, another order for the result."""
    q, k, v = p.operands()
    q, k = p.collapse(q, "bh", "n"), p.collapse(k, "bh", "n")
    s = causal(p, p.expand(p.dot("nqk", q, k), "n", "bh") * 0.25)
    lse = logsumexp(p, s)
    turned = p.broadcast_to(lse, "qbh")
    return p.attend(s, v), turned


@raised("scale(2.500000e-01)")
def merged_afterwards(p):
    """Two parts of a sequence are joined by it: another function of it, and no other use."""
    s, v = scores(p)
    lse = logsumexp(p, s)
    return p.attend(s, v), lse.apply("exp") + 1.0


@missed("the scores or the weights of the values have another use", "linalg.generic")
def of_other_scores(p):
    s, v = scores(p)
    return p.attend(causal(p, s), v), logsumexp(p, s)


@missed("the scores or the weights of the values have another use", "linalg.generic")
def other_shift(p):
    """Not the logarithm of the sum: the maximum is added twice."""
    s, v = scores(p)
    m = s.max("k")
    e = (s - m).apply("exp")
    total = e.sum("k")
    return p.dot("bhqc", e / total, v), (m + m) + total.apply("log")


@missed("the scores or the weights of the values have another use", "linalg.generic")
def other_number_subtracted(p):
    """Not the logarithm of the sum: what is added was not subtracted."""
    s, v = scores(p)
    total = (s - p.input("bhq")).apply("exp").sum("k")
    return p.attend(s, v), s.max("k") + total.apply("log")


@missed("the scores or the weights of the values have another use", "linalg.generic")
def of_all_heads(p):
    s, v = scores(p)
    m = s.max("k").max("h")
    e = (s - m).apply("exp")
    return p.attend(s, v), e.sum("k").sum("h").apply("log") + m


@missed("the scores or the weights of the values have another use", "linalg.generic")
def maximum_alone(p):
    s, v = scores(p)
    return p.attend(s, v), s.max("k") * 2.0


@missed("the scores or the weights of the values have another use", "linalg.generic")
def in_base_two(p):
    s, v = scores(p)
    m = s.max("k")
    e = (s - m).apply("exp2")
    total = e.sum("k")
    return p.dot("bhqc", e / total, v), m + total.apply("log")


main()
