"""Makes a failing Trial small: tries simpler ones, keeps what still fails.

A step is a function from a trial to simpler trials, the simplest first. Steps
stand in the order of what they save; `shrink` repeats them until none helps.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from attention_case import Mask

# What each clause is without it. Dropped together where one needs the other.
CLAUSES = (
    {"bias": None},
    {"query_segments": None, "key_segments": None},
    {"lengths": None},
    {"sinks": None},
    {"score": None, "table": None},
    {"softcap": None},
    {"empty_rows": None},
    {"scale": None},
    {"dynamic": frozenset()},
    {"mask": Mask(), "offsets": None},
    {"lse": False},
)
PLAIN_ARRAYS = ("q", "k", "v", "bias", "sinks", "table")


def shrink(trial, still_fails, budget):
    """The simplest trial found for which `still_fails(trial)` is true, and how many
    it was asked about: `budget` at most."""
    asked = {_fingerprint(trial)}

    def first_failing(candidates):
        for candidate in candidates:
            fingerprint = _fingerprint(candidate)
            if fingerprint in asked:
                continue
            if len(asked) > budget:
                return None
            asked.add(fingerprint)
            if still_fails(candidate):
                return candidate
        return None

    while True:
        before = trial
        for step in STEPS:
            while (simpler := first_failing(step(trial))) is not None:
                trial = simpler
        if trial is before:
            return trial, len(asked) - 1


def _fingerprint(trial):
    operands = [x for case in trial.cases for x in case.operands()]
    arrays = b"".join(x.array.tobytes() for x in operands)
    return hash((trial[1:], trial.program.text(), arrays))


def everything_small(trial):
    """One op without clauses on a few positions and two ranks: enough for faults
    that have nothing to do with the op."""
    for case in trial.cases:
        for clauses in (CLAUSES, ()):
            parts = dict.fromkeys(case.sizes, slice(1))
            small = case.cut(**{**parts, "queries": slice(2), "keys": slice(2)})
            for dropped in clauses:
                small = small.replace(**dropped)
            if _valid(small):
                yield trial.with_cases([small])._replace(ranks=2)


def fewer_ops(trial):
    cases = trial.cases
    for count in range(1, len(cases)):
        for kept in itertools.combinations(cases, count):
            yield trial.with_cases(kept)


def fewer_ranks(trial):
    for ranks in _below(trial.ranks):
        yield trial._replace(ranks=ranks)


def _below(number):
    """A few smaller numbers, the smallest first."""
    few = {1, 2, 3, 4, number // 2, number - number // 8, number - 1}
    return sorted(n for n in few if 0 < n < number)


def plain_run(trial):
    if trial.prefetch > 1:
        yield trial._replace(prefetch=1)
    for layout in ("contiguous", "zigzag", "striped"):
        if trial.layout == layout:
            return
        yield trial._replace(layout=layout)


def fewer_clauses(trial):
    def simpler(case):
        for dropped in CLAUSES:
            yield case.replace(**dropped)
        change = lambda **parts: replace(case.mask, **parts)
        yield case.replace(mask=change(causal=False, prefix=None))
        for part in ("window", "chunk", "prefix", "align"):
            yield case.replace(mask=change(**{part: None}))
        if case.offsets is not None:
            yield case.replace(mask=change(align="top_left"), offsets=None)

    return _change_one(trial, simpler)


def smaller_axes(trial):
    def simpler(case):
        group = case.q.shape[1] // case.k.shape[1]
        for kv_heads in range(1, case.k.shape[1]):
            yield case.cut(heads=slice(group * kv_heads), kv_heads=slice(kv_heads))
        if group > 1:
            yield case.cut(heads=slice(case.k.shape[1]))
        for axes in (
            ("batch",),
            ("queries", "keys"),
            ("queries",),
            ("keys",),
            ("depth",),
            ("value_depth",),
        ):
            size = max(case.sizes[axis] for axis in axes)
            first = [slice(smaller) for smaller in _below(size)]
            for part in [*first, slice(size // 2, None)]:
                yield case.cut(**dict.fromkeys(axes, part))

    return _change_one(trial, simpler)


def plain_dtype(trial):
    return _change_one(
        trial, lambda case: [case.replace(dtype="f32", bias_dtype="f32")]
    )


def plain_inputs(trial):
    """Arrays of zeros, ones, the index of the query or key, or whole numbers."""

    def simpler(case):
        for name in PLAIN_ARRAYS:
            array = getattr(case, name)
            if array is None:
                continue
            for plain in _plainer(array):
                yield case.replace(**{name: plain})

    return _change_one(trial, simpler)


def _plainer(array):
    """Arrays of that shape with simpler numbers, as far as the array's own."""
    finite = np.isfinite(array)
    if not finite.all():
        yield np.where(finite, array, 0)
    index = np.arange(array.shape[-2])[:, None] if array.ndim > 1 else 0
    for plain in (
        np.zeros_like(array),
        np.ones_like(array),
        np.broadcast_to(index, array.shape),
        np.round(np.where(finite, array, 0)),
    ):
        plain = np.where(finite, plain, array)
        if np.array_equal(plain, array, equal_nan=True):
            return
        yield plain


STEPS = (
    everything_small,
    fewer_ops,
    fewer_ranks,
    plain_run,
    fewer_clauses,
    smaller_axes,
    plain_dtype,
    plain_inputs,
)


def _change_one(trial, simpler):
    """Trials with one case replaced by a simpler one."""
    cases = trial.cases
    for n, case in enumerate(cases):
        for changed in simpler(case):
            if _valid(changed):
                yield trial.with_cases([*cases[:n], changed, *cases[n + 1 :]])


def _valid(case):
    """Whether the op verifies: where positions matter, it needs to know them."""
    mask = case.mask
    if 0 in case.sizes.values() or (mask.prefix is not None and not mask.causal):
        return False
    if case.offsets is not None:
        return mask.positional and mask.align is None
    return not mask.positional or mask.align is not None or case.square
