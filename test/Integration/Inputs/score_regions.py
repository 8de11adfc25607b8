"""Score regions for tests: as MLIR, and as a function on arrays.

Each is here for something that the others do not have: `alibi` and `capped` call
a math function, `slopes` and `key_bias` read a captured table by head or by key,
`buckets` at an index that it computes, `hidden` reads integers and hides pairs by
a score of -inf, `halved` compares and selects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Union

import numpy as np


@dataclass(frozen=True)
class ScoreRegion:
    """A `score` region, and at most one tensor that it captures."""

    name: str
    # Operations on %x, %batch, %head, %qi, %ki that define %y; {table} and {type}
    # stand for the captured tensor.
    body: str
    # The same: function(x, batch, head, qi, ki, table), of arrays that broadcast.
    function: Callable
    axes: tuple[Union[str, int], ...] = ()  # of the table; a number is a size
    element: str = "f32"
    draw: Optional[Callable] = None  # draw(rng, shape): a random table

    def text(self, table="", type=""):
        body = self.body.format(table=table, type=type).strip("\n")
        return (
            " score {\n"
            "  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):\n"
            f"{body}\n    ring.yield %y : f32\n  }}"
        )

    def random_table(self, rng, sizes):
        """A table for an attention with the sizes {axis: size}; None without."""
        if not self.axes:
            return None
        return self.draw(rng, [sizes.get(axis, axis) for axis in self.axes])


def normal(rng, shape):
    return rng.standard_normal(shape)


ALIBI = ScoreRegion(
    "alibi",
    """
    %one = arith.constant 1 : index
    %number = arith.addi %head, %one : index
    %integer = arith.index_cast %number : index to i32
    %float = arith.sitofp %integer : i32 to f32
    %power = arith.negf %float : f32
    %slope = math.exp2 %power : f32
    %distance = arith.subi %ki, %qi : index
    %steps = arith.index_cast %distance : index to i32
    %away = arith.sitofp %steps : i32 to f32
    %term = arith.mulf %slope, %away : f32
    %y = arith.addf %x, %term : f32
""",
    lambda x, b, h, i, j, _: x + (j - i) * 2.0 ** -(h + 1),
)

SLOPES = ScoreRegion(
    "slopes",
    """
    %slope = tensor.extract {table}[%head] : {type}
    %ahead = index.sub %ki, %qi
    %behind = index.sub %qi, %ki
    %distance = index.maxs %ahead, %behind
    %integer = arith.index_cast %distance : index to i64
    %float = arith.sitofp %integer : i64 to f32
    %down = arith.negf %float : f32
    %y = math.fma %slope, %down, %x : f32
""",
    lambda x, b, h, i, j, table: x - table[h] * abs(i - j),
    axes=("heads",),
    draw=lambda rng, shape: rng.random(shape) / 4,
)

KEY_BIAS = ScoreRegion(
    "key_bias",
    """
    %term = tensor.extract {table}[%ki] : {type}
    %y = arith.addf %x, %term : f32
""",
    lambda x, b, h, i, j, table: x + table[j],
    axes=("keys",),
    draw=normal,
)

BUCKETS = ScoreRegion(
    "buckets",
    """
    %width = arith.constant 3 : index
    %middle = arith.constant 4 : index
    %first = arith.constant 0 : index
    %last = arith.constant 7 : index
    %distance = arith.subi %qi, %ki : index
    %steps = arith.floordivsi %distance, %width : index
    %shifted = arith.addi %steps, %middle : index
    %low = arith.maxsi %shifted, %first : index
    %bucket = arith.minsi %low, %last : index
    %term = tensor.extract {table}[%head, %bucket] : {type}
    %y = arith.addf %x, %term : f32
""",
    lambda x, b, h, i, j, table: x + table[h, np.clip((i - j) // 3 + 4, 0, 7)],
    axes=("heads", 8),
    draw=normal,
)

HIDDEN = ScoreRegion(
    "hidden",
    """
    %never = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0 : i32
    %code = tensor.extract {table}[%ki] : {type}
    %hidden = arith.cmpi eq, %code, %zero : i32
    %y = arith.select %hidden, %never, %x : f32
""",
    lambda x, b, h, i, j, table: np.where(table[j] == 0, -np.inf, x),
    axes=("keys",),
    element="i32",
    draw=lambda rng, shape: rng.integers(0, 4, shape),
)

HALVED = ScoreRegion(
    "halved",
    """
    %half = arith.constant 0.5 : f32
    %two = arith.constant 2 : index
    %one = arith.constant 1 : index
    %parity = arith.remui %batch, %two : index
    %odd = arith.cmpi eq, %parity, %one : index
    %later = arith.cmpi sgt, %ki, %qi : index
    %halve = arith.xori %odd, %later : i1
    %less = arith.mulf %x, %half : f32
    %y = arith.select %halve, %less, %x : f32
""",
    lambda x, b, h, i, j, _: np.where((b % 2 == 1) ^ (j > i), x / 2, x),
)

CAPPED = ScoreRegion(
    "capped",
    """
    %cap = arith.constant 4.0 : f32
    %inside = arith.divf %x, %cap : f32
    %tanh = math.tanh %inside : f32
    %y = arith.mulf %cap, %tanh : f32
""",
    lambda x, b, h, i, j, _: 4 * np.tanh(x / 4),
)

REGIONS = (ALIBI, SLOPES, KEY_BIAS, BUCKETS, HIDDEN, HALVED, CAPPED)
