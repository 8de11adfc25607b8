"""G1: one binary for every batch and sequence length, and an error where sizes do
not fit each other; never a wrong number, never memory outside of a tensor.

A compiled object is called through its C ABI, as examples/c/main.c does.
"""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case
from object_program import (
    OK,
    USAGE,
    assert_right,
    compiled,
    inputs_of,
    outputs_of,
    ring,
)
from ring_attention import Mask, Program

FOLDER = sys.argv[1]
OPEN = frozenset(["batch", "queries", "keys"])
CAUSAL = Mask(causal=True)
normal = np.random.default_rng(1).standard_normal
# S=16, then 24, with the same binary; then others, and the first again.
SIZES = (1, 16), (1, 24), (3, 24), (2, 1), (1, 5), (2, 131), (1, 16)


def plain(batch, queries, keys=None, mask=CAUSAL, dtype="f32"):
    keys = keys or queries
    shapes = (batch, 4, queries, 64), (batch, 2, keys, 64), (batch, 2, keys, 64)
    return Case(*map(normal, shapes), mask, dtype=dtype, dynamic=OPEN)


def documents(batch, length):
    """With every operand that has a size of its own."""
    ids = np.sort(np.arange(batch * length).reshape(batch, length) % 5)
    return plain(batch, length).replace(
        bias=normal((batch, 1, length, length)),
        query_segments=ids,
        key_segments=ids,
        lengths=np.full(batch, max(1, length - 2)),
        sinks=normal(4),
    )


def crossed(batch, queries, keys):
    """Queries and keys have lengths of their own."""
    return plain(batch, queries, keys, Mask(True, align="bottom_right"), "bf16")


def library_of(case, name, ranks, layout):
    text = Program({"0": case}).text()
    assert "x?x64x" in text
    return compiled(text, os.path.join(FOLDER, name), ranks, layout)


def run(library, host, case):
    outputs = outputs_of(case)
    status = library.call(host, [*inputs_of(case), *outputs])
    assert status == OK, host.error()
    assert_right(case, outputs, f"{host.ranks} ranks, {case.sizes}")


def one_binary_many_sizes():
    configurations = [(2, "zigzag"), (3, "balanced")]
    if "RING_TEST_ALL" in os.environ:
        layouts = "zigzag", "contiguous", "striped", "balanced"
        configurations = [(n, layout) for n in (1, 2, 3, 4, 8) for layout in layouts]
    for ranks, layout in configurations:
        name = f"{layout}{ranks}"
        makes = {"plain": plain, "documents": documents, "crossed": crossed}
        for kind, make in makes.items():
            more = (7,) if kind == "crossed" else ()
            library = library_of(make(2, 16, *more), f"{name}-{kind}", ranks, layout)
            with ring(ranks) as host:
                for size in SIZES:
                    run(library, host, make(*size, *more))
            if kind == "documents":
                refuse_what_does_not_fit(library, ranks)


def shorter(array, axis):
    return array.take(range(array.shape[axis] - 1), axis)


def refuse_what_does_not_fit(library, ranks):
    """Each open size one too small: an error that says what, and both numbers. The
    next call is right again."""
    case = documents(2, 16)
    names = [operand.name for operand in case.operands()]
    inputs = inputs_of(case)
    expected = {
        ("q", 0): "batch of key and query: 2 and 1",
        ("q", 2): "query: 16 and 15",
        ("k", 0): "batch of key and query: 1 and 2",
        ("k", 2): "value and key: 16 and 15",
        ("v", 0): "batch of value and query: 1 and 2",
        ("v", 2): "value and key: 15 and 16",
        ("bias", 0): "batch of bias and query: 1 and 2",
        ("bias", 2): "bias and sequence length of query: 15 and 16",
        ("bias", 3): "columns of bias and sequence length of key: 15 and 16",
        ("query_segments", 0): "segments and query: 1 and 2",
        ("query_segments", 1): "segments and sequence length of query: 15 and 16",
        ("key_segments", 0): "segments and query: 1 and 2",
        ("key_segments", 1): "segments and sequence length of key: 15 and 16",
        ("lengths", 0): "lengths and batch of query: 1 and 2",
    }
    with ring(ranks) as host:
        for (name, axis), message in expected.items():
            at = names.index(name)
            changed = list(inputs)
            changed[at] = shorter(inputs[at], axis)
            status = library.call(host, [*changed, *outputs_of(case)])
            where = f"{name}, axis {axis}"
            assert status == USAGE, where
            assert "program.mlir:2:" in host.error(), host.error()
            assert message in host.error(), f"{where}: {host.error()}"
        refuse_other_results(library, host, case)
        run(library, host, case)


def refuse_other_results(library, host, case):
    """The caller's memory for results has no room, or too much."""
    for number, output in enumerate(outputs_of(case)):
        for axis in range(output.ndim):
            outputs = outputs_of(case)
            outputs[number] = shorter(output, axis)
            status = library.call(host, [*inputs_of(case), *outputs])
            where = f"result {number}, axis {axis}"
            assert status == USAGE and host.error(), where
            assert np.isnan(outputs[number]).all(), f"{where}: written"


def lengths_of_files_decide():
    """ring-run with `?` in the types: the files say how large they are."""
    for length in 16, 24:
        program = Program({"0": documents(2, length), "1": crossed(1, length, 9)})
        assert f"x{length}x" not in program.text()
        results, _ = program.run(3, "balanced", flags=["--check"])
        program.check(results, f"ring-run, S={length}")


def files_that_do_not_fit():
    """A mask without align needs as many queries as keys: exit 3, both numbers."""
    program = Program({"0": plain(1, 16)})
    case = program.cases["0"]
    program.cases["0"] = case.cut(keys=slice(0, 15))
    os.makedirs(FOLDER, exist_ok=True)
    done = program.launch(FOLDER, 2)
    assert done.code == 3 and done.results is None, done
    assert "attention.mlir:2:" in done.stderr, done.stderr
    assert "16 and 15" in done.stderr, done.stderr


for test in one_binary_many_sizes, lengths_of_files_decide, files_that_do_not_fit:
    print(test.__name__, flush=True)
    test()
