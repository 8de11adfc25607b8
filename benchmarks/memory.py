#!/usr/bin/env python3
"""What a rank needs as the sequence grows: S/N times a constant, and nothing more.

    memory.py [--assert] [--ring-run PROGRAM] [--ranks N] [--max-length S]

Causal f32 attention, one head of size 64. Of a rank `peak_bytes_per_rank` counts its inputs and outputs, the f32 state of
its queries, and the rest, which may not depend on S; slots it needs none, since `threads` passes addresses. `max RSS` is
of the whole process, which also holds the compiler, and inputs and outputs once more as whole tensors. `--assert` fails
where the rest depends on S, or where the process grows by a tenth more than these. Standard library only.
"""
import argparse
import sys

import bench

DEPTH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assert", dest="check", action="store_true", help="fail where the peak is not linear")
    parser.add_argument("--ring-run", default=bench.ROOT / "build/bin/ring-run")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--max-length", type=int, default=64 * 1024)
    options = parser.parse_args()
    if options.max_length < 2048:
        parser.error(f"--max-length is {options.max_length}, expected 2048 or more")

    machine = bench.machine()
    tensors_row = 4 * 4 * DEPTH  # bytes of q, k, v and out a position
    state_row = 4 * (DEPTH + 2)
    rows = []
    print(f"{options.ranks} ranks, causal, f32, 1 head of size {DEPTH}")
    columns = ("S", 7), ("S/N", 7), ("peak per rank", 14), ("tensors", 9), ("state", 8), ("rest", 6), ("slots", 6)
    print(" ".join(name.rjust(width) for name, width in columns), "    max RSS")
    length = 1024
    while length <= options.max_length:
        run = bench.ring_run(options.ring_run, bench.attention(1, length, DEPTH), "--ranks", options.ranks)
        local = -(-length // options.ranks)
        peak, tensors, state = run["peak_bytes_per_rank"], tensors_row * local, state_row * local
        numbers = length, local, peak, tensors, state, peak - tensors - state, run["buffers_allocated"]
        print(" ".join(str(value).rjust(width) for value, (_, width) in zip(numbers, columns)),
              f"{run['max_rss_bytes'] / 2**20:>7.1f} MiB", flush=True)
        rows.append({"length": length, "local_length": local, "peak_bytes_per_rank": peak, "tensor_bytes": tensors,
                     "state_bytes": state, "rest_bytes": peak - tensors - state,
                     "buffers_allocated": run["buffers_allocated"], "max_rss_bytes": run["max_rss_bytes"]})
        length *= 2
    rest = {row["rest_bytes"] for row in rows}
    expected = 2 * tensors_row + state_row
    first, last = rows[0], rows[-1]
    growth = (last["max_rss_bytes"] - first["max_rss_bytes"]) / (last["length"] - first["length"])
    print(f"max RSS grows by {growth:.0f} bytes a position, of which tensors and state account for {expected}")
    bench.write("memory", {"machine": machine, "ranks": options.ranks,
                           "program": {"heads": 1, "depth": DEPTH, "type": "f32", "mask": "causal"}, "rows": rows,
                           "rss_growth_per_position": growth, "expected_growth_per_position": expected})
    if options.check and len(rest) != 1:
        sys.exit(f"beyond tensors and state a rank needs {sorted(rest)} bytes, expected one number at every length")
    if options.check and growth > 1.1 * expected:
        sys.exit(f"the process grows by {growth:.0f} bytes a position, expected about {expected}")


if __name__ == "__main__":
    main()
