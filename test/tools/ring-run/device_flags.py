"""--device, --transport, --graph, --sm-margin and --ptxas: what each does, which values and
which combinations are refused, and that --json says the same of a GPU as of the CPU."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, report, ring_run

os.chdir(sys.argv[1])
RANKS = 4
FLAGS = ["--random=7", f"--ranks={RANKS}"]

# Exit 2: what cannot be meant, in one line.
DEVICES = "expected cpu, cuda[:CHIP] or vgpu[:CHIP], where CHIP is sm_80, "
usage = {
    "--device=": f"--device '': {DEVICES}",
    "--device=gpu": f"--device 'gpu': {DEVICES}",
    "--device=VGPU": f"--device 'VGPU': {DEVICES}",
    "--device=cpu:sm_80": f"--device 'cpu:sm_80': {DEVICES}",
    "--device=vgpu:": f"--device 'vgpu:': {DEVICES}",
    "--device=vgpu:1": f"--device 'vgpu:1': {DEVICES}",
    "--device=vgpu,,cpu": f"--device '': {DEVICES}",
    "--device=vgpu:sm_80,vgpu:sm_86": "--device 'vgpu:sm_80,vgpu:sm_86': expected one chip",
    "--device=vgpu,vgpu": f"--device names 2 for {RANKS} ranks, expected one for all or one a rank",
    "--device=cpu,cpu,cpu,cpu,cpu": f"--device names 5 for {RANKS} ranks, expected one for all or one a rank",
    "--transport=": "--transport '': expected threads, mpi, nccl",
    "--transport=pigeon": "--transport 'pigeon': expected threads, mpi, nccl",
    "--transport=nccl": "--transport nccl needs a GPU for each rank: --device cuda or vgpu",
    "--transport=nccl --device=vgpu,cpu,vgpu,vgpu": "--transport nccl needs a GPU for each rank: --device cuda or vgpu",
    "--transport=nccl --device=vgpu,cuda,vgpu,cuda": "--transport nccl needs GPUs of one kind: --device cuda or vgpu",
    "--graph": "--graph needs --transport nccl",
    "--graph --device=vgpu": "--graph needs --transport nccl",
    "--graph --device=vgpu --transport=nccl --trace=t.json": "--graph and --trace exclude each other",
    "--sm-margin=8": "--sm-margin needs --device cuda or vgpu",
    "--sm-margin=-1 --device=vgpu": "--sm-margin is -1, expected 0 or more",
    "--sm-margin=1025 --device=vgpu": "--sm-margin is 1025, expected 1024 or less",
    "--sm-margin=4294967296 --device=vgpu": "--sm-margin is 4294967296, expected 1024 or less",
    "--ptxas=ptxas": "--ptxas needs --device cuda",
    "--ptxas=ptxas --device=vgpu": "--ptxas needs --device cuda",
}
for flags, message in usage.items():
    stdout, stderr = ring_run(ATTENTION, *FLAGS, "--json", *flags.split(), code=2)
    assert stderr.startswith(f"ring-run: error: {message}") and stderr.count("\n") == 1, f"{flags}: {stderr}"
    assert not stdout and not os.path.exists("t.json"), flags
for flag in "--sm-margin=", "--sm-margin=few", "--graph=maybe":
    assert flag.split("=")[0].strip("-") in ring_run(ATTENTION, *FLAGS, "--device=vgpu", flag, code=2)[1], flag

# Exit 3: what is not supported, by name.
for flags, feature in (
    ("--transport=mpi", "mpi"),
    ("--transport=mpi --device=vgpu", "mpi"),
    ("--device=vgpu:sm_90", "chip sm_90"),
    ("--device=cpu,vgpu:sm_90,cpu,cpu", "chip sm_90"),
):
    stdout, stderr = ring_run(ATTENTION, *FLAGS, "--json", *flags.split(), code=3)
    assert f"error: feature '{feature}' is not supported by " in stderr and stderr.count("\n") == 1, stderr
    got = json.loads(stdout)
    assert got["refused"] == feature and got["ok"] is False, got
    assert not os.path.exists("f.o"), flags

# Every device and transport: right numbers, and the counts of the CPU. There transfers are
# addresses; a GPU copies into slots, as many as transfers may be in flight. A kernel's
# memory is not a CPU's, so bytes are compared where they travel.
COUNTS = "ranks layout variant attentions rounds transfers bytes_per_rank balance round_balance buffers".split()
cpu = report(ATTENTION, *FLAGS, "--check")
assert cpu["transfers"] == RANKS - 1 and cpu["buffers_allocated"] == 0, cpu
for flags, slots in (
    ("--device=vgpu", 2),
    ("--device=vgpu:sm_86", 2),
    ("--device=vgpu,vgpu,vgpu:sm_89,vgpu", 2),
    ("--device=vgpu,cpu,cpu,vgpu", 2),
    ("--device=cpu,vgpu:sm_87,cpu,cpu --transport=threads", 2),
    ("--device=vgpu --prefetch-distance=2", 3),
    ("--device=vgpu --transport=nccl", 2),
    ("--device=vgpu --transport=nccl --graph --repeat=3", 2),
    ("--device=vgpu --transport=nccl --sm-margin=0", 2),
    ("--device=vgpu --trace=t.json", 2),
):
    got = report(ATTENTION, *FLAGS, "--check", *flags.split())
    assert list(got) == list(cpu) and got["ok"] is True, (flags, got)
    differ = [key for key in COUNTS if got[key] != cpu[key] and (key, flags) != ("buffers", "--device=vgpu --prefetch-distance=2")]
    assert not differ, (flags, differ, got)
    assert got["buffers_allocated"] == slots, (flags, got)
    assert 0 < got["max_error"][0]["out"] <= 1 and got["peak_bytes_per_rank"] > 0, (flags, got)
assert os.path.getsize("t.json") > 0


def launches(name, *flags):
    """Blocks of each launch, and the graphs launched, of device 0."""
    file = f"{name}.record"
    line = ["ring-run", "long.mlir", "--random=1", "--check", "--device=vgpu:sm_87", *flags]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "RING_VGPU_RECORD": file})
    calls = [json.loads(text) for text in open(file)]
    blocks = [int(np.prod(call["grid"])) for call in calls if call["call"] == "cuLaunchKernel" and call["device"] == 0]
    return blocks, sum(call["call"] == "cuGraphLaunch" and call["device"] == 0 for call in calls)


# One tile of queries and 48 tiles of 64 keys: as many parts as there are multiprocessors
# without the margin, and one block that merges them.
SM_87 = 16
Q, K = "tensor<1x1x64x16xbf16>", "tensor<1x1x3072x16xbf16>"
with open("long.mlir", "w") as file:
    file.write(f"""func.func @f(%q: {Q}, %k: {K}, %v: {K}) -> {Q} {{
  %o = ring.attention %q, %k, %v : ({Q}, {K}, {K}) -> {Q}
  return %o : {Q}
}}
""")
for name, flags, parts in (
    ("threads", [], SM_87),
    ("nccl", ["--transport=nccl"], SM_87 - 8),
    ("none", ["--transport=nccl", "--sm-margin=0"], SM_87),
    ("few", ["--sm-margin=6"], SM_87 - 6),
    ("most", ["--sm-margin=14"], 2),
    ("all", ["--sm-margin=16"], 1),
    ("more", ["--sm-margin=1024", "--transport=nccl"], 1),
):
    got, _ = launches(name, *flags)
    assert got == ([parts, 1] if parts > 1 else [1]), (name, got, parts)

# The same bits from a graph, which is launched once it has been captured.
outputs = []
for name, flag, graphs in ("plain", [], 0), ("graph", ["--graph"], 2):
    flags = ["--ranks=2", "--transport=nccl", "--repeat=3", f"--output=0={name}.npy", *flag]
    assert launches(name, *flags)[1] == graphs, name
    outputs.append(np.load(f"{name}.npy"))
assert np.array_equal(*outputs)
