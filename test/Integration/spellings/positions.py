"""Masks that follow from positions, which leave no tensor of scores."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import inf, main, missed, raised

CAUSAL = "mask(<causal>) scale(2.500000e-01)"
WINDOW = "mask(<causal, window = [2, 0]>) scale(2.500000e-01)"
LOW = -2.38e38


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


@raised(CAUSAL, fill=-inf)
@raised(CAUSAL, fill=LOW)
@raised("scale(2.500000e-01) empty_rows(nan)", fill=-1e30)
def fills(p, fill):
    """Of a fill that a score may reach, the mask is data."""
    s, v = scores(p)
    return p.attend(p.select(p.index("q") >= p.index("k"), s, fill), v)


@raised("mask(<causal, window = [2, 0], align = top_left>) scale(2.500000e-01) empty_rows(uniform)")
def hidden_all_along(p):
    """Rows that a finite number hides all along give the mean of the values."""
    p.sizes["q"] = 12
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    return p.attend(p.select((i >= j) & (i < j + 3), s, LOW), v)


@raised(WINDOW, fill=-inf)
@raised(WINDOW, fill=LOW)
def two_masks(p, fill):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    s = p.select(i >= j, s, -inf)
    return p.attend(p.select(i < j + 3, s, fill), v)


@raised(WINDOW)
def condition_selected(p):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    no = p.filled("qk", False, "i1")
    return p.attend(p.select(p.select(i >= j, i < j + 3, no), s, -inf), v)


@raised(WINDOW)
def hidden_selected(p):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    yes = p.filled("qk", True, "i1")
    return p.attend(p.select(p.select(i < j, yes, i >= j + 3), -inf, s), v)


@raised(CAUSAL)
def multiples(p):
    s, v = scores(p)
    i, j = p.index("q"), p.index("k")
    return p.attend(p.select(i * 2 - i >= j * 2 - j, s, -inf), v)


@raised(CAUSAL, last=7)
@raised(CAUSAL, last=8)
@raised("scale(2.500000e-01) empty_rows(nan)", last=5)
def lists(p, last):
    """JAX: positions are a constant. Of numbers that go up and down, the mask is
    data."""
    s, v = scores(p)
    numbers = np.arange(8)
    numbers[-1] = last
    i, j = p.dense("q", 5 + numbers, "i32"), p.dense("k", 5 + numbers, "i32")
    return p.attend(p.select(i >= j, s, -inf), v)


@raised(CAUSAL)
def added(p):
    """PyTorch: subi, sle 0, select(0, -inf), added."""
    s, v = scores(p)
    distance = p.index("k") - p.index("q")
    return p.attend(s + p.select(distance <= 0, 0.0, -inf), v)


main()
