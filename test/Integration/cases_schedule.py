"""P1: programs with transfers in flight give the bits of the one that has none.

The latter waits for each block before it computes: all passes but one, compiled to
an object by LLVM's own tools, as the others here.
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
    assert_right,
    compiled_by_passes,
    inputs_of,
    outputs_of,
    ring,
)
from ring_attention import Mask, Program

normal = np.random.default_rng(17).standard_normal
CASE = Case(
    normal((1, 4, 61, 8)),
    normal((1, 2, 61, 8)),
    normal((1, 2, 61, 8)),
    Mask(causal=True),
    dtype="bf16",
    query_segments=[[0] * 40 + [1] * 21],
    key_segments=[[0] * 40 + [1] * 21],
)


def bits(name, ranks, distance, left_out=()):
    options = f"ranks={ranks} prefetch-distance={distance} vector-bits=128"
    folder = os.path.join(sys.argv[1], f"{name}-{ranks}-{distance}")
    text = Program({"0": CASE}).text()
    library = compiled_by_passes(text, folder, options, left_out)
    outputs = outputs_of(CASE)
    with ring(ranks) as host:
        status = library.call(host, [*inputs_of(CASE), *outputs])
        assert status == OK, host.error()
    assert_right(CASE, outputs, f"{name}, {ranks} ranks, distance {distance}")
    calls = open(os.path.join(folder, "llvm.mlir")).read()
    forwards = calls.count("llvm.call @ring_permute_forward")
    return [x.tobytes() for x in outputs], forwards


for ranks in 1, 2, 3:
    without, forwards = bits("sequential", ranks, 1, ["ring-pipeline-rounds"])
    assert forwards == 0
    distances = (1, 2, 3, 4) if "RING_TEST_ALL" in os.environ else (1, 4)
    for distance in distances if ranks > 1 else (4,):
        ahead, forwards = bits("pipelined", ranks, distance)
        assert ahead == without, f"{ranks} ranks, distance {distance}: other bits"
        # Only a transfer that nobody has waited for yet is sent on as a future.
        assert (forwards > 0) == (distance > 1 and ranks > 2), (ranks, distance)
