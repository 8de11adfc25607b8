"""A lost or wrong block never passes for a right result, a late one changes nothing.

Every number of ranks and every layout, with the runtime's fault hook: rank R's
transfer T is dropped, delivered as another block, or late.
"""
# RUN: %python %s

import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_attention import LAYOUTS

RIGHT, WRONG = 0, 1
LENGTH = 37
# Without a mask every rank needs every block.
PROGRAM = f"""
func.func @attention(%q: tensor<1x2x{LENGTH}x8xf32>, %k: tensor<1x1x{LENGTH}x8xf32>,
                     %v: tensor<1x1x{LENGTH}x8xf32>) -> tensor<1x2x{LENGTH}x8xf32> {{
  %o = ring.attention %q, %k, %v
    : (tensor<1x2x{LENGTH}x8xf32>, tensor<1x1x{LENGTH}x8xf32>, tensor<1x1x{LENGTH}x8xf32>)
    -> tensor<1x2x{LENGTH}x8xf32>
  return %o : tensor<1x2x{LENGTH}x8xf32>
}}
"""


def run(folder, ranks, layout, fault=None):
    """(exit code, standard error, result) of a checked run under a fault."""
    output = os.path.join(folder, "out.npy")
    if os.path.exists(output):
        os.remove(output)
    command = [
        "ring-run",
        os.path.join(folder, "program.mlir"),
        *("--ranks", str(ranks), "--layout", layout, "--random", "3"),
        *("--check", "--deadline", "0.5", "--output", "0=" + output),
    ]
    environment = dict(os.environ)
    environment.pop("RING_FAULT", None)
    if fault:
        environment["RING_FAULT"] = fault
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    result = np.load(output) if os.path.exists(output) else None
    return done.returncode, done.stderr, result


def check(folder, ranks, layout, rank, transfer):
    where = f"rank={rank},transfer={transfer}"
    name = f"{ranks} ranks, {layout}, {where}"
    code, errors, expected = run(folder, ranks, layout)
    assert code == RIGHT, f"{name}: {errors}"

    code, errors, _ = run(folder, ranks, layout, "drop:" + where)
    assert code == WRONG, f"{name}: a dropped transfer gave exit code {code}"
    assert f"rank {rank} has not sent" in errors, f"{name}: {errors}"

    code, errors, _ = run(folder, ranks, layout, "swap:" + where)
    assert code == WRONG, f"{name}: a swapped transfer gave exit code {code}"

    code, errors, late = run(folder, ranks, layout, f"delay:{where},ms=60")
    assert code == RIGHT, f"{name}: a late transfer gave {code}: {errors}"
    assert late.tobytes() == expected.tobytes(), f"{name}: late, and other bits"


def faults():
    """(ranks, layout, rank, transfer): the first and the last transfer."""
    if "RING_TEST_ALL" in os.environ:
        for ranks in 2, 3, 4, 8, 16:
            for layout in LAYOUTS:
                yield ranks, layout, 0, 1
                yield ranks, layout, ranks - 1, ranks - 1
        return
    yield 2, "contiguous", 1, 1
    yield 3, "zigzag", 0, 2
    yield 4, "striped", 3, 3
    yield 8, "balanced", 5, 1


with tempfile.TemporaryDirectory() as scratch:
    with open(os.path.join(scratch, "program.mlir"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    for fault in faults():
        check(scratch, *fault)
