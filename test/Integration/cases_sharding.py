"""Lengths, layouts and numbers of ranks that went wrong elsewhere."""
# RUN: %python %s

import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import LAYOUTS, Mask, Program

normal = np.random.default_rng(11).standard_normal
CAUSAL = Mask(causal=True)


def attention(*shape, mask=CAUSAL, keys=None, dtype="f32", times=1, program=None):
    program = program or Program()
    k = list(shape)
    k[-2] = keys or k[-2]
    operands = (times * normal(s) for s in (shape, k, k))
    program.add(str(len(program.cases)), *operands, mask, dtype=dtype)
    return program


def check(program, ranks, layout="zigzag"):
    results, report = program.run(ranks, layout)
    program.check(results, f"{ranks} ranks, {layout}")
    return report


def awkward_lengths():
    check(attention(2999, 16), 4)
    # Fewer tokens than ranks, as many, one more, and uneven chunks; the mask
    # that hides nothing must not let padding in.
    for layout in LAYOUTS:
        for ranks, lengths in (3, (2, 3, 8)), (4, (1, 5, 10)):
            program = Program()
            for length in lengths:
                attention(length, 8, program=program)
            attention(lengths[-1], 8, mask=Mask(), program=program)
            check(program, ranks, layout)


def one_rank_moves_nothing():
    for layout in LAYOUTS:
        report = check(attention(13, 8), 1, layout)
        counts = {"rounds": 1, "transfers": 0, "bytes_per_rank": 0, "buffers": 0}
        assert {key: report[key] for key in counts} == counts, report
        assert report["balance"] == report["round_balance"] == 1, report


def one_query():
    """C8: one new token over a cache, below and beside whole tiles."""
    for layout in LAYOUTS:
        program = attention(2, 1, 32, keys=257, mask=Mask())
        attention(2, 1, 32, keys=257, mask=Mask(True, align="bottom_right"), program=program)
        check(program, 3, layout)


def large_inputs():
    """G14: five times the usual spread, so that one key wins most rows."""
    program = Program()
    for dtype in "f32", "bf16", "f16":
        attention(2, 130, 64, dtype=dtype, times=5, program=program)
    for ranks in 1, 4:
        check(program, ranks)


def zigzag_pairs_first_and_last_chunks():
    """The table that ring-opt writes: rank r holds chunks r and 2N-1-r."""
    for ranks in range(1, 9):
        length = 6 * ranks
        passes = [
            f"--ring-shard-attention=ranks={ranks}",
            "--ring-apply-layout=layout=zigzag",
        ]
        done = subprocess.run(
            ["ring-opt", *passes],
            input=attention(length, 8).text(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        table = re.search(r"dense<(\[\[.*?\]\])> : tensor<\d+x5xi64>", done.stdout)
        chunks = {rank: [] for rank in range(ranks)}
        for owner, begin, block, stride, count in eval(table.group(1)):
            for n in range(count):
                at = begin + n * stride
                chunks[owner] += sorted({p // 3 for p in range(at, at + block)})
        assert chunks == {r: sorted({r, 2 * ranks - 1 - r}) for r in range(ranks)}, chunks


def causal_balance():
    """For S divisible by 2N and S >= 64N, and `balanced` for a window."""
    for ranks in 2, 4, 8:
        program = attention(64 * ranks, 8)
        assert check(program, ranks)["balance"] <= 1.01
        report = check(program, ranks, "contiguous")
        # A rank's diagonal block is half of one: 2 - 1/N but for 1/S.
        assert abs(report["balance"] - (2 - 1 / ranks)) <= 0.02, report
        program = attention(64 * ranks, 8, mask=Mask(True, (50, None)))
        assert check(program, ranks, "balanced")["balance"] <= 1.05


for test in (
    awkward_lengths,
    one_rank_moves_nothing,
    one_query,
    large_inputs,
    zigzag_pairs_first_and_last_chunks,
    causal_balance,
):
    print(test.__name__, flush=True)
    test()
