"""Runs a Trial through ring-run and says what is wrong with it."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import NamedTuple, Optional

import numpy as np

from dense_reference import errors
from ring_counts import wrong_counts

SMALL = 64  # most elements of an array that is printed
TIMEOUT = 120  # seconds of one ring-run
# A wait for another rank that never comes ends in time; memory that nobody has
# written is full of NaN.
FLAGS = ("--deadline=10", "--check")
ENVIRONMENT = {"RING_POISON": "1"}


class Failure(NamedTuple):
    kind: str  # the same for trials that fail in the same way
    message: str
    details: str = ""  # what was expected and what came, where it is small


def run_trial(trial, folder, tool) -> Optional[Failure]:
    """All files are left in `folder`."""
    os.makedirs(folder, exist_ok=True)
    try:
        done = trial.program.launch(
            folder,
            trial.ranks,
            trial.layout,
            trial.prefetch,
            FLAGS,
            ENVIRONMENT,
            tool,
            TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        with open(os.path.join(folder, "command"), "w") as file:
            file.write(shlex.join(error.cmd) + "\n")
        return Failure("no end", f"still running after {TIMEOUT} s")
    with open(os.path.join(folder, "command"), "w") as file:
        file.write(shlex.join(done.command) + "\n")
    return _failure(trial, done)


def _failure(trial, done):
    report = done.report()
    said = done.stderr.strip().splitlines() or ["nothing on stderr"]
    if report is None or "refused" in report or done.results is None:
        refused = (report or {}).get("refused")
        kind = f"refused {refused}" if refused else f"exit code {done.code}"
        return Failure(kind, said[0])
    wrong = _wrong_numbers(trial, done.results)
    if wrong:
        missed = "" if done.code else ", not found by --check"
        return wrong._replace(kind=wrong.kind + missed)
    if done.code:
        return Failure(f"right numbers, but exit code {done.code}", said[0])
    counts = wrong_counts(
        report, trial.cases, trial.ranks, trial.layout, trial.prefetch
    )
    if counts:
        return Failure(f"wrong {', '.join(counts)}", "; ".join(counts.values()))
    return None


def _wrong_numbers(trial, results):
    """About the first op with wrong numbers."""
    for n, case in trial.program.cases.items():
        got, reference = results[n], case.reference()
        error = errors(case, reference, got.out, got.lse)
        if not error.wrong:
            continue
        pairs = [("out", reference.out, got.out)]
        if case.lse:
            pairs.append(("lse", reference.lse, got.lse))
        details = [
            f"{what} {name}{n} = {array_text(array)}"
            for name, *arrays in pairs
            for what, array in zip(("expected", "got     "), arrays)
        ]
        return Failure("wrong numbers", f"op {n}, {error.message}", "\n".join(details))
    return None


def array_text(array):
    """On one line, or only the shape where it is not small."""
    if array.size > SMALL:
        return f"{list(array.shape)}"
    # Nine digits tell any two f32 apart.
    text = np.array2string(array, separator=", ", precision=9, threshold=SMALL)
    return " ".join(text.split())
