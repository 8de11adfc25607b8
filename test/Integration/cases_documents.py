"""Documents, padding, lengths and offsets that went wrong elsewhere.

One program holds all cases; it runs under every layout and with several numbers of
ranks. What must not change a result is changed in further batch entries of the same
op. The batch size is left open in the types, so that ops share their kernels.
"""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program, configurations

CAUSAL = Mask(causal=True)
NOTHING = -np.inf
program = Program()
expected = {}  # name: (out, lse), one number a query of each batch entry
unchanged = []  # (name, rows): all batch entries have the same bits there
normal = np.random.default_rng(7).standard_normal


def add(name, q, k, v, *mask, **clauses):
    program.add(name, q, k, v, *mask, dynamic=frozenset(["batch"]), **clauses)


def ids(query, key=None, times=1):
    """Segments of so many batch entries."""
    key = query if key is None else key
    rows = lambda x: np.array([x] * times)
    return dict(query_segments=rows(query), key_segments=rows(key))


def batches(rows):
    """[batch, 1, S, 1] of one row a batch entry."""
    return np.array(rows, float)[:, None, :, None]


def random_inputs(length, times=1, depth=8):
    """q, k and v with so many equal batch entries."""
    return [np.tile(normal((length, depth)), (times, 1, 1, 1)) for _ in range(3)]


def documents_are_independent():
    """K11: values, and no bit of a document depends on another's tokens."""
    q, k, v = np.zeros((2, 6)), np.ones((2, 6)), np.tile(np.arange(6.0), (2, 1))
    q[1, 0] = k[1, 0] = v[1, 0] = 77
    packed = ids([0, 0, 0, 1, 1, 2], times=2)
    add("K11", *map(batches, (q, k, v)), CAUSAL, 1.0, **packed)
    expected["K11, entry 0"] = [0, 0.5, 1, 3, 3.5, 5], np.log([1, 2, 3, 1, 2, 1])
    unchanged.append(("K11", slice(3, 6)))

    packed = np.repeat(np.arange(5), (1, 37, 64, 5, 43))
    for mask in CAUSAL, Mask():
        inputs = random_inputs(150, times=3)
        for x in inputs:
            x[1, :, 0] += 1
            x[2, :, :38] *= -1e6
        name = f"K11, 150 tokens{mask.spelling()}"
        add(name, *inputs, mask, **ids(packed, times=3))
        unchanged.append((name, slice(38, 150)))


def padding_has_no_weight():
    """K12, K14: ids that mark padding; K14 again as lengths of batch entries."""
    tokens = np.repeat([1.0, 2.0, 100.0], [4, 3, 1])[:, None] * np.ones(8)
    add("K12", tokens, tokens, tokens, **ids([0] * 7 + [-1]))

    used, room = np.array([9, 8, 8, 12, 8, 12]), np.array([12, 8, 8, 12, 8, 12])
    packed = np.full(room.sum(), -1)
    for n, (begin, size) in enumerate(zip(np.cumsum(room) - room, used)):
        packed[begin : begin + size] = n
    for mask in Mask(), CAUSAL:
        inputs = random_inputs(len(packed))
        for x in inputs:
            x[:, :, packed < 0] = np.nan
        add(f"K14, packed{mask.spelling()}", *inputs, mask, **ids(packed))
        inputs = [normal((6, 1, 12, 8)) for _ in range(3)]
        for x in inputs[1:]:
            x[np.arange(12) >= used[:, None, None]] = np.nan
        add(f"K14, batch{mask.spelling()}", *inputs, mask, lengths=used)


def documents_of_no_tokens():
    """K15: no key of an id, no query of one, a batch entry of length 0."""
    q, k, v = np.zeros(6), np.ones(5), [10, 20, 40, 1, 2]
    add("K15, ids", q, k, v, scale=1.0, **ids([0, 0, 1, 2, 4, 5], [0, 0, 2, 3, 5]))
    lse = [np.log(2), np.log(2), NOTHING, 0, NOTHING, 0]
    expected["K15, ids"] = [15, 15, 0, 40, 0, 2], lse

    q, k, v = np.zeros((3, 2)), np.ones((3, 5)), [np.arange(5)] * 3
    add("K15, lengths", *map(batches, (q, k, v)), scale=1.0, lengths=[0, 5, 1])
    lse = [[NOTHING] * 2, [np.log(5)] * 2, [0, 0]]
    expected["K15, lengths"] = [[0, 0], [2, 2], [0, 0]], lse


def queries_see_their_own_prefix():
    """K23: one new token of each of three sequences over their caches."""
    q, k, v = np.zeros((3, 1)), np.ones((3, 40)), [np.arange(40)] * 3
    where = dict(offsets=[0, 17, 39], lengths=[1, 18, 40])
    add("K23", *map(batches, (q, k, v)), CAUSAL, 1.0, **where)
    expected["K23"] = [[0], [8.5], [19.5]], np.log([[1], [18], [40]])


