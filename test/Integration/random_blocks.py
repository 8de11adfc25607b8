"""Random programs around attention, on random ranks, layouts and blocks of feed-forwards,
against NumPy in float64.

    random_blocks.py DIR [--seed SEED] [--cases N]

Sizes are drawn from few numbers, so that sequence, batch, heads and widths are often equal:
what follows the sequence must not go by sizes. The strict pass has to take every program
without a pooled result."""
# RUN: %python %s %t --seed 1 --cases 6

import argparse
import os
import subprocess
import sys

import numpy as np

SIZES = [2, 3, 4, 6, 8]


class Program:
    """Text and float64 value of one function, built op by op. `x` is [B, S, H]."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines, self.arguments, self.inputs = [], [], []
        self.count = 0
        self.B, self.S = self.rng.choice([1, 1, 2, 3]), self.rng.choice([3, 4, 6, 8, 13])
        self.heads = int(self.rng.choice([1, 2, 3]))
        self.d = int(self.rng.choice([2, 4]))
        self.B, self.S, self.H = int(self.B), int(self.S), self.heads * self.d
        self.attentions = 0
        x = self.rng.normal(size=(self.B, self.S, self.H)).astype(np.float32)
        self.x, self.value = self.argument(x), x.astype(np.float64)

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text):
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def argument(self, array, kind="f32"):
        name = f"%arg{len(self.inputs)}"
        self.arguments.append(f"{name}: {self.type(array.shape, kind)}")
        self.inputs.append(array)
        return name

    @staticmethod
    def type(shape, kind="f32"):
        return f"tensor<{''.join(f'{int(size)}x' for size in shape)}{kind}>"

    def empty(self, shape):
        return self.emit(f"tensor.empty() : {self.type(shape)}")

    def zeros(self, shape):
        zero = self.emit("arith.constant 0.0 : f32")
        return self.emit(f"linalg.fill ins({zero} : f32) outs({self.empty(shape)} : {self.type(shape)}) -> {self.type(shape)}")

    def generic(self, inputs, maps, shape, body, reduction=(), init=None, kinds=None):
        """`inputs` are (name, shape); `body` gives lines that define %r from %i0, %i1, ..., %o."""
        rank = len(shape) + len(reduction)
        dims = ", ".join(f"d{i}" for i in range(rank))
        kinds = kinds or ["f32"] * len(inputs)
        kept = ", ".join(f"d{i}" for i in range(rank) if i not in reduction)
        texts = [f"affine_map<({dims}) -> ({m})>" for m in maps + [kept]]
        iterators = ", ".join('"reduction"' if i in reduction else '"parallel"' for i in range(rank))
        names = "".join(f"{n}, " for n, _ in inputs).rstrip(", ")
        types = ", ".join(self.type(s, k) for (_, s), k in zip(inputs, kinds))
        ins = f"ins({names} : {types}) " if inputs else ""
        block = ", ".join([f"%i{i}: {k}" for i, k in enumerate(kinds[: len(inputs)])] + ["%o: f32"])
        init = init or self.empty(shape)
        return self.emit(
            f"linalg.generic {{indexing_maps = [{', '.join(texts)}], iterator_types = [{iterators}]}} {ins}"
            f"outs({init} : {self.type(shape)}) {{\n  ^bb0({block}):\n    " + "\n    ".join(body)
            + f"\n    linalg.yield %r : f32\n  }} -> {self.type(shape)}"
        )

    # ---- What is done to x ---------------------------------------------------

    def tanh(self):
        shape = self.value.shape
        self.x = self.generic([(self.x, shape)], ["d0, d1, d2"], shape, ["%r = math.tanh %i0 : f32"])
        self.value = np.tanh(self.value)

    def norm(self):
        B, S, H = self.value.shape
        squares = self.generic(
            [(self.x, (B, S, H))], ["d0, d1, d2"], (B, S), ["%s = arith.mulf %i0, %i0 : f32", "%r = arith.addf %s, %o : f32"],
            reduction=(2,), init=self.zeros((B, S)),
        )
        body = ["%e = arith.constant 1.0 : f32", "%a = arith.addf %i1, %e : f32", "%q = math.rsqrt %a : f32", "%r = arith.mulf %i0, %q : f32"]
        self.x = self.generic([(self.x, (B, S, H)), (squares, (B, S))], ["d0, d1, d2", "d0, d1"], (B, S, H), body)
        self.value = self.value / np.sqrt((self.value**2).sum(-1, keepdims=True) + 1)

    def weight(self, rows, columns):
        array = (self.rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)
        return self.argument(array), array.astype(np.float64)

    def product(self, x, rows, width, weight, columns):
        return self.emit(
            f"linalg.matmul ins({x}, {weight} : {self.type((rows, width))}, {self.type((width, columns))}) "
            f"outs({self.zeros((rows, columns))} : {self.type((rows, columns))}) -> {self.type((rows, columns))}"
        )

    def flatten(self, x, shape):
        rows = shape[0] * shape[1]
        return self.emit(f"tensor.collapse_shape {x} [[0, 1], [2]] : {self.type(shape)} into {self.type((rows, shape[2]))}")

    def unflatten(self, x, shape):
        rows = shape[0] * shape[1]
        return self.emit(
            f"tensor.expand_shape {x} [[0, 1], [2]] output_shape [{shape[0]}, {shape[1]}, {shape[2]}] : "
            f"{self.type((rows, shape[2]))} into {self.type(shape)}"
        )

    def add(self, a, b, shape):
        return self.emit(f"linalg.add ins({a}, {b} : {self.type(shape)}, {self.type(shape)}) outs({self.empty(shape)} : {self.type(shape)}) -> {self.type(shape)}")

    def project(self):
        """Sometimes with the sequence first: then batch is the inner part of the rows."""
        B, S, H = self.value.shape
        weight, array = self.weight(H, H)
        shape, x = (B, S, H), self.x
        swapped = self.rng.random() < 0.4
        if swapped:
            shape = (S, B, H)
            x = self.emit(f"linalg.transpose ins({x} : {self.type((B, S, H))}) outs({self.empty(shape)} : {self.type(shape)}) permutation = [1, 0, 2]")
        y = self.unflatten(self.product(self.flatten(x, shape), B * S, H, weight, H), shape)
        if swapped:
            y = self.emit(f"linalg.transpose ins({y} : {self.type(shape)}) outs({self.empty((B, S, H))} : {self.type((B, S, H))}) permutation = [1, 0, 2]")
        self.x = self.add(self.x, y, (B, S, H))
        self.value = self.value + self.value @ array

    def feed_forward(self):
        B, S, H = self.value.shape
        W = int(self.rng.choice([2, 3])) * H
        up, up_array = self.weight(H, W)
        down, down_array = self.weight(W, H)
        wide = self.product(self.flatten(self.x, (B, S, H)), B * S, H, up, W)
        wide = self.emit(f"linalg.tanh ins({wide} : {self.type((B * S, W))}) outs({self.empty((B * S, W))} : {self.type((B * S, W))}) -> {self.type((B * S, W))}")
        y = self.unflatten(self.product(wide, B * S, W, down, H), (B, S, H))
        self.x = self.add(self.x, y, (B, S, H))
        self.value = self.value + np.tanh(self.value @ up_array) @ down_array

    def positions(self):
        B, S, H = self.value.shape
        body = ["%p = linalg.index 1 : index", "%b = linalg.index 0 : index", "%t = arith.addi %p, %b : index", "%n = arith.index_cast %t : index to i64",
                "%f = arith.sitofp %n : i64 to f32", "%c = arith.constant 0.1 : f32", "%m = arith.mulf %f, %c : f32", "%r = arith.addf %i0, %m : f32"]
        self.x = self.generic([(self.x, (B, S, H))], ["d0, d1, d2"], (B, S, H), body)
        self.value = self.value + 0.1 * (np.arange(S)[None, :, None] + np.arange(B)[:, None, None])

    def table(self):
        B, S, H = self.value.shape
        array = self.rng.normal(size=(S, H)).round(3)
        text = "[" + ", ".join("[" + ", ".join(f"{v:.3f}" for v in row) + "]" for row in array) + "]"
        constant = self.emit(f"arith.constant dense<{text}> : {self.type((S, H))}")
        self.x = self.generic([(self.x, (B, S, H)), (constant, (S, H))], ["d0, d1, d2", "d1, d2"], (B, S, H), ["%r = arith.addf %i0, %i1 : f32"])
        self.value = self.value + array

    def embed(self):
        """Rows of a table, by ids one below which they count: padding would look up row -1."""
        B, S, H = self.value.shape
        rows = int(self.rng.choice(SIZES))
        ids = self.rng.integers(1, rows + 1, size=(B, S))
        table, array = self.weight(rows, H)
        body = ["%one = arith.constant 1 : i64", "%k = arith.subi %i1, %one : i64", "%zero = arith.constant 0 : i64", "%ok = arith.cmpi sge, %k, %zero : i64",
                'cf.assert %ok, "negative id"', "%j = arith.index_cast %k : i64 to index", "%h = linalg.index 2 : index",
                f"%t = tensor.extract {table}[%j, %h] : {self.type((rows, H))}", "%r = arith.addf %i0, %t : f32"]
        name = self.argument(ids.astype(np.int64), "i64")
        self.x = self.generic([(self.x, (B, S, H)), (name, (B, S))], ["d0, d1, d2", "d0, d1"], (B, S, H), body, kinds=["f32", "i64"])
        self.value = self.value + array[ids - 1]

    def rotate(self):
        B, S, H = self.value.shape
        cut = int(self.rng.integers(1, H)) if H > 1 else 0
        if not cut:
            return
        low = self.emit(f"tensor.extract_slice {self.x}[0, 0, 0] [{B}, {S}, {cut}] [1, 1, 1] : {self.type((B, S, H))} to {self.type((B, S, cut))}")
        high = self.emit(f"tensor.extract_slice {self.x}[0, 0, {cut}] [{B}, {S}, {H - cut}] [1, 1, 1] : {self.type((B, S, H))} to {self.type((B, S, H - cut))}")
        y = self.emit(f"tensor.concat dim(2) {high}, {low} : ({self.type((B, S, H - cut))}, {self.type((B, S, cut))}) -> {self.type((B, S, H))}")
        self.x = self.add(self.x, y, (B, S, H))
        self.value = self.value + np.concatenate([self.value[..., cut:], self.value[..., :cut]], -1)

    def attention(self):
        B, S, H = self.value.shape
        heads, d = self.heads, self.d
        mask = str(self.rng.choice(["", "mask(<causal>) ", f"mask(<causal, window = [{max(1, S // 2)}, *]>) "]))
        split = self.emit(
            f"tensor.expand_shape {self.x} [[0], [1], [2, 3]] output_shape [{B}, {S}, {heads}, {d}] : {self.type((B, S, H))} into {self.type((B, S, heads, d))}"
        )
        shape = self.type((B, heads, S, d))
        q = self.emit(f"linalg.transpose ins({split} : {self.type((B, S, heads, d))}) outs({self.empty((B, heads, S, d))} : {shape}) permutation = [0, 2, 1, 3]")
        bias, bias_value = "", 0
        if self.rng.random() < 0.3:
            keys = self.rng.normal(size=(B, S)).astype(np.float32)
            name = self.generic([(self.argument(keys), (B, S))], ["d0, d3"], (B, 1, S, S), ["%r = math.tanh %i0 : f32"])
            bias, bias_value = f" bias({name})", np.tanh(keys.astype(np.float64))[:, None, None, :]
        types = f"{shape}, {shape}, {shape}" + (f", {self.type((B, 1, S, S))}" if bias else "")
        o = self.emit(f"ring.attention {q}, {q}, {q}{bias} {mask}: ({types}) -> {shape}")
        back = self.emit(f"linalg.transpose ins({o} : {shape}) outs({self.empty((B, S, heads, d))} : {self.type((B, S, heads, d))}) permutation = [0, 2, 1, 3]")
        y = self.emit(f"tensor.collapse_shape {back} [[0], [1], [2, 3]] : {self.type((B, S, heads, d))} into {self.type((B, S, H))}")
        self.x = self.add(self.x, y, (B, S, H))
        v = self.value.reshape(B, S, heads, d).transpose(0, 2, 1, 3)
        scores = v @ v.transpose(0, 1, 3, 2) / np.sqrt(d) + bias_value
        i, j = np.arange(S)[:, None], np.arange(S)[None, :]
        visible = np.ones((S, S), bool) if not mask else j <= i
        if "window" in mask:
            visible &= j >= i - max(1, S // 2)
        scores = np.where(visible, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        self.value = self.value + (weights @ v).transpose(0, 2, 1, 3).reshape(B, S, H)
        self.attentions += 1

    def build(self):
        steps = [self.tanh, self.norm, self.project, self.feed_forward, self.positions, self.table, self.embed, self.rotate]
        for _ in range(int(self.rng.integers(1, 3))):
            for _ in range(int(self.rng.integers(1, 4))):
                steps[self.rng.integers(len(steps))]()
            self.norm()
            self.attention()
        for _ in range(int(self.rng.integers(1, 4))):
            steps[self.rng.integers(len(steps))]()
        results = [(self.x, self.value)]
        self.pooled = self.rng.random() < 0.2
        if self.pooled:
            B, S, H = self.value.shape
            total = self.generic([(self.x, (B, S, H))], ["d0, d1, d2"], (B, H), ["%r = arith.addf %i0, %o : f32"], reduction=(1,), init=self.zeros((B, H)))
            results.append((total, self.value.sum(1)))
        types = ", ".join(self.type(value.shape) for _, value in results)
        names = ", ".join(name for name, _ in results)
        text = f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n" + "\n".join(self.lines) + f"\n  return {names} : {types}\n}}\n"
        return text, [value for _, value in results]


def check(seed, folder):
    program = Program(seed)
    text, values = program.build()
    base = os.path.join(folder, str(seed))
    with open(base + ".mlir", "w") as file:
        file.write(text)
    rng = np.random.default_rng(seed + 1000000)
    ranks, block = int(rng.integers(1, 6)), int(rng.choice([0, 1, 2, 5]))
    layout = str(rng.choice(["zigzag", "contiguous", "striped:2", "balanced"]))
    line = ["ring-run", base + ".mlir", f"--ranks={ranks}", f"--layout={layout}", f"--blockwise-ffn={block}", "--threads=2"]
    for index, array in enumerate(program.inputs):
        np.save(f"{base}.{index}.npy", array)
        line.append(f"--input={index}={base}.{index}.npy")
    for index, value in enumerate(values):
        np.save(f"{base}.expected.{index}.npy", value)
        line.append(f"--expect={index}={base}.expected.{index}.npy")
    done = subprocess.run(line + ["--atol=2e-4", "--rtol=2e-4"], capture_output=True, text=True)
    what = f"seed {seed}, {ranks} ranks, {layout}, blocks of {block}: {' '.join(line)}"
    assert done.returncode == 0, f"{what}\n{done.stdout}{done.stderr}"
    strict = ["ring-opt", base + ".mlir", f"--ring-shard-attention=ranks={ranks}", f"--ring-shard-function=blockwise-ffn={block}"]
    done = subprocess.run(strict, capture_output=True, text=True)
    if program.pooled:
        assert done.returncode == 1 and "'linalg.generic' reduces along the sequence" in done.stderr, f"{what}\n{done.stderr}"
    else:
        assert done.returncode == 0 and done.stdout.count("ring.local") == 1, f"{what}\n{done.stderr}"


parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--cases", type=int, default=6)
options = parser.parse_args()
os.makedirs(options.folder, exist_ok=True)
for case in range(options.cases):
    check(options.seed + case, options.folder)
print(f"{options.cases} programs are right")
