"""Exit 3, one located line and `refused` in --json: what is not supported yet,
by its name, never ignored."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, refused, report

T = "tensor<1x2x8x4xf32>"


def attention(clauses="", *types):
    arguments = "".join(f", %{n}: {t}" for n, t in zip("xy", types))
    operands = "".join(f", {t}" for t in types)
    return f"""func.func @f(%q: {T}, %k: {T}, %v: {T}{arguments}) -> {T} {{
  %o = ring.attention %q, %k, %v {clauses} : ({T}, {T}, {T}{operands}) -> {T}
  return %o : {T}
}}
"""


def names_feature(feature, text, *arguments):
    refused(
        text,
        "--ranks=2",
        *arguments,
        folder=sys.argv[1],
        message=f"feature '{feature}' is not supported",
        feature=feature,
    )


SCORE = """score {
    ^bb0(%s: f32, %batch: index, %head: index, %i: index, %j: index):
      %twice = arith.addf %s, %s : f32
      ring.yield %twice : f32
  }"""
ids, length = "tensor<1x8xi32>", "tensor<1xi32>"
names_feature("bias", attention("bias(%x)", "tensor<1x1x8x8xf32>"))
names_feature("segments", attention("segments(%x, %y)", ids, ids))
names_feature("lengths", attention("lengths(%x)", length))
names_feature("offsets", attention("offsets(%x) mask(<causal>)", length))
names_feature("sinks", attention("sinks(%x)", "tensor<2xf32>"))
names_feature("chunk", attention("mask(<chunk = 4>)"))
names_feature("prefix", attention("mask(<causal, prefix = 4>)"))
names_feature("softcap", attention("softcap(3.0)"))
names_feature("empty_rows", attention("empty_rows(uniform)"))
names_feature("empty_rows", attention("empty_rows(nan)"))
names_feature("score", attention(SCORE))
names_feature("dynamic shapes", attention().replace("x8x4x", "x?x4x"))

names_feature("pass-q", attention(), "--variant=pass-q")
names_feature("all-gather", attention(), "--variant=all-gather")

# Not the program but the machine is at fault: no line of the file to name.
for flag, feature in {
    "--device=cuda": "cuda",
    "--device=vgpu": "vgpu",
    "--transport=mpi": "mpi",
    "--transport=nccl": "nccl",
}.items():
    assert report(ATTENTION, "--random=1", flag, code=3)["refused"] == feature, flag
