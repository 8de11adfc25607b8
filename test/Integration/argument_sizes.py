"""A compiled program given tensors of other sizes than it was compiled for: through
the C ABI nobody else compares them, and what would be read or written past their
ends is not its caller's."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case, Mask
from object_program import (
    OK,
    USAGE,
    assert_right,
    compiled,
    inputs_of,
    outputs_of,
    ring,
)
from ring_attention import Program

RANKS = 2
normal = np.random.default_rng(12).standard_normal


def attention(dynamic=frozenset()):
    """With every operand that stands next to q, k and v."""
    ids = np.zeros((2, 9), int)
    return Case(
        normal((2, 4, 9, 8)),
        normal((2, 2, 9, 8)),
        normal((2, 2, 9, 5)),
        Mask(causal=True),
        bias=normal((1, 4, 1, 9)),
        query_segments=ids,
        key_segments=ids,
        lengths=np.array([9, 4]),
        offsets=np.array([0, 2]),
        sinks=normal(4),
        dynamic=dynamic,
    )


def resized(array, dim, size):
    """With rows repeated or left out along one dimension."""
    return np.ascontiguousarray(np.take(array, np.arange(size), dim, mode="wrap"))


def every_size_of_every_argument(case, name):
    library = compiled(
        Program({"0": case}).text(), os.path.join(sys.argv[1], name), RANKS
    )
    with ring(RANKS) as host:
        right = [*inputs_of(case), *outputs_of(case)]
        assert library.call(host, right) == OK, host.error()
        assert_right(case, right[-2:], name)
        for index, array in enumerate(right):
            for dim, old in enumerate(array.shape):
                for size in (old + 16, old - 1):
                    arrays = [*inputs_of(case), *outputs_of(case)]
                    arrays[index] = resized(array, dim, size)
                    where = f"{name}: argument {index} with {size} in dimension {dim}"
                    assert library.call(host, arrays) == USAGE, where
                    assert host.error(), where
                    if not case.dynamic:
                        expected = (
                            f"argument {index} has size {size} in dimension {dim}"
                            f", expected {old}"
                        )
                        assert host.error() == expected, (where, host.error())
        # The host is as good as before.
        again = [*inputs_of(case), *outputs_of(case)]
        assert library.call(host, again) == OK, host.error()
        assert_right(case, again[-2:], name)


def main():
    every_size_of_every_argument(attention(), "static")
    open_sizes = attention(frozenset(["batch", "queries", "keys"]))
    every_size_of_every_argument(open_sizes, "dynamic")


main()
