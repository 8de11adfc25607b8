"""Programs of sums of products: linalg ops written from a formula like
"mk,kn->mn", run through the C ABI, and float64 of them.
"""

from __future__ import annotations

import numpy as np

from attention_case import loaded, stored

UNIT = 2.0**-24  # of rounding to f32


class Product:
    """out[...] (+)= the sum of lhs[...] * rhs[...]. `loops` is the order of the op's
    loops. With `add` the result starts from an argument, else from 0. `dynamic` are
    loops of unknown size, `steps` strides of what is read of lhs and rhs."""

    def __init__(self, formula, sizes, types="f32 f32", add=False, loops=None, dynamic="", steps=1):
        operands, self.out = formula.split("->")
        self.lhs, self.rhs = operands.split(",")
        self.formula, self.sizes, self.add, self.steps = formula, sizes, add, steps
        self.types = types.split()
        self.loops = loops or self.out + "".join(sorted(set(self.lhs + self.rhs) - set(self.out)))
        self.dynamic = dynamic

    def __str__(self):
        sizes = " ".join(f"{loop}={size}" for loop, size in self.sizes.items())
        return f"{self.formula} {sizes} {' '.join(self.types)} add={self.add} steps={self.steps}"

    def shape(self, letters):
        return [self.sizes[letter] for letter in letters]

    def tensor(self, letters, type, steps=1):
        size = lambda x: "?" if x in self.dynamic else self.sizes[x] * steps
        return f"tensor<{''.join(f'{size(x)}x' for x in letters)}{type}>"

    def arguments(self):
        """The types of its arguments."""
        types = [self.tensor(self.lhs, self.types[0], self.steps), self.tensor(self.rhs, self.types[1], self.steps)]
        return types + [self.result()] * self.add

    def result(self):
        return self.tensor(self.out, "f32")

    def lines(self, name, arguments):
        """The op as MLIR; its result is %name."""
        operands = []
        for argument, letters, type in zip(arguments, (self.lhs, self.rhs), self.types):
            if self.steps == 1:
                operands.append(argument)
                continue
            part = f"%{name}_{len(operands)}"
            list_of = lambda values: f"[{', '.join(map(str, values))}]"
            yield (
                f"{part} = tensor.extract_slice {argument}{list_of([0] * len(letters))}"
                f"{list_of(self.shape(letters))}{list_of([self.steps] * len(letters))}"
                f" : {self.tensor(letters, type, self.steps)} to {self.tensor(letters, type)}"
            )
            operands.append(part)
        init = arguments[2] if self.add else f"%{name}_zeros"
        if not self.add:
            unknown = []
            for x in self.out:
                if x in self.dynamic:
                    operand = 0 if x in self.lhs else 1
                    unknown.append(f"%{name}_{x}")
                    place = (self.lhs, self.rhs)[operand].index(x)
                    yield f"%{name}_at_{x} = arith.constant {place} : index"
                    yield (
                        f"{unknown[-1]} = tensor.dim {operands[operand]}, %{name}_at_{x}"
                        f" : {self.arguments()[operand]}"
                    )
            yield f"%{name}_zero = arith.constant 0.0 : f32"
            yield f"%{name}_empty = tensor.empty({', '.join(unknown)}) : {self.result()}"
            yield (
                f"{init} = linalg.fill ins(%{name}_zero : f32) outs(%{name}_empty : {self.result()})"
                f" -> {self.result()}"
            )
        affine = lambda letters: f"affine_map<({', '.join(self.loops)}) -> ({', '.join(letters)})>"
        kinds = ", ".join('"parallel"' if x in self.out else '"reduction"' for x in self.loops)
        types = [self.tensor(self.lhs, self.types[0]), self.tensor(self.rhs, self.types[1])]
        yield (
            f"%{name} = linalg.generic {{indexing_maps = [{affine(self.lhs)}, {affine(self.rhs)}, {affine(self.out)}],"
            f" iterator_types = [{kinds}]}} ins({', '.join(operands)} : {', '.join(types)})"
            f" outs({init} : {self.result()}) {{"
        )
        yield f"^bb0(%a: {self.types[0]}, %b: {self.types[1]}, %sum: f32):"
        factors = []
        for value, type in zip("ab", self.types):
            factors.append(f"%{value}")
            if type != "f32":
                factors[-1] += "wide"
                yield f"{factors[-1]} = arith.extf %{value} : {type} to f32"
        yield f"%product = arith.mulf {factors[0]}, {factors[1]} : f32"
        yield "%next = arith.addf %sum, %product : f32"
        yield "linalg.yield %next : f32"
        yield f"}} -> {self.result()}"

    def random(self, normal):
        """Arrays for its arguments, as they are stored."""
        shapes = [[n * self.steps for n in self.shape(letters)] for letters in (self.lhs, self.rhs)]
        arrays = [stored(normal(shape), type) for shape, type in zip(shapes, self.types)]
        return arrays + [stored(normal(self.shape(self.out)), "f32")] * self.add

    def empty(self):
        """For its result, full of NaN."""
        return np.full(self.shape(self.out), np.nan, np.float32)

    def reference(self, arrays):
        """The result in float64, and the most that each element may be off: rounding
        after each product and each sum."""
        lhs, rhs = (
            loaded(x, type)[tuple([slice(None, None, self.steps)] * x.ndim)] for x, type in zip(arrays, self.types)
        )
        init = loaded(arrays[2], "f32") if self.add else 0.0
        with np.errstate(invalid="ignore"):
            value = init + np.einsum(self.formula, lhs, rhs)
            most = np.abs(init) + np.einsum(self.formula, np.abs(lhs), np.abs(rhs))
        terms = 1
        for letter in set(self.lhs + self.rhs) - set(self.out):
            terms *= self.sizes[letter]
        return value, (terms + 1) * UNIT * most

    def check(self, result, arrays, where=""):
        value, allowed = self.reference(arrays)
        finite = np.isfinite(value)
        different = np.where(np.isnan(value), ~np.isnan(result), result != value)
        assert not different[~finite].any(), f"{self} {where}: infinities and NaNs are wrong"
        error = np.abs(result[finite] - value[finite])
        wrong = ~(error <= allowed[finite] + 1e-37)
        assert not wrong.any(), f"{self} {where}: off by {error[wrong].max()}, {wrong.sum()} of {wrong.size} are wrong"


def program(name, products):
    """A function of all products: their arguments in order, then their results."""
    arguments, lines, results, count = [], [], [], 0
    for number, product in enumerate(products):
        names = [f"%x{count + i}" for i in range(len(product.arguments()))]
        count += len(names)
        arguments += [f"{x}: {type}" for x, type in zip(names, product.arguments())]
        lines += product.lines(f"p{number}", names)
        results.append(f"%p{number}")
    types = ", ".join(product.result() for product in products)
    return "\n".join(
        [
            f"func.func @{name}({', '.join(arguments)}) -> ({types}) {{",
            *lines,
            f"return {', '.join(results)} : {types}",
            "}\n",
        ]
    )
