"""Each StableHLO op that is lowered, against NumPy. One program computes them all;
its float results are right within a few ulp of f32, the others exactly."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import subprocess
import sys

import numpy as np

FOLDER = sys.argv[1]
random = np.random.default_rng(5)

TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32", "int64": "i64", "bool": "i1"}


def tensor(array):
    return "tensor<" + "".join(f"{size}x" for size in array.shape) + TYPES[str(array.dtype)] + ">"


class Program:
    def __init__(self):
        self.inputs, self.lines, self.results = [], [], []

    def input(self, array):
        """Its name."""
        self.inputs.append(np.array(array, order="C"))
        return f"%arg{len(self.inputs) - 1}"

    def op(self, name, operands, expected, properties="", region="", dialect="stablehlo"):
        """`operands` are arrays; the result has to be `expected`."""
        expected = [np.asarray(e) for e in (expected if isinstance(expected, list) else [expected])]
        operands = [np.asarray(o) for o in operands]
        values = ", ".join(self.input(operand) for operand in operands)
        types = ", ".join(tensor(operand) for operand in operands)
        result = f"%r{len(self.lines)}"
        many = f":{len(expected)}" if len(expected) > 1 else ""
        outs = ", ".join(tensor(e) for e in expected)
        outs = f"({outs})" if many else outs
        body = f" ({{\n{region}\n    }})" if region else ""
        self.lines.append(
            f'    {result}{many} = "{dialect}.{name}"({values}) <{{{properties}}}>{body} : ({types}) -> {outs}'
        )
        for i, e in enumerate(expected):
            self.results.append((f"{result}#{i}" if many else result, e, f"{name} {properties}"))

    def run(self):
        arguments = ", ".join(f"%arg{i}: {tensor(a)}" for i, a in enumerate(self.inputs))
        inputs = ", ".join(tensor(a) for a in self.inputs)
        outputs = ", ".join(tensor(e) for _, e, _ in self.results)
        values = ", ".join(value for value, _, _ in self.results)
        text = "\n".join(
            [
                '"builtin.module"() ({',
                f'  "func.func"() <{{function_type = ({inputs}) -> ({outputs}), sym_name = "main"}}> ({{',
                f"  ^bb0({arguments}):",
                *self.lines,
                f'    "func.return"({values}) : ({outputs}) -> ()',
                "  }) : () -> ()",
                "}) : () -> ()",
            ]
        )
        path = os.path.join(FOLDER, "ops.mlir")
        with open(path, "w") as file:
            file.write(text)
        line = ["ring-run", path]
        for i, array in enumerate(self.inputs):
            np.save(f"{FOLDER}/in_{i}.npy", array)
            line.append(f"--input={i}={FOLDER}/in_{i}.npy")
        line += [f"--output={i}={FOLDER}/out_{i}.npy" for i in range(len(self.results))]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for i, (_, expected, what) in enumerate(self.results):
            got = np.load(f"{FOLDER}/out_{i}.npy")
            if expected.dtype.kind == "f":
                tolerance = {"float16": 1e-3, "float32": 2e-6, "float64": 1e-12}[str(expected.dtype)]
                right = np.allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
            else:
                right = np.array_equal(got, expected)
            assert right and got.shape == expected.shape, f"{what}: got {got}, expected {expected}"
        print(f"{len(self.results)} results are right")


def ints(*numbers):
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def region(types, lines):
    """Lines of a region on %a, %b, ... of rank 0."""
    names = [f"%{'abcdefgh'[i]}: tensor<{t}>" for i, t in enumerate(types)]
    return "\n".join([f"    ^bb0({', '.join(names)}):", *(f"      {line}" for line in lines)])


program = Program()
f = np.float32
special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 0.5], f)
x = np.concatenate([special, random.standard_normal(8).astype(f)]).reshape(2, 8)
y = random.permuted(x.ravel()).reshape(2, 8)
positive = np.abs(random.standard_normal((2, 8))).astype(f) + f(0.1)
i, j = random.integers(-9, 9, (2, 2, 8)).astype(np.int32)
j[j == 0] = 3
p, q = random.integers(0, 2, (2, 2, 8)).astype(bool)

with np.errstate(all="ignore"):
    for name, result in {
        "abs": np.abs(x),
        "ceil": np.ceil(x),
        "cosine": np.cos(x.astype(float)).astype(f),
        "exponential": np.exp(x),
        "exponential_minus_one": np.expm1(x),
        "floor": np.floor(x),
        "is_finite": np.isfinite(x),
        "logistic": 1 / (1 + np.exp(-x)),
        "negate": -x,
        "round_nearest_even": np.round(x),
        "round_nearest_afz": np.where(np.isfinite(x), np.trunc(x + np.copysign(f(0.5), x)), x),
        "sign": np.where(x == 0, x, np.sign(x)),
        "sine": np.sin(x.astype(float)).astype(f),
        "tanh": np.tanh(x),
    }.items():
        program.op(name, [x], result)
    for name, result in {
        "cbrt": np.cbrt(positive),
        "log": np.log(positive),
        "log_plus_one": np.log1p(positive),
        "rsqrt": 1 / np.sqrt(positive),
        "sqrt": np.sqrt(positive),
        "tan": np.tan(positive),
    }.items():
        program.op(name, [positive], result)
    for name, function in {
        "add": np.add,
        "atan2": np.arctan2,
        "divide": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "multiply": np.multiply,
        "remainder": np.fmod,
        "subtract": np.subtract,
    }.items():
        program.op(name, [x, y], function(x, y))
    program.op("power", [positive, x], np.power(positive, x))
    program.op("square", [x], x * x, dialect="chlo")
    program.op("erf", [positive * 0], positive * 0, dialect="chlo")

    # Integers, of which i1 are booleans.
    for name, result in {
        "add": i + j,
        "and": i & j,
        "divide": np.trunc(i / j).astype(np.int32),
        "maximum": np.maximum(i, j),
        "minimum": np.minimum(i, j),
        "multiply": i * j,
        "or": i | j,
        "remainder": np.fmod(i, j),
        "subtract": i - j,
        "xor": i ^ j,
    }.items():
        program.op(name, [i, j], result)
    for name, result in {"abs": np.abs(i), "negate": -i, "not": ~i, "sign": np.sign(i)}.items():
        program.op(name, [i], result)
    for name, result in {"add": p | q, "and": p & q, "maximum": p | q, "minimum": p & q}.items():
        program.op(name, [p, q], result)
    for name, result in {"multiply": p & q, "or": p | q, "xor": p ^ q}.items():
        program.op(name, [p, q], result)
    program.op("not", [p], ~p)

    for direction, function in {
        "EQ": np.equal,
        "NE": np.not_equal,
        "GE": np.greater_equal,
        "GT": np.greater,
        "LE": np.less_equal,
        "LT": np.less,
    }.items():
        word = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        for a, b, kind in (x, y, "FLOAT"), (x, x, "FLOAT"), (i, j, "SIGNED"), (p, q, "UNSIGNED"):
            program.op("compare", [a, b], function(a, b), f"{word}, compare_type = #stablehlo<comparison_type {kind}>")
        program.op("compare", [i, j], function(i, j), word)

    program.op("select", [p, x, y], np.where(p, x, y))
    program.op("select", [np.bool_(True), x, y], x)
    program.op("clamp", [f(-0.5), positive - 1, f(0.25)], np.clip(positive - 1, f(-0.5), f(0.25)))
    program.op("clamp", [j, i, np.maximum(j, 4)], np.clip(i, j, np.maximum(j, 4)))

    some = random.standard_normal((2, 8)) * 5
    for to in np.float16, np.float32, np.float64, np.int32, np.int64, bool:
        for of in some.astype(f), some, some.astype(np.float16), some.astype(np.int32), p:
            program.op("convert", [of], of.astype(to))
    program.op("convert", [np.array([0.0, np.nan, 1e-30], f)], np.array([False, True, True]))

# Elements that move.
a = random.standard_normal((2, 3, 4)).astype(f)
program.op("transpose", [a], a.transpose(2, 0, 1), f"permutation = {ints(2, 0, 1)}")
for shape in (6, 4), (2, 12), (24,), (4, 6), (2, 1, 3, 2, 2), (1, 24, 1), (3, 8), (2, 6, 2):
    program.op("reshape", [a], a.reshape(shape))
program.op("reshape", [a[:1, :1, :1]], a[0, 0, 0].reshape(()))
program.op("reshape", [a[0, 0, 0].reshape(())], a[:1, :1, :1])
program.op(
    "broadcast_in_dim",
    [a[:, :1]],
    np.broadcast_to(a[:, :1, :, None].transpose(0, 3, 1, 2), (2, 5, 3, 4)),
    f"broadcast_dimensions = {ints(0, 2, 3)}",
)
program.op("broadcast_in_dim", [f(3)], np.full((2, 3), f(3)), f"broadcast_dimensions = {ints()}")
program.op(
    "broadcast_in_dim", [a[0]], np.broadcast_to(a[0].T[None], (2, 4, 3)), f"broadcast_dimensions = {ints(2, 1)}"
)
program.op(
    "slice",
    [a],
    a[1:2, 0:3:2, 1:4:2],
    f"start_indices = {ints(1, 0, 1)}, limit_indices = {ints(2, 3, 4)}, strides = {ints(1, 2, 2)}",
)
program.op("concatenate", [a, a[:, :1], a[:, 1:]], np.concatenate([a, a[:, :1], a[:, 1:]], 1), "dimension = 1 : i64")
padded = np.full((4, 7, 4), f(9))
padded[1:3, 2:7:2] = a
program.op(
    "pad",
    [a, f(9)],
    padded,
    f"edge_padding_low = {ints(1, 2, 0)}, edge_padding_high = {ints(1, 0, 0)}, interior_padding = {ints(0, 1, 0)}",
)
program.op("iota", [], np.arange(6, dtype=np.int32)[None].repeat(2, 0), "iota_dimension = 1 : i64")
program.op("iota", [], np.arange(3, dtype=f), "iota_dimension = 0 : i64")
program.op(
    "dynamic_iota", [np.array([2, 3])], np.arange(2)[:, None].repeat(3, 1), "iota_dimension = 0 : i64"
)
program.op("constant", [], np.array([[1, 2], [3, 4]], f), "value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>")
program.op("optimization_barrier", [a], a)


def gather(numbers, sizes):
    return f"dimension_numbers = #stablehlo.gather<{numbers}>, indices_are_sorted = false, slice_sizes = {ints(*sizes)}"


table = random.standard_normal((7, 5)).astype(f)
ids = np.array([[3, 0, 6], [1, 99, -4]], np.int32)
clamped = ids.clip(0, 6)
# An embedding look-up; places outside the table are moved into it.
program.op(
    "gather",
    [table, ids],
    table[clamped],
    gather("offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", (1, 5)),
)
# Slices of two dimensions that start at (column, row).
starts = np.array([[1, 4], [3, 6], [0, 0]], np.int64)
program.op(
    "gather",
    [table, starts],
    np.stack([table[min(r, 5) : min(r, 5) + 2, min(c, 2) : min(c, 2) + 3] for c, r in starts], 1),
    gather("offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1", (2, 3)),
)
# Batches: each of its own table.
tables = random.standard_normal((2, 7, 5)).astype(f)
program.op(
    "gather",
    [tables, ids],
    np.stack([tables[b][clamped[b]] for b in range(2)]),
    gather(
        "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0],"
        " start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
        (1, 1, 5),
    ),
)

# Sums.
plus = region(["f32"] * 2, ['%r = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>', '"stablehlo.return"(%r) : (tensor<f32>) -> ()'])
program.op("reduce", [a, f(2)], a.sum((0, 2)) + f(2), f"dimensions = {ints(0, 2)}", plus)
program.op("reduce", [a, f(0)], a.sum(), f"dimensions = {ints(0, 1, 2)}", plus)
program.op("reduce", [a, f(0)], a, f"dimensions = {ints()}", plus)
# What there is so far is the first argument: the last element remains.
last = region(["f32"] * 2, ['"stablehlo.return"(%b) : (tensor<f32>) -> ()'])
program.op("reduce", [a, f(0)], a[:, :, -1], f"dimensions = {ints(2)}", last)
argmax = region(
    ["f32", "i32"] * 2,
    [
        '%g = "stablehlo.compare"(%a, %c) <{comparison_direction = #stablehlo<comparison_direction GE>}>'
        " : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        '%m = "stablehlo.select"(%g, %a, %c) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>',
        '%n = "stablehlo.select"(%g, %b, %d) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>',
        '"stablehlo.return"(%m, %n) : (tensor<f32>, tensor<i32>) -> ()',
    ],
)
places = np.broadcast_to(np.arange(4, dtype=np.int32), a.shape)
program.op(
    "reduce",
    [a, places, f(-np.inf), np.int32(0)],
    [a.max(2), a.argmax(2).astype(np.int32)],
    f"dimensions = {ints(2)}",
    argmax,
)


def dot(**dims):
    fields = ", ".join(f"{name} = {list(value)}" for name, value in dims.items())
    return f"dot_dimension_numbers = #stablehlo.dot<{fields}>, precision_config = [#stablehlo<precision DEFAULT>]"


l = random.standard_normal((2, 3, 4, 5)).astype(f)
r = random.standard_normal((5, 3, 6, 2)).astype(f)
batched = dict(lhs_batching_dimensions=[1, 0], rhs_batching_dimensions=[1, 3])
summed = dict(lhs_contracting_dimensions=[3], rhs_contracting_dimensions=[0])
product = np.einsum("bhid,dhjb->hbij", l.astype(float), r.astype(float))
program.op("dot_general", [l, r], product.astype(f), dot(**batched, **summed))
program.op("dot_general", [a[0, 0], a[1, 2]], (a[0, 0] @ a[1, 2]).astype(f), dot(lhs_contracting_dimensions=[0], rhs_contracting_dimensions=[0]))
program.op("dot_general", [a[0, 0], a[1, 2]], np.outer(a[0, 0], a[1, 2]), dot())
program.op("dot_general", [i, j], i @ j.T, dot(lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1]))
# Sums of f16 in f32: in f16, 4096 ones would be 2048.
ones = np.ones((1, 4096), np.float16)
program.op("dot_general", [ones, ones], np.array([[4096]], np.float16), dot(lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1]))
program.op("dot_general", [ones, ones], np.array([[4096]], f), dot(lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1]))

program.run()
