"""C8: no read or write outside of any buffer, and none of an input.

Each buffer of the host function, and then each local tensor of the rank functions,
ends where a page begins that nobody may touch, and then begins where one ends. What
is outside of a buffer therefore ends the test at once; inputs may only be read.
"""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import faulthandler
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case
from object_program import (
    OK,
    assert_right,
    compiled,
    guarded_memory,
    inputs_of,
    outputs_of,
    ring,
)
from ring_attention import Mask, Program
from score_regions import KEY_BIAS

faulthandler.enable()
HEADS = 2
# One new token over a cache, below and beside whole tiles; and lengths around those
# of vectors, tiles and ranks. (queries, keys)
LENGTHS = (1, 257), (1, 1), (2, 3), (17, 33), (64, 96), (65, 97), (130, 129)
MIXED = frozenset(["batch", "queries", "keys"])


def attention(rng, queries, keys, dtype, clauses):
    """Every operand that the op can have, or none but q, k and v."""
    depth, value_depth = (32, 32) if clauses else (5, 3)
    draw = lambda *shape: rng.standard_normal(shape)
    case = Case(
        draw(1, HEADS, queries, depth),
        draw(1, HEADS // 2, keys, depth),
        draw(1, HEADS // 2, keys, value_depth),
        Mask(causal=True, align=None if clauses else "bottom_right"),
        dtype=dtype,
        dynamic=MIXED,
    )
    if not clauses:
        return case
    return case.replace(
        bias=draw(1, HEADS, queries, keys),
        query_segments=np.full((1, queries), 1),
        key_segments=np.sort(rng.integers(0, 2, (1, keys))),
        lengths=np.array([max(1, keys - 1)]),
        offsets=np.array([keys - queries]),
        sinks=draw(HEADS),
        score=KEY_BIAS,
        table=draw(keys),
    )


def guarded(memory, arrays, at_end, read_only):
    return [memory.array(x, at_end, read_only) for x in arrays]


def run_host(library, case, ranks, at_end, where):
    """The host function, on whole tensors."""
    with guarded_memory() as memory, ring(ranks) as host:
        inputs = guarded(memory, inputs_of(case), at_end, read_only=True)
        outputs = guarded(memory, outputs_of(case), at_end, read_only=False)
        status = library.call(host, [*inputs, *outputs])
        assert status == OK, f"{where}: {host.error()}"
        assert_right(case, outputs, where)


def chunk(array, axis, rank, ranks):
    """A rank's part under the contiguous layout, padded with zeros."""
    length = array.shape[axis]
    cut = lambda n: n * length // ranks
    longest = max(cut(n + 1) - cut(n) for n in range(ranks))
    part = array.take(range(cut(rank), cut(rank + 1)), axis)
    padding = [(0, longest - n if d == axis else 0) for d, n in enumerate(part.shape)]
    return np.pad(part, padding)


def table(length, ranks):
    """Of the contiguous layout."""
    cuts = [n * length // ranks for n in range(ranks + 1)]
    rows = [[n, cuts[n], cuts[n + 1] - cuts[n]] for n in range(ranks)]
    return np.array([[n, at, size, size, 1] for n, at, size in rows], np.int64)


def local_inputs(case, rank, ranks):
    """A rank's arguments: its part of what is cut, all of the rest, the tables."""
    cut = {"q", "k", "v", "bias"}
    arrays = [
        chunk(whole, 2, rank, ranks) if operand.name in cut else whole
        for operand, whole in zip(case.operands(), inputs_of(case))
    ]
    sizes = case.sizes
    return [*arrays, table(sizes["queries"], ranks), table(sizes["keys"], ranks)]


def run_ranks(library, case, ranks, at_end, where):
    """The rank functions, on local tensors that lie where the test says."""
    with guarded_memory() as memory, ring(ranks) as host:
        inputs = [
            guarded(memory, local_inputs(case, rank, ranks), at_end, read_only=True)
            for rank in range(ranks)
        ]
        rows = inputs[0][0].shape[2]
        outputs = [
            guarded(memory, outputs_of(case, rows), at_end, read_only=False)
            for _ in range(ranks)
        ]
        body = lambda rank, context: library.call_rank(
            context, [*inputs[rank], *outputs[rank]]
        )
        assert host.run(body) == OK, f"{where}: {host.error()}"
        used = np.diff([n * case.sizes["queries"] // ranks for n in range(ranks + 1)])
        joined = [
            np.concatenate([own[i][:, :, :n] for own, n in zip(outputs, used)], axis=2)
            for i in range(len(outputs[0]))
        ]
        assert_right(case, joined, where)


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(8)
    dtypes = ("f32", "bf16", "f16") if "RING_TEST_ALL" in os.environ else ("f32", "f16")
    for dtype in dtypes:
        for clauses in False, True:
            cases = [attention(rng, *lengths, dtype, clauses) for lengths in LENGTHS]
            text = Program({"0": cases[-1]}).text()
            for ranks in (1, 3) if dtype == "f32" else (2,):
                name = f"{dtype}-{clauses}-{ranks}"
                place = os.path.join(folder, name)
                library = compiled(text, place, ranks, "contiguous")
                for case in cases:
                    for at_end in True, False:
                        where = f"{name}, {case.sizes}, guard at end: {at_end}"
                        run_host(library, case, ranks, at_end, where)
                        run_ranks(library, case, ranks, at_end, where)


main()
