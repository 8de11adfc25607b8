#!/usr/bin/env python3
"""Makes a folder that shows on another machine, with a GPU and nothing of ours, whether the kernels are right and fast.

    prepare.py [--out FOLDER] [--only NAME,...] [--jobs N] [--chip sm_80]

Writes FOLDER and FOLDER.tar.gz: programs that are compiled ahead of time, their inputs, what has to come out and by how much it may differ, the
runtime, and run.py, which is what to start there. The programs hold a cubin and PTX, and what the virtual GPU executes.
Needs a build and NumPy (`.venv/bin/python`). A bundle that is in the folder already is removed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

import programs
from attention_case import stored
from dense_reference import tolerances
from ring_attention import Program

LIMIT = 60 * 2**20  # bytes of the archive: what may travel, with some room


class Data:
    """The file of one program: arrays one after another."""

    def __init__(self):
        self.parts, self.bytes = [], 0

    def add(self, array):
        """Where it begins in the file."""
        begin = self.bytes
        self.parts.append(np.ascontiguousarray(array).tobytes())
        self.bytes += len(self.parts[-1])
        return begin

    def write(self, path):
        path.write_bytes(b"".join(self.parts))


def results_of(case, data):
    """Of each result its shape and type, and where what is expected and what is allowed begin."""
    reference = case.reference()
    allowed = tolerances(case, reference)
    rows = [("out", reference.out, allowed.out, case.dtype, allowed.rms)]
    rows += [("lse", reference.lse, allowed.lse, "f32", None)] if case.lse else []
    for name, expected, tolerance, kind, rms in rows:
        yield {"name": name, "shape": list(expected.shape), "type": kind, "rms": rms,
               "expected": data.add(expected.astype(np.float64)),
               "allowed": data.add(np.broadcast_to(tolerance, expected.shape).astype(np.float32))}


def write_data(name, cases, out):
    """The manifest's entry for a program's arguments and results."""
    data = Data()
    arguments = [{"shape": list(x.array.shape), "type": x.element, "data": data.add(stored(x.array, x.element))}
                 for case in cases for x in case.operands()]
    results = [result for case in cases for result in results_of(case, data)]
    data.write(out / f"{name}.data")
    return {"data": f"{name}.data", "arguments": arguments, "results": results}


def compile_program(library, text, configuration, chip):
    """FOLDER/NAME.so of a program."""
    source, compiled = library.with_suffix(".mlir"), library.with_suffix(".o")
    source.write_text(text)
    subprocess.run(["ring-run", source, f"--emit-object={compiled}", f"--device=cuda:{chip},vgpu:{chip}",
                    # Kernels do the work; the host's part has to run on any machine.
                    "--march=x86-64-v2", f"--ranks={configuration.ranks}", f"--layout={configuration.layout}",
                    f"--prefetch-distance={configuration.prefetch}"], check=True)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", compiled, "-o", library, "-Llib", f"-L{library.parent}",
                    "-Wl,-rpath,$ORIGIN", "-lring_runtime", "-lm"], check=True)
    for path in source, compiled, library.with_suffix(".h"):
        path.unlink()


def needed(folder):
    """Libraries that the folder's need and that are not in it, and the newest glibc that these name."""
    names, versions = set(), set()
    for path in folder.glob("*.so"):
        dump = subprocess.run(["readelf", "-dV", path], capture_output=True, text=True, check=True).stdout
        names |= set(re.findall(r"NEEDED.*\[(.*)\]", dump))
        versions |= {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", dump)}
    return sorted(names - {path.name for path in folder.glob("*.so")}), ".".join(map(str, max(versions)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(programs.ROOT) / "build")
    parser.add_argument("--out", type=pathlib.Path, help="FOLDER (BUILD/gpu-bundle)")
    parser.add_argument("--only", default="", help="programs whose names begin so, with commas between")
    parser.add_argument("--jobs", type=int, default=2, help="compilations at once")
    parser.add_argument("--chip", default="sm_80", help="what kernels are made for")
    options = parser.parse_args()
    os.environ["PATH"] = f"{options.build / 'bin'}{os.pathsep}{os.environ['PATH']}"
    out = options.out or options.build / "gpu-bundle"
    if (out / "manifest.json").exists():
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(options.build / "lib" / "portable" / "libring_runtime.so", out)
    shutil.copy(pathlib.Path(__file__).with_name("run.py"), out)
    chosen = tuple(options.only.split(","))

    manifest = {"chip": options.chip, "programs": []}
    work = []
    for name, (cases, configurations) in programs.checked_programs().items():
        if not name.startswith(chosen):
            continue
        shared = write_data(name, cases, out)
        text = Program({str(n): case for n, case in enumerate(cases)}).text()
        compiled = {}
        for configuration in configurations:
            # How blocks travel is no matter of the compiler's.
            what = configuration._replace(transport="threads", graph=False)
            if what not in compiled:
                compiled[what] = f"{name}-{what.name()}.so"
                work.append((compiled[what], text, what))
            manifest["programs"].append({
                "name": f"{name}-{configuration.name()}", "library": compiled[what], "ranks": configuration.ranks,
                "transport": configuration.transport, "graph": configuration.graph, **shared})
    for name, timed in programs.TIMED.items():
        if name.startswith(chosen):
            work.append((f"{name}.so", timed.text(), programs.Configuration()))
            manifest["programs"].append({"name": name, "library": f"{name}.so", "timed": timed._asdict()})
    if not work:
        sys.exit(f"no program begins with {options.only}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(lambda job: compile_program(out / job[0], job[1], job[2], options.chip), work):
            pass
    manifest["needs"], manifest["glibc"] = needed(out)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    archive = pathlib.Path(shutil.make_archive(str(out), "gztar", out.parent, out.name))
    size = archive.stat().st_size
    print(f"{archive}: {len(manifest['programs'])} programs, {size / 2**20:.1f} MiB, glibc {manifest['glibc']}, "
          f"{' '.join(manifest['needs'])}")
    foreign = [n for n in manifest["needs"] if not re.match(r"lib[cm]\.so|ld-linux", n)]
    if foreign:
        sys.exit(f"these would have to travel too: {', '.join(foreign)}")
    if size > LIMIT:
        sys.exit(f"the archive has {size} bytes, expected {LIMIT} or less")


if __name__ == "__main__":
    main()
