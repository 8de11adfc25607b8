"""Masks that are constants of queries x keys: read once, and where they are a mask of
positions, nothing of queries x keys is left."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from spelling import Tensor, inf, main, missed, raised

SCALE = "scale(2.500000e-01)"
CAUSAL = f"mask(<causal>) {SCALE}"
BIAS = f"bias(%) {SCALE} empty_rows(nan)"
DATA = f"{SCALE} empty_rows(nan)"
LOWEST = float(np.finfo(np.float32).min)
SEEN = np.tril(np.ones((8, 8), bool))


def scores(p):
    q, k, v = p.operands()
    return p.dot("bhqk", q, k) * 0.25, v


def seen(name):
    i, j = np.arange(8)[:, None], np.arange(8)
    flipped = SEEN.copy()
    flipped[5, 2] = False
    return {
        "causal": j <= i,
        "window": (j >= i - 2) & (j <= i + 1),
        "chunk": i // 3 == j // 3,
        "prefix": (j <= i) | (j < 3),
        "flipped": flipped,
        "columns": np.broadcast_to(j < 5, (8, 8)),
        "transposed": j >= i,
        "all": np.ones((8, 8), bool),
        "strict": j < i,
    }[name]


MASKS = {
    "causal": CAUSAL,
    "window": f"mask(<window = [2, 1]>) {SCALE}",
    "chunk": f"mask(<chunk = 3>) {SCALE}",
    "prefix": f"mask(<causal, prefix = 3>) {SCALE}",
    "transposed": f"mask(<window = [0, *]>) {SCALE}",
}


def every(register):
    """Each mask of positions, and what is none but close."""
    for name, clauses in MASKS.items():
        register = raised(clauses, name=name)(register)
    return register


def data(clauses):
    def register(function):
        for name in ("flipped", "columns", "strict"):
            raised(clauses, name=name)(function)
        return function

    return register


@every
@data(DATA)
def booleans(p, name):
    s, v = scores(p)
    return p.attend(p.select(p.dense("qk", seen(name), "i1"), s, -inf), v)


@every
@data(DATA)
def tril(p, name):
    """nanoGPT: hidden where the float is 0."""
    s, v = scores(p)
    hidden = p.dense("qk", seen(name).astype(float), "f32").compare("oeq", 0.0)
    return p.attend(p.select(hidden, -inf, s), v)


@every
@data(BIAS)
def added(p, name):
    s, v = scores(p)
    return p.attend(s + p.dense("qk", np.where(seen(name), 0.0, -inf), "f32"), v)


@raised(CAUSAL, fill=LOWEST)
@raised(CAUSAL, fill=-1.1e38)
@raised(BIAS, fill=-1e9)
def added_by_a_low_number(p, fill):
    """ONNX: 0 and -FLT_MAX. -1e9 is a number that a score may be near."""
    s, v = scores(p)
    return p.attend(s + p.dense("qk", np.where(SEEN, 0.0, np.float32(fill)), "f32"), v)


@raised(CAUSAL)
def computed(p):
    """(1 - tril) * lowest."""
    s, v = scores(p)
    return p.attend(s + (1.0 - p.dense("qk", SEEN.astype(float), "f32")) * LOWEST, v)


@raised(BIAS)
def several_numbers(p):
    """A bias that hides some pairs is no mask."""
    s, v = scores(p)
    table = np.where(SEEN, 0.0, -inf)
    table[6, 1] = -1.5
    return p.attend(s + p.dense("qk", table, "f32"), v)


@raised(CAUSAL)
def negative_zero(p):
    s, v = scores(p)
    return p.attend(s + p.dense("qk", np.where(SEEN, -0.0, -inf), "f32"), v)


@raised(f"mask(<causal, chunk = 3>) {SCALE}")
def with_positions(p):
    s, v = scores(p)
    visible = p.dense("qk", seen("chunk"), "i1") & (p.index("q") >= p.index("k"))
    return p.attend(p.select(visible, s, -inf), v)


@raised(SCALE)
def all_seen(p):
    s, v = scores(p)
    return p.attend(p.select(p.dense("qk", seen("all"), "i1"), s, -inf), v)


@raised(BIAS)
def heads_apart(p):
    """A table for each head, though all are the same."""
    s, v = scores(p)
    table = np.broadcast_to(np.where(SEEN, 0.0, -inf), (4, 8, 8))
    return p.attend(s + p.dense("hqk", table, "f32"), v)


def sliced(p, table, offset):
    """A part of a longer table, cut twice."""
    rows = table.shape[1]
    whole = Tensor(p, p.fresh(), "qk", "f32", table)
    numbers = ", ".join("[" + ", ".join(repr(float(x)) for x in row) + "]" for row in table)
    p.write(f"{whole.name} = arith.constant dense<[{numbers}]> : {whole.type}")
    part, tensor = p.fresh(), Tensor(p, p.fresh(), "qk", "f32", table[:8, offset : offset + 8])
    p.write(f"{part} = tensor.extract_slice {whole.name}[0, 0] [8, {rows}] [1, 1] : {whole.type} to tensor<8x{rows}xf32>")
    p.write(f"{tensor.name} = tensor.extract_slice {part}[0, {offset}] [8, 8] [1, 1] : tensor<8x{rows}xf32> to {tensor.type}")
    return tensor


@raised(CAUSAL, offset=0)
@raised(BIAS, offset=1)
def of_a_longer_table(p, offset):
    """With an offset the part is another mask."""
    s, v = scores(p)
    table = np.where(np.tril(np.ones((12, 12), bool)), 0.0, -1.0)
    hidden = sliced(p, table, offset)
    if offset:
        return p.attend(s + hidden, v)
    return p.attend(p.select(hidden.compare("oeq", -1.0), -inf, s), v)


main()
