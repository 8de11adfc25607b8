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
ALL = "RING_TEST_ALL" in os.environ


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
    """S1, S4, S6: fewer tokens than ranks, as many, one more, and uneven chunks; the
    mask that hides nothing must not let padding in."""
    check(attention(2999, 16), 4)
    for layout in LAYOUTS:
        for ranks, lengths in (3, (2, 3, 8)), (4, (1, 5, 10)):
            program = Program()
            for length in lengths:
                attention(length, 8, program=program)
            attention(lengths[-1], 8, mask=Mask(), program=program)
            check(program, ranks, layout)


def result_has_the_length_of_the_queries():
    """S6: S=57826 on 8 ranks."""
    length = 57826
    program = Program()
    values = np.arange(length) % 1000
    window = Mask(window=(2, 0))
    program.add("long", np.zeros(length), np.ones(length), values, window, lse=False)
    for layout in LAYOUTS if ALL else ("zigzag",):
        results, _ = program.run(8, layout)
        out = results["long"].out
        assert out.shape == (1, 1, length, 1), out.shape
        seen = np.minimum(np.arange(length) + 1, 3)
        mean = np.convolve(values, np.ones(3))[:length] / seen
        assert np.allclose(out.ravel(), mean, rtol=1e-6, atol=1e-6), layout


def every_position_comes_back():
    """S2: V[i] = i, and each query sees itself: out is V, whoever owned it."""
    for ranks in range(1, 9):
        program = Program()
        for length in 6 * ranks, 6 * ranks + 1:
            name, mask = str(length), Mask(window=(0, 0))
            operands = np.zeros(length), np.ones(length), np.arange(length)
            program.add(name, *operands, mask, lse=False)
        for layout in LAYOUTS if ALL else (LAYOUTS[ranks % 4],):
            results, _ = program.run(ranks, layout)
            for name, got in results.items():
                where = f"{ranks} ranks, {layout}: {got.out.ravel()}"
                assert np.array_equal(got.out.ravel(), np.arange(int(name))), where


class OnGrid(Program):
    """A program that is sharded over a grid of its own."""

    def __init__(self, grid, axis):
        super().__init__()
        self.grid, self.axis = grid, axis

    def text(self):
        text = f"shard.grid @wires{self.grid}\n{super().text()}"
        option = f"--ring-shard-attention=grid=wires axis={self.axis}"
        return subprocess.run(
            ["ring-opt", option],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


def grids_and_orders():
    """S11: axes of size 1, the identity and other permutations."""
    for grid, axis, ranks in (
        ("(shape = 1) {ring.order = [0]}", 0, 1),
        ("(shape = 1x1x1)", 1, 1),
        ("(shape = 1x3) {ring.order = [0, 1, 2]}", 1, 3),
        ("(shape = 4x1) {ring.order = [0, 2, 3, 1]}", 0, 4),
    ):
        program = attention(2, 37, 8, program=OnGrid(grid, axis))
        for layout in LAYOUTS if ALL else ("zigzag",):
            report = check(program, ranks, layout)
            assert report["transfers"] == ranks - 1, report
            assert ranks > 1 or report["bytes_per_rank"] == 0, report


def few_large_messages():
    """R3: batch x heads = 512, and one message group a round, not one a head."""
    program = attention(16, 32, 24, 8)
    for ranks in 2, 4:
        report = check(program, ranks)
        assert report["transfers"] == ranks - 1, report
        size = 16 * 32 * (24 // ranks) * (8 + 8) * 4
        assert report["bytes_per_rank"] == (ranks - 1) * size, report


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
    result_has_the_length_of_the_queries,
    every_position_comes_back,
    grids_and_orders,
    few_large_messages,
    one_rank_moves_nothing,
    one_query,
    large_inputs,
    zigzag_pairs_first_and_last_chunks,
    causal_balance,
):
    print(test.__name__, flush=True)
    test()
