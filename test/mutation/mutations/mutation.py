"""A mutation, and the tests that may have to notice it."""

from __future__ import annotations

import os
from dataclasses import dataclass

LIT = os.environ.get("LIT", "lit-22")


class Broken(Exception):
    """A mutation that says nothing, because its entry in the table is wrong."""


@dataclass(frozen=True)
class Test:
    """What the functions below make."""

    kind: str
    what: str
    arguments: tuple[str, ...] = ()
    name: str = ""

    def __str__(self):
        return self.name or " ".join((self.kind, self.what, *self.arguments))

    @property
    def targets(self):
        """What has to be built for it."""
        if self.kind == "gtest":
            return {self.what}
        if self.kind == "ctest":
            return {"all"}
        if self.kind == "lit" and self.what.startswith(("Dialect/", "Conversion/")):
            return {"ring-opt"}
        return {"ring-opt", "ring-run"}

    def path(self, root):
        """Its file, where it has one."""
        if self.kind == "lit":
            return os.path.join(root, "test", self.what)
        return os.path.join(root, self.what) if self.kind == "script" else None

    def command(self, copy):
        if self.kind == "gtest":
            program = os.path.join(copy.build, "bin", self.what)
            filter = f"--gtest_filter={self.arguments[0]}"
            return [program, filter, "--gtest_brief=1"]
        if self.kind == "lit":
            return [LIT, "-v", "-j1", os.path.join(copy.build, "test", self.what)]
        if self.kind == "script":
            return [copy.python, self.path(copy.root), *self.arguments]
        ctest = ["ctest", "--test-dir", copy.build, "--output-on-failure"]
        return [*ctest, "--no-tests=error", "-R", self.what]

    @property
    def markers(self):
        """What stands in the line of its output that says most."""
        if self.kind == "gtest":
            return "[  FAILED  ]", ": Failure"
        if self.kind == "script":
            return "FAIL", "AssertionError", "wrong", "error"
        return "AssertionError", ": error:", "error:", "Assertion", "Failed", "FAIL"

    def vacuous(self, output):
        """What is wrong with it though it passed; empty if nothing."""
        if self.kind == "gtest" and "[  PASSED  ] 0 tests" in output:
            return "the filter names no test"
        if self.kind == "lit" and "Passed" not in output:
            return "no test ran"
        return ""

    def check_exists(self, root):
        path = self.path(root)
        if path and not os.path.exists(path):
            raise Broken(f"there is no {os.path.relpath(path, root)}")


def gtest(program, filter):
    """Tests of a unit test program, which is built alone."""
    return Test("gtest", program, (filter,))


def lit(path):
    """A file or folder below test/: ring-opt is built, and ring-run where the test
    is of programs that run."""
    return Test("lit", path)


def script(name, path, *arguments):
    """A Python script of the tree, with the tools of the build on PATH: a part of
    what a lit test runs."""
    return Test("script", path, arguments, name)


def clause(page):
    """The examples of a page of docs/clauses, as Integration/clause_examples.test
    runs those of all pages."""
    runs = ("--ring-run", "ring-run", "--ranks", "3", "--layouts", "balanced")
    pages = "docs/clauses"
    command = (f"{pages}/check_examples.py", *runs, f"{pages}/{page}.md")
    return script(f"examples of clause {page}", *command)


def random_programs():
    """The programs of Integration/random_programs.py, not made smaller."""
    programs = ("--seed", "119", "--cases", "11", "--shrink-runs", "0")
    path = "test/Integration/random_programs.py"
    return script("random programs", path, *programs)


def ctest(regex):
    """Tests of ctest: everything is built."""
    return Test("ctest", regex)


@dataclass(frozen=True)
class Mutation:
    name: str
    breaks: str
    file: str
    snippet: str
    replacement: str
    test: Test
