"""A catalogue of the spellings of attention found in the wild: each is written as a
framework exports it, run before and after raising, and compared with float64.

A spelling is a function that computes on `Tensor`s. What it does is written down as
linalg ops, one for each operation as PyTorch's export has them, and computed in
float64 (integers in int64) at the same time:

    @raised("mask(<causal>) scale(2.500000e-01)")
    def causal(p):
        q, k, v = p.operands()
        s = p.dot("bhqk", q, k) * 0.25
        s = p.select(p.index("q") >= p.index("k"), s, -inf)
        return p.dot("bhqc", p.softmax(s), v)

Dimensions have names of one letter, and tensors of different dimensions broadcast by
name. `missed` is for what is close and must stay as it is. The last line of a family
is `main()`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
from attention_case import loaded, stored

inf = float("inf")
SIZES = {"b": 2, "h": 4, "q": 8, "k": 8, "d": 16, "c": 32}
# A few roundings of f32, one of the other types.
UNIT = {"f32": 2.0**-16, "f16": 2.0**-11, "bf16": 2.0**-8}
FLOATS = ("f16", "bf16", "f32", "f64")
COMPARE_INTEGERS = {
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
COMPARE_FLOATS = {"oeq": np.equal, "olt": np.less, "ogt": np.greater, "une": np.not_equal}
UNARY = {"sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "tanh": np.tanh, "log": np.log, "absf": np.abs}
REDUCE = {
    "addf": np.add,
    "maximumf": np.maximum,
    "maxnumf": np.fmax,
    "minimumf": np.minimum,
    "andi": np.logical_and,
    "ori": np.logical_or,
}


class Tensor:
    """The value `name` of a program, and its numbers in float64."""

    def __init__(self, program, name, dims, element, array):
        self.program, self.name, self.dims, self.element = program, name, dims, element
        self.array = array

    @property
    def type(self):
        return "tensor<" + "".join(f"{size}x" for size in self.array.shape) + self.element + ">"

    def _with(self, op, other, function, swap=False):
        op = op + ("f" if self.element in FLOATS else "i")
        operands = (other, self) if swap else (self, other)
        return self.program.map(f"arith.{op}", function, *operands)

    def __add__(self, other):
        return self._with("add", other, np.add)

    def __sub__(self, other):
        return self._with("sub", other, np.subtract)

    def __rsub__(self, other):
        return self._with("sub", other, np.subtract, swap=True)

    def __mul__(self, other):
        return self._with("mul", other, np.multiply)

    def __truediv__(self, other):
        return self._with("div", other, np.divide)

    def __rtruediv__(self, other):
        return self._with("div", other, np.divide, swap=True)

    __radd__ = lambda self, other: self._with("add", other, np.add, swap=True)
    __rmul__ = lambda self, other: self._with("mul", other, np.multiply, swap=True)
    __and__ = lambda self, other: self.program.map("arith.andi", np.logical_and, self, other)
    __or__ = lambda self, other: self.program.map("arith.ori", np.logical_or, self, other)
    __xor__ = lambda self, other: self.program.map("arith.xori", np.logical_xor, self, other)
    __lt__ = lambda self, other: self.compare("slt", other)
    __le__ = lambda self, other: self.compare("sle", other)
    __gt__ = lambda self, other: self.compare("sgt", other)
    __ge__ = lambda self, other: self.compare("sge", other)

    def compare(self, predicate, other):
        kind = "cmpf" if self.element in FLOATS else "cmpi"
        function = {**COMPARE_INTEGERS, **COMPARE_FLOATS}[predicate]
        return self.program.map(f"arith.{kind} {predicate},", function, self, other, result="i1")

    def maximum(self, other, op="maximumf"):
        return self.program.map(f"arith.{op}", np.maximum, self, other)

    def apply(self, name):
        """exp, exp2, tanh, log, sqrt or absf."""
        return self.program.map(f"math.{name}", UNARY[name], self)

    def to(self, element):
        """As `element`. A rounding is none in float64."""
        if self.element not in FLOATS:
            return self.program.map("arith.sitofp", np.float64, self, result=element, cast=True)
        wider = FLOATS.index(element) > FLOATS.index(self.element)
        name = "extf" if wider else "truncf"
        return self.program.map(f"arith.{name}", lambda x: x, self, result=element, cast=True)

    def reduce(self, combiner, over, start):
        return self.program.reduce(combiner, over, start, self)

    def named(self, **names):
        """The same with other names of dimensions: new=old."""
        table = str.maketrans({old: new for new, old in names.items()})
        return Tensor(self.program, self.name, self.dims.translate(table), self.element, self.array)

    def sum(self, over):
        return self.reduce("addf", over, 0.0)

    def max(self, over):
        return self.reduce("maximumf", over, -inf)


class Program:
    """The function @main, as it is being written."""

    def __init__(self, seed=3):
        self.random = np.random.default_rng(seed)
        self.sizes = dict(SIZES)
        self.arguments, self.inputs, self.body = [], [], []
        self.products = []  # of matrices, scores first
        self.count = 0

    # What comes in

    def input(self, dims, element="f32", array=None):
        """An argument, normally distributed where `array` is not given."""
        if array is None:
            array = self.random.standard_normal([self.sizes[d] for d in dims])
        if element in FLOATS:
            file = stored(array, element)
            array = loaded(file, element)
        else:
            file = array = np.asarray(array, {"i1": bool, "i32": np.int32, "i64": np.int64}[element])
        tensor = Tensor(self, f"%arg{len(self.arguments)}", dims, element, array)
        self.arguments.append(f"{tensor.name}: {tensor.type}")
        self.inputs.append(file)
        return tensor

    def operands(self, element="f32"):
        """Query, key and value."""
        return (self.input(dims, element) for dims in ("bhqd", "bhkd", "bhkc"))

    # Ops

    def fresh(self):
        self.count += 1
        return f"%{self.count - 1}"

    def write(self, text):
        self.body.append(text)

    def constant(self, value, element):
        name = self.fresh()
        type = "" if element == "i1" else f" : {element}"
        self.write(f"{name} = arith.constant {spell(value, element)}{type}")
        return name

    def empty(self, dims, element):
        name, shape = self.fresh(), "".join(f"{self.sizes[d]}x" for d in dims)
        self.write(f"{name} = tensor.empty() : tensor<{shape}{element}>")
        return name, f"tensor<{shape}{element}>"

    def generic(self, dims, reduced, operands, init, region):
        """`region` gets the block arguments and gives lines and what is yielded."""
        loops = ", ".join(dims + reduced)
        maps = [f"affine_map<({loops}) -> ({', '.join(x.dims)})>" for x in operands]
        maps.append(f"affine_map<({loops}) -> ({', '.join(dims)})>")
        kinds = ['"parallel"'] * len(dims) + ['"reduction"'] * len(reduced)
        name, (start, type) = self.fresh(), init
        arguments = [f"%x{i}" for i in range(len(operands))]
        block = [f"{a}: {x.element}" for a, x in zip(arguments, operands)]
        lines, result = region(*arguments, "%acc")
        types = ", ".join(x.type for x in operands)
        ins = f"ins({', '.join(x.name for x in operands)} : {types}) " if operands else ""
        self.write(f"{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}],")
        self.write(f"    iterator_types = [{', '.join(kinds)}]}} {ins}outs({start} : {type}) {{")
        block.append(f"%acc: {element_of(type)}")
        self.write(f"^bb0({', '.join(block)}):")
        for line in lines:
            self.write("  " + line)
        self.write(f"  linalg.yield {result} : {element_of(type)}")
        self.write(f"}} -> {type}")
        return name

    def broadcast(self, dims, tensor):
        """The array of `tensor` with a dimension for each of `dims`."""
        order = sorted(tensor.dims, key=dims.index)
        array = np.transpose(tensor.array, [tensor.dims.index(d) for d in order])
        return array.reshape([self.sizes[d] if d in order else 1 for d in dims])

    def map(self, op, function, *operands, result=None, cast=False):
        """The scalar `op` on each element; numbers among `operands` are constants."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        dims = max((x.dims for x in tensors), key=len)
        dims += "".join(sorted({d for x in tensors for d in x.dims} - set(dims)))
        element = tensors[-1].element
        names = {}
        for i, x in enumerate(operands):
            if not isinstance(x, Tensor):
                names[i] = self.constant(x, element)

        def region(*arguments):
            values, rest = [], iter(arguments)
            for i in range(len(operands)):
                values.append(names[i] if i in names else next(rest))
            type = f"{element} to {result}" if cast else element
            return [f"%r = {op} {', '.join(values)} : {type}"], "%r"

        init = self.empty(dims, result or element)
        name = self.generic(dims, "", tensors, init, region)
        arrays = [self.broadcast(dims, x) if isinstance(x, Tensor) else x for x in operands]
        with np.errstate(all="ignore"):
            array = np.broadcast_to(function(*arrays), [self.sizes[d] for d in dims])
        return Tensor(self, name, dims, result or element, array)

    def select(self, condition, yes, no):
        """At least one of `yes` and `no` is a tensor, or both are numbers of f32."""
        if not isinstance(yes, Tensor) and not isinstance(no, Tensor):
            element, tensors = "f32", [condition]
        else:
            tensors = [condition] + [x for x in (yes, no) if isinstance(x, Tensor)]
            element = tensors[-1].element
        dims = max((x.dims for x in tensors), key=len)
        dims += "".join(sorted({d for x in tensors for d in x.dims} - set(dims)))
        constants = [None if isinstance(x, Tensor) else self.constant(x, element) for x in (yes, no)]

        def region(condition, *arguments):
            rest = iter(arguments)
            a, b = (constant or next(rest) for constant in constants)
            return [f"%r = arith.select {condition}, {a}, {b} : {element}"], "%r"

        name = self.generic(dims, "", tensors, self.empty(dims, element), region)
        arrays = [self.broadcast(dims, x) if isinstance(x, Tensor) else x for x in (condition, yes, no)]
        array = np.broadcast_to(np.where(*arrays), [self.sizes[d] for d in dims])
        return Tensor(self, name, dims, element, array)

    def filled(self, dims, value, element="f32"):
        constant = self.constant(value, element)
        init, type = self.empty(dims, element)
        name = self.fresh()
        self.write(f"{name} = linalg.fill ins({constant} : {element}) outs({init} : {type}) -> {type}")
        return Tensor(self, name, dims, element, np.full([self.sizes[d] for d in dims], value))

    def dense(self, dims, array, element):
        """A constant of the numbers in `array`."""
        tensor = Tensor(self, self.fresh(), dims, element, array)

        def nested(part):
            if part.ndim == 0:
                return spell(part[()], element)
            return "[" + ", ".join(nested(x) for x in part) + "]"

        self.write(f"{tensor.name} = arith.constant dense<{nested(array)}> : {tensor.type}")
        return tensor

    def concat(self, dim, name, *parts, how="concat"):
        """Along `dim`, which becomes `name`: tensor.concat, or slices of an empty tensor."""
        dims, axis = parts[0].dims.replace(dim, name), parts[0].dims.index(dim)
        array = np.concatenate([part.array for part in parts], axis)
        self.sizes[name] = array.shape[axis]
        element = parts[0].element
        result = Tensor(self, None, dims, element, array)
        if how == "concat":
            result.name = self.fresh()
            ins = f"{', '.join(x.name for x in parts)} : ({', '.join(x.type for x in parts)})"
            self.write(f"{result.name} = tensor.concat dim({axis}) {ins} -> {result.type}")
            return result
        result.name, _ = self.empty(dims, element)
        offsets = [0] * len(dims)
        for part in parts:
            into, result.name = result.name, self.fresh()
            place = f"{offsets} {list(part.array.shape)} {[1] * len(dims)}"
            self.write(
                f"{result.name} = tensor.insert_slice {part.name} into {into}{place}"
                f" : {part.type} into {result.type}"
            )
            offsets[axis] += part.array.shape[axis]
        return result

    def slice(self, tensor, dim, name, start):
        """From `start` along `dim`, as many as `name` has."""
        dims, axis = tensor.dims.replace(dim, name), tensor.dims.index(dim)
        array = np.take(tensor.array, range(start, start + self.sizes[name]), axis)
        result = Tensor(self, self.fresh(), dims, tensor.element, array)
        offsets = [start if i == axis else 0 for i in range(len(dims))]
        self.write(
            f"{result.name} = tensor.extract_slice {tensor.name}{offsets} {list(array.shape)}"
            f" {[1] * len(dims)} : {tensor.type} to {result.type}"
        )
        return result

    def collapse(self, tensor, dims, name):
        """Neighbouring `dims` as the one dimension `name`."""
        axis = tensor.dims.index(dims)
        groups = [[i] for i in range(axis)] + [[axis + i for i in range(len(dims))]]
        groups += [[i] for i in range(axis + len(dims), len(tensor.dims))]
        shape = [int(np.prod([tensor.array.shape[i] for i in group])) for group in groups]
        self.sizes[name] = shape[axis]
        array = tensor.array.reshape(shape)
        result = Tensor(self, self.fresh(), tensor.dims.replace(dims, name), tensor.element, array)
        self.write(
            f"{result.name} = tensor.collapse_shape {tensor.name} {groups}"
            f" : {tensor.type} into {result.type}"
        )
        return result

    def expand(self, tensor, name, dims):
        """The opposite."""
        axis = tensor.dims.index(name)
        groups = [[i] for i in range(axis)] + [[axis + i for i in range(len(dims))]]
        groups += [[i + len(dims) - 1] for i in range(axis + 1, len(tensor.dims))]
        dims = tensor.dims.replace(name, dims)
        array = tensor.array.reshape([self.sizes[d] for d in dims])
        result = Tensor(self, self.fresh(), dims, tensor.element, array)
        self.write(
            f"{result.name} = tensor.expand_shape {tensor.name} {groups} output_shape"
            f" {list(array.shape)} : {tensor.type} into {result.type}"
        )
        return result

    def broadcast_to(self, tensor, dims):
        """With more dimensions, as a tensor of its own."""
        name = self.generic(dims, "", [tensor], self.empty(dims, tensor.element), lambda x, acc: ([], x))
        array = np.broadcast_to(self.broadcast(dims, tensor), [self.sizes[d] for d in dims])
        return Tensor(self, name, dims, tensor.element, array)

    def reduce(self, combiner, over, start, tensor):
        dims = "".join(d for d in tensor.dims if d not in over)
        init = self.filled(dims, start, tensor.element)

        def region(x, acc):
            return [f"%r = arith.{combiner} {x}, {acc} : {tensor.element}"], "%r"

        name = self.generic(dims, over, [tensor], (init.name, init.type), region)
        axes = tuple(tensor.dims.index(d) for d in over)
        array = REDUCE[combiner].reduce(tensor.array, axis=axes, initial=start)
        return Tensor(self, name, dims, tensor.element, array)

    def dot(self, dims, x, y, start=None):
        """The product of matrices, accumulated and given in f32 (f64 of f64). `start` is
        what it is added to."""
        over = "".join(d for d in x.dims if d in y.dims and d not in dims)
        element = "f64" if x.element == "f64" else "f32"
        init = start or self.filled(dims, 0.0, element)

        def region(a, b, acc):
            lines = []
            for name, operand, value in (("%a", x, a), ("%b", y, b)):
                wide = operand.element == element
                cast = "arith.extf {} : {} to {}".format(value, operand.element, element)
                lines += [] if wide else [f"{name} = {cast}"]
            a, b = ("%a" if x.element != element else a), ("%b" if y.element != element else b)
            lines += [f"%p = arith.mulf {a}, {b} : {element}", f"%r = arith.addf {acc}, %p : {element}"]
            return lines, "%r"

        name = self.generic(dims, over, [x, y], (init.name, init.type), region)
        with np.errstate(all="ignore"):
            array = np.einsum(f"{x.dims},{y.dims}->{dims}", x.array, y.array) + init.array
        self.products.append(Tensor(self, name, dims, element, array))
        return self.products[-1]

    def index(self, dim, element="i64"):
        """The position along `dim`, as arange gives it."""

        def region(acc):
            lines = ["%i = linalg.index 0 : index", f"%r = arith.index_cast %i : index to {element}"]
            return lines, "%r"

        name = self.generic(dim, "", [], self.empty(dim, element), region)
        return Tensor(self, name, dim, element, np.arange(self.sizes[dim]))

    def softmax(self, s, over="k"):
        """As PyTorch spells it."""
        e = (s - s.max(over)).apply("exp")
        return e / e.sum(over)

    def attend(self, s, v):
        """The product of softmax(s) with the values."""
        return self.dot("bhqc", self.softmax(s), v)

    # The whole

    def text(self, results):
        types = ", ".join(x.type for x in results)
        returned = ", ".join(x.name for x in results)
        head = f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{"
        body = "".join(f"  {line}\n" for line in self.body)
        return f"{head}\n{body}  return {returned} : {types}\n}}\n"


def element_of(type):
    return re.split(r"[x<>]", type)[-2]


def spell(value, element):
    """`value` as an MLIR attribute without its type."""
    if element not in FLOATS:
        return str(value).lower()
    if np.isfinite(value):
        return repr(float(value)) if "." in repr(float(value)) else f"{float(value):.17e}"
    bits = {
        "f16": (0xFC00, 0x7C00, 0x7E00),
        "bf16": (0xFF80, 0x7F80, 0x7FC0),
        "f32": (0xFF800000, 0x7F800000, 0x7FC00000),
        "f64": (0xFFF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000),
    }[element]
    return f"0x{bits[0 if value == -inf else 1 if value == inf else 2]:X}"


# The spellings of a family: (name, function, clauses or None, (reason, op) or None).
_spellings = []


def raised(clauses, /, **parameters):
    """The function becomes a `ring.attention` with exactly these clauses, in which
    operands are written as %."""

    def register(function):
        _spellings.append((function, parameters, clauses, None))
        return function

    return register


def missed(reason, op, /, **parameters):
    """The function stays as it is, and a remark gives the reason and names the op."""

    def register(function):
        _spellings.append((function, parameters, None, (reason, op)))
        return function

    return register


def _clauses(text):
    """Those of each ring.attention."""
    for attention in re.findall(r"= ring\.attention (.*?)(?: score \{| : \()", text):
        clauses = re.sub(r"%[\w#]+", "%", attention)
        yield clauses.removeprefix("%, %, %").strip()


def _tolerance(result, program, attentions):
    """What Ring computes is rounded once, what is left alone is where it says so."""
    unit = UNIT[result.element]
    if not attentions:
        unit = max([unit] + [8 * UNIT[x] for x in ("f16", "bf16") if f" to {x}\n" in "\n".join(program.body)])
    finite = result.array[np.isfinite(result.array)]
    return unit * max(1.0, np.abs(finite).max(initial=0))


def _run(spelling, folder):
    function, parameters, clauses, miss = spelling
    name = function.__name__ + "".join(f"-{value}" for value in parameters.values())
    folder = os.path.join(folder, name)
    os.makedirs(folder)
    program = Program()
    results = function(program, **parameters)
    results = results if isinstance(results, tuple) else (results,)
    path = os.path.join(folder, "program.mlir")
    with open(path, "w") as file:
        file.write(program.text(results))

    line = ["ring-opt", path, "--ring-raise-attention", "--remarks-filter=ring-raise-attention"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stderr}"
    said = done.stdout + done.stderr
    found = list(_clauses(done.stdout))
    remarks = "\n".join(re.findall(r"remark: (.*)", done.stderr))
    assert found == ([] if miss else [clauses]), f"{name}: {found}\n{remarks}"
    # Documents are named by a reduction, the first key that has their id.
    alone = miss or "segments" in clauses or '"reduction"' not in done.stdout
    assert alone, f"{name}: a part is computed again"
    if miss:
        reason, op = miss
        assert f'{reason}", op={op}\n' in said, f"{name}: {remarks}"

    for i, array in enumerate(program.inputs):
        np.save(os.path.join(folder, f"in_{i}.npy"), array)
    for i, result in enumerate(results):
        np.save(os.path.join(folder, f"ref_{i}.npy"), np.asarray(result.array, np.float64))
    # Scores that are a result keep everything as it is.
    before = os.path.join(folder, "before.mlir")
    with open(before, "w") as file:
        file.write(program.text((*results, program.products[0])))
    for path, attentions in ((before, 0), (path, 0 if miss else 1)):
        if miss and path == before:
            continue
        line = ["ring-run", path, "--ranks=3", "--layout=striped", "--json", "--rtol=0"]
        line += [f"--input={i}={folder}/in_{i}.npy" for i in range(len(program.inputs))]
        line += [f"--expect={i}={folder}/ref_{i}.npy" for i in range(len(results))]
        tolerance = max(_tolerance(result, program, attentions) for result in results)
        done = subprocess.run([*line, f"--atol={tolerance}"], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {os.path.basename(path)}: {done.stdout}{done.stderr}"
        assert json.loads(done.stdout)["attentions"] == attentions, f"{name}: {done.stdout}"
    return name


def main():
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(_run, spelling, folder) for spelling in _spellings]
        errors = [str(error) for error in (job.exception() for job in jobs) if error]
    assert not errors, "\n".join(errors)
    print(f"{len(jobs)} spellings: {', '.join(job.result() for job in jobs)}")
