"""What the host program asks of a driver and of NCCL, in which order: each transfer is
enqueued before the kernel that it hides behind, there are R-1 of them, and nothing inside
the rounds waits for the GPU; then the same in a captured graph."""
# RUN: %python %s ring-run %t

import json
import os
import subprocess
import sys
from pathlib import Path

RING_RUN, OUT = sys.argv[1], Path(sys.argv[2])
OUT.mkdir(parents=True, exist_ok=True)
RANKS = 4
TENSOR = "tensor<1x2x100x64xbf16>"
PROGRAM = OUT / "program.mlir"
PROGRAM.write_text(
    f"func.func @f(%q: {TENSOR}, %k: {TENSOR}, %v: {TENSOR}) -> {TENSOR} {{\n"
    f"  %o = ring.attention %q, %k, %v : ({TENSOR}, {TENSOR}, {TENSOR}) -> {TENSOR}\n"
    f"  return %o : {TENSOR}\n}}\n")


def record(name, *options):
    """The calls of each device, in their order."""
    file = OUT / f"{name}.json"
    file.unlink(missing_ok=True)
    subprocess.run([RING_RUN, PROGRAM, "--ranks", str(RANKS), "--device", "vgpu", "--random", "1", "--check", *options],
                   check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, RING_VGPU_RECORD=str(file)))
    calls = [[] for _ in range(RANKS)]
    for line in file.read_text().splitlines():
        call = json.loads(line)
        calls[call["device"]].append(call)
    return calls


def is_transfer(call):
    """One for each transfer: K and V are one message group."""
    return call["call"] == "ncclGroupEnd" or (call["call"] == "cuMemcpyPeerAsync" and call["bytes"] > 0)


def check_rounds(calls, tensors_of_a_transfer):
    """Of one run of the rounds, from the first transfer to the last kernel."""
    marks = [place for place, call in enumerate(calls) if is_transfer(call) or call["call"] == "cuLaunchKernel"]
    kinds = ["kernel" if calls[place]["call"] == "cuLaunchKernel" else "transfer" for place in marks]
    group = ["transfer"] * tensors_of_a_transfer
    assert kinds == (group + ["kernel"]) * (RANKS - 1) + ["kernel"], kinds
    inside = calls[marks[0]:marks[-1] + 1]
    waits = [call["call"] for call in inside if "Synchronize" in call["call"] or "Query" in call["call"] or call.get("blocking")]
    assert not waits, waits
    # Both ways: the kernels wait for what arrives, transfers for what is read.
    compute = next(call["stream"] for call in inside if call["call"] == "cuLaunchKernel")
    waiting = [call["stream"] == compute for call in inside if call["call"] == "cuStreamWaitEvent"]
    assert waiting.count(True) >= RANKS - 1 and waiting.count(False) >= RANKS - 2, waiting


for calls in record("nccl", "--transport", "nccl"):
    check_rounds(calls, tensors_of_a_transfer=1)
for calls in record("threads"):
    check_rounds(calls, tensors_of_a_transfer=2)

# The first run is issued as it is, the second is captured, and all later ones are one launch each.
REPEAT = 4
for calls in record("graph", "--transport", "nccl", "--graph", "--repeat", str(REPEAT)):
    captured = [call for call in calls if call.get("captured") or call["call"] == "ncclGroupEnd"]
    first = next(place for place, call in enumerate(captured) if call.get("captured"))
    check_rounds(captured[first:], tensors_of_a_transfer=1)
    names = [call["call"] for call in calls]
    assert names.count("cuGraphLaunch") == REPEAT - 1, names
    assert names.count("cuLaunchKernel") == 2 * RANKS, names
