"""Random programs against float64, in numbers and in the counts of --json.

    attention_grid.py --seed 7 --cases 0     # endless, with other programs
"""
# RUN: %python %s

import argparse
import itertools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program
from ring_counts import owners, pairs_by_round

BYTES = {"f32": 4, "bf16": 2, "f16": 2}


class Deck:
    """Deals its cards in random order, each once before any comes again."""

    def __init__(self, rng, *cards):
        self.rng, self.cards, self.left = rng, cards, []

    def draw(self):
        if not self.left:
            self.left = list(self.rng.permutation(len(self.cards)))
        return self.cards[self.left.pop()]


class Generator:
    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.ranks = Deck(rng, 1, 2, 3, 4, 8, 16)
        self.layout = Deck(rng, "contiguous", "zigzag", "striped", "striped:4", "balanced")
        self.prefetch = Deck(rng, 1, 1, 2, 3, 4)
        self.dtype = Deck(rng, "f32", "bf16", "f16")
        self.batch = Deck(rng, 1, 1, 2)
        self.heads = Deck(rng, (1, 1), (3, 3), (4, 2), (6, 1))
        self.depth = Deck(rng, 1, 5, 8, 40, 64, 80, 128)
        self.value_depth = Deck(rng, None, None, 3, 16, 48, 96)
        self.kind = Deck(rng, "full", "causal", "window", "causal window", "cross")
        # In ranks: fewer than one each, one each, two chunks each but one.
        near = [lambda n: max(1, n - 1), lambda n: n, lambda n: 2 * n - 1]
        self.length = Deck(rng, 1, 2, 13, 64, 97, 131, 192, 257, *near)
        self.scale = Deck(rng, None, None, 0.25)

    def configuration(self):
        return self.ranks.draw(), self.layout.draw(), self.prefetch.draw()

    def window(self, keys):
        draw = lambda: int(self.rng.integers(0, keys + 1))
        return Deck(self.rng, (draw(), 0), (draw(), draw()), (None, draw()), (draw(), None)).draw()

    def program(self, ranks):
        def length():
            card = self.length.draw()
            return card(ranks) if callable(card) else card

        queries = keys = length()
        kind, batch, (heads, kv_heads) = self.kind.draw(), self.batch.draw(), self.heads.draw()
        depth = self.depth.draw()
        value_depth = self.value_depth.draw() or depth
        align = None
        if kind == "cross":
            keys = length()
            kind = Deck(self.rng, "full", "causal", "window", "causal window").draw()
            if kind != "full":
                align = Deck(self.rng, "top_left", "bottom_right").draw()
        mask = Mask("causal" in kind, self.window(keys) if "window" in kind else None, align)
        normal = self.rng.standard_normal
        program = Program()
        program.add(
            "attention",
            normal((batch, heads, queries, depth)),
            normal((batch, kv_heads, keys, depth)),
            normal((batch, kv_heads, keys, value_depth)),
            mask,
            self.scale.draw(),
            self.dtype.draw(),
        )
        return program


def check_counts(report, case, ranks, layout, prefetch):
    batch, kv_heads, keys, depth = case.k.shape
    queries = case.q.shape[2]
    of_query, of_key = owners(queries, ranks, layout), owners(keys, ranks, layout)
    row = batch * kv_heads * (depth + case.v.shape[3]) * BYTES[case.dtype]
    transfers = report["transfers"]
    expected = {
        "ranks": ranks,
        "layout": layout,
        "variant": "pass-kv",
        "attentions": 1,
        "rounds": transfers + 1,
        "buffers": min(prefetch + 1, transfers),
        "ok": True,
    }
    if of_key is not None:
        visible = case.mask.visible(queries, keys)
        pairs = pairs_by_round(visible, of_query, of_key, ranks)
        seen = np.nonzero(pairs.sum(axis=0))[0]
        transfers = int(seen.max(initial=0))
        local = int(np.bincount(of_key, minlength=ranks).max())
        expected["transfers"] = transfers
        expected["bytes_per_rank"] = transfers * row * local
        mean = pairs.sum() / ranks
        balances = {
            "balance": pairs.sum(axis=1).max() / mean if mean else 1,
            "round_balance": pairs.max(axis=0).sum() / mean if mean else 1,
        }
        for key, value in balances.items():
            assert abs(report[key] - value) <= 1e-6 * value, (key, report[key], value)
    elif transfers:
        # 16 chunks a rank, whichever they are.
        local, rest = divmod(report["bytes_per_rank"], transfers * row)
        assert rest == 0 and transfers < ranks
        assert -(-keys // ranks) <= local <= 16 * -(-keys // (16 * ranks)), local
    got = {key: report[key] for key in expected}
    assert got == expected, f"expected {expected}, got {got}"
    assert report["buffers_allocated"] <= report["buffers"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=25, help="0: endless")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    generator = Generator(options.seed)
    for n in range(options.cases) if options.cases else itertools.count():
        configurations = [generator.configuration() for _ in range(2)]
        program = generator.program(configurations[0][0])
        for ranks, layout, prefetch in configurations:
            where = f"seed {options.seed}, case {n}, {ranks} ranks, {layout}, prefetch {prefetch}"
            if options.verbose:
                print(where, program.text().split("\n", 1)[1], flush=True)
            results, report = program.run(ranks, layout, prefetch)
            try:
                program.check(results, where)
                check_counts(report, program.cases["attention"], ranks, layout, prefetch)
            except AssertionError as error:
                raise AssertionError(f"{where}: {error}\n{program.text()}") from error


main()
