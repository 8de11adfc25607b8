"""Raising changes no number: each spelling of the generic attention that
raise-attention-data.mlir says is raised is run before and after every pass, on
inputs with rows that are hidden all along and biases of -inf."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %S/../Dialect/Ring/Transforms %t

import json
import os
import re
import subprocess
import sys

import numpy as np

SPELLINGS, FOLDER = sys.argv[1:]
BIAS = 3  # the argument that spellings take as one
random = np.random.default_rng(3)

with open(os.path.join(SPELLINGS, "raise-attention-data.mlir")) as file:
    # Spelt so that lit does not take the expressions for lines of its own.
    lines = re.sub(r"\\\n// RU[N]:  ", "", file.read())
shorthands = re.findall(r"// DEFIN[E]: (%\{\w+\}) = (.*)", lines)


def input_of(position, shape, element):
    if element == "i1":
        condition = random.integers(0, 2, shape).astype(bool)
        condition[0] = False
        return condition
    values = random.standard_normal(shape).astype(np.float32)
    if position == BIAS:
        values[0, 0, 2] = values[0, 1, :3] = -np.inf
        values[1, 1, :, 3] = -np.inf
    return values


def arguments(program):
    aliases = dict(re.findall(r"^!(\w+) = tensor<(.*)>", program, re.MULTILINE))
    (signature,) = re.findall(r"func.func @generic\((.*?)\) ->", program)
    for position, type in enumerate(re.findall(r"%\w+: (!\w+|tensor<[^>]*>)", signature)):
        *shape, element = (aliases[type[1:]] if type[0] == "!" else type[7:-1]).split("x")
        path = os.path.join(FOLDER, f"in_{position}.npy")
        np.save(path, input_of(position, [int(size) for size in shape], element))
        yield f"--input={position}={path}"


def run(edit):
    """How many attentions are found in the program that the command makes, after
    its numbers have been compared."""
    for _ in range(2):
        for name, text in shorthands:
            edit = edit.replace(name, text)
    edit = edit.replace("%S", SPELLINGS).replace("%%", "%")
    program = subprocess.run(edit, shell=True, capture_output=True, text=True, check=True).stdout
    path = os.path.join(FOLDER, "program.mlir")
    with open(path, "w") as file:
        file.write(program)
    line = ["ring-run", path, "--ranks=3", "--layout=striped", "--verify-each", "--json"]
    done = subprocess.run([*line, *arguments(program)], capture_output=True, text=True)
    assert done.returncode == 0, f"{edit}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)["attentions"]


edits = [
    edit.split("| %{raise}")[0]
    for edit in re.findall(r"// RU[N]: (sed .*)", lines)
    if "%{generic}" in edit and "--implicit-check-not" not in edit
]
assert len(edits) >= 17
for edit in edits:
    assert run(edit) == 1, f"not raised: {edit}"
print(f"{len(edits)} spellings give the same numbers before and after")
