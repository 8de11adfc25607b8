"""The bundle for a machine with a GPU: programs that are compiled ahead of time, their
inputs and float64 results, and run.py, here on virtual GPUs. What is wrong, crashes or
cannot run is said for that program, and stops no other."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %ring_src_root %ring_obj_root %t

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE, BUILD, OUT = map(Path, sys.argv[1:])
BUNDLE, REPORT = OUT / "bundle", OUT / "report.json"
OUT.mkdir(parents=True, exist_ok=True)
CHECKED = ["f16_192_128-1_ranks-zigzag-prefetch_1", "f16_not_finite-1_ranks-zigzag-prefetch_1",
           "f16_not_finite-2_ranks-zigzag-prefetch_1", "random_3-4_ranks-contiguous-prefetch_1"]
TIMED = ["time_bf16_128_decode", "time_f32_128_causal"]


def run(code, *flags):
    """The reports by name of what run.py runs; it ends with `code`."""
    REPORT.unlink(missing_ok=True)
    environment = {**os.environ, "RING_VGPU_LIBRARY": str(BUILD / "lib" / "libring_vgpu.so")}
    # From elsewhere and without this Python's packages: the bundle is all that there is.
    line = [sys.executable, "-I", BUNDLE / "run.py", "--device=vgpu", "--json", REPORT, *flags]
    done = subprocess.run(line, capture_output=True, text=True, cwd="/", env=environment)
    assert done.returncode == code, (flags, done.stdout, done.stderr)
    report = json.loads(REPORT.read_text())
    assert report["ok"] == (code == 0), report
    return {entry["name"]: entry for entry in report["checked"] + report["timed"]}


subprocess.run([sys.executable, SOURCE / "benchmarks/gpu/prepare.py", f"--build={BUILD}", f"--out={BUNDLE}",
                "--only=" + ",".join({name.split("-")[0] for name in CHECKED + TIMED})], check=True)
manifest = json.loads((BUNDLE / "manifest.json").read_text())
assert sorted(program["name"] for program in manifest["programs"]) == sorted(CHECKED + TIMED), manifest

reports = run(0, "--lengths=150")
assert sorted(reports) == sorted(CHECKED + TIMED), reports
for name, entry in reports.items():
    assert entry["ok"] and 0 < entry["max_error"] <= 1, entry
for name in TIMED:
    entry = reports[name]
    assert entry["seconds"] > 0 and entry["tflops"] > 0 and entry["repeat"] == 7, entry
    # So few tiles of queries leave multiprocessors idle: keys are split, and one launch more
    # puts the parts together.
    assert entry["launches"] == 2 and entry["rows_checked"] == 3, entry

# A root mean square of a hundredth is allowed.
wrong = next(p for p in manifest["programs"] if p["name"] == CHECKED[0])
(BUNDLE / "manifest.json").write_text(json.dumps({**manifest, "programs": [
    {**wrong, "results": [{**result, "rms": result["rms"] and result["rms"] / 100} for result in wrong["results"]]}]}))
reports = run(1)
assert reports[CHECKED[0]]["error"] == "out: root mean square", reports
(BUNDLE / "manifest.json").write_text(json.dumps(manifest))

# Another number is expected.
data = bytearray((BUNDLE / wrong["data"]).read_bytes())
data[wrong["results"][0]["expected"] + 8 * 1000 + 6] ^= 0x10
(BUNDLE / wrong["data"]).write_bytes(data)
# A program that is no library.
broken = next(p for p in manifest["programs"] if p["name"] == CHECKED[3])
(BUNDLE / broken["library"]).write_text("no library")
reports = run(1, "--only=f16,random")
assert [name for name in reports if not reports[name]["ok"]] == [CHECKED[0], CHECKED[3]], reports
assert reports[CHECKED[0]]["error"].startswith("out[1000]: expected "), reports
assert "exit 1" in reports[CHECKED[3]]["error"], reports
# One that takes too long.
reports = run(1, "--only=f16_not_finite", "--limit=0.01")
assert {entry["error"] for entry in reports.values()} == {"time limit"}, reports
# Nothing that ran is nothing right.
reports = run(1, "--only=f16_not_finite", "--budget=0")
assert {entry["ok"] for entry in reports.values()} == {None}, reports
