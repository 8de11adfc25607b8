"""Models as frameworks exported them, in Inputs/models: each runs on several ranks
and gives its float64 reference, and as many attentions are found as it has.

A manifest says the arguments, the references with their tolerances (four times the
framework's own error) and which attentions there are."""
# RUN: %python %s %S/Inputs/models

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FOLDER = sys.argv[1]

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


names = sorted(os.listdir(FOLDER))
assert len(names) >= 25
with ThreadPoolExecutor(2) as pool:
    for future in [pool.submit(run, name, *how) for name in names for how in RUNS]:
        future.result()
print(f"{len(names)} models are right")