def hidden_tokens_of_any_value():
    """K24: a document, padding, and what no clause lets anybody see, full of NaN
    and infinities. All begin and end inside of tiles."""
    packed = np.repeat([0, 1, 2], (37, 30, 70))
    packed[-11:] = -1
    hidden = np.isin(packed, (1, -1))
    for mask in CAUSAL, Mask():
        inputs = random_inputs(len(packed), times=4)
        for x in inputs[1:]:
            x[1:, :, hidden] = np.reshape([np.nan, np.inf, -np.inf], (3, 1, 1, 1))
        name = f"K24, documents{mask.spelling()}"
        add(name, *inputs, mask, **ids(packed, times=4))
        unchanged.extend([(name, slice(0, 37)), (name, slice(67, 126))])
    for mask, clause, value, hidden in (
        (Mask(), "lengths", 60, slice(60, 100)),
        (Mask(window=(8, 0)), "offsets", 40, slice(0, 32)),
        (Mask(chunk=64), "offsets", 64, slice(0, 64)),
        (CAUSAL, "offsets", -37, slice(63, 100)),
    ):
        inputs = random_inputs(100, times=2)
        for x in inputs[1:]:
            x[1, :, hidden] = np.nan
        name = f"K24, {clause} {value}{mask.spelling()}"
        add(name, *inputs, mask, **{clause: [value] * 2})
        unchanged.append((name, slice(0, 100)))


def empty_states_are_skipped():
    """M5: a block of queries sees one block of keys, in the first round or in a
    later one, and nothing in the others; or never anything."""
    blocks = np.repeat(np.arange(4), 8)
    q, k, v = random_inputs(32, times=5)
    key_ids = np.array([blocks] * 4 + [blocks + 4])
    for shift in range(1, 4):
        for x in k[:, 0], v[:, 0], key_ids:
            x[shift] = np.roll(x[shift], 8 * shift, axis=0)
    segments = dict(query_segments=[blocks] * 5, key_segments=key_ids)
    add("M5", q, k, v, **segments)


def check_values(results, where):
    for name, (out, lse) in expected.items():
        name, _, entry = name.partition(", entry ")
        out_, lse_ = results[name].out, results[name].lse
        if entry:
            out_, lse_ = out_[[int(entry)]], lse_[[int(entry)]]
        wanted = np.reshape(out, lse_.shape), np.reshape(lse, lse_.shape)
        for got, want in zip((out_[..., 0], lse_), wanted):
            near = np.allclose(got, want, rtol=1e-6, atol=1e-6)
            assert near, f"{where}: {name}: {got}"


def check_padding(got, where):
    """K12: rows of tokens have one value each, the row of padding none."""
    out = np.array([1.926949] * 4 + [1.995364] * 3 + [0])[:, None]
    assert np.allclose(got.out[0, 0], out, rtol=0, atol=1e-6), f"{where}: {got.out}"
    assert np.isneginf(got.lse[0, 0, 7]) and np.isfinite(got.lse[0, 0, :7]).all()


def check_bits(results, where):
    for name, rows in unchanged:
        for array in results[name].out[:, :, rows], results[name].lse[:, :, rows]:
            assert np.isfinite(array).any(), name
            same = all(np.array_equal(array[0], other) for other in array[1:])
            assert same, f"{where}: entries of '{name}' differ in rows {rows}"


def check_empty_states(got, one_range, where):
    """M5: 0/-inf where nothing is seen ever. Where a block is one range of keys,
    the round that it comes in changes no bit."""
    assert not got.out[4].any() and np.isneginf(got.lse[4]).all(), where
    for n in (1, 2, 3) if one_range else ():
        assert np.array_equal(got.out[n], got.out[0]), f"{where}: M5, out, {n}"
        assert np.array_equal(got.lse[n], got.lse[0]), f"{where}: M5, lse, {n}"


def main():
    documents_are_independent()
    padding_has_no_weight()
    documents_of_no_tokens()
    queries_see_their_own_prefix()
    hidden_tokens_of_any_value()
    empty_states_are_skipped()
    more = [] if "RING_TEST_ALL" in os.environ else [(4, "contiguous")]
    for ranks, layout in configurations() + more:
        where = f"{ranks} ranks, {layout}"
        results, _ = program.run(ranks, layout, env={"RING_POISON": "1"})
        program.check(results, where)
        check_values(results, where)
        check_padding(results["K12"], where)
        check_bits(results, where)
        one_range = layout == "contiguous" and ranks in (1, 2, 4)
        check_empty_states(results["M5"], one_range, where)


main()
