"""torch.hop_flex_attention with functions of scores and of masks, as FlexAttention's
users write them, against float64: what they hide by position becomes a mask."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import re
import subprocess
import sys

import numpy as np

(FOLDER,) = sys.argv[1:]
random = np.random.default_rng(11)
F32, I32, I1, INT, FLOAT = (
    *(f"!torch.vtensor<[],{t}>" for t in ("f32", "si32", "i1")),
    "!torch.int",
    "!torch.float",
)


class Function:
    """A function of torch on tensors of rank 0, written op by op."""

    def __init__(self, name, parameters):
        self.name, self.lines, self.count = name, [], 0
        self.parameters = [f"%a{i}" for i in range(len(parameters))]
        self.types = dict(zip(self.parameters, parameters))

    def op(self, name, operands, result, attributes=""):
        value = f"%{self.count}"
        self.count += 1
        self.types[value] = result
        types = ", ".join(self.types[x] for x in operands)
        self.lines.append(f'  {value} = "torch.{name}"({", ".join(operands)}) {attributes} : ({types}) -> {result}')
        return value

    def number(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        kind = "int" if isinstance(value, int) else "float"
        text = f"{value} : i64" if kind == "int" else f"{'0xFFF0000000000000' if value == -np.inf else value} : f64"
        return self.op(f"constant.{kind}", [], INT if kind == "int" else FLOAT, f"<{{value = {text}}}>")

    def call(self, name, *operands, result=I1):
        return self.op(f"aten.{name}", [self.number(x) for x in operands], result)

    def lowest(self):
        none = self.op("constant.none", [], "!torch.none")
        operands = [self.number(-np.inf), self.number(6), self.number(0), none, none]
        return self.op("aten.scalar_tensor", operands, F32)

    def text(self, returned):
        arguments = ", ".join(f"{x}: {self.types[x]}" for x in self.parameters)
        result = self.types[returned]
        return "\n".join(
            [f"func.func private @{self.name}({arguments}) -> {result} {{"]
            + self.lines
            + [f"  return {returned} : {result}", "}\n"]
        )


def run(name, mask, score=None, mask_mod=None, sizes=(2, 4, 2, 24, 24)):
    """`score(f, s, b, h, i, j)` and `mask_mod(f, b, h, i, j)` write their function and
    give its result and, with numpy, the result in float64. `mask` is what is raised,
    and what the region still does."""
    batch, heads, kv_heads, queries, keys = sizes
    text, attributes = "", []
    q = random.standard_normal((batch, heads, queries, 16)).astype(np.float32)
    k, v = (random.standard_normal((batch, kv_heads, keys, 16)).astype(np.float32) for _ in range(2))
    repeated = [np.repeat(x.astype(float), heads // kv_heads, axis=1) for x in (k, v)]
    s = np.einsum("bhqd,bhkd->bhqk", q.astype(float), repeated[0]) * 0.25
    b, h, i, j = np.ogrid[:batch, :heads, :queries, :keys]
    if score:
        function = Function("score", [F32, I32, I32, I32, I32])
        result, s = score(function, function.parameters, (s, b, h, i, j))
        text += function.text(result)
        attributes.append("score_mod_fn = @score")
    if mask_mod:
        function = Function("mask", [I32, I32, I32, I32])
        result, visible = mask_mod(function, function.parameters, (b, h, i, j))
        text += function.text(result)
        attributes.append("mask_mod_fn = @mask")
        s = np.where(visible, s, -np.inf)
    types = [f"!torch.vtensor<[{','.join(map(str, x.shape))}],f32>" for x in (q, k, v)]
    text += f"""func.func @main(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}) -> {types[0]} {{
  %scale = "torch.constant.float"() <{{value = 0.25 : f64}}> : () -> !torch.float
  %no = "torch.constant.bool"() <{{value = false}}> : () -> !torch.bool
  %o:3 = "torch.hop_flex_attention"(%q, %k, %v, %scale, %no, %no) <{{{", ".join(attributes)}}}>
    : ({", ".join(types)}, !torch.float, !torch.bool, !torch.bool) -> ({types[0]}, !torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>)
  return %o#0 : {types[0]}
}}
"""
    program = os.path.join(FOLDER, f"{name}.mlir")
    with open(program, "w") as file:
        file.write(text)
    passes = ["--allow-unregistered-dialect", "--convert-torch-to-ring", "--ring-raise-attention"]
    raised = subprocess.run(["ring-opt", program, *passes], capture_output=True, text=True)
    assert raised.returncode == 0, f"{name}: {raised.stderr}"
    (clauses,) = re.findall(r"= ring\.attention %\w+, %\w+, %\w+ (.*?)(?: \{| : \()", raised.stdout)
    assert clauses == mask, f"{name}: {clauses}"
    assert "torch" not in raised.stdout and "@score" not in raised.stdout, raised.stdout

    top = s.max(-1, keepdims=True)
    weights = np.exp(s - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    expected = np.where(total == 0, 0, weights / np.where(total == 0, 1, total)) @ repeated[1]
    line = ["ring-run", program, "--ranks=3", "--layout=striped", "--check", "--atol=1e-5"]
    for place, array in enumerate((q, k, v)):
        np.save(f"{FOLDER}/in_{place}.npy", array)
        line.append(f"--input={place}={FOLDER}/in_{place}.npy")
    np.save(f"{FOLDER}/expected.npy", expected)
    done = subprocess.run([*line, f"--expect=0={FOLDER}/expected.npy"], capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def plain(f, x, n):
    """Nothing but an op that is dead."""
    f.call("ge.Tensor", x[3], x[4])
    return x[0], n[0]


def causal(f, x, n):
    return f.call("le.Tensor", x[3], x[2]), n[3] <= n[2]


def strict(f, x, n):
    """The first query sees nothing."""
    return f.call("gt.Tensor", x[2], x[3]), n[2] > n[3]


def window(f, x, n):
    near = f.call("lt.Scalar", f.call("sub.Tensor", x[2], x[3], 1, result=I32), 5)
    return f.call("logical_and", near, causal(f, x, n)[0]), (n[2] - n[3] < 5) & (n[3] <= n[2])


def prefix(f, x, n):
    prompt = f.call("lt.Scalar", x[3], 7)
    return f.call("bitwise_or.Tensor", causal(f, x, n)[0], prompt), (n[3] <= n[2]) | (n[3] < 7)


def chunks(f, x, n):
    size = f.call("scalar_tensor", 5, 3, 0, *[f.op("constant.none", [], "!torch.none")] * 2, result=I32)
    a, b = (f.call("floor_divide", y, size, result=I32) for y in (x[2], x[3]))
    same = f.call("eq.Tensor", a, b)
    return f.call("bitwise_and.Tensor", same, causal(f, x, n)[0]), (n[2] // 5 == n[3] // 5) & (n[3] <= n[2])


def every_head_apart(f, x, n):
    """Not of positions alone: it stays in the region."""
    limit = f.call("add.Tensor", x[2], x[1], 1, result=I32)
    return f.call("le.Tensor", x[3], limit), n[3] <= n[2] + n[1]


def softcap(f, x, n):
    s = f.call("tanh", f.call("div.Scalar", x[0], 2.0, result=F32), result=F32)
    return f.call("mul.Scalar", s, 2.0, result=F32), 2 * np.tanh(n[0] / 2)


def alibi(f, x, n):
    slope = f.call("mul.Scalar", f.call("add.Scalar", x[2], 1, 1, result=I32), 0.05, result=F32)
    distance = f.call("sub.Tensor", x[3], x[4], 1, result=I32)
    bias = f.call("mul.Tensor", slope, distance, result=F32)
    return f.call("sub.Tensor", x[0], bias, 1, result=F32), n[0] - 0.05 * (n[2] + 1) * (n[3] - n[4])


def causal_score(f, x, n):
    s, reference = alibi(f, x, n)
    seen = f.call("ge.Tensor", x[3], x[4])
    s = f.call("where.self", seen, s, f.lowest(), result=F32)
    return s, np.where(n[3] >= n[4], reference, -np.inf)


def hidden_score(f, x, n):
    """The other way round, and with a part that no mask has words for."""
    future = f.call("logical_not", f.call("le.Tensor", x[4], x[3]))
    other = f.call("eq.Scalar", f.call("sub.Tensor", x[3], x[4], 1, result=I32), 3)
    hidden = f.call("logical_or", future, other)
    s = f.call("where.self", hidden, f.lowest(), x[0], result=F32)
    return s, np.where((n[4] > n[3]) | (n[3] - n[4] == 3), -np.inf, n[0])


S = "scale(2.500000e-01)"
run("plain", S, score=plain)
run("causal", f"mask(<causal>) {S}", mask_mod=causal)
run("window", f"mask(<causal, window = [4, 0]>) {S}", mask_mod=window)
run("rectangle", f"mask(<causal, window = [4, 0], align = top_left>) {S}", mask_mod=window, sizes=(1, 4, 4, 12, 20))
run("empty", f"mask(<causal, window = [4, 0], align = top_left>) {S}", mask_mod=window, sizes=(1, 4, 4, 20, 8))
run("strict", f"{S} score", mask_mod=strict)
run("prefix", f"mask(<causal, prefix = 7>) {S}", mask_mod=prefix)
run("chunks", f"mask(<causal, chunk = 5>) {S}", mask_mod=chunks)
run("heads", f"{S} score", mask_mod=every_head_apart)
run("softcap", f"mask(<causal>) {S} score", score=softcap, mask_mod=causal)
run("alibi", f"mask(<causal, window = [4, 0]>) {S} score", score=alibi, mask_mod=window)
run("scored", f"mask(<causal>) {S} score", score=causal_score)
run("both", f"mask(<causal, chunk = 5>) {S} score", score=causal_score, mask_mod=chunks)
run("hidden", f"mask(<causal>) {S} score", score=hidden_score)
