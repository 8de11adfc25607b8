"""Random programs: what `random_programs.py` runs. Each is a function of one seed."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attention_case import Case, Mask
from ring_attention import Program
from score_regions import REGIONS

FEATURES = (
    "full",
    "causal",
    "window",
    "chunk",
    "prefix",
    "cross",  # Sq different from Sk
    "bias",
    "segments",
    "lengths",
    "offsets",
    "sinks",
    "softcap",
    "empty_rows",
    "score",
    "dynamic",
    "poison",  # NaN and infinities, in keys and values that are hidden and others
)
LAYOUTS = ("contiguous", "zigzag", "zigzag", "striped", "striped:3", "balanced")
LOWEST = -3.4028234e38


class Trial(NamedTuple):
    """A program and how it is run."""

    program: Program
    ranks: int
    layout: str
    prefetch: int

    @property
    def cases(self):
        return list(self.program.cases.values())

    def with_cases(self, cases):
        named = {str(n): case for n, case in enumerate(cases)}
        return self._replace(program=Program(named))

    def describe(self):
        return f"{self.ranks} ranks, {self.layout}, prefetch distance {self.prefetch}"


def random_trial(seed, features=FEATURES, max_s=150):
    """The first op has the feature whose turn it is, so that a run of successive
    seeds has all; the rest is drawn."""
    rng = np.random.default_rng(seed)
    ranks = int(rng.choice([1, 2, 2, 3, 4, 4, 8, 16]))
    layout = str(rng.choice(LAYOUTS))
    prefetch = int(rng.choice([1, 1, 2, 3, 4]))
    first = CaseGenerator(rng, ranks, features, max_s, features[seed % len(features)])
    cases = [first.case()]
    for _ in range(rng.choice([0, 1, 1, 2])):
        leading = str(rng.choice(features))
        cases.append(CaseGenerator(rng, ranks, features, max_s, leading).case())
    trial = Trial(Program(), ranks, layout, prefetch)
    return trial.with_cases(cases)


class CaseGenerator:
    """Draws one attention."""

    def __init__(self, rng, ranks, features, max_s, leading):
        self.rng, self.ranks, self.max_s = rng, ranks, max_s
        more = rng.choice(features, rng.choice([0, 1, 2, 3, 4]))
        self.features = {leading, *map(str, more)}

    def case(self):
        sizes = self._sizes()
        case = Case(
            *self._inputs(sizes),
            self._mask(sizes),
            scale=self._one(None, None, 0.25, 0.0721, 1.0),
            dtype=self._one("f32", "bf16", "f16"),
            lse=self._chance(0.75),
            dynamic=self._dynamic(),
        )
        case = self._aligned(case)
        for name in ("bias", "segments", "lengths", "offsets", "sinks", "score"):
            if name in self.features:
                case = case.replace(**getattr(self, f"_{name}")(case))
        if "softcap" in self.features:
            case = case.replace(softcap=self._one(1.0, 5.0, 30.0))
        if "empty_rows" in self.features:
            case = case.replace(empty_rows=self._one("zero", "uniform", "nan"))
        return self._poisoned(case) if "poison" in self.features else case

    def _one(self, *options):
        return options[self.rng.integers(len(options))]

    def _chance(self, probability):
        return bool(self.rng.random() < probability)

    def _whole(self, least, most):
        """A whole number from `least` to `most`, both included."""
        return int(self.rng.integers(least, most + 1))

    def _length(self):
        """Mostly one that sits badly on ranks, chunks or tiles."""
        n = self.ranks
        near_ranks = (1, n - 1, n, n + 1, 2 * n - 1, 2 * n, 16 * n + 1)
        others = (2, 7, 13, 16, 31, 61, 64, 65, 97, 128, 131, 193, 257, 509)
        length = self._one(*near_ranks, *others, self._whole(1, self.max_s))
        return length if 1 <= length <= self.max_s else self._whole(1, self.max_s)

    def _sizes(self):
        queries = keys = self._length()
        if self.features & {"cross", "offsets"}:
            keys = self._length()
        heads, kv_heads = self._one((1, 1), (3, 3), (4, 2), (6, 1), (4, 4))
        depth = self._one(1, 5, 8, 16, 40, 64, 64, 80, 128)
        return {
            "batch": self._one(1, 1, 2, 3),
            "heads": heads,
            "kv_heads": kv_heads,
            "queries": queries,
            "keys": keys,
            "depth": depth,
            "value_depth": self._one(depth, depth, 3, 16, 48, 96),
        }

    def _inputs(self, sizes):
        """q, k, v; some of them large, so that one key wins most rows."""
        times = self._one(1, 1, 1, 5)
        for heads, length, depth in (
            ("heads", "queries", "depth"),
            ("kv_heads", "keys", "depth"),
            ("kv_heads", "keys", "value_depth"),
        ):
            shape = [sizes[axis] for axis in ("batch", heads, length, depth)]
            yield times * self.rng.standard_normal(shape)

    def _mask(self, sizes):
        keys, features = sizes["keys"], self.features
        draw = lambda: self._whole(0, keys)
        window = chunk = prefix = None
        if "window" in features:
            window = self._one(
                (draw(), 0), (draw(), draw()), (None, draw()), (draw(), None), (0, 0)
            )
        if "chunk" in features:
            chunk = self._whole(1, keys)
        if "prefix" in features:
            prefix = draw()
        causal = bool(features & {"causal", "prefix"})
        mask = Mask(causal, window, None, chunk, prefix)
        # Offsets say nothing where positions do not matter.
        return mask if mask.positional or "offsets" not in features else Mask(True)

    def _dynamic(self):
        if "dynamic" not in self.features:
            return frozenset()
        axes = [a for a in ("batch", "queries", "keys") if self._chance(0.6)]
        return frozenset(axes or ["queries", "keys"])

    def _aligned(self, case):
        """With `align` where the op demands it, and sometimes where it does not."""
        if not case.mask.positional or "offsets" in self.features:
            return case
        if case.square and self._chance(0.8):
            return case
        align = self._one("top_left", "bottom_right")
        return case.replace(mask=replace(case.mask, align=align))

    def _bias(self, case):
        sizes = case.sizes
        whole = [sizes[axis] for axis in ("batch", "heads", "queries", "keys")]
        shape = [self._one(1, n) for n in whole[:3]] + whole[3:]
        bias = self.rng.standard_normal(shape)
        # As frameworks write a mask. Where a row sees nothing else, a score of -1e4
        # has lost digits that the root mean square of 16-bit results would miss.
        f32_only = (-1e4, -1e9) if case.dtype == "f32" else ()
        last_third = bias[..., sizes["keys"] * 2 // 3 :]
        last_third += self._one(0, 0, 0, LOWEST, -np.inf, *f32_only)
        return {"bias": bias, "bias_dtype": self._one("f32", case.dtype)}

    def _segments(self, case):
        """Documents one after another and padding at the end; sometimes with ids
        that start again, sometimes in no order at all."""
        sizes, rng = case.sizes, self.rng
        total = max(sizes["queries"], sizes["keys"])
        ids = rng.integers(0, self._whole(1, 6), (sizes["batch"], total))
        ids.sort(axis=1)
        if self._chance(0.5):
            ids[:, self._whole(0, total) :] = -1
        order = self._one("sorted", "sorted", "two packs", "none")
        if order == "two packs":
            ids = np.roll(ids, self._whole(0, total), axis=1)
        if order == "none":
            ids = rng.permuted(ids, axis=1)
            ids[rng.random(ids.shape) < 0.1] = -7
        segments = ids[:, : sizes["queries"]], ids[:, : sizes["keys"]]
        return dict(zip(("query_segments", "key_segments"), segments))

    def _lengths(self, case):
        """Up to Sk, sometimes beyond both ends."""
        keys, beyond = case.sizes["keys"], self._one(0, 0, 0, 3)
        batch = case.sizes["batch"]
        return {"lengths": self.rng.integers(-beyond, keys + beyond + 1, batch)}

    def _offsets(self, case):
        """Queries before, among and behind the keys."""
        keys, before = case.sizes["keys"], self._one(0, 0, 0, case.sizes["queries"])
        return {"offsets": self.rng.integers(-before, keys + 1, case.sizes["batch"])}

    def _sinks(self, case):
        times, heads = self._one(1, 1, 10), case.q.shape[1]
        return {"sinks": times * self.rng.standard_normal(heads)}

    def _score(self, case):
        region = self._one(*REGIONS)
        return {"score": region, "table": region.random_table(self.rng, case.sizes)}

    def _poisoned(self, case):
        """With keys that no query sees full of NaN or infinities, queries that see
        nothing full of NaN, and here and there one number that somebody may see."""
        q, k, v = (x.copy() for x in (case.q, case.k, case.v))
        seen = case.visible()
        for batch, pairs in enumerate(seen):
            hidden = ~pairs.any(axis=0)
            k[batch][:, hidden] = self._one(np.nan, np.inf)
            v[batch][:, hidden] = self._one(np.nan, -np.inf)
            q[batch][:, ~pairs.any(axis=1)] = np.nan
        for x, value in (
            (v, self._one(np.nan, np.inf, -np.inf)),
            (k, np.nan),
            (q, np.nan),
        ):
            if self._chance(0.3):
                x[tuple(self._whole(0, n - 1) for n in x.shape)] = value
        if self._chance(0.5):
            v[:, :, -1] = np.nan
        return case.replace(q=q, k=k, v=v)
