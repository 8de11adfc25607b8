"""A process for each rank: each checks its own rows, rank 0 reports for all."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t %ring_obj_root/lib/libring_vgpu_processes.so

import functools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from processes import only_report, ranks_run
from ring_run import ATTENTION, report, ring_run

folder, library = sys.argv[1:]
run = functools.partial(ranks_run, folder=folder, library=library)
out = os.path.join(folder, "out.npy")
ring_run(ATTENTION, "--random=1", f"--output=0={out}")

# The same counts as with threads, and all numbers right.
for ranks, layout in (2, "zigzag"), (3, "contiguous"), (4, "striped"):
    flags = [f"--ranks={ranks}", f"--layout={layout}"]
    said = run(ranks, ATTENTION, *flags, "--check", f"--expect=0={out}", "--json", "--repeat=2")
    assert all(stderr == "" for _, stderr in said), said
    got = only_report(said)
    here = report(ATTENTION, *flags, "--random=1", "--check")
    for key in "ranks layout rounds transfers bytes_per_rank balance round_balance ok".split():
        assert got[key] == here[key], (key, got, here)
    (error,) = got["max_error"]
    assert 0 < error["out"] <= 1, error
table = run(2, ATTENTION, "--ranks=2")
assert "result          ok" in table[0][0] and table[1][0] == "", table

# What is wrong for one rank is wrong for all. In the layout `contiguous` the
# last of 37 positions is rank 2's.
wrong = np.load(out)
wrong[0, 1, 36, 5] += 1
np.save(os.path.join(folder, "wrong.npy"), wrong)
flags = ["--ranks=3", "--layout=contiguous", f"--expect=0={folder}/wrong.npy", "--json"]
said = run(3, ATTENTION, *flags, code=1)
assert only_report(said)["ok"] is False
(*others, (_, own)) = said
assert "result 0: 1 of 416 elements differ, worst at [0, 1, 36, 5]" in own, own
for _, stderr in others:
    assert "another process is wrong: rank 2" in stderr, stderr

# --check sees own rows, whatever is wrong elsewhere: --atol does not matter to it.
said = run(3, ATTENTION, "--ranks=3", "--check", "--json")
assert only_report(said)["ok"] is True


def refused(message, *arguments, ranks=2, file=ATTENTION, **kwargs):
    for _, stderr in run(ranks, file, *arguments, code=3, **kwargs):
        assert message in stderr and stderr.count("\n") == 1, stderr


def unsupported(feature, *arguments, file=ATTENTION):
    message = f"feature '{feature}' is not supported by ring-run with a process for each rank"
    refused(message, "--ranks=2", *arguments, file=file)


unsupported("--output", f"--output=0={folder}/never.npy")
unsupported("--trace", f"--trace={folder}/never.json")
unsupported("--verify-each", "--verify-each")
assert not [name for name in os.listdir(folder) if name.startswith("never")]
refused("a ring of 3 ranks in a world of 2 processes", "--ranks=3")
refused("1 of 2 ranks did not connect to rank 0 within 1 s", "--ranks=2", "--deadline=1", present=[0])


ATTENTIONS = """func.func @attentions(%q: tensor<1x2x16x8xf32>) -> TYPE {
  %a = ring.attention %q, %q, %q : (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  MORE
}
"""


def program(name, kind, more):
    path = os.path.join(folder, name + ".mlir")
    with open(path, "w") as stream:
        stream.write(ATTENTIONS.replace("TYPE", kind).replace("MORE", more))
    return path


# A rank gives its own positions of the first attention to the second.
chained = program(
    "chained",
    "tensor<1x2x16x8xf32>",
    """%b = ring.attention %a, %a, %a : (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %b : tensor<1x2x16x8xf32>""",
)
ring_run(chained, "--random=1", f"--output=0={folder}/chained.npy")
run(2, chained, "--ranks=2", f"--expect=0={folder}/chained.npy")
unsupported("--check of an attention whose operands ranks compute", "--check", file=chained)

# What the host would compute from positions that it does not have.
mixed = program(
    "mixed",
    "tensor<1x2x2x8x8xf32>",
    """%b = tensor.expand_shape %a [[0], [1], [2, 3], [4]] output_shape [1, 2, 2, 8, 8] : tensor<1x2x16x8xf32> into tensor<1x2x2x8x8xf32>
  return %b : tensor<1x2x2x8x8xf32>""",
)
unsupported("computation on joined results", file=mixed)

# Who has what is known at run time only: nothing to compare with.
dynamic = os.path.join(folder, "dynamic.mlir")
with open(dynamic, "w") as stream:
    stream.write(
        """func.func @dynamic(%q: tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32> {
  %a = ring.attention %q, %q, %q : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  return %a : tensor<1x2x?x8xf32>
}
"""
    )
np.save(os.path.join(folder, "q.npy"), np.ones((1, 2, 16, 8), np.float32))
given = f"--input=0={folder}/q.npy"
run(2, dynamic, "--ranks=2", given)
run_time = "of a layout that is known at run time only"
unsupported(f"--check {run_time}", "--check", given, file=dynamic)
unsupported(f"--expect {run_time}", f"--expect=0={folder}/q.npy", given, file=dynamic)
