"""Whole transformer blocks as frameworks exported them: all that is around attention
is local to a rank, for every layout, and the numbers are the float64 reference's.

The manifest says which arguments and results run along the sequence."""
# RUN: %python %s %S/Inputs/models %t

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FOLDER, TEMPORARY = sys.argv[1:]
STEPS = ["--convert-stablehlo-to-linalg", "--convert-tosa", "--convert-torch-to-ring"]
STEPS += ["--convert-attention-to-linalg", "--inline", "--ring-raise-attention", "--ring-shard-attention=ranks=2"]
HOW = [(3, "zigzag", 0), (2, "striped:4", 5), (4, "balanced", 7), (8, "contiguous", 1), (1, "zigzag", 16)]
HOW = HOW if os.environ.get("RING_TEST_ALL") == "1" else HOW[:3]


def load(name):
    with open(os.path.join(FOLDER, name, "manifest.json")) as file:
        return json.load(file)


def check_host(name):
    """The host cuts what runs along the sequence, calls the ranks once and joins."""
    line = ["ring-opt", os.path.join(FOLDER, name, "model.mlir"), "--allow-unregistered-dialect"]
    line += STEPS + ["--ring-shard-function", "--mlir-elide-elementsattrs-if-larger=64"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stderr}"
    functions = re.split(r"(?m)^  func\.func ", done.stdout)[1:]
    (host,) = (f for f in functions if not f.startswith("private"))
    assert len(re.findall(r" call @", host)) == 1, f"{name}: {host}"
    after = host[host.index(" call @") :]
    assert "linalg" not in after and "tensor.extract" not in after, f"{name}: {after}"
    sharding = load(name)["sequence_sharding"]
    cut = {int(i): int(dim) for i, dim in re.findall(r"ring\.scatter %arg(\d+) by \S+ dim (\d+)", host)}
    expected = {i: dim for i, dim in enumerate(sharding["inputs"]) if dim is not None}
    # A mask over keys is needed whole, or cut into rows where it is made.
    assert cut.items() <= expected.items() and 0 in cut, f"{name}: {cut}, expected {expected}"
    joined = [int(dim) for dim in re.findall(r"ring\.gather \S+ by \S+ dim (\d+)", host)]
    assert joined == sharding["outputs"], f"{name}: {joined}, expected {sharding['outputs']}"


def run(name, ranks, layout, block):
    folder = os.path.join(FOLDER, name)
    manifest = load(name)
    (output,) = manifest["outputs"]
    line = ["ring-run", os.path.join(folder, "model.mlir"), "--entry", manifest["entry"], "--json"]
    line += [f"--ranks={ranks}", f"--layout={layout}", f"--blockwise-ffn={block}", "--threads=2"]
    line += [f"--input={i}={folder}/{a['file']}" for i, a in enumerate(manifest["inputs"])]
    line += [f"--expect=0={folder}/{output['ref']}", f"--atol={output['atol']}", f"--rtol={output['rtol']}"]
    done = subprocess.run(line, capture_output=True, text=True)
    what = f"{name} on {ranks} ranks, {layout}, blocks of {block}"
    assert done.returncode == 0, f"{what}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    report = json.loads(done.stdout)
    found = len(manifest["attentions"])
    assert report["ok"] and report["attentions"] == found, f"{what}: {report}"
    # All that travels is keys and values.
    assert report["transfers"] == found * (ranks - 1), f"{what}: {report}"


def check_forms(name):
    """Each form of the program, as passes leave it, runs and is right."""
    folder = os.path.join(FOLDER, name)
    manifest = load(name)
    (output,) = manifest["outputs"]
    passes = STEPS + ["--ring-shard-function=blockwise-ffn=7"]
    for more in ["", "--ring-apply-layout=layout=zigzag", "--ring-classify-blocks", "--ring-pipeline-rounds=prefetch-distance=1"]:
        passes += [more] if more else []
        form = f"{TEMPORARY}.{name}.{len(passes)}.mlir"
        line = ["ring-opt", os.path.join(folder, "model.mlir"), "--allow-unregistered-dialect", *passes, "-o", form]
        subprocess.run(line, check=True)
        line = ["ring-run", form, "--entry", manifest["entry"]]
        line += [f"--input={i}={folder}/{a['file']}" for i, a in enumerate(manifest["inputs"])]
        line += [f"--expect=0={folder}/{output['ref']}", f"--atol={output['atol']}", f"--rtol={output['rtol']}"]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, f"{name} after {passes[-1]}: {done.stdout}{done.stderr}"


names = [name for name in sorted(os.listdir(FOLDER)) if load(name)["sequence_sharding"]]
assert len(names) >= 7, names
with ThreadPoolExecutor(2) as pool:
    jobs = [pool.submit(check_host, name) for name in names]
    jobs += [pool.submit(check_forms, name) for name in ("torch_gpt2_block", "flax_llama_block")]
    jobs += [pool.submit(run, name, *how) for name in names for how in HOW]
    for job in jobs:
        job.result()
print(f"{len(names)} blocks are local and right")
