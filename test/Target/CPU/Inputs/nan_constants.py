"""Fails if a file holds a floating-point constant that is NaN, of any type.

usage: nan_constants.py FILE...
"""

import re
import sys

# Bits of the exponent and of the mantissa.
TYPES = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def is_nan(bits, kind):
    exponent, mantissa = TYPES[kind]
    every = (1 << exponent) - 1
    return bits >> mantissa & every == every and bits & ((1 << mantissa) - 1) != 0


def nans(line):
    """Attributes print what is no decimal number as bits, and then the type."""
    for match in re.finditer(r"0x[0-9A-Fa-f]+", line):
        kind = re.search(r": (?:\w+<[^>]*x)?(b?f\d+)\b", line[match.end() :])
        if kind and is_nan(int(match.group(), 16), kind.group(1)):
            yield match.group()
    yield from re.findall(r"(?<![\w.@])nan(?!\w)", line)


# It must be able to find one.
assert list(nans("%c = arith.constant 0x7FC00000 : f32"))
assert list(nans("%c = arith.constant dense<[1.0, 0xFF800001]> : vector<2xf32>"))
assert list(nans("llvm.mlir.constant(dense<0x7E00> : vector<8xf16>) : vector<8xf16>"))
assert list(nans("llvm.mlir.constant(0x7FF8000000000000 : f64) : f64"))
assert not list(nans("%c = arith.constant dense<0xFF800000> : vector<8xf32>"))
assert not list(nans("%c = arith.constant 0x7C00 : f16"))

for path in sys.argv[1:]:
    text = open(path).read()
    assert text.strip(), f"{path} is empty"
    for number, line in enumerate(text.splitlines(), 1):
        for found in nans(line):
            sys.exit(f"{path}:{number}: {found} is NaN: {line.strip()[:200]}")
