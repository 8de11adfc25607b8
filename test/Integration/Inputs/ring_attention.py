"""What the integration tests share: a program of attention ops that is written, run
by `ring-run`, read back and compared with a dense float64 reference.

A program may hold many ops: one compilation then serves a group of cases.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from typing import NamedTuple, Optional

import numpy as np

from attention_case import Case, Mask, loaded, stored  # noqa: F401
from dense_reference import errors

LAYOUTS = ("contiguous", "zigzag", "striped", "balanced")


def configurations():
    """(ranks, layout): each layout, few and many ranks; every combination with
    RING_TEST_ALL in the environment, two where RING_TEST_FLAGS names another
    device, whose own tests are elsewhere."""
    if "RING_TEST_ALL" in os.environ:
        return [(n, layout) for n in (1, 2, 3, 4, 8) for layout in LAYOUTS]
    if "RING_TEST_FLAGS" in os.environ:
        return [(1, "zigzag"), (3, "striped")]
    return [
        (1, "zigzag"),
        (2, "contiguous"),
        (2, "zigzag"),
        (3, "striped"),
        (4, "zigzag"),
        (8, "balanced"),
    ]


class Result(NamedTuple):
    out: np.ndarray  # float64
    lse: Optional[np.ndarray]
    bits: bytes  # of both results as they were written


class Launch(NamedTuple):
    """A run of ring-run, however it ended."""

    command: list[str]
    code: int
    stdout: str
    stderr: str
    results: Optional[dict[str, Result]]  # None where they were not all written

    def report(self):
        """The object of --json; None where there is none."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return None


class Program:
    """A function with one attention op for each case."""

    def __init__(self, cases=()):
        self.cases = dict(cases)

    def add(self, name, q, k, v, mask=Mask(), scale=None, dtype="f32", **clauses):
        """Arrays [batch, heads, S, d], or with fewer axes: [S, d], [S]. `clauses`
        are fields of Case."""
        q, k, v = (self._four_axes(x) for x in (q, k, v))
        self.cases[name] = Case(q, k, v, mask, scale, dtype, **clauses)

    @staticmethod
    def _four_axes(x):
        x = np.asarray(x, np.float64)
        x = x[:, None] if x.ndim == 1 else x
        return x.reshape((1,) * (4 - x.ndim) + x.shape)

    def text(self):
        arguments, results, returned, body = [], [], [], []
        for n, case in enumerate(self.cases.values()):
            arguments += [f"%{x.name}{n}: {x.type}" for x in case.operands()]
            made = [f"%out{n}", f"%lse{n}"][: 1 + case.lse]
            body.append(f"  {', '.join(made)} = {self._operation(n, case)}\n")
            results += case.result_types()
            returned += made
        results = ", ".join(results)
        return (
            f"func.func @attention({', '.join(arguments)}) -> ({results}) {{\n"
            f"{''.join(body)}  return {', '.join(returned)} : {results}\n}}\n"
        )

    @staticmethod
    def _operation(n, case):
        """The n-th op, with the names of its operands ending in n."""
        table = {x.name: x for x in case.operands() if x.name == "table"}
        operands = [x for x in case.operands() if x.name not in table]
        given = {x.name for x in operands}
        clauses = f" bias(%bias{n})" if "bias" in given else ""
        if "query_segments" in given:
            clauses += f" segments(%query_segments{n}, %key_segments{n})"
        for name in ("lengths", "offsets", "sinks"):
            clauses += f" {name}(%{name}{n})" if name in given else ""
        clauses += case.mask.spelling()
        for name in ("scale", "softcap"):
            value = getattr(case, name)
            clauses += "" if value is None else f" {name}({value:.17e})"
        clauses += f" empty_rows({case.empty_rows})" if case.empty_rows else ""
        if case.score:
            type_ = table["table"].type if table else ""
            clauses += case.score.text(f"%table{n}", type_)
        types = ", ".join(x.type for x in operands)
        return (
            f"ring.attention %q{n}, %k{n}, %v{n}{clauses}\n"
            f"    : ({types}) -> ({', '.join(case.result_types())})"
        )

    def launch(
        self,
        folder,
        ranks,
        layout="zigzag",
        prefetch=1,
        flags=(),
        env=None,
        tool="ring-run",
        timeout=None,
    ):
        """Runs with all files in `folder`. May raise subprocess.TimeoutExpired."""
        path = lambda name: os.path.join(folder, name)
        with open(path("attention.mlir"), "w") as file:
            file.write(self.text())
        command = [tool, path("attention.mlir"), "--json", f"--ranks={ranks}"]
        command += [f"--layout={layout}", f"--prefetch-distance={prefetch}", *flags]
        # The same cases on another device.
        command += shlex.split(os.environ.get("RING_TEST_FLAGS", ""))
        operands = [x for case in self.cases.values() for x in case.operands()]
        for i, operand in enumerate(operands):
            np.save(path(f"in{i}.npy"), stored(operand.array, operand.element))
            command.append(f"--input={i}={path(f'in{i}.npy')}")
        outputs = sum(1 + case.lse for case in self.cases.values())
        command += [f"--output={i}={path(f'out{i}.npy')}" for i in range(outputs)]
        for i in range(outputs):
            if os.path.exists(path(f"out{i}.npy")):
                os.remove(path(f"out{i}.npy"))
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **(env or {})},
            timeout=timeout,
            start_new_session=True,  # Ctrl-C is for the test, which ends the tool
        )
        written = all(os.path.exists(path(f"out{i}.npy")) for i in range(outputs))
        results = self._results(path) if written else None
        return Launch(command, done.returncode, done.stdout, done.stderr, results)

    def _results(self, path):
        results, i = {}, 0
        for name, case in self.cases.items():
            arrays = [np.load(path(f"out{i + n}.npy")) for n in range(1 + case.lse)]
            i += len(arrays)
            lse = loaded(arrays[1], "f32") if case.lse else None
            bits = b"".join(x.tobytes() for x in arrays)
            results[name] = Result(loaded(arrays[0], case.dtype), lse, bits)
        return results

    def run(self, ranks, layout="zigzag", prefetch=1, flags=(), env=None):
        """Results by name, and the report of --json. Needs exit code 0."""
        with tempfile.TemporaryDirectory() as folder:
            done = self.launch(folder, ranks, layout, prefetch, flags, env)
        assert done.code == 0, (
            f"ranks {ranks}, {layout}, prefetch distance {prefetch}: "
            f"exit {done.code}\n{done.stderr}\n{self.text()}"
        )
        return done.results, done.report()

    def check(self, results, where):
        """Every case against float64."""
        for name, case in self.cases.items():
            got = results[name]
            error = errors(case, case.reference(), got.out, got.lse)
            assert not error.wrong, f"{where}: {name}: {error.message}"
