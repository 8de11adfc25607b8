"""Ops around attention that are cut into parts for the pool: elementwise ones, sums
of rows, transposes, and what depends on an index give what NumPy gives in float64,
for sizes known at compile time and at run time, with as many threads as there are,
and touch nothing beyond their operands."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from object_program import OK, compiled, guarded_memory, ring

normal = np.random.default_rng(31).standard_normal
COLUMNS = 96


def program(rows):
    x, column, transposed = (f"tensor<{shape}xf32>" for shape in (f"{rows}x96", f"{rows}x1", f"96x{rows}"))
    size = "%rows" if rows == "?" else ""
    return f"""
#all = affine_map<(i, j) -> (i, j)>
func.func @parts(%x: {x}, %w: tensor<96xf32>) -> ({x}, {column}, {transposed}, {x}) {{
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : {x}
  %e = tensor.empty({size}) : {x}
  %0 = linalg.generic {{indexing_maps = [#all, affine_map<(i, j) -> (j)>, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %w : {x}, tensor<96xf32>) outs(%e : {x}) {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = math.exp %a : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  }} -> {x}
  %zero = arith.constant 0.0 : f32
  %ec = tensor.empty({size}) : {column}
  %z = linalg.fill ins(%zero : f32) outs(%ec : {column}) -> {column}
  %1 = linalg.generic {{indexing_maps = [#all, affine_map<(i, j) -> (i, 0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%0 : {x}) outs(%z : {column}) {{
  ^bb0(%a: f32, %sum: f32):
    %p = arith.addf %sum, %a : f32
    linalg.yield %p : f32
  }} -> {column}
  %et = tensor.empty({size}) : {transposed}
  %2 = linalg.transpose ins(%x : {x}) outs(%et : {transposed}) permutation = [1, 0]
  %3 = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {x}) outs(%e : {x}) {{
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %l = arith.index_cast %k : index to i32
    %m = arith.sitofp %l : i32 to f32
    %p = arith.addf %m, %a : f32
    linalg.yield %p : f32
  }} -> {x}
  return %0, %1, %2, %3 : {x}, {column}, {transposed}, {x}
}}
"""


def check(library, host, rows):
    """The bits of the results, after they have been compared."""
    bits = []
    for at_end in True, False:
        with guarded_memory() as memory:
            place = lambda x, read_only: memory.array(x.astype(np.float32), at_end, read_only)
            x, w = place(inputs[:rows], True), place(weights, True)
            shapes = (rows, COLUMNS), (rows, 1), (COLUMNS, rows), (rows, COLUMNS)
            results = [place(np.full(shape, np.nan), False) for shape in shapes]
            assert library.call_host("parts", host, [x, w, *results]) == OK, host.error()
            wide = x.astype(np.float64)
            product = np.exp(wide) * w
            index = np.arange(rows)[:, None] * np.arange(COLUMNS)
            expected = product, product.sum(axis=1, keepdims=True), wide.T, index + wide
            for number, (result, value) in enumerate(zip(results, expected)):
                scale = np.abs(product).sum(axis=1, keepdims=True) if number == 1 else np.abs(value)
                wrong = ~(np.abs(result - value) <= 1e-6 * (scale + 1))
                assert not wrong.any(), f"{rows} rows, result {number}: {wrong.sum()} elements are wrong"
            bits.append(b"".join(x.tobytes() for x in results))
    assert bits[0] == bits[1]
    return bits[0]


inputs, weights = normal((3000, COLUMNS)), normal(COLUMNS)
static = compiled(program(3000), os.path.join(sys.argv[1], "static"), ranks=1)
dynamic = compiled(program("?"), os.path.join(sys.argv[1], "dynamic"), ranks=1)
seen = set()
for threads in 1, 2, 3:
    with ring(1, threads=threads) as host:
        seen |= {check(library, host, 3000) for library in (static, dynamic)}
        # None, fewer than an item, one item exactly, the rest of one.
        for rows in 0, 1, 341, 342, 343, 1025:
            check(dynamic, host, rows)
assert len(seen) == 1, "results depend on the number of threads"
