"""One `ring.attention`: its operands as arrays, its clauses, and whom it lets see.

Array shapes are written [batch, heads, queries, depth] and so on, with the names
of `AXES`; queries and keys are Sq and Sk, depth and value_depth are d and dv.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np

from dense_reference import Reference, attend
from score_regions import ScoreRegion

# The operands in the order of the op, with the axes of each.
AXES = {
    "q": ("batch", "heads", "queries", "depth"),
    "k": ("batch", "kv_heads", "keys", "depth"),
    "v": ("batch", "kv_heads", "keys", "value_depth"),
    "bias": ("batch", "heads", "queries", "keys"),
    "query_segments": ("batch", "queries"),
    "key_segments": ("batch", "keys"),
    "lengths": ("batch",),
    "offsets": ("batch",),
    "sinks": ("heads",),
}
INTEGERS = ("query_segments", "key_segments", "lengths", "offsets")
BYTES = {"f32": 4, "bf16": 2, "f16": 2}


def to_bf16(x):
    """float -> bits of bf16, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


def stored(x, dtype):
    """The array that a .npy file of `dtype` holds."""
    if dtype == "bf16":
        return to_bf16(x)
    types = {"f32": np.float32, "f16": np.float16, "i32": np.int32}
    with np.errstate(over="ignore"):  # a bias of -1e9 is -inf in f16
        return np.asarray(x).astype(types[dtype])


def loaded(x, dtype):
    """float64 of what `stored` gave; int64 of integers."""
    if dtype == "i32":
        return x.astype(np.int64)
    if dtype == "bf16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float64)


@dataclass(frozen=True)
class Mask:
    causal: bool = False
    window: Optional[tuple] = None  # (left, right), None for unbounded
    align: Optional[str] = None
    chunk: Optional[int] = None
    prefix: Optional[int] = None

    def spelling(self):
        parts = ["causal"] if self.causal else []
        if self.window:
            left, right = ("*" if x is None else x for x in self.window)
            parts.append(f"window = [{left}, {right}]")
        for name in ("chunk", "prefix", "align"):
            value = getattr(self, name)
            parts += [] if value is None else [f"{name} = {value}"]
        return f" mask(<{', '.join(parts)}>)" if parts else ""

    @property
    def positional(self):
        """Whether it matters where a query stands relative to the keys."""
        return self.causal or self.window is not None or self.chunk is not None

    def visible(self, queries, keys, offset=None):
        """[queries, keys]: which pairs attend. `offset` stands for `align`."""
        shift = keys - queries if self.align == "bottom_right" else 0
        shift = shift if offset is None else offset
        p, j = np.arange(queries)[:, None] + shift, np.arange(keys)[None]
        seen = np.ones((queries, keys), bool)
        if self.causal:
            seen &= (j <= p) | (j < (self.prefix or 0))
        if self.window:
            left, right = self.window
            seen &= True if left is None else j >= p - left
            seen &= True if right is None else j <= p + right
        if self.chunk:
            seen &= j // self.chunk == p // self.chunk
        return seen


class Operand(NamedTuple):
    name: str
    array: np.ndarray  # float64, or int64
    element: str  # f32, bf16, f16 or i32
    type: str  # as MLIR spells it


def tensor(shape, element):
    """The tensor type; a size is a number or "?"."""
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


@dataclass(frozen=True, eq=False)
class Case:
    """An attention with its inputs. Arrays hold what a file of their type does."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: Mask = Mask()
    scale: Optional[float] = None
    dtype: str = "f32"
    bias: Optional[np.ndarray] = None  # whole, or 1, along all axes but the last
    bias_dtype: str = "f32"
    query_segments: Optional[np.ndarray] = None
    key_segments: Optional[np.ndarray] = None
    lengths: Optional[np.ndarray] = None
    offsets: Optional[np.ndarray] = None
    sinks: Optional[np.ndarray] = None
    softcap: Optional[float] = None
    empty_rows: Optional[str] = None
    score: Optional[ScoreRegion] = None
    table: Optional[np.ndarray] = None  # what `score` captures
    lse: bool = True  # whether the op has it as a result
    dynamic: frozenset = frozenset()  # axes whose size the types leave open

    def __post_init__(self):
        for name in (*AXES, "table"):
            array = getattr(self, name)
            if array is not None:
                element = self.element(name)
                exact = loaded(stored(array, element), element)
                object.__setattr__(self, name, exact)
        for name in ("scale", "softcap"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, float(np.float32(value)))

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)

    def element(self, name):
        """The element type of an operand."""
        if name in INTEGERS:
            return "i32"
        if name == "table":
            return self.score.element
        return {"bias": self.bias_dtype, "sinks": "f32"}.get(name, self.dtype)

    def axes(self, name):
        """Per axis of an operand its name, or None where it is broadcast or has
        a size of its own."""
        axes = AXES.get(name) or self.score.axes
        sizes = self.sizes
        of_case = lambda axis, size: sizes.get(axis) == size
        shape = getattr(self, name).shape
        return tuple(a if of_case(a, n) else None for a, n in zip(axes, shape))

    @property
    def sizes(self):
        """Size by name of the axis."""
        arrays = {name: getattr(self, name).shape for name in "qkv"}
        return {a: n for name in "qkv" for a, n in zip(AXES[name], arrays[name])}

    @property
    def square(self):
        """Whether the types say that Sq = Sk: then a mask needs no `align`."""
        same_type = ("queries" in self.dynamic) == ("keys" in self.dynamic)
        return same_type and self.sizes["queries"] == self.sizes["keys"]

    def type(self, name):
        """The tensor type of an operand."""
        shape = list(getattr(self, name).shape)
        for n, axis in enumerate(self.axes(name)):
            # A bias of one row is one, also where Sq is open and happens to be 1.
            if axis in self.dynamic and not (name == "bias" and shape[n] == 1):
                shape[n] = "?"
        return tensor(shape, self.element(name))

    def operands(self):
        """What is given, in the order of the op; the captured table comes last."""
        names = [n for n in (*AXES, "table") if getattr(self, n) is not None]
        return [
            Operand(n, getattr(self, n), self.element(n), self.type(n)) for n in names
        ]

    def result_types(self):
        """Of `out`, and of `lse` if there is one."""
        sizes = {a: "?" if a in self.dynamic else n for a, n in self.sizes.items()}
        rows = [sizes[axis] for axis in ("batch", "heads", "queries")]
        out = tensor([*rows, sizes["value_depth"]], self.dtype)
        return [out, tensor(rows, "f32")] if self.lse else [out]

    def cut(self, **parts):
        """Of each named axis the slice that is given."""

        def part(name):
            slices = (parts.get(axis, slice(None)) for axis in self.axes(name))
            return getattr(self, name)[tuple(slices)]

        given = [n for n in (*AXES, "table") if getattr(self, n) is not None]
        return self.replace(**{name: part(name) for name in given})

    def visible(self):
        """[batch, queries, keys]: which pairs attend."""
        sizes = self.sizes
        shape = sizes["queries"], sizes["keys"]
        shifts = [None] * sizes["batch"] if self.offsets is None else self.offsets
        seen = np.stack([self.mask.visible(*shape, offset) for offset in shifts])
        if self.query_segments is not None:
            ids = self.query_segments[:, :, None]
            seen &= (ids == self.key_segments[:, None]) & (ids >= 0)
        if self.lengths is not None:
            seen &= np.arange(shape[1]) < self.lengths[:, None, None]
        return seen

    def reference(self) -> Reference:
        """What the op gives, in float64."""
        return attend(self)
