"""States that are merged: each round computes one of its own, and `ring.merge` joins it
to what the rounds before have given.

`ring-shard-attention` writes rounds that carry one state on, so the programs are its
rank functions rewritten. Fresh memory is full of NaN.
"""
# RUN: %python %s

import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import Mask, Program

ITER_ARGS = re.compile(r" iter_args\((.*?)\) ->")
STEP = re.compile(r"( *)(%\w+):3 = (ring\.online_attention .*) outs\((.*?)\) : (.*) -> \((.*)\)")


def merged(text):
    """A program of form 1 whose rounds start from the identity and merge."""
    lines, identity, step = [], {}, None
    for line in text.splitlines():
        if found := ITER_ARGS.search(line):
            identity = dict(pair.split(" = ") for pair in found[1].split(", "))
        if found := STEP.fullmatch(line):
            indent, step, operation, carried, operands, types = found.groups()
            start = ", ".join(identity[name] for name in carried.split(", "))
            lines.append(f"{indent}{step}:3 = {operation} outs({start}) : {operands} -> ({types})")
            line = f"{indent}%merged:3 = ring.merge ins({step}#0, {step}#1, {step}#2)"
            line += f" outs({carried}) : ({types}, {types}) -> ({types})"
        elif step and f"scf.yield {step}#0" in line:
            line = line.replace(f"{step}#", "%merged#")
        lines.append(line)
    return "\n".join(lines)


class MergingProgram(Program):
    def __init__(self, cases, ranks):
        super().__init__(cases)
        self.ranks = ranks

    def text(self):
        command = ["ring-opt", f"--ring-shard-attention=ranks={self.ranks}"]
        done = subprocess.run(command, input=super().text(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        text = merged(done.stdout)
        assert text.count("ring.merge") == text.count("%merged#0") == len(self.cases), text
        return text


program = Program()
normal = np.random.default_rng(23).standard_normal
shapes = (2, 4, 61, 8), (2, 2, 61, 8), (2, 2, 61, 24)
program.add("full", *map(normal, shapes))
program.add("causal", *map(normal, shapes), Mask(causal=True), dtype="bf16")
# The largest score is far above the others, and in another block for each query.
program.add("peaks", *(5 * normal(shape) for shape in shapes))
# States that saw nothing, one or both, and rows that no round sees.
shapes = (1, 1, 41, 8), (1, 1, 29, 8), (1, 1, 29, 8)
program.add("window", *map(normal, shapes), Mask(window=(2, 0), align="top_left"))
# exp(m1 - m2) overflows past a gap of 88.7.
gaps = np.array([[0, 100], [100, 0], [0, 1e4], [1e4, 0]])[None, :, :, None]
values = np.broadcast_to(np.array([1.0, 3.0])[:, None], gaps.shape)
program.add("gaps", np.ones(gaps.shape), gaps, values, scale=1.0)

for ranks, layout in (2, "contiguous"), (3, "zigzag"), (5, "balanced"):
    merging = MergingProgram(program.cases, ranks)
    results, _ = merging.run(ranks, layout, env={"RING_POISON": "1"})
    merging.check(results, f"{ranks} ranks, {layout}")
