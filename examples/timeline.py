#!/usr/bin/env python3
"""Draws a trace of `ring-run --trace` as text: two rows per rank, time from left to right.

    timeline.py TRACE.json [--width COLUMNS]

A cell shows the number of the round (row `compute`) or of the transfer (row `transfer`) that was under way; `.` is
idle. Numbers are written as one character: 0-9, a-z, A-Z, then `#`. Needs the standard library only.
"""
import argparse
import json
import re
import string
import sys

DIGITS = string.digits + string.ascii_lowercase + string.ascii_uppercase


def load(path):
    """The complete events of the file, and the name of each (pid, tid) row."""
    with open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("ph") == "M" and e["name"] == "thread_name"}
    return [e for e in events if e.get("ph") == "X"], names


def symbol(name):
    """The character of an event: the first number in its name, such as "round 3 attention"."""
    found = re.search(r"\d+", name)
    number = int(found.group()) if found else len(DIGITS)
    return DIGITS[number] if number < len(DIGITS) else "#"


def draw(events, begin, end, width):
    """One row. Every event has at least one cell, so that an instant one is seen too."""
    cells = ["."] * width
    for event in sorted(events, key=lambda e: e["ts"]):
        first = int((event["ts"] - begin) / (end - begin) * width)
        last = int((event["ts"] + event["dur"] - begin) / (end - begin) * width)
        first = min(first, width - 1)
        cells[first : max(first + 1, min(last, width))] = symbol(event["name"]) * max(1, min(last, width) - first)
    return "".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--width", type=int, default=72, help="columns of the picture (72)")
    options = parser.parse_args()
    if options.width < 1:
        parser.error("--width: expected at least 1")
    events, names = load(options.trace)
    if not events:
        sys.exit(f"{options.trace}: no events")
    begin = min(e["ts"] for e in events)
    end = max(max(e["ts"] + e["dur"] for e in events), begin + 1e-3)

    print(f"{end - begin:.0f} us from left to right; a digit is the round computed or the transfer under way")
    rows = {}
    for event in events:
        rows.setdefault((event["pid"], event["tid"]), []).append(event)
    rank = None
    for key in sorted(rows):
        title = f"rank {key[0]}" if key[0] != rank else ""
        rank = key[0]
        print(f"{title:<8} {names.get(key, str(key[1])):<9} |{draw(rows[key], begin, end, options.width)}|")


if __name__ == "__main__":
    main()
