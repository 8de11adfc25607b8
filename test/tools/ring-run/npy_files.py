"""Files of inputs, outputs and expected results."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, INPUTS, report, ring_run

os.chdir(sys.argv[1])
rng = np.random.default_rng(1)
shape = (1, 4, 37, 8)
np.save("q.npy", rng.standard_normal(shape).astype(np.float32))
for name in "kv":
    np.save(f"{name}.npy", rng.standard_normal((1, 2, 37, 8)).astype(np.float32))
inputs = ["--input=0=q.npy", "--input=1=k.npy", "--input=2=v.npy", "--ranks=4"]
before = open("q.npy", "rb").read()
report(ATTENTION, *inputs, "--output=0=out.npy", "--output=1=lse.npy")
assert open("q.npy", "rb").read() == before
out = np.load("out.npy")
assert out.dtype == np.float32 and out.shape == shape
assert np.load("lse.npy").shape == shape[:3]

# --expect: right, wrong in one element, and within a tolerance.
assert report(ATTENTION, *inputs, "--expect=0=out.npy", "--expect=1=lse.npy")["ok"]
out[0, 3, 30, 7] += 1e-3
np.save("wrong.npy", out)
stdout, stderr = ring_run(ATTENTION, *inputs, "--expect=0=wrong.npy", "--json", code=1)
assert '"ok": false' in stdout
assert "1 of 1184 elements differ, worst at [0, 3, 30, 7]" in stderr, stderr
ring_run(ATTENTION, *inputs, "--expect=0=wrong.npy", "--atol=2e-3")
ring_run(ATTENTION, *inputs, "--expect=0=lse.npy", code=3)

# The order of elements in a file does not matter.
np.save("fortran.npy", np.asfortranarray(np.load("q.npy")))
ring_run(ATTENTION, "--input=0=fortran.npy", *inputs[1:], "--expect=0=out.npy")

# A file that is not the argument ends with exit 3, and nothing written.
good = open("k.npy", "rb").read()
bad = {
    "short.npy": good[:-1],
    "long.npy": good + b"\0",
    "header.npy": good[:40],
    "empty.npy": b"",
    "text.npy": b"hello",
}
for name, content in bad.items():
    open(name, "wb").write(content)
np.save("shape.npy", np.zeros((1, 2, 36, 8), np.float32))
np.save("axes.npy", np.zeros((2, 37, 8), np.float32))
np.save("type.npy", np.zeros((1, 2, 37, 8), np.int32))
for name in [*bad, "shape.npy", "axes.npy", "type.npy", "missing.npy"]:
    _, stderr = ring_run(
        ATTENTION, inputs[0], f"--input=1={name}", inputs[2], "--output=0=bad.npy", code=3
    )
    assert name in stderr and stderr.count("\n") == 1, stderr
    assert not os.path.exists("bad.npy"), name

# bf16 is stored as its bits. Each query sees itself alone.
bits = np.arange(0x3F80, 0x3F80 + 20, dtype=np.uint16).reshape(1, 1, 5, 4)
np.save("bits.npy", bits)
program = os.path.join(INPUTS, "attention_bf16.mlir")
inputs = [f"--input={i}=bits.npy" for i in range(3)]
ring_run(program, *inputs, "--ranks=2", "--output=0=bf16.npy", "--expect=0=bits.npy")
got = np.load("bf16.npy")
assert got.dtype == np.uint16 and np.array_equal(got, bits), got
