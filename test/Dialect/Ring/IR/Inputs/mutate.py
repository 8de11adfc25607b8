"""Writes broken versions of an MLIR file, separated for --split-input-file.

  mutate.py truncate FILE    the file cut off at every eleventh byte
  mutate.py tokens FILE      each token left out, doubled or replaced
  mutate.py check PARTS ERR  each part of PARTS has an error in ERR
"""

import re
import sys

SEPARATOR = "\n// -----\n"
# Of each kind that a parser meets, and numbers at the edges.
REPLACEMENTS = ["-1", "9223372036854775808", "@ring", "%q", "f64", "tensor<*xf32>", "("]


def truncated(text):
    text = text.rstrip()
    return [text[:end] for end in range(1, len(text), 11)]


def with_broken_tokens(text):
    tokens = list(re.finditer(r"[\w.%@#^!?*]+|->|\S", text))
    for index, token in enumerate(tokens):
        word = token.group()
        changes = ["", f"{word} {word}"] + REPLACEMENTS
        change = changes[index % len(changes)]
        yield text[: token.start()] + change + text[token.end() :]


def check(parts, errors):
    lines = {int(n) for n in re.findall(r":(\d+):\d+: error: ", errors)}
    begin = 1
    for part in parts.split(SEPARATOR):
        end = begin + part.count("\n") + 2
        if not any(begin <= line < end for line in lines):
            sys.exit(f"no error between lines {begin} and {end}:\n{part}")
        begin = end


if __name__ == "__main__":
    mode, *paths = sys.argv[1:]
    texts = [open(path).read() for path in paths]
    if mode == "check":
        check(*texts)
    else:
        make = {"truncate": truncated, "tokens": with_broken_tokens}[mode]
        print(SEPARATOR.join(make(texts[0])), end="")
