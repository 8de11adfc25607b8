"""Exit 3, one located line and `refused` in --json: what is not supported yet,
by its name, never ignored."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, refused, report

T = "tensor<1x2x8x4xf32>"


def attention(body="%o = {}", result="%o"):
    op = f"ring.attention %q, %k, %v : ({T}, {T}, {T}) -> {T}"
    return f"""func.func @f(%q: {T}, %k: {T}, %v: {T}) -> {T} {{
  {body.format(op)}
  return {result} : {T}
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


names_feature("pass-q", attention(), "--variant=pass-q")
names_feature("all-gather", attention(), "--variant=all-gather")

# Attention under a condition: how often it runs nobody knows.
BRANCH = f"""%i = arith.constant 0 : index
  %x = tensor.extract %q[%i, %i, %i, %i] : {T}
  %c = arith.cmpf oeq, %x, %x : f32
  %r = scf.if %c -> {T} {{{{
    %o = {{}}
    scf.yield %o : {T}
  }}}} else {{{{
    scf.yield %q : {T}
  }}}}"""
names_feature("attention inside another op", attention(BRANCH, "%r"))
BLOCKS = """cf.br ^next
^next:
  %o = {}"""
names_feature("branches between blocks", attention(BLOCKS))

# A head that does not fit the kernels' scratch.
names_feature("head size", attention().replace("x8x4x", "x2x20000x"))

# Not the program but the tool is at fault: no line of the file to name.
assert report(ATTENTION, "--random=1", "--transport=mpi", code=3)["refused"] == "mpi"
