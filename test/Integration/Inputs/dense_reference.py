"""Dense attention in float64, and the error of a result as a multiple of what is
allowed (docs/numerics.md says how much that is)."""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np

SMALLEST = {"bf16": 1e-38, "f16": 2.0**-24}
UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}
RMS_COUNT = 10_000  # elements from which the root mean square counts too


class Reference(NamedTuple):
    """Rows are [batch, heads, Sq]. NaN stands for any number that is not finite."""

    out: np.ndarray  # rows + [dv]
    lse: np.ndarray  # rows
    magnitude: np.ndarray  # rows + [dv]: the same attention applied to |V|
    spread: np.ndarray  # rows + [dv]: sum over the keys of (p * v)^2
    size: np.ndarray  # rows: max of |scale| * sum |q * k| + |score| where it matters


def attend(case):
    """The attention of a Case.

    A row that sees nothing, or only scores of -inf, is empty: `empty_rows` says
    what it gives, and its lse is the sink's logit, or -inf. A row with a score of
    NaN or +inf is NaN; one that sees a value that is not finite is so there.
    """
    seen = case.visible()[:, None]  # one for all heads
    group = case.q.shape[1] // case.k.shape[1]
    k, v = (np.repeat(x, group, axis=1) for x in (case.k, case.v))
    score, size = _scores(case, k)
    score = np.where(seen, score, -np.inf)
    broken = ~(score < np.inf).all(axis=-1)
    score = np.where(broken[..., None], -np.inf, score)
    top = score.max(axis=-1)
    empty = np.isneginf(top) & ~broken

    sink = np.full(score.shape[1], -np.inf) if case.sinks is None else case.sinks
    base = np.maximum(top, sink[:, None])
    base = np.where(np.isfinite(base), base, 0)
    weight = np.exp(score - base[..., None])
    total = weight.sum(axis=-1) + np.exp(sink[:, None] - base)
    weight /= np.where(total > 0, total, 1)[..., None]
    if case.empty_rows == "uniform":
        weight[empty] = 1 / v.shape[2]

    finite = np.isfinite(v)
    usable = np.where(finite, v, 0)
    out = weight @ usable
    if not finite.all():
        averaged = empty[..., None] & (case.empty_rows == "uniform")
        out[((seen | averaged) @ (~finite).astype(float)) > 0] = np.nan
    out[broken | (empty & (case.empty_rows == "nan"))] = np.nan
    with np.errstate(divide="ignore"):
        lse = np.where(broken, np.nan, base + np.log(total))
    matters = score >= np.where(np.isfinite(top), top, np.inf)[..., None] - 32
    size = np.where(matters, size, 0).max(axis=-1)
    return Reference(out, lse, weight @ abs(usable), weight**2 @ usable**2, size)


def _scores(case, k):
    """Scores [batch, heads, Sq, Sk] before the mask, and the sizes that bound
    their rounding. `k` has a head for each query head."""
    q = case.q
    scale = q.shape[-1] ** -0.5 if case.scale is None else case.scale
    k = k.swapaxes(-1, -2)
    with np.errstate(invalid="ignore", over="ignore"):
        score = scale * (q @ k)
        size = abs(scale) * (abs(q) @ abs(k))
        if case.softcap is not None:
            score = case.softcap * np.tanh(score / case.softcap)
        if case.bias is not None:
            score = score + case.bias
        if case.score is not None:
            indices = np.ogrid[tuple(slice(n) for n in score.shape)]
            score = case.score.function(score, *indices, case.table)
        return score, size + abs(score)


class Errors(NamedTuple):
    """Multiples of what is allowed: right up to 1."""

    out: float
    lse: float
    message: str  # about the worse of the two

    @property
    def wrong(self):
        return max(self.out, self.lse) > 1


class Tolerances(NamedTuple):
    """What a result may differ by (docs/numerics.md)."""

    out: np.ndarray  # of each element
    lse: np.ndarray
    rms: Optional[float]  # root mean square of `out`; None where it does not count


def tolerances(case, reference):
    level = np.where(np.isfinite(reference.lse), abs(reference.lse), 0)
    lse = 1e-5 * (1 + reference.size + level)
    return Tolerances(_allowed(case, reference), lse, _allowed_rms(case, reference))


def errors(case, reference, out, lse=None):
    """The errors of a result; `lse` is None where the op does not give it."""
    allowed = tolerances(case, reference)
    out_errors = _multiples(out, reference.out, allowed.out)
    worst_out, message = _worst("out", out_errors, out, reference.out)
    rms = _rms_error(reference, out) / allowed.rms if allowed.rms else 0.0
    if rms > worst_out:
        worst_out, message = rms, f"out: root mean square {rms:.3g} of the tolerance"
    if lse is None:
        return Errors(worst_out, 0.0, message)
    lse_errors = _multiples(lse, reference.lse, allowed.lse)
    worst_lse, about_lse = _worst("lse", lse_errors, lse, reference.lse)
    return Errors(
        worst_out, worst_lse, about_lse if worst_lse > worst_out else message
    )


def _allowed(case, reference):
    size = reference.size[..., None]
    if case.dtype == "f32":
        finite = np.where(np.isfinite(case.v), abs(case.v), 0)
        return 1e-5 * (1 + size / 32) * max(finite.max(), 1e-30)
    magnitude = reference.magnitude
    allowed = UNIT[case.dtype] * (2 * magnitude + abs(reference.out))
    return allowed + 2.0**-22 * size * magnitude + SMALLEST[case.dtype]


def _allowed_rms(case, reference):
    """Of 16-bit results: it shows partial results that were rounded, which no single
    element does."""
    finite = np.isfinite(reference.out)
    if case.dtype == "f32" or finite.sum() < RMS_COUNT:
        return None
    level = (reference.out[finite] ** 2).mean() + reference.spread[finite].mean()
    return 0.475 * UNIT[case.dtype] * np.sqrt(level) + SMALLEST[case.dtype]


def _multiples(got, expected, allowed):
    """|got - expected| / allowed; infinite where that is no number, 0 where both
    are the same infinity or where NaN was expected and `got` is not finite."""
    with np.errstate(invalid="ignore"):
        multiples = np.nan_to_num(abs(got - expected) / allowed, nan=np.inf)
    right = (got == expected) | (np.isnan(expected) & ~np.isfinite(got))
    return np.where(right, 0, multiples)


def _worst(name, multiples, got, expected):
    at = np.unravel_index(multiples.argmax(), multiples.shape)
    index = ", ".join(map(str, at))
    return multiples[at], (
        f"{name}[{index}]: expected {expected[at]:.9g}, got {got[at]:.9g}, "
        f"{multiples[at]:.3g} times the tolerance"
    )


def _rms_error(reference, out):
    both = np.isfinite(reference.out) & np.isfinite(out)
    return np.sqrt(((out - reference.out)[both] ** 2).mean()) if both.any() else 0.0
