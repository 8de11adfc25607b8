"""Exit 3 and one located line for a program that is not one."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import refused


def attention(heads=(2, 2, 2), keys=(8, 8), element="f32", clauses=""):
    q = f"tensor<1x{heads[0]}x8x4x{element}>"
    k = f"tensor<1x{heads[1]}x{keys[0]}x4x{element}>"
    v = f"tensor<1x{heads[2]}x{keys[1]}x4x{element}>"
    return f"""func.func @f(%q: {q}, %k: {k}, %v: {v}) -> {q} {{
  %o = ring.attention %q, %k, %v {clauses} : ({q}, {k}, {v}) -> {q}
  return %o : {q}
}}
"""


def error(message, text, *arguments):
    refused(text, "--ranks=2", *arguments, folder=sys.argv[1], message=message)


# Numbers that do not fit each other: both are named.
error("3 query heads and 2 key/value heads", attention((3, 2, 2)))
error("33 query heads and 2 key/value heads", attention((33, 2, 2)))
error("4 query heads and 0 key/value heads", attention((4, 0, 0)))
error("sequence length of the value is 6, expected the key's 5", attention(keys=(5, 6)))
error("heads of the value is 4, expected the key's 8", attention((8, 8, 4)))
error("8 and 5 .* expected align or offsets", attention(keys=(5, 5), clauses="mask(<causal>)"))

# Malformed ops.
error("operand #0 must be .* got 'tensor<1x2x8x4xi32>'", attention(element="i32"))
error("operand #0 must be .* got 'tensor<1x2x8x4xf64>'", attention(element="f64"))
ranked = "tensor<1x2x8x4xf32>"
error("got 'tensor<\\*xf32>'", attention().replace(ranked, "tensor<*xf32>"))
error("", attention().replace("%q, %k, %v ", "%q, %k "))
error("", attention(clauses='mask(<"causal">)'))
error("", attention(clauses="mask(<causal, window = [1]>)"))
error("", attention(clauses="mask(<window = [-1, 0]>)"))
error("", attention(clauses='scale("half")'))
error("", attention()[:-40])
no_operands = f'%o = "ring.attention"() : () -> {ranked}'
error("", f"func.func @f(%q: {ranked}) -> {ranked} {{ {no_operands} return %o : {ranked} }}")
error("", "\x7fELF")

# Ops that nobody knows, with regions that may hold symbols: upstream's inliner
# crashes on them.
unknown = '"foo.region"() ({ "foo.end"() : () -> () }) : () -> ()'
error("'foo.region' has regions and is of no known dialect", attention() + unknown)
error("'foo.region' has regions", attention().replace("  return", f"  {unknown}\n  return"))

# Not one function on tensors.
error("0 public functions", "")
error("0 public functions", f"func.func private @f({ranked}) -> {ranked}")
error("2 public functions", attention() + attention().replace("@f", "@g"))
error("no function @g", attention(), "--entry=g")
error("cannot pass 'f32'", "func.func @f(%x: f32) -> f32 { return %x : f32 }")

# A grid that is missing, has no such axis, or another number of ranks; a
# permutation that is no ring.
PERMUTE = """shard.grid @ring(shape = 4) {attributes}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %future = ring.permute_start %x on @{grid} axis {axis} : tensor<4xf32>
  %y = ring.permute_wait %future : !ring.future<tensor<4xf32>>
  return %y : tensor<4xf32>
}}
"""


def permute(grid="ring", axis=0, attributes=""):
    return PERMUTE.format(grid=grid, axis=axis, attributes=attributes)


error("torus", permute(grid="torus"))
error("axis", permute(axis=1))
for order in "0, 1, 1, 3", "0, 1, 2", "0, -1, 2, 3", "0, 1, 2, 4":
    error("ring.order", permute(attributes=f"{{ring.order = [{order}]}}"))
