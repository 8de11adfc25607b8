"""What is around attention in an object file: the whole function, what one rank does,
and what a rank is refused, through the C ABI from Python.

Lengths do not divide: a rank's padding holds zeros, of which the layer makes 0/0.
"""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from object_program import MISMATCH, OK, PEER, USAGE, compiled, ring

RANKS, HEADS, LENGTH, WIDTH = 4, 2, 10, 4
SHAPE = (1, HEADS, LENGTH, WIDTH)
PADDED = -(-LENGTH // RANKS)


def elementwise(name, op, left, right):
    return f"""
  %{name}_e = tensor.empty() : !x
  %{name} = linalg.generic {{indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins({left}, {right} : !x, !x) outs(%{name}_e : !x) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = {op} %a, %b : f32
    linalg.yield %r : f32
  }} -> !x"""


def program(mask="<causal>"):
    """o = attention(x/x, v, v), v = x/x * x; then attention(o/v, v, o/v) causally."""
    return f"""
#m = affine_map<(a, b, c, d) -> (a, b, c, d)>
!x = tensor<{"x".join(map(str, SHAPE))}xf32>
func.func @attention(%x: !x) -> !x {{
  {elementwise("q", "arith.divf", "%x", "%x")}
  {elementwise("v", "arith.mulf", "%q", "%x")}
  %o = ring.attention %q, %v, %v : (!x, !x, !x) -> !x
  {elementwise("d", "arith.divf", "%o", "%v")}
  %p = ring.attention %d, %v, %d mask({mask}) : (!x, !x, !x) -> !x
  {elementwise("z", "arith.addf", "%p", "%x")}
  return %z : !x
}}
"""


def attention(q, k, v, causal):
    scores = q @ np.swapaxes(k, 2, 3) / np.sqrt(q.shape[-1])
    if causal:
        scores[:, :, ~np.tri(LENGTH, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def expected(x):
    x = x.astype(np.float64)
    v = x / x * x
    d = attention(x / x, v, v, causal=False) / v
    return attention(d, v, d, causal=True) + x


def values(seed):
    x = np.random.default_rng(seed).uniform(0.5, 2, SHAPE)
    return x.astype(np.float32)


def library_of(text, name, layout="contiguous"):
    return compiled(text, os.path.join(sys.argv[1], name), RANKS, layout)


def assert_close(out, x):
    np.testing.assert_allclose(out, expected(x), rtol=1e-4, atol=1e-5)


def whole_function():
    for layout in "contiguous", "zigzag", "striped", "balanced":
        library = library_of(program(), layout, layout)
        with ring(RANKS) as host:
            for seed in range(3):
                x, out = values(seed), np.full(SHAPE, np.nan, np.float32)
                before = x.copy()
                assert library.call(host, [x, out]) == OK, host.error()
                assert_close(out, x)
                assert np.array_equal(before, x)


def parts_of(x):
    """Rows of each rank, padded with zeros, and how many there are."""
    ends = [rank * LENGTH // RANKS for rank in range(RANKS + 1)]
    parts = []
    for begin, end in zip(ends, ends[1:]):
        part = np.zeros((1, HEADS, PADDED, WIDTH), np.float32)
        part[:, :, : end - begin] = x[:, :, begin:end]
        parts.append((part, slice(begin, end)))
    return parts


def run_ranks(host, libraries, x, outputs):
    parts, seen = parts_of(x), {}

    def body(rank, context):
        part, rows = parts[rank]
        seen[rank] = libraries[rank].call_rank(context, [part, outputs[rank]])
        return seen[rank]

    begin = time.monotonic()
    status = host.run(body)
    assert time.monotonic() - begin < 10
    return status, seen


def outputs():
    return [np.full((1, HEADS, PADDED, WIDTH), np.nan, np.float32) for _ in range(RANKS)]


def rank_function():
    library, x = library_of(program(), "ranks"), values(7)
    with ring(RANKS) as host:
        outs = outputs()
        status, _ = run_ranks(host, [library] * RANKS, x, outs)
        assert status == OK, host.error()
        whole = np.empty(SHAPE, np.float32)
        for (_, rows), out in zip(parts_of(x), outs):
            whole[:, :, rows] = out[:, :, : rows.stop - rows.start]
        assert_close(whole, x)


def inputs_are_read_only():
    """What a rank is given it gives on to its peers, and reads again at the end."""
    library, x = library_of(program(), "read-only"), values(8)
    parts, seen = parts_of(x), []

    def body(rank, context):
        part = parts[rank][0]
        before = part.copy()
        status = library.call_rank(context, [part, outputs()[rank]])
        seen.append(np.array_equal(before, part))
        return status

    with ring(RANKS) as host:
        assert host.run(body) == OK, host.error()
    assert seen == [True] * RANKS


def refused_by_one_rank():
    """Arguments are checked before anything is computed: the others end at once."""
    library = library_of(program(), "refused")
    with ring(RANKS) as host:
        outs = outputs()
        outs[2] = np.full((1, HEADS, PADDED, WIDTH + 1), np.nan, np.float32)
        status, seen = run_ranks(host, [library] * RANKS, values(1), outs)
        assert status == USAGE, host.error()
        message = "rank 2: argument 1 has size 5 in dimension 3, expected 4"
        assert host.error() == message, host.error()
        assert seen == {0: PEER, 1: PEER, 2: USAGE, 3: PEER}, seen
        # The host is as good as before.
        status, _ = run_ranks(host, [library] * RANKS, values(1), outputs())
        assert status == OK, host.error()


def another_second_attention():
    """The first program is the same for all ranks, the second one is not."""
    right = library_of(program(), "right")
    other = library_of(program("<window = [2, 0]>"), "other")
    with ring(RANKS) as host:
        status, _ = run_ranks(
            host, [right, right, right, other], values(1), outputs()
        )
        assert status == MISMATCH, host.error()
        assert "window" in host.error() and "causal" in host.error(), host.error()


def main():
    whole_function()
    rank_function()
    inputs_are_read_only()
    refused_by_one_rank()
    another_second_attention()


main()
