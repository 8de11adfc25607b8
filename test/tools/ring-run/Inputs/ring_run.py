"""Running `ring-run` and judging how it ends."""

import json
import os
import re
import subprocess

INPUTS = os.path.dirname(os.path.abspath(__file__))
ATTENTION = os.path.join(INPUTS, "attention.mlir")

# What a crash, or a command-line parser that gives up, would leave on stderr.
CRASH = re.compile(r"stack dump|PLEASE submit|Assertion|terminate called", re.I)


def ring_run(*arguments, code=0):
    """Its stdout and stderr; fails unless it ends with `code`, and, where that
    is not 0, with a message."""
    line = ["ring-run", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    said = f"{' '.join(line)}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == code, f"expected exit {code}: {said}"
    assert not CRASH.search(done.stderr), said
    assert code == 0 or done.stderr.strip(), f"no message: {said}"
    return done.stdout, done.stderr


def report(*arguments, code=0):
    """The object of --json."""
    return json.loads(ring_run(*arguments, "--json", code=code)[0])


def refused(text, *arguments, folder, message, feature=None):
    """`text` as a file ends with exit 3, one located line that matches
    `message`, and nothing written."""
    file, output = os.path.join(folder, "case.mlir"), os.path.join(folder, "out.npy")
    with open(file, "w") as stream:
        stream.write(text)
    stdout, stderr = ring_run(
        file, "--random=1", "--json", f"--output=0={output}", *arguments, code=3
    )
    errors = [line for line in stderr.splitlines() if ": note: " not in line]
    assert len(errors) == 1, f"expected one line: {stderr}"
    located = re.fullmatch(re.escape(file) + r":([1-9]\d*):([1-9]\d*): error: (.*)", errors[0])
    assert located, f"not located: {stderr}"
    assert re.search(message, located.group(3)), f"expected {message!r}: {stderr}"
    assert not os.path.exists(output), "an output was written"
    if feature:
        assert json.loads(stdout)["refused"] == feature, stdout
