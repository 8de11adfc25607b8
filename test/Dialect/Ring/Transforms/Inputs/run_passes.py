"""Runs each pass of ours alone and twice on files, and counts what goes wrong.

usage: run_passes.py [--unchanged] RING-OPT FILE...

A pass may refuse a file: exit code 1 and a message with file, line and column.
With --unchanged, counts passes that change a file at all, or refuse it.
"""

import re
import subprocess
import sys

PASSES = [
    "ring-raise-attention",
    "ring-shard-attention=ranks=2",
    "ring-apply-layout=layout=zigzag",
    "ring-classify-blocks",
    "ring-pipeline-rounds=prefetch-distance=2",
    "ring-verify-schedule",
    "ring-expand-host",
    "ring-bufferize-transfers",
    "ring-results-to-destinations",
    "convert-ring-to-vector",
    "convert-ring-to-llvm",
    "ring-export-interface",
]
# Each conversion adds an argument to what is still a function of func.
ONCE = {"convert-ring-to-llvm"}
# It erases grids, and gives functions a status.
CONVERSIONS = {"convert-ring-to-llvm", "ring-export-interface"}


def run(ring_opt, path, passes, text=None):
    name = passes[0].split("=")[0]
    options = [f"--{p}" for p in passes]
    if name == "ring-raise-attention":
        options = ["--pass-pipeline=builtin.module(func.func(%s))" % name]
    return subprocess.run(
        [ring_opt, path, *options], input=text, capture_output=True, text=True
    )


def main(arguments):
    unchanged = arguments[0] == "--unchanged"
    ring_opt, *files = arguments[unchanged:]
    crashes, unstable, unplaced, changes = [], [], [], []
    for path in files:
        before = run(ring_opt, path, ["strip-debuginfo"]).stdout
        for name in PASSES:
            where = f"{name} on {path}"
            once = run(ring_opt, path, [name])
            if once.returncode not in (0, 1) or "Stack dump" in once.stderr:
                crashes.append(where)
                continue
            if once.returncode == 1:
                changes.append(where)
                if not re.match(r"\S+:\d+:\d+: error: ", once.stderr):
                    unplaced.append(where)
                continue
            if once.stdout != before:
                changes.append(where)
            if name.split("=")[0] in ONCE:
                continue
            twice = run(ring_opt, "-", [name], text=once.stdout)
            if twice.returncode < 0 or "Stack dump" in twice.stderr:
                crashes.append("again " + where)
            elif twice.stdout != once.stdout:
                unstable.append(where)
    if unchanged:
        changes = [c for c in changes if c.split()[0] not in CONVERSIONS]
        print(len(changes), "changes", *changes)
        return
    print(len(crashes), "crashes", *crashes)
    print(len(unstable), "passes that do something the second time", *unstable)
    print(len(unplaced), "errors without a place", *unplaced)


main(sys.argv[1:])
