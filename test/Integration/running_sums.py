"""tm_tensor.scan of data, along each dimension, is numpy's cumulative sum, bit by bit
in the order of the elements; the exclusive one starts with the accumulator."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import subprocess
import sys

import numpy as np

(FOLDER,) = sys.argv[1:]
SHAPE = (3, 7, 2)
random = np.random.default_rng(5)


def shaped(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def run(element, dim, inclusive):
    rest = SHAPE[:dim] + SHAPE[dim + 1 :]
    dtype = {"f32": np.float32, "i64": np.int64, "i32": np.int32}[element]
    draw = random.standard_normal if element == "f32" else lambda s: random.integers(-9, 9, s)
    x, start = draw(SHAPE).astype(dtype), draw(rest).astype(dtype)
    # The sum of nothing would lose the sign of a zero.
    x[0, 0, 0] = -0.0
    whole, part = shaped(SHAPE, element), shaped(rest, element)
    add = "arith.addf" if element == "f32" else "arith.addi"
    program = os.path.join(FOLDER, "scan.mlir")
    with open(program, "w") as file:
        file.write(
            f"""func.func @main(%x: {whole}, %a: {part}) -> {whole} {{
  %o = tensor.empty() : {whole}
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{{dimension = {dim} : i64, inclusive = {str(inclusive).lower()},
      operandSegmentSizes = array<i32: 1, 2>}}> ({{
  ^bb0(%y: {element}, %z: {element}):
    %s = {add} %y, %z : {element}
    "tm_tensor.yield"(%s) : ({element}) -> ()
  }}) : ({whole}, {whole}, {part}) -> ({whole}, {part})
  return %r#0 : {whole}
}}
"""
        )
    line = ["ring-run", program, "--ranks=2", f"--output=0={FOLDER}/out.npy"]
    for i, array in enumerate((x, start)):
        np.save(f"{FOLDER}/in_{i}.npy", array)
        line.append(f"--input={i}={FOLDER}/in_{i}.npy")
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if inclusive:
        expected = np.cumsum(x, dim, dtype)
    else:
        before = np.concatenate([np.expand_dims(start, dim), np.delete(x, -1, dim)], dim)
        expected = np.cumsum(before, dim, dtype)
    got = np.load(f"{FOLDER}/out.npy")
    assert got.tobytes() == expected.tobytes(), (element, dim, inclusive, got - expected)


for element in ("f32", "i64", "i32"):
    for dim in range(3):
        for inclusive in (True, False):
            run(element, dim, inclusive)
