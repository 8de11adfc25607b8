"""Makes a corpus and a dictionary for ring-opt-fuzzer from the lit tests.

  make_corpus.py TESTS CORPUS DICTIONARY

Each part of a file of TESTS (`// -----`, `#--- name`) becomes a file of CORPUS,
without comments. The dictionary holds the words of the parts.
"""

import collections
import os
import re
import shutil
import sys

LARGEST = 16384


def parts(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for part in re.split(r"^// -----.*$|^#--- .*$", text, flags=re.MULTILINE):
        code = re.sub(r"//.*", "", part)
        code = re.sub(r"[ \t]+$", "", code, flags=re.MULTILINE)
        code = re.sub(r"\n\s*\n+", "\n", code).strip()
        if re.search(r"\b(func\.func|module|ring\.|shard\.)", code):
            yield code + "\n"


def main(tests, corpus, dictionary):
    found = set()
    for folder, _, names in os.walk(tests):
        for name in names:
            if name.endswith((".mlir", ".test")):
                found.update(parts(os.path.join(folder, name)))
    found = sorted(part for part in found if len(part) <= LARGEST)
    shutil.rmtree(corpus, ignore_errors=True)
    os.makedirs(corpus)
    words = collections.Counter()
    for index, part in enumerate(found):
        with open(os.path.join(corpus, f"{index:04}.mlir"), "w") as file:
            file.write(part)
        words.update(set(re.findall(r"[!#]?[a-z_]{2,}(?:\.[a-z_]+)*", part)))
    with open(dictionary, "w") as file:
        for word, count in sorted(words.items()):
            if count > 1 or "ring" in word:
                file.write(f'"{word}"\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
