"""Object files for GPUs: the images of the kernels are in them, and what the ranks
compute on is chosen when the program runs."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs"))
from attention_case import Case, Mask
from object_program import OK, USAGE, assert_right, compiled, inputs_of, outputs_of, ring
from ring_attention import Program

RANKS = 2
rng = np.random.default_rng(3)
CASE = Case(*(rng.standard_normal((1, heads, 70, 32)) for heads in (4, 2, 2)), Mask(True), dtype="bf16")


def run(library, devices):
    outputs = outputs_of(CASE)
    with ring(RANKS, devices=devices) as host:
        status = library.call(host, inputs_of(CASE) + outputs)
        return status, host.error(), outputs


NO_GPU = "the program is compiled for a GPU, the rank has none: its device is cpu"
# What an object is compiled for, what its ranks may compute on, and what they may not.
for number, (device, accepted, refused, message) in enumerate([
    ("vgpu", ["vgpu", "vgpu:1,vgpu:0"], "cpu", NO_GPU),
    ("cuda,vgpu", ["vgpu"], "vgpu,cpu", NO_GPU),
    ("cpu,vgpu", ["vgpu", "cpu", "cpu,vgpu"], None, None),
    ("cuda", [], "vgpu", "runs none of the kernel's images"),
]):
    library = compiled(Program({"0": CASE}).text(), os.path.join(sys.argv[1], str(number)), RANKS, device=device)
    for devices in accepted:
        status, error, outputs = run(library, devices)
        assert status == OK, (device, devices, error)
        assert_right(CASE, outputs, f"for {device}, on {devices}")
    if refused:
        status, error, _ = run(library, refused)
        assert status == USAGE and message in error, (device, refused, status, error)
