"""The softmax: where the maximum starts, quotients and reciprocals, base 2."""
# RUN: %python %s

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

CAUSAL = "mask(<causal>) scale(2.500000e-01)"


def causal(p):
    q, k, v = p.operands()
    s = p.dot("bhqk", q, k) * 0.25
    return p.select(p.index("q") >= p.index("k"), s, -inf), v


@raised(CAUSAL)
def quotient(p):
    s, v = causal(p)
    return p.attend(s, v)


@raised(CAUSAL)
def reciprocal(p):
    s, v = causal(p)
    e = (s - s.max("k")).apply("exp")
    return p.dot("bhqc", e * (1.0 / e.sum("k")), v)


@raised(CAUSAL, first=True)
@raised(CAUSAL, first=False)
def another_maximum(p, first):
    """JAX: the maximum, and once more with -inf."""
    s, v = causal(p)
    lowest = p.filled("bhq", -inf)
    m = lowest.maximum(s.max("k")) if first else s.max("k").maximum(lowest)
    e = (s - m).apply("exp")
    return p.dot("bhqc", e / e.sum("k"), v)


@raised(CAUSAL, op="maximumf", start=-3.4028234663852886e38)
@raised(CAUSAL, op="maxnumf", start=float("nan"))
@missed("the maximum of the scores does not start at -inf", "arith.maximumf", op="maximumf", start=float("nan"))
def start(p, op, start):
    s, v = causal(p)
    e = (s - s.reduce(op, "k", start)).apply("exp")
    return p.dot("bhqc", e / e.sum("k"), v)


main()
