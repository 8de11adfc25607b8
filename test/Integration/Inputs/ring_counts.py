"""The counts of `ring-run --json` by brute force: every pair of a query and a key
is looked at, and none of the compiler's arithmetic is used (docs/design.md, Counts).
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np

from attention_case import BYTES, Case

CHUNKS = 16  # of a rank in the balanced layout


def owners(length, ranks, layout):
    """The rank of each position; None for balanced, which is free to choose."""
    position = np.arange(length)
    kind, _, granularity = layout.partition(":")
    if kind == "balanced":
        return None
    if kind == "striped":
        return position // int(granularity or 1) % ranks
    chunks = ranks if kind == "contiguous" else 2 * ranks
    cuts = np.arange(chunks + 1) * length // chunks
    chunk = np.searchsorted(cuts, position, side="right") - 1
    return np.minimum(chunk, 2 * ranks - 1 - chunk) if kind == "zigzag" else chunk


def pairs_by_round(seen, of_query, of_key, ranks):
    """[ranks, rounds]: visible pairs of each rank in each round. `seen` is [Sq, Sk],
    the number of batch entries in which a pair is visible."""
    by_owner = np.zeros((ranks, ranks), int)
    np.add.at(by_owner, (of_query[:, None], of_key[None]), seen)
    rank, round_ = np.indices((ranks, ranks))
    return by_owner[rank, (rank - round_) % ranks]


class Counts(NamedTuple):
    """Of one attention. Where the balanced layout decides, the number of transfers
    is None and the others are the least and the most that they may be."""

    transfers: Optional[int]
    bytes_per_transfer: tuple[int, int]
    balance: tuple[float, float]
    round_balance: tuple[float, float]


def counts(case: Case, ranks, layout):
    sizes = case.sizes
    queries, keys = sizes["queries"], sizes["keys"]
    of_query, of_key = (owners(n, ranks, layout) for n in (queries, keys))
    token = sizes["batch"] * sizes["kv_heads"] * BYTES[case.dtype]
    token *= sizes["depth"] + sizes["value_depth"]
    if of_key is None:
        least, most = -(-keys // ranks), CHUNKS * -(-keys // (CHUNKS * ranks))
        return Counts(None, (least * token, most * token), (1, ranks), (1, np.inf))
    local = int(np.bincount(of_key).max())
    pairs = pairs_by_round(case.visible().sum(axis=0), of_query, of_key, ranks)
    mean = pairs.sum() / ranks
    balance = pairs.sum(axis=1).max() / mean if mean else 1
    round_balance = pairs.max(axis=0).sum() / mean if mean else 1
    return Counts(
        _transfers(case, of_query, of_key, ranks),
        (local * token, local * token),
        (balance, balance),
        (round_balance, round_balance),
    )


def _transfers(case, of_query, of_key, ranks):
    """Up to the farthest round in which a pair is visible by position, where
    positions are known before the run. Ids and lengths never are."""
    if case.offsets is not None or case.dynamic & {"queries", "keys"}:
        return ranks - 1
    seen = case.mask.visible(case.sizes["queries"], case.sizes["keys"])
    pairs = pairs_by_round(seen, of_query, of_key, ranks)
    return int(np.nonzero(pairs.sum(axis=0))[0].max(initial=0))


def wrong_counts(report, cases, ranks, layout, prefetch):
    """{key: text} of what is wrong with the report about a program of `cases`."""
    each = [counts(case, ranks, layout) for case in cases]
    total = report["transfers"]
    transfers = [c.transfers for c in each]
    if transfers == [None]:
        transfers = [total]  # which the other counts have to fit
    slots = lambda transfers: min(prefetch + 1, transfers)
    bytes_ = np.array([c.bytes_per_transfer for c in each])
    if None in transfers:
        allowed = {
            "transfers": (0, len(each) * (ranks - 1)),
            "bytes_per_rank": (total * bytes_.min(), total * bytes_.max()),
            "buffers": (0, slots(total)),
        }
    else:
        allowed = {
            "transfers": (sum(transfers), sum(transfers)),
            "bytes_per_rank": tuple(transfers @ bytes_),
            "buffers": (max(map(slots, transfers)),) * 2,
        }
    allowed["rounds"] = (total + len(each),) * 2
    allowed["buffers_allocated"] = 0, report["buffers"]
    for key in ("balance", "round_balance"):
        least, most = np.max([getattr(c, key) for c in each], axis=0)
        allowed[key] = least * (1 - 1e-6), most * (1 + 1e-6)
    exact = {
        "ranks": ranks,
        "layout": layout,
        "variant": "pass-kv",
        "attentions": len(each),
        "ok": True,
    }
    wrong = {
        key: f"{key} {report[key]}, expected {value}"
        for key, value in exact.items()
        if report[key] != value
    }
    for key, (least, most) in allowed.items():
        if not least <= report[key] <= most:
            wrong[key] = f"{key} {report[key]}, expected {least} to {most}"
    return wrong
