"""Sizes of run time: those of the files; results have theirs, and sizes that do
not fit each other are refused before a rank starts."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import report, ring_run

os.chdir(sys.argv[1])
Q, K, V = "tensor<?x4x?x8xf32>", "tensor<?x2x?x8xf32>", "tensor<?x2x?x6xf32>"
OUT, LSE, IDS = "tensor<?x4x?x6xf32>", "tensor<?x4x?xf32>", "tensor<?x?xi32>"
open("program.mlir", "w").write(
    f"""func.func @f(%q: {Q}, %k: {K}, %v: {V}, %sq: {IDS}, %sk: {IDS}) -> ({OUT}, {LSE}) {{
  %o, %lse = ring.attention %q, %k, %v segments(%sq, %sk) mask(<causal, align = bottom_right>)
    : ({Q}, {K}, {V}, {IDS}, {IDS}) -> ({OUT}, {LSE})
  return %o, %lse : {OUT}, {LSE}
}}
"""
)
rng = np.random.default_rng(2)


def files(batch=2, queries=10, keys=13, **other):
    """The inputs as files; `other` shapes for some of them."""
    shapes = {
        "q": (batch, 4, queries, 8),
        "k": (batch, 2, keys, 8),
        "v": (batch, 2, keys, 6),
        "sq": (batch, queries),
        "sk": (batch, keys),
        **other,
    }
    flags = []
    for index, (name, shape) in enumerate(shapes.items()):
        array = rng.standard_normal(shape).astype(np.float32)
        if name.startswith("s"):
            array = np.sort(rng.integers(0, 3, shape).astype(np.int32))
        np.save(f"{name}.npy", array)
        flags.append(f"--input={index}={name}.npy")
    return flags


RANKS = 3
flags = [f"--ranks={RANKS}", "--layout=balanced", "--output=0=o.npy", "--output=1=l.npy", "--check"]
# Also no batch entry, no query and no key.
for batch, queries, keys in (2, 10, 13), (1, 41, 41), (0, 5, 5), (2, 0, 7), (1, 3, 0):
    got = report("program.mlir", *files(batch, queries, keys), *flags)
    assert np.load("o.npy").shape == (batch, 4, queries, 6), np.load("o.npy").shape
    assert np.load("l.npy").shape == (batch, 4, queries)
    # All rounds are run; what travels is padded to the longest rank's.
    counts = {"ranks": RANKS, "rounds": RANKS, "transfers": RANKS - 1, "buffers": 2}
    assert {key: got[key] for key in counts} == counts, got
    sent, rest = divmod(got["bytes_per_rank"], max(batch, 1) * 2 * (8 + 6) * 4 * (RANKS - 1))
    assert rest == 0 and -(-keys // RANKS) * min(batch, 1) <= sent <= keys, got
    if not min(batch, queries, keys):
        assert got["balance"] == got["round_balance"] == 1, got
assert np.array_equal(np.load("o.npy"), np.zeros((1, 4, 3, 6))), "nobody sees anything"

# What a file must be where sizes are static still holds.
_, stderr = ring_run("program.mlir", *files(k=(2, 3, 13, 8)), "--ranks=2", code=3)
assert "input 1: expected ?x2x?x8xf32, got 2x3x13x8xf32 in k.npy" in stderr, stderr

# Sizes that do not fit: the place, the name of the size and both, with nothing
# written.
os.remove("o.npy")
wrong = {
    "batch of key and query: 3 and 2": {"k": (3, 2, 13, 8)},
    "batch of value and query: 1 and 2": {"v": (1, 2, 13, 6)},
    "sequence length of value and key: 12 and 13": {"v": (2, 2, 12, 6)},
    "segments and sequence length of query: 13 and 10": {"sq": (2, 13)},
    "segments and sequence length of key: 10 and 13": {"sk": (2, 10)},
    "batch of segments and query: 4 and 2": {"sk": (4, 13)},
}
for message, shapes in wrong.items():
    _, stderr = ring_run("program.mlir", *files(**shapes), "--ranks=2", "--output=0=o.npy", code=3)
    assert f"program.mlir:2:14: {message}, expected equal sizes" in stderr, stderr
    assert stderr.count("\n") == 1, stderr
    assert not os.path.exists("o.npy"), message

# Random numbers have no size of their own, and integers no distribution.
_, stderr = ring_run("program.mlir", *files()[1:], "--random=1", code=3)
assert "input 0 has dynamic sizes: give it with --input" in stderr, stderr
static = open("program.mlir").read().replace("?x4x?", "1x4x9").replace("?x2x?", "1x2x9")
open("static.mlir", "w").write(static.replace("?x?xi32", "1x9xi32"))
_, stderr = ring_run("static.mlir", "--random=1", code=3)
assert "input 3: random values need a floating-point type, got 1x9xi32" in stderr, stderr

# The file is as good after the first passes.
X = "tensor<?x4x?x8xf32>"
open("plain.mlir", "w").write(
    f"""func.func @f(%x: {X}) -> {X} {{
  %o = ring.attention %x, %x, %x mask(<causal>) : ({X}, {X}, {X}) -> {X}
  return %o : {X}
}}
"""
)
files(2, 20, 20)
ring_run("plain.mlir", "--input=0=q.npy", "--ranks=2", "--output=0=o.npy")
os.system("ring-opt plain.mlir --ring-shard-attention=ranks=2 --canonicalize --cse -o sharded.mlir")
for layout in "zigzag", "balanced":
    ring_run("sharded.mlir", "--input=0=q.npy", f"--layout={layout}", "--expect=0=o.npy")

# A size that is computed from numbers, not from shapes.
N = "tensor<1xi64>"
open("data.mlir", "w").write(
    f"""func.func @f(%n: {N}) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %x = tensor.extract %n[%c0] : {N}
  %i = arith.index_cast %x : i64 to index
  %zero = arith.constant 0.0 : f32
  %r = tensor.splat %zero[%i] : tensor<?xf32>
  return %r : tensor<?xf32>
}}
"""
)
np.save("n.npy", np.array([3]))
_, stderr = ring_run("data.mlir", "--input=0=n.npy", code=3)
assert "size 0 of result 0 does not follow from the shapes of the arguments" in stderr, stderr
