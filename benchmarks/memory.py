#!/usr/bin/env python3
"""What a rank needs as the sequence grows: S/N times a constant, and nothing more.

    memory.py [--assert] [--ring-run PROGRAM] [--ranks N] [--max-length S]

Causal f32 attention, one head of size 64. `peak_bytes_per_rank` is what a rank's program allocates: the f32 state of its
queries, which is 4 * (64 + 2) bytes for each, and what does not depend on S. `max RSS` is of the whole process: it also
holds the compiler, and all inputs and outputs twice, whole and as the ranks' local tensors. `--assert` fails where the
peak beyond the state depends on S, or where the process grows by a tenth more than these. Standard library only.
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
    state_row = 4 * (DEPTH + 2)
    rows = []
    print(f"{options.ranks} ranks, causal, f32, 1 head of size {DEPTH}")
    print(f"{'S':>7} {'S/N':>7} {'peak per rank':>14} {'state of its queries':>21} {'the rest':>9} {'slots':>6} {'max RSS':>11}")
    length = 1024
    while length <= options.max_length:
        run = bench.ring_run(options.ring_run, bench.attention(1, length, DEPTH), "--ranks", options.ranks)
        local = -(-length // options.ranks)
        row = {"length": length, "local_length": local, "peak_bytes_per_rank": run["peak_bytes_per_rank"],
               "state_bytes": state_row * local, "rest_bytes": run["peak_bytes_per_rank"] - state_row * local,
               "buffers_allocated": run["buffers_allocated"], "max_rss_bytes": run["max_rss_bytes"]}
        rows.append(row)
        print(f"{length:>7} {local:>7} {row['peak_bytes_per_rank']:>14} {row['state_bytes']:>21} {row['rest_bytes']:>9} "
              f"{row['buffers_allocated']:>6} {row['max_rss_bytes'] / 2**20:>7.1f} MiB", flush=True)
        length *= 2
    # Beyond the state a rank allocates the same at any length.
    rest = {row["rest_bytes"] for row in rows}
    # q, k, v and out, whole and local, and the state.
    expected = 2 * 4 * DEPTH * 4 + state_row
    first, last = rows[0], rows[-1]
    growth = (last["max_rss_bytes"] - first["max_rss_bytes"]) / (last["length"] - first["length"])
    print(f"max RSS grows by {growth:.0f} bytes a position, of which tensors and state account for {expected}")
    bench.write("memory", {"machine": machine, "ranks": options.ranks,
                           "program": {"heads": 1, "depth": DEPTH, "type": "f32", "mask": "causal"}, "rows": rows,
                           "rss_growth_per_position": growth, "expected_growth_per_position": expected})
    if options.check and len(rest) != 1:
        sys.exit(f"beyond the state a rank allocates {sorted(rest)} bytes, expected one number at every length")
    if options.check and growth > 1.1 * expected:
        sys.exit(f"the process grows by {growth:.0f} bytes a position, expected about {expected}")


if __name__ == "__main__":
    main()
