#!/usr/bin/env python3
"""Whether hidden blocks cost nothing: time of documents and of short lengths against that of the whole sequence.

    visible_work.py [--assert] [--ring-run PROGRAM] [--alternations A] [--repeat K] [--ranks N] [--layout L]

f32 attention without a positional mask over 8192 positions, 8 heads of size 64, in one compiled program for each clause:
one document against 16 equal ones, and `lengths` of all keys against half of them. Runs take turns; compared are medians.
`--assert` fails where 16 documents take more than 1.3/16 of one, or half the keys more than 0.55. Standard library only.
"""
import argparse
import array
import pathlib
import statistics
import sys
import tempfile

import bench

HEADS, LENGTH, DEPTH, DOCUMENTS = 8, 8192, 64, 16
LIMITS = {"documents": 1.3 / DOCUMENTS, "lengths": 0.55}


def program(operands, clause):
    """A module with one attention that takes i32 tensors of these shapes besides."""
    tensor = f"tensor<1x{HEADS}x{LENGTH}x{DEPTH}xf32>"
    types = [tensor] * 3 + [f"tensor<{'x'.join(map(str, shape))}xi32>" for shape in operands]
    arguments = ", ".join(f"%{index}: {kind}" for index, kind in enumerate(types)).replace("%", "%a")
    return f"""func.func @attention({arguments}) -> {tensor} {{
  %out = ring.attention %a0, %a1, %a2 {clause} : ({", ".join(types)}) -> {tensor}
  return %out : {tensor}
}}
"""


def write_integers(path, shape, values):
    """An i32 .npy file."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header = header.ljust(64 * ((len(header) + 74) // 64) - 11) + "\n"
    numbers = array.array("i", values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + numbers.tobytes())


def cases(folder):
    """(name, module, flags of the whole run, flags of the partial run)"""
    ids, one = folder / "documents.npy", folder / "one.npy"
    write_integers(ids, (1, LENGTH), [position * DOCUMENTS // LENGTH for position in range(LENGTH)])
    write_integers(one, (1, LENGTH), [0] * LENGTH)
    every, half = folder / "every.npy", folder / "half.npy"
    write_integers(every, (1,), [LENGTH])
    write_integers(half, (1,), [LENGTH // 2])
    yield ("documents", program([(1, LENGTH)] * 2, "segments(%a3, %a4)"),
           [f"--input=3={one}", f"--input=4={one}"], [f"--input=3={ids}", f"--input=4={ids}"])
    yield "lengths", program([(1,)], "lengths(%a3)"), [f"--input=3={every}"], [f"--input=3={half}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assert", dest="check", action="store_true", help="fail above the limits")
    parser.add_argument("--ring-run", default=bench.ROOT / "build/bin/ring-run")
    parser.add_argument("--alternations", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--layout", default="zigzag")
    options = parser.parse_args()
    machine, results, failures = bench.machine(), {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for name, module, *flags in cases(pathlib.Path(scratch)):
            times = [[], []]
            for _ in range(options.alternations):
                for of, inputs in zip(times, flags):
                    run = bench.ring_run(options.ring_run, module, "--ranks", options.ranks, "--layout",
                                         options.layout, "--repeat", options.repeat, *inputs)
                    of.append(run["time_ms"])
            whole, part = map(statistics.median, times)
            results[name] = {"whole_ms": times[0], "part_ms": times[1], "ratio": part / whole, "limit": LIMITS[name]}
            print(f"{name}: {whole:.1f} ms whole, {part:.1f} ms in part: {part / whole:.4f}, limit {LIMITS[name]:.4f}",
                  flush=True)
            if part / whole > LIMITS[name]:
                failures.append(name)
    bench.write("visible_work", {
        "machine": machine,
        "program": {"heads": HEADS, "length": LENGTH, "depth": DEPTH, "type": "f32", "documents": DOCUMENTS,
                    "ranks": options.ranks, "layout": options.layout},
        "repeat": options.repeat,
        "results": results,
    })
    if options.check and failures:
        sys.exit(f"above the limit: {', '.join(failures)}")


if __name__ == "__main__":
    main()
