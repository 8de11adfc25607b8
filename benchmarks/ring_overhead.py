#!/usr/bin/env python3
"""What a ring costs on one machine: 4 zigzag ranks against one rank, on the same cores.

    ring_overhead.py [--assert] [--ring-run PROGRAM] [--alternations A] [--repeat K] [--ranks N]

Causal f32 attention over 4096 positions, 8 heads of size 64. Runs of the two take turns, so that a slow moment of the
machine meets both; each gives the median of its K repeats, and compared are the medians of those. `--assert` fails where
the ring takes more than 1.15 times as long. Standard library only.
"""
import argparse
import statistics
import sys

import bench

LIMIT = 1.15


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assert", dest="check", action="store_true", help=f"fail above {LIMIT} times")
    parser.add_argument("--ring-run", default=bench.ROOT / "build/bin/ring-run")
    parser.add_argument("--alternations", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    options = parser.parse_args()

    heads, length, depth = 8, 4096, 64
    program = bench.attention(heads, length, depth)
    machine = bench.machine()
    times = {1: [], options.ranks: []}
    for turn in range(options.alternations):
        for ranks in times:
            run = bench.ring_run(options.ring_run, program, "--ranks", ranks, "--layout", "zigzag",
                                 "--repeat", options.repeat)
            times[ranks].append(run["time_ms"])
            print(f"turn {turn + 1}: {ranks} rank{'s' * (ranks > 1)} {run['time_ms']:8.1f} ms", flush=True)
    medians = {ranks: statistics.median(of) for ranks, of in times.items()}
    ratio = medians[options.ranks] / medians[1]
    # Two products, of which causal attention needs half.
    operations = 4 * heads * length * (length + 1) / 2 * depth
    for ranks, median in medians.items():
        print(f"{ranks} rank{'s' * (ranks > 1)}: {median:.1f} ms, {operations / median / 1e6:.1f} GFLOP/s")
    print(f"{options.ranks} ranks take {ratio:.3f} times what one takes")
    bench.write("ring_overhead", {
        "machine": machine,
        "program": {"heads": heads, "length": length, "depth": depth, "type": "f32", "mask": "causal",
                    "layout": "zigzag"},
        "repeat": options.repeat,
        "time_ms": {str(ranks): of for ranks, of in times.items()},
        "median_ms": {str(ranks): of for ranks, of in medians.items()},
        "ratio": ratio,
        "limit": LIMIT,
    })
    if options.check and ratio > LIMIT:
        sys.exit(f"the ratio is {ratio:.3f}, expected at most {LIMIT}")


if __name__ == "__main__":
    main()
