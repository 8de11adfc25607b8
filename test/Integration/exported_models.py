"""Models as frameworks exported them, in Inputs/models: each runs on several ranks
and gives its float64 reference, and as many attentions are found as it has. What is
causal has that mask and nothing of queries x keys.

A manifest says the arguments, the references with their tolerances (four times the
framework's own error) and which attentions there are."""
# RUN: %python %s %S/Inputs/models

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FOLDER = sys.argv[1]

PASSES = [
    "--convert-stablehlo-to-linalg",
    "--convert-tosa",
    "--convert-torch-to-ring",
    "--convert-attention-to-linalg",
    "--inline",
    "--symbol-dce",
    "--ring-raise-attention",
]
EVERYWHERE = [(1, "zigzag"), (2, "contiguous"), (4, "zigzag"), (8, "contiguous")]
RUNS = EVERYWHERE if os.environ.get("RING_TEST_ALL") == "1" else [(2, "contiguous"), (4, "zigzag")]


def run(name, ranks, layout):
    folder = os.path.join(FOLDER, name)
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    line = ["ring-run", os.path.join(folder, "model.mlir"), "--entry", manifest["entry"], "--json"]
    line += [f"--ranks={ranks}", f"--layout={layout}", "--threads=2"]
    line += [f"--input={i}={folder}/{a['file']}" for i, a in enumerate(manifest["inputs"])]
    (output,) = manifest["outputs"]
    line += [f"--expect=0={folder}/{output['ref']}", f"--atol={output['atol']}", f"--rtol={output['rtol']}"]
    done = subprocess.run(line, capture_output=True, text=True)
    what = f"{name} on {ranks} ranks, {layout}"
    assert done.returncode == 0, f"{what}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    report = json.loads(done.stdout)
    expected = len(manifest["attentions"])
    assert report["attentions"] == expected and report["ok"], f"{what}: {report}"
    # All that travels is keys and values.
    assert report["transfers"] == expected * (ranks - 1), f"{what}: {report}"


def check_masks(name):
    with open(os.path.join(FOLDER, name, "manifest.json")) as file:
        manifest = json.load(file)
    if any(attention["mask"] != "causal" for attention in manifest["attentions"]):
        return
    line = ["ring-opt", os.path.join(FOLDER, name, "model.mlir"), "--allow-unregistered-dialect", *PASSES]
    done = subprocess.run([*line, "--remarks-filter=ring-raise-attention"], capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stderr}"
    for remark in re.findall(r'"raised to ring.attention", (.*)', done.stderr):
        for clause in ("bias=none", "mask=#ring.mask<causal>", "score=none"):
            assert clause in remark, f"{name}: {remark}"


names = sorted(os.listdir(FOLDER))
assert len(names) >= 25
with ThreadPoolExecutor(2) as pool:
    jobs = [pool.submit(run, name, *how) for name in names for how in RUNS]
    jobs += [pool.submit(check_masks, name) for name in names]
    for future in jobs:
        future.result()
print(f"{len(names)} models are right")
