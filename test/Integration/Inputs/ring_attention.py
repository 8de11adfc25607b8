"""What the integration tests share: a dense float64 reference, and a program of
attention ops that is written, run by `ring-run` and read back.

A program may hold many ops: one compilation then serves a group of cases.
"""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np

LAYOUTS = ("contiguous", "zigzag", "striped", "balanced")


def configurations():
    """(ranks, layout): each layout, few and many ranks; every combination with
    RING_TEST_ALL in the environment."""
    if "RING_TEST_ALL" in os.environ:
        return [(n, layout) for n in (1, 2, 3, 4, 8) for layout in LAYOUTS]
    return [
        (1, "zigzag"),
        (2, "contiguous"),
        (2, "zigzag"),
        (3, "striped"),
        (4, "zigzag"),
        (8, "balanced"),
    ]


def to_bf16(x):
    """float -> bits of bf16, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


def stored(x, dtype):
    """The array that a .npy file of `dtype` holds."""
    if dtype == "bf16":
        return to_bf16(x)
    return np.asarray(x).astype({"f32": np.float32, "f16": np.float16}[dtype])


def loaded(x, dtype):
    """float64 of what `stored` gave."""
    if dtype == "bf16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float64)


@dataclass(frozen=True)
class Mask:
    causal: bool = False
    window: Optional[tuple] = None  # (left, right), None for unbounded
    align: Optional[str] = None

    def spelling(self):
        parts = ["causal"] if self.causal else []
        if self.window:
            left, right = ("*" if x is None else x for x in self.window)
            parts.append(f"window = [{left}, {right}]")
        if self.align:
            parts.append(f"align = {self.align}")
        return f" mask(<{', '.join(parts)}>)" if parts else ""

    def visible(self, queries, keys):
        """[queries, keys]: which pairs attend."""
        shift = keys - queries if self.align == "bottom_right" else 0
        p, j = np.arange(queries)[:, None] + shift, np.arange(keys)[None]
        seen = np.ones((queries, keys), bool)
        if self.causal:
            seen &= j <= p
        if self.window:
            left, right = self.window
            seen &= True if left is None else j >= p - left
            seen &= True if right is None else j <= p + right
        return seen


class Reference(NamedTuple):
    out: np.ndarray
    lse: np.ndarray
    absolute: np.ndarray  # the same attention applied to |V|
    size: np.ndarray  # [batch, heads, Sq]: sum |q||k| + |score| where it matters


def attend(q, k, v, mask=Mask(), scale=None):
    """Dense attention in float64; NaN where a row sees a key or a value that is
    not finite."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    seen = mask.visible(q.shape[2], k.shape[2])
    with np.errstate(invalid="ignore"):
        score = scale * np.einsum("bhid,bhjd->bhij", q, k)
        size = scale * np.einsum("bhid,bhjd->bhij", abs(q), abs(k)) + abs(score)
    score = np.where(seen, score, -np.inf)
    top = score.max(axis=-1, keepdims=True)
    base = np.where(np.isfinite(top), top, 0)
    weight = np.exp(score - base)
    total = weight.sum(axis=-1, keepdims=True)
    weight /= np.where(total > 0, total, 1)
    finite = np.isfinite(v)
    usable = np.where(finite, v, 0)
    out = weight @ usable
    out[(seen @ (~finite).astype(float)) > 0] = np.nan
    with np.errstate(divide="ignore"):
        lse = (base + np.log(total))[..., 0]
    matters = score >= base - 32  # the others have no weight in f32
    size = np.where(matters, size, 0).max(axis=-1)
    return Reference(out, lse, weight @ abs(usable), size)


def excess(reference, out, lse, v, dtype):
    """Errors of out and lse as multiples of the tolerance; right up to 1."""
    size = reference.size[..., None]
    if dtype == "f32":
        allowed = 1e-5 * (1 + size / 32) * abs(v[np.isfinite(v)]).max()
    else:
        unit = {"bf16": 2.0**-8, "f16": 2.0**-11}[dtype]
        least = {"bf16": 1e-38, "f16": 2.0**-24}[dtype]
        allowed = unit * (2 * reference.absolute + abs(reference.out)) + least
        allowed += 2.0**-22 * size * reference.absolute
    with np.errstate(invalid="ignore"):
        error = abs(out - reference.out) / allowed
        error[np.isnan(reference.out) & ~np.isfinite(out)] = 0
        level = np.where(np.isfinite(reference.lse), abs(reference.lse), 0)
        lse_error = abs(lse - reference.lse) / (1e-5 * (1 + reference.size + level))
        lse_error[np.isneginf(lse) & np.isneginf(reference.lse)] = 0
        lse_error[np.isnan(reference.lse) & ~np.isfinite(lse)] = 0
    worst = [np.nan_to_num(e, nan=np.inf).max() for e in (error, lse_error)]
    return tuple(worst)


