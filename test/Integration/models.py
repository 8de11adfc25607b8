"""Models as PyTorch exported them: the attention is found and sharded, what
stands around it stays, and the result is the model's float64 reference."""
# RUN: %python %s %examples %S

import json
import os
import subprocess
import sys

examples, here = sys.argv[1:]
IR = os.path.join(here, "..", "Dialect", "Ring", "Transforms", "Inputs")

# The tolerances are four times PyTorch's own error.
MODELS = {
    "torch_sdpa_causal_f32": 3.1e-05,
    "torch_sdpa_explicit_scale": 3.3e-05,
    "torch_sdpa_dv_ne_dk": 8.9e-06,
    "torch_sdpa_gqa_causal": 2.7e-05,
}
# Not attention, though close: a mask after the softmax, a softmax over queries.
NEAR_MISSES = {
    "near_miss_mask_after_softmax": 1.3e-05,
    "near_miss_query_axis": 1.4e-05,
}


def run(name, atol, *flags):
    data = os.path.join(here, "Inputs", name)
    if not os.path.isdir(data):
        data = os.path.join(examples, "models", name)
    line = ["ring-run", os.path.join(IR, name + ".mlir"), "--json", f"--atol={atol}", "--rtol=1e-5"]
    line += [f"--input={i}={data}/in_{i}.npy" for i in range(3)]
    line += [f"--expect=0={data}/ref_0.npy", *flags]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, f"{name} {flags}: exit {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


for name, atol in MODELS.items():
    for flags in (
        ["--ranks=4", "--layout=zigzag", "--check"],
        ["--ranks=3", "--layout=contiguous", "--check"],
    ):
        report = run(name, atol, *flags)
        assert report["attentions"] == 1 and report["ok"], (name, report)
        assert report["transfers"] == report["ranks"] - 1, (name, report)
        (error,) = report["max_error"]
        assert error["out"] <= 1, (name, report)

report = run("torch_sdpa_gqa_causal", MODELS["torch_sdpa_gqa_causal"], "--ranks=2", "--verify-each")
assert report["attentions"] == 1 and report["ok"], report

for name, atol in NEAR_MISSES.items():
    report = run(name, atol, "--ranks=4")
    assert report["attentions"] == report["transfers"] == 0 and report["ok"], (name, report)
