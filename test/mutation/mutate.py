#!/usr/bin/env python3
"""Breaks the project on purpose, one thing at a time, and sees a test fail each time.

    test/mutation/mutate.py --list                   # the table
    test/mutation/mutate.py --list --check           # each snippet occurs once
    test/mutation/mutate.py --work /tmp/mutate       # all of it: hours
    test/mutation/mutate.py --work /tmp/mutate --only causal-by-one 'kernel-*'

Works on a copy of the tree (tracked files and new ones that git does not ignore),
never on the tree itself. First the tests that are named pass as things are; then
for each mutation the snippet is replaced, what the test needs is built, the test
runs and has to fail, and the file is restored. One line for each:

    caught    the test failed: by what, and how long it took
    SURVIVED  it passed, or did not end in time: the test is too weak
    BROKEN    the entry is: the snippet does not occur once, the test does not pass
              without the mutation, or the mutated program does not build

The exit code is 0 only if all are caught.

To add one, append a Mutation to a table in mutations/:

    Mutation(
        "causal-by-one",                       # a name, unique
        "a query sees the key behind it",      # what is broken
        "lib/Analysis/Mask.cpp",
        "std::max(p, prefix - 1), 1)",         # occurs exactly once in the file
        "std::max(p, prefix - 1), 2)",         # what stands there instead
        gtest("RingAnalysisTests", "Mask.*"),  # what has to fail
    )

A snippet is short, since the lines around it change, and may span lines. The test is
the narrowest that should notice, for it is built and run alone: `gtest(program,
filter)`, `lit(file or folder under test/)`, `script(name, file, arguments)` of a part
of a lit test, or `ctest(regex)`. Prefer a mutation that turns a feature off to one that
crashes. `--only NAME` tries it; `--list --check` finds entries whose snippet is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from mutations import Broken, MUTATIONS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LLVM_CONFIG = os.environ.get("LLVM_CONFIG", "llvm-config-22")
# A test under a mutation may take that many times its usual time, and at least
# LEAST_LIMIT seconds: waiting for a deadline is slow.
SLOWER, LEAST_LIMIT = 10, 300
SLOW = 20  # seconds of a test that are worth a line


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--list", action="store_true", help="print the table and do nothing else")
    add("--check", action="store_true", help="with --list: look for each snippet")
    add("--only", nargs="+", metavar="NAME", help="these; patterns like 'kernel-*'")
    add("--work", metavar="DIR", help="folder of the copy, kept (a temporary one)")
    add("--build-dir", metavar="DIR", help="build tree of the copy (DIR/build)")
    add("--jobs", type=int, default=os.cpu_count(), help="of the build (%(default)s)")
    options = parser.parse_args()
    if options.check and not options.list:
        parser.error("--check goes with --list")
    names = [mutation.name for mutation in MUTATIONS]
    for pattern in options.only or []:
        if not fnmatch.filter(names, pattern):
            parser.error(f"no mutation is called {pattern}")
    options.mutations = [
        mutation
        for mutation in MUTATIONS
        if not options.only
        or any(fnmatch.fnmatch(mutation.name, p) for p in options.only)
    ]
    return options


# ---- The table ---------------------------------------------------------------


def mutated(mutation, root):
    """The file's text with the mutation."""
    try:
        with open(os.path.join(root, mutation.file), encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise Broken(str(error)) from error
    times = text.count(mutation.snippet)
    if times != 1:
        raise Broken(f"the snippet occurs {times} times in {mutation.file}")
    return text.replace(mutation.snippet, mutation.replacement)


def duplicates():
    names = [mutation.name for mutation in MUTATIONS]
    return sorted({name for name in names if names.count(name) > 1})


def print_table(options):
    """True iff nothing is wrong with the table, as far as was looked."""
    wrong = 0
    for mutation in options.mutations:
        print(f"{mutation.name:34} {mutation.breaks}")
        print(f"{'':34} {mutation.file}; {mutation.test}")
        if options.check:
            try:
                mutated(mutation, ROOT)
                mutation.test.check_exists(ROOT)
            except Broken as error:
                wrong += 1
                print(f"{'':34} BROKEN: {error}")
    for name in duplicates():
        wrong += 1
        print(f"{name}: BROKEN: the name of two mutations")
    checked = f", {wrong} broken" if options.check else ""
    print(f"{len(options.mutations)} mutations{checked}")
    return wrong == 0


# ---- The copy ----------------------------------------------------------------


def run(command, **more):
    """(exit code, output) of a command."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        **more,
    )
    return done.returncode, done.stdout


def copy_tree(to):
    """Tracked files as they are now, and new ones. A file that is the same already
    keeps its time, so a copy can be used again with its build tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    # A file that git tracks may be gone.
    names = [n for n in listed.split("\0") if os.path.isfile(os.path.join(ROOT, n))]
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        with open(source, "rb") as file:
            content = file.read()
        with contextlib.suppress(OSError):
            with open(target, "rb") as file:
                if file.read() == content:
                    continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        shutil.copymode(source, target)
    kept = set(names)
    for folder, folders, files in os.walk(to):
        relative = os.path.relpath(folder, to)
        if relative == ".":
            folders[:] = [f for f in folders if not f.startswith("build")]
        for name in files:
            if os.path.normpath(os.path.join(relative, name)) not in kept:
                os.remove(os.path.join(folder, name))


class Copy:
    """The copy of the tree, and its build."""

    def __init__(self, folder, build, jobs):
        self.root = os.path.join(folder, "src")
        self.build = os.path.abspath(build) if build else os.path.join(folder, "build")
        self.jobs = jobs
        self.log = os.path.join(folder, "log")
        self.scratch = os.path.join(folder, "tmp")
        self.python = os.path.join(ROOT, ".venv", "bin", "python")
        if not os.path.exists(self.python):
            self.python = os.environ.get("RING_PYTHON", sys.executable)
        self.environment = {
            **os.environ,
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
            "PATH": os.path.join(self.build, "bin") + os.pathsep + os.environ["PATH"],
            "TMPDIR": self.scratch,
        }
        # What a test looks at must not depend on who starts it.
        for name in ("RING_FAULT", "RING_POISON", "RING_TEST_ALL"):
            self.environment.pop(name, None)
        os.makedirs(self.root, exist_ok=True)
        os.makedirs(self.log, exist_ok=True)
        os.makedirs(self.scratch, exist_ok=True)
        copy_tree(self.root)

    def configure(self):
        _, prefix = run([LLVM_CONFIG, "--prefix"])
        prefix = prefix.strip()
        command = ["cmake", "--preset", "default", "-B", self.build]
        command += [f"-DMLIR_DIR={prefix}/lib/cmake/mlir"]
        command += [f"-DLLVM_DIR={prefix}/lib/cmake/llvm"]
        command.append(f"-DRING_PYTHON={self.python}")
        if shutil.which("ccache"):
            command += [f"-DCMAKE_{x}_COMPILER_LAUNCHER=ccache" for x in ("C", "CXX")]
        code, output = run(command, cwd=self.root, env=self.environment)
        if code:
            sys.exit(f"mutate: the copy cannot be configured\n{output}")

    def make(self, targets):
        """(success, output)."""
        command = ["cmake", "--build", self.build, "--parallel", str(self.jobs)]
        command += ["--target", *sorted(targets)]
        code, output = run(command, env=self.environment)
        return code == 0, output

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    @contextlib.contextmanager
    def mutation(self, mutation):
        """The file is mutated meanwhile."""
        path = os.path.join(self.root, mutation.file)
        text = mutated(mutation, self.root)
        with open(path, encoding="utf-8") as file:
            original = file.read()
        try:
            self.write(mutation.file, text)
            yield
        finally:
            self.write(mutation.file, original)

    def test(self, test, limit=None):
        """(exit code or None where the limit was passed, output, seconds)."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        start = time.monotonic()
        process = subprocess.Popen(
            test.command(self),
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            output, _ = process.communicate()
            code = None
        except BaseException:
            end_session(process.pid)
            raise
        return code, output, time.monotonic() - start

    def keep_log(self, name, text):
        path = os.path.join(self.log, name + ".log")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def end_session(leader):
    """Ends a test and what it started, also in sessions of their own."""
    members = [leader]
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    for member in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, 9)


# ---- The run -----------------------------------------------------------------


def first_line(output, markers, root):
    """The first line of a test's output with one of the markers, else the last."""
    output = output.replace(root + os.sep, "")
    lines = [line.lstrip("#| ").rstrip() for line in output.splitlines()]
    lines = [line for line in lines if line] or ["no output"]
    found = (line for marker in markers for line in lines if marker in line)
    return next(found, lines[-1])[:120]


def build_unmutated(copy, mutations):
    """{target: problem} of those that do not build as things are."""
    targets = set().union(*(m.test.targets for m in mutations))
    if copy.make(targets)[0]:
        return {}
    problems = {}
    for target in sorted(targets):
        built, output = copy.make({target})
        if not built:
            log = copy.keep_log(f"build-{target}", output)
            problems[target] = f"{target} does not build without the mutation ({log})"
            print(f"  {problems[target]}", flush=True)
    return problems


def baseline(copy, mutations, problems):
    """The time of each test without a mutation; a text where it does not pass."""
    usual = {}
    for test in dict.fromkeys(m.test for m in mutations):
        unbuilt = [problems[t] for t in sorted(test.targets) if t in problems]
        if unbuilt:
            usual[test] = unbuilt[0]
            continue
        code, output, seconds = copy.test(test)
        if seconds > SLOW:
            print(f"  {test} takes {seconds:.0f} s", flush=True)
        problem = f"exit code {code}" if code else test.vacuous(output)
        if problem:
            name = "".join(c if c.isalnum() else "-" for c in f"unmutated {test}")
            log = copy.keep_log(name, output)
            problem = f"{test} fails without the mutation: {problem} ({log})"
            print(f"  {problem}", flush=True)
        usual[test] = problem or seconds
    return usual


def try_mutation(copy, mutation, usual):
    """(verdict, by what). Throws Broken."""
    if isinstance(usual, str):
        raise Broken(usual)
    with copy.mutation(mutation):
        built, output = copy.make(mutation.test.targets)
        if not built:
            log = copy.keep_log(mutation.name, output)
            line = first_line(output, ("error:", "FAILED"), copy.root)
            raise Broken(f"does not build: {line} ({log})")
        limit = max(LEAST_LIMIT, SLOWER * usual)
        code, output, seconds = copy.test(mutation.test, limit)
    log = copy.keep_log(mutation.name, output)
    if code is None:
        return "SURVIVED", f"{mutation.test} did not end within {limit:.0f} s ({log})"
    if code == 0:
        return "SURVIVED", f"{mutation.test} passed ({log})"
    died = f", signal {-code}" if code < 0 else ""
    line = first_line(output, mutation.test.markers, copy.root)
    return "caught", f"{mutation.test}{died}, {seconds:.1f} s: {line}"


def run_all(options, folder):
    print(f"copy and logs in {folder}", flush=True)
    copy = Copy(folder, options.build_dir, options.jobs)
    mutations, verdicts = [], {}

    def report(mutation, verdict, why):
        verdicts[mutation.name] = verdict
        print(f"{verdict:9} {mutation.name}: {why}", flush=True)

    for mutation in options.mutations:
        try:
            mutated(mutation, copy.root)
            mutation.test.check_exists(copy.root)
            mutations.append(mutation)
        except Broken as error:
            report(mutation, "BROKEN", error)
    if mutations:
        start = time.monotonic()
        copy.configure()
        problems = build_unmutated(copy, mutations)
        print(f"built in {time.monotonic() - start:.0f} s", flush=True)
        start = time.monotonic()
        usual = baseline(copy, mutations, problems)
        print(
            f"{len(usual)} tests ran unmutated in {time.monotonic() - start:.0f} s",
            flush=True,
        )
    for mutation in mutations:
        try:
            report(mutation, *try_mutation(copy, mutation, usual[mutation.test]))
        except Broken as error:
            report(mutation, "BROKEN", error)
    count = list(verdicts.values()).count
    print(
        f"{len(verdicts)} mutations: {count('caught')} caught, "
        f"{count('SURVIVED')} survived, {count('BROKEN')} broken entries"
    )
    return count("caught") == len(verdicts)


def main():
    # So that files are restored and tests ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mutate: terminated"))
    options = parse_arguments()
    if options.list:
        return 0 if print_table(options) else 1
    if duplicates():
        sys.exit(f"mutate: names of two mutations: {', '.join(duplicates())}")
    if options.work:
        os.makedirs(options.work, exist_ok=True)
        return 0 if run_all(options, os.path.abspath(options.work)) else 1
    with tempfile.TemporaryDirectory(prefix="ring-mutate-") as folder:
        return 0 if run_all(options, folder) else 1


if __name__ == "__main__":
    sys.exit(main())
