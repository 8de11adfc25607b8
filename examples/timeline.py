#!/usr/bin/env python3
"""Draws a trace of `ring-run --trace` as text: two rows per rank, time from left to right.

    timeline.py TRACE.json [--width COLUMNS] [--run I]

In the row `compute` a digit is the round being computed, `f` is finalize, `-` is waiting. In the row `transfer` a digit
stands where that transfer was started and `=` follows until its block had arrived. A trace holds every run of the ranks
(`--repeat`, several attentions); drawn is the last one, or the I-th. Numbers are one character: 0-9, a-z, A-Z, then `#`.
Needs the standard library only.
"""
import argparse
import json
import os
import re
import string
import sys

DIGITS = string.digits + string.ascii_lowercase + string.ascii_uppercase
IDLE, WAIT, FLIGHT = " ", "-", "="
COLOURS = (36, 33, 32, 35, 34, 31)  # of rounds in turn, on a terminal


def load(path):
    """Runs of the ranks in order, each a dictionary: rank -> its complete events, in order of their beginning."""
    with open(path) as file:
        trace = json.load(file)
    ranks = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            ranks.setdefault(event["pid"], []).append(event)
    runs = []
    for rank, events in sorted(ranks.items()):
        run = -1
        # A rank's run begins where it waits for the others to begin.
        for event in sorted(events, key=lambda e: (e["ts"], e["name"] != "wait for all ranks to begin")):
            run += event["name"] == "wait for all ranks to begin"
            while len(runs) <= run:
                runs.append({})
            runs[run].setdefault(rank, []).append(event)
    return runs


def number(event):
    """The round or transfer that an event names, such as "round 3 attention"; None where it names none."""
    if event["name"] == "attention":  # of the only round there is
        return 0
    found = re.search(r"\d+", event["name"])
    return int(found.group()) if found else None


def symbol(event):
    """The characters of an event: its first cell, and the others."""
    if event["cat"] == "wait":
        return WAIT, WAIT
    index = number(event)
    first = event["name"][0] if index is None else DIGITS[index] if index < len(DIGITS) else "#"
    return first, FLIGHT if event["cat"] == "transfer" else first


def draw(events, begin, end, width):
    """One row. Work and transfers have at least one cell each, so that an instant one is seen too; waits may have none."""
    cells = [IDLE] * width

    def cell(time):
        return min(max(round((time - begin) / (end - begin) * width), 0), width)

    for event in sorted(events, key=lambda e: (e["cat"] != "wait", e["ts"])):
        first, last = cell(event["ts"]), cell(event["ts"] + event["dur"])
        if event["cat"] != "wait":
            first = min(first, width - 1)
            last = max(last, first + 1)
        head, tail = symbol(event)
        for i in range(first, last):
            cells[i] = head if i == first else tail
    return "".join(cells)


def coloured(row):
    """Each round in a colour of its own, where that is readable."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return row

    def paint(found):
        return f"\x1b[{COLOURS[int(found.group(1)) % len(COLOURS)]}m{found.group()}\x1b[0m"

    return re.sub(r"(\d)\1*=*", paint, row)


def duration(microseconds):
    return f"{microseconds / 1e3:.1f} ms" if microseconds >= 1e3 else f"{microseconds:.0f} us"


def plural(count, what):
    return f"{count} {what}{'s' * (count != 1)}"


def axis(span, width):
    """Times at the quarters of the row, right-aligned so that the last character stands below its moment."""
    text = ""
    for quarter in range(1, 5):
        text += duration(span * quarter / 4).rjust(width * quarter // 4 - len(text))
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--width", type=int, default=64, help="columns of the picture (64)")
    parser.add_argument("--run", type=int, help="the run to draw, from 1 on (the last one)")
    options = parser.parse_args()
    if options.width < 40:
        parser.error(f"--width is {options.width}, expected 40 or more")
    runs = load(options.trace)
    if not runs:
        sys.exit(f"{options.trace}: no events")
    index = len(runs) if options.run is None else options.run
    if not 1 <= index <= len(runs):
        parser.error(f"--run is {index}, expected 1 to {len(runs)}")
    ranks = runs[index - 1]

    # From the first work to the end of the last: before and after, threads start and end.
    work = [e for events in ranks.values() for e in events if e["cat"] != "wait"]
    begin = min(e["ts"] for e in work)
    end = max(max(e["ts"] + e["dur"] for e in work), begin + 1e-3)
    rounds = len({number(e) for e in work if e["cat"] == "compute" and number(e) is not None})
    first = next(iter(ranks.values()))
    sent = [e["args"]["bytes"] for e in first if e["cat"] == "transfer"]

    moved = f", each sends {len(sent)} x {max(sent) / 1024:.0f} KiB" if sent else ""
    which = f" (run {index} of {len(runs)})" if len(runs) > 1 else ""
    print(f"{plural(len(ranks), 'rank')}, {plural(rounds, 'round')}{moved}; {duration(end - begin)}{which}")
    for rank, events in sorted(ranks.items()):
        computing = sum(e["dur"] for e in events if e["cat"] == "compute")
        waiting = sum(e["dur"] for e in events if e["name"].startswith("wait for transfer"))
        rows = {"compute": [e for e in events if e["cat"] != "transfer"],
                "transfer": [e for e in events if e["cat"] == "transfer"]}
        notes = {"compute": f"{duration(computing)} of work", "transfer": f"{duration(waiting)} waited for blocks"}
        for name, title in (("compute", f"rank {rank}"), ("transfer", "")):
            if rows[name]:
                row = coloured(draw(rows[name], begin, end, options.width))
                print(f"{title:<8}{name:<9}|{row}| {notes[name]}")
    print(" " * 18 + axis(end - begin, options.width))
    print("digit: round computed, or transfer started   =: transfer under way   -: waiting   f: finalize")


if __name__ == "__main__":
    main()
