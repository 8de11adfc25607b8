#!/usr/bin/env python3
"""Runs the examples of the pages of this folder and compares their results: check_examples.py [PAGE...]

An example is three fenced blocks of a page, in this order, with prose between them where it helps:

- a block of MLIR whose first line is `// example: NAME`: one function @attention;
- a block of Python whose first line is `# inputs`: assigns its arguments, in_0, in_1, ..., as NumPy arrays;
- a block of Python whose first line is `# outputs`: assigns what it returns, out_0, out_1, ...

Each runs on each number of ranks under each layout. Prints `N examples right`, or a line for each failure and exits 1.
A page without an example is a failure. Needs only NumPy.
"""
import argparse
import itertools
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"// example: (\w+)\n")
RETURN = re.compile(r"^\s*return (.*?) :", re.MULTILINE)


@dataclass
class Example:
    place: str  # file:line of the program
    name: str
    program: str
    inputs: list
    outputs: list


class Malformed(Exception):
    """An example that cannot be run; says where and why."""


def arrays(place, code, prefix):
    """The values of prefix_0, prefix_1, ... that `code` assigns."""
    names = {"np": np}
    try:
        exec(code, names)  # pages are trusted like any code of the repository
    except Exception as error:
        raise Malformed(f"{place}: {error}") from error
    found = [name for name in names if re.fullmatch(rf"{prefix}_\d+", name)]
    values = [names.get(f"{prefix}_{index}") for index in range(len(found))]
    if not found or any(value is None for value in values):
        raise Malformed(f"{place}: assigns {', '.join(found) or 'nothing'}, expected {prefix}_0, {prefix}_1, ...")
    return values


def examples(page):
    """The examples of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for block in FENCED.finditer(text):
        line = text.count("\n", 0, block.start(2)) + 1
        blocks.append((f"{page.name}:{line}", block[2]))
    found = []
    for at, (place, program) in enumerate(blocks):
        heading = EXAMPLE.match(program)
        if not heading:
            continue
        parts = []
        for (part, code), first in zip(blocks[at + 1 : at + 3], ("# inputs", "# outputs")):
            if code.startswith(first + "\n"):
                parts.append(arrays(part, code, {"# inputs": "in", "# outputs": "out"}[first]))
        if len(parts) != 2:
            raise Malformed(f"{place}: example {heading[1]} is not followed by blocks of # inputs and # outputs")
        returned = RETURN.search(program)
        results = len(returned[1].split(",")) if returned else 0
        if results != len(parts[1]):
            raise Malformed(f"{place}: example {heading[1]} returns {results} values, but {len(parts[1])} are stated")
        found.append(Example(place, heading[1], program, *parts))
    if not found:
        raise Malformed(f"{page.name}:1: has no example")
    return found


def run(example, folder, command, tolerance, timeout):
    """None, or what is wrong with the results of one run."""
    file = folder / "example.mlir"
    file.write_text(example.program, encoding="utf-8")
    line = [*command, str(file)]
    for index, value in enumerate(example.inputs):
        np.save(folder / f"in_{index}.npy", value)
        line += ["--input", f"{index}={folder / f'in_{index}.npy'}"]
    for index in range(len(example.outputs)):
        (folder / f"out_{index}.npy").unlink(missing_ok=True)
        line += ["--output", f"{index}={folder / f'out_{index}.npy'}"]
    try:
        done = subprocess.run(line, text=True, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"no end in {timeout} s"
    except OSError as error:
        return f"cannot run: {error}"
    if done.returncode != 0:
        return f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()}"
    for index, stated in enumerate(example.outputs):
        got = np.load(folder / f"out_{index}.npy")
        if got.shape != stated.shape:
            return f"out_{index} has shape {got.shape}, stated is {stated.shape}"
        if not np.allclose(got, stated, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"out_{index} is {got.ravel().tolist()}, stated is {stated.ravel().tolist()}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="all pages of this folder but README.md where left out")
    parser.add_argument("--ring-run", default="build/bin/ring-run", help="the tool (%(default)s)")
    parser.add_argument("--ranks", default="1,2,3", help="numbers of ranks (%(default)s)")
    parser.add_argument("--layouts", default="zigzag,balanced", help="layouts (%(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative and absolute (%(default)s)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that a run may take (%(default)s)")
    parser.add_argument("--verbose", action="store_true", help="name each example that is right")
    options = parser.parse_args()

    pages = options.pages or sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")
    grid = list(itertools.product(options.ranks.split(","), options.layouts.split(",")))
    right, failures, names = 0, [], {}
    with tempfile.TemporaryDirectory() as scratch:
        for page in pages:
            try:
                found = examples(page)
            except (Malformed, OSError) as error:
                failures.append(str(error))
                continue
            for example in found:
                label = f"{example.place}: example {example.name}"
                first = names.setdefault(example.name, example.place)
                if first != example.place:
                    failures.append(f"{label}: has the name of the one at {first}")
                wrong = []
                for ranks, layout in grid:
                    command = [options.ring_run, "--ranks", ranks, "--layout", layout]
                    error = run(example, Path(scratch), command, options.tolerance, options.timeout)
                    if error:
                        wrong.append(f"{ranks} ranks, {layout}: {error}")
                if wrong:  # the first says enough
                    failures.append(f"{label}: {len(wrong)} of {len(grid)} runs wrong, {wrong[0]}")
                else:
                    right += 1
                    if options.verbose:
                        print(f"{label}: right")
    print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
    if not failures:
        print(f"{right} examples right")
    return 1 if failures or not right else 0


if __name__ == "__main__":
    sys.exit(main())
