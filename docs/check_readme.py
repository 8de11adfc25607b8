#!/usr/bin/env python3
"""Checks that output quoted in Markdown is still what the tools print: check_readme.py BIN FILE...

Quoted is a fenced block between `<!-- output: COMMAND -->` and `<!-- end -->`. The command, whose program is one of the
tools in the folder BIN, runs in the root of the repository, and the lines of the block must occur in its output, in
order; others may stand between them. In a quoted line

- `%names` may be chosen freely: within a function each stands for one value of the output;
- `...` stands for anything, and so do the types behind ` :` or ` ->` where they are left out;
- times and errors may be any number; indentation, `// comments` and lines without words do not count.

Prints `file:line: ...` for each line that does not occur and exits 1 if there is one.
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- output: (.*?) -->\n```\w*\n(.*?)```\n<!-- end -->", re.DOTALL)
TOKEN = re.compile(r"(?P<name>%\w+)|(?P<gap>\.\.\.)|(?P<measured>\d+(\.\d+)?(?= ms\b)|(?<= out )\S+(?=, lse)|(?<=, lse )\S+)|(?P<space>\s+)")


def pattern(line):
    """A regular expression for a quoted line, and the names in it, in order."""
    names = []
    open_block = line.endswith(" {")
    expression, at = "", 0
    text = line[:-2] if open_block else line
    for token in TOKEN.finditer(text):
        expression += re.escape(text[at : token.start()])
        at = token.end()
        if token["name"]:
            names.append(token["name"])
            expression += r"(%\w+)"
        else:
            expression += {"gap": ".*", "measured": r"\S+", "space": r"\s+"}[token.lastgroup]
    expression += re.escape(text[at:])
    return re.compile(expression + (r"( ->.*)? \{" if open_block else r"(( :| ->).*)?")), names


def bind(bindings, names, values):
    """The bindings with these added, or None where a name or a value is taken."""
    result = dict(bindings)
    for name, value in zip(names, values):
        if result.setdefault(name, value) != value:
            return None
    return result if len(set(result.values())) == len(result) else None


def check(lines, output):
    """The first of `lines`, given with their numbers, that does not occur where it should; None if all do."""
    bindings, at = {}, 0
    for number, line in lines:
        expression, names = pattern(line)
        if line.startswith("func.func"):
            bindings = {}
        for at in range(at, len(output)):
            found = expression.fullmatch(output[at])
            bound = found and bind(bindings, names, found.groups()[: len(names)])
            if bound is not None and found:
                bindings, at = bound, at + 1
                break
        else:
            return number, line
    return None


def main():
    tools, wrong = Path(sys.argv[1]).resolve(), 0
    for file in map(Path, sys.argv[2:]):
        text = file.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            tool, *arguments = shlex.split(block[1])
            first = text.count("\n", 0, block.start(2)) + 1
            lines = [(first + i, re.sub(r"\s*// .*", "", line).strip()) for i, line in enumerate(block[2].splitlines())]
            run = subprocess.run([tools / tool, *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=300)
            missing = check([(n, line) for n, line in lines if re.search(r"\w", line)],
                            [line.strip() for line in run.stdout.splitlines()])
            if missing:
                wrong += 1
                print(f"{file}:{missing[0]}: not in the output of `{block[1]}`: {missing[1]}", file=sys.stderr)
        if not BLOCK.search(text):
            wrong += 1
            print(f"{file}:1: quotes no output", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
