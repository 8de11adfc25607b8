"""Transfers in flight change no bit, and bring no more slots than they need."""
# RUN: %python %s

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program

normal = np.random.default_rng(17).standard_normal
program = Program()
program.add(
    "attention",
    *(normal((2, heads, 61, 8)) for heads in (4, 2, 2)),
    Mask(causal=True),
    dtype="bf16",
)
# With 5 ranks a transfer sends on what one of several in flight will deliver.
for ranks in 1, 2, 3, 5:
    bits = set()
    for distance in 1, 2, 3, 4:
        results, report = program.run(ranks, "zigzag", distance)
        program.check(results, f"{ranks} ranks, prefetch distance {distance}")
        assert report["transfers"] == ranks - 1
        assert report["buffers"] == min(distance + 1, ranks - 1)
        bits.add(results["attention"].bits)
    assert len(bits) == 1, f"{ranks} ranks: results depend on the prefetch distance"
