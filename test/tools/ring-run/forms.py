"""A program gives the same before and after each pass, and only on the number
of ranks that it was compiled for."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, report, ring_run

os.chdir(sys.argv[1])
random = "--random=3"
ring_run(ATTENTION, random, "--ranks=4", "--output=0=out.npy", "--output=1=lse.npy")


def passed(source, target, *passes):
    subprocess.run(["ring-opt", source, *passes, "-o", target], check=True)
    return target


forms = {1: passed(ATTENTION, "1.mlir", "--ring-shard-attention=ranks=4")}
forms[2] = passed(forms[1], "2.mlir", "--ring-apply-layout=layout=zigzag")
forms[3] = passed(forms[2], "3.mlir", "--ring-classify-blocks")
forms[4] = passed(forms[3], "4.mlir", "--ring-pipeline-rounds=prefetch-distance=1")
forms["4, two in flight"] = passed(
    forms[3], "4-2.mlir", "--ring-pipeline-rounds=prefetch-distance=2", "--ring-verify-schedule"
)
on_memrefs = (
    "--ring-expand-host",
    "--ring-bufferize-transfers",
    "--ring-results-to-destinations",
    "--one-shot-bufferize=bufferize-function-boundaries",
)
forms[5] = passed(forms[4], "5.mlir", *on_memrefs)
# The loop has its guard still: a round less in which there is a transfer.
forms["2 on memrefs"] = passed(forms[2], "2-5.mlir", *on_memrefs)
whole = open("out.npy", "rb").read(), open("lse.npy", "rb").read()
for form, file in forms.items():
    # The order of a rank's keys, so its roundings, are the layout's.
    layout = ["--layout=zigzag"] if form == 1 else []
    got = report(file, random, *layout, "--output=0=f.npy", "--output=1=l.npy")
    bits = open("f.npy", "rb").read(), open("l.npy", "rb").read()
    assert bits == whole, f"form {form} gives other bits"
    counts = {"ranks": 4, "layout": "zigzag", "rounds": 4, "transfers": 3}
    assert {key: got[key] for key in counts} == counts, f"form {form}: {got}"

# A sharded file keeps its layout, unless told another before its blocks are
# classified.
assert report(forms[1], random)["layout"] == "contiguous"
for form in 1, 2:
    assert report(forms[form], random, "--layout=striped:2")["layout"] == "striped:2"
expect = ["--expect=0=out.npy", "--expect=1=lse.npy"]
report(forms[1], random, "--layout=balanced", *expect)
for form in 3, 4:
    _, stderr = ring_run(forms[form], random, "--layout=striped", code=3)
    assert "classified" in stderr, stderr
for form in 5, "2 on memrefs":
    _, stderr = ring_run(forms[form], random, "--layout=striped", code=3)
    assert "the layout of a program on memrefs cannot change" in stderr, stderr

# What has no tensors any more.
_, stderr = ring_run(forms[5], random, "--emit-object=5.o", code=3)
assert "feature 'object files' is not supported by ring-run" in stderr, stderr
_, stderr = ring_run(forms[5], random, "--check", code=3)
assert "which has been sharded already" in stderr, stderr

# Another number of ranks: both numbers, and the place.
for form in forms.values():
    for ranks in 2, 8:
        _, stderr = ring_run(form, random, f"--ranks={ranks}", code=3)
        assert f"program compiled for 4 ranks, asked to run on {ranks}" in stderr, stderr
