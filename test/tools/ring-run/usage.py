"""Exit 2: a command line that cannot be meant, with what was expected."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, ring_run

out = os.path.join(sys.argv[1], "out.npy")
usage = {
    "--nonsense": "nonsense",
    "--ranks=0": "--ranks is 0, expected 1 or more",
    "--ranks=many": "many",
    "--layout=round": "expected contiguous, zigzag, striped",
    "--layout=striped:0": "striped:0",
    "--layout=zigzag:2": "zigzag:2",
    "--variant=pass-all": "expected auto, pass-kv",
    "--device=abacus": "expected cpu",
    "--transport=pigeon": "expected threads",
    "--prefetch-distance=0": "--prefetch-distance is 0",
    "--repeat=0": "--repeat is 0",
    "--deadline=0": "--deadline",
    "--atol=small": "small",
    "--input=0": "expected I=FILE",
    "--input=first=q.npy": "expected I=FILE",
    "--input=3=q.npy": "@attention has 3 arguments",
    "--output=2=o.npy": "@attention has 2 results",
    "--expect=2=o.npy": "@attention has 2 results",
}
for flag, message in usage.items():
    _, stderr = ring_run(ATTENTION, "--random=1", f"--output=0={out}", flag, code=2)
    assert message in stderr, f"{flag}: {stderr}"
    assert not os.path.exists(out), flag

_, stderr = ring_run(ATTENTION, f"--output=0={out}", code=2)
assert "no value for argument 0: give --input or --random" in stderr, stderr
ring_run(code=2)
assert not os.path.exists(out)