class Case(NamedTuple):
    q: np.ndarray  # float64 of what the file holds
    k: np.ndarray
    v: np.ndarray
    mask: Mask
    scale: Optional[float]
    dtype: str

    def reference(self):
        return attend(self.q, self.k, self.v, self.mask, self.scale)


class Result(NamedTuple):
    out: np.ndarray  # float64
    lse: np.ndarray
    bits: bytes  # of both results as they were written


class Program:
    """A function with one attention op for each case added."""

    def __init__(self):
        self.cases = {}

    def add(self, name, q, k, v, mask=Mask(), scale=None, dtype="f32"):
        """Arrays [batch, heads, S, d], or with fewer axes: [S, d], [S]."""
        q, k, v = (self._four_axes(x) for x in (q, k, v))
        q, k, v = (loaded(stored(x, dtype), dtype) for x in (q, k, v))
        self.cases[name] = Case(q, k, v, mask, scale, dtype)

    @staticmethod
    def _four_axes(x):
        x = np.asarray(x, np.float64)
        x = x[:, None] if x.ndim == 1 else x
        return x.reshape((1,) * (4 - x.ndim) + x.shape)

    def text(self):
        def tensor(shape, dtype):
            return "tensor<" + "".join(f"{n}x" for n in shape) + dtype + ">"

        arguments, results, returned, body = [], [], [], []
        for n, case in enumerate(self.cases.values()):
            types = [tensor(x.shape, case.dtype) for x in case[:3]]
            heads = case.q.shape[:3]
            made = [tensor(heads + case.v.shape[3:], case.dtype), tensor(heads, "f32")]
            arguments += [f"%{x}{n}: {t}" for x, t in zip("qkv", types)]
            clauses = case.mask.spelling()
            clauses += "" if case.scale is None else f" scale({case.scale:.17e})"
            body.append(
                f"  %o{n}, %l{n} = ring.attention %q{n}, %k{n}, %v{n}{clauses}\n"
                f"    : ({', '.join(types)}) -> ({', '.join(made)})\n"
            )
            results += made
            returned += [f"%o{n}", f"%l{n}"]
        results = ", ".join(results)
        return (
            f"func.func @attention({', '.join(arguments)}) -> ({results}) {{\n"
            f"{''.join(body)}  return {', '.join(returned)} : {results}\n}}\n"
        )

    def run(self, ranks, layout="zigzag", prefetch=1, flags=(), env=None):
        """Results by name, and the report of --json. Needs exit code 0."""
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            with open(path("attention.mlir"), "w") as file:
                file.write(self.text())
            line = ["ring-run", path("attention.mlir"), "--json", f"--ranks={ranks}"]
            line += [f"--layout={layout}", f"--prefetch-distance={prefetch}", *flags]
            for n, case in enumerate(self.cases.values()):
                for i, x in enumerate(case[:3]):
                    np.save(path(f"in{3 * n + i}.npy"), stored(x, case.dtype))
                    line.append(f"--input={3 * n + i}={path(f'in{3 * n + i}.npy')}")
                for i in (2 * n, 2 * n + 1):
                    line.append(f"--output={i}={path(f'out{i}.npy')}")
            done = subprocess.run(
                line, capture_output=True, text=True, env={**os.environ, **(env or {})}
            )
            where = f"ranks {ranks}, {layout}, prefetch distance {prefetch}"
            assert done.returncode == 0, (
                f"{where}: exit {done.returncode}\n{done.stderr}\n{self.text()}"
            )
            results = {}
            for n, (name, case) in enumerate(self.cases.items()):
                out = np.load(path(f"out{2 * n}.npy"))
                lse = np.load(path(f"out{2 * n + 1}.npy"))
                bits = out.tobytes() + lse.tobytes()
                results[name] = Result(loaded(out, case.dtype), loaded(lse, "f32"), bits)
            return results, json.loads(done.stdout)

    def check(self, results, where):
        """Every case against float64."""
        for name, case in self.cases.items():
            got = results[name]
            errors = excess(case.reference(), got.out, got.lse, case.v, case.dtype)
            assert max(errors) <= 1, f"{where}: {name}: {errors} of the tolerance"
