#!/usr/bin/env python3
"""Names the relative links in Markdown files that lead nowhere: check_links.py FILE_OR_FOLDER...

A link is right if its file exists and, where it names a heading (`file.md#heading`), that file has the heading. Prints
`file:line: ...` for each wrong one and exits 1 if there is one.
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```")


def prose(path):
    """(line number, text) of the lines outside code blocks."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(path):
    """The headings of a file as GitHub spells them in links, and explicit <a id> anchors."""
    found = set()
    for _, line in prose(path):
        if line.startswith("#"):
            text = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def broken(path):
    for number, line in prose(path):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            to = path if not file else path.parent / file
            if not to.exists():
                yield f"{path}:{number}: no such file: {target}"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                yield f"{path}:{number}: no such heading: {target}"


def main():
    files = []
    for name in map(Path, sys.argv[1:]):
        files += sorted(name.rglob("*.md")) if name.is_dir() else [name]
    errors = [error for file in files for error in broken(file)]
    print("\n".join(errors), end="\n" if errors else "", file=sys.stderr)
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
