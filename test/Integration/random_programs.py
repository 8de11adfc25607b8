"""Random programs through ring-run: their numbers against a dense float64 reference,
and the counts of --json against brute force.

    random_programs.py --forever --jobs 4     # until interrupted
    random_programs.py --case 1234            # one program again

A program is a function of its seed, and of --features and --max-s. One that fails
is made small, and printed with its inputs and the command that runs it.
"""
# Among these are all clauses, layouts, types, head sizes and numbers of ranks.
# RUN: %python %s --seed 97 --cases 14 --keep %t
# RUN: env RING_FAULT=swap:rank=0,transfer=1 \
# RUN:   not %python %s --case 1 --features causal,window --keep %t | FileCheck %s

# A block in another's place: two ranks with a key each are enough to see it.
# CHECK:      FAIL case 1: wrong numbers: op {{.*}} the tolerance
# CHECK:      repeat: {{.*}}random_programs.py --case 1 --features causal,window
# CHECK:      shrunk in {{[0-9]+}} runs to 2 ranks, contiguous, prefetch distance 1
# CHECK:      ring.attention %q0, %k0, %v0
# CHECK-NEXT: : (tensor<1x1x1x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>)
# CHECK-NOT:  ring.attention
# CHECK:      input 2, v0 = {{\[+}}0.], [1.]]]]
# CHECK-NEXT: expected out0 = {{\[+}}0.5]]]]
# CHECK-NEXT: got      out0 = {{\[+}}1.]]]]
# CHECK-NEXT: command: {{.*}}ring-run {{.*}} --ranks=2
# CHECK:      0 passed, 1 failed

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from random_cases import FEATURES, random_trial
from run_trial import array_text, run_trial
from shrink_trial import shrink

MAX_S = 150


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--cases", type=int, default=20, help="how many (%(default)s)")
    which.add_argument("--forever", action="store_true", help="until interrupted")
    which.add_argument("--case", type=int, metavar="SEED", help="only this one")
    add = parser.add_argument
    add("--seed", type=int, default=0, help="the first program's; the others count on")
    add("--features", help="draw only these of " + ", ".join(FEATURES))
    add("--max-s", type=int, default=MAX_S, help="longest sequence (%(default)s)")
    add("--ring-run", default="ring-run", metavar="FILE", help="the tool")
    add("--jobs", type=int, default=1, help="programs that run at once (%(default)s)")
    add("--time-limit", type=float, metavar="SECONDS", help="begin none after that")
    add("--shrink-runs", type=int, default=150, help="at most, a failure (%(default)s)")
    add("--keep", metavar="DIR", help="folder for failures (a new temporary one)")
    add("--verbose", action="store_true", help="a line for each program")
    options = parser.parse_args()
    chosen = options.features.split(",") if options.features else FEATURES
    unknown = sorted(set(chosen) - set(FEATURES))
    if unknown:
        parser.error(f"unknown features: {', '.join(unknown)}")
    options.features = tuple(chosen)
    return options


def seeds(options):
    if options.case is not None:
        return iter([options.case])
    if options.forever:
        return itertools.count(options.seed)
    return iter(range(options.seed, options.seed + options.cases))


class Tester:
    """Takes one seed after another, in as many threads as there are jobs."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.seeds = seeds(options)
        self.passed, self.failed = 0, 0
        limit = options.time_limit
        self.end = float("inf") if limit is None else time.monotonic() + limit
        self.stopped = False
        self.lock = threading.Lock()  # of all the above, and of the output

    def run(self):
        jobs = self.options.jobs
        with ThreadPoolExecutor(jobs) as pool:
            workers = [pool.submit(self._work) for _ in range(jobs)]
            try:
                for worker in workers:
                    worker.result()
            except BaseException as error:
                self.stopped = True  # the others end after the run they are at
                if not isinstance(error, KeyboardInterrupt):
                    raise
        print(f"{self.passed} passed, {self.failed} failed")

    def _work(self):
        while not self.stopped and time.monotonic() < self.end:
            with self.lock:
                seed = next(self.seeds, None)
            if seed is None:
                return
            self._test(seed)

    def _test(self, seed):
        trial = random_trial(seed, self.options.features, self.options.max_s)
        folder = os.path.join(self.folder, f"case{seed}")
        failure = self._run(trial, folder)
        if failure is None:
            shutil.rmtree(folder)
            with self.lock:
                self.passed += 1
                if self.options.verbose:
                    print(f"  ok case {seed}: {trial.describe()}", flush=True)
            return
        text = self._failure_text(seed, trial, failure, folder)
        with self.lock:
            self.failed += 1
            print(text, flush=True)

    def _run(self, trial, folder):
        return run_trial(trial, folder, self.options.ring_run)

    def _failure_text(self, seed, trial, failure, folder):
        """What failed and the smallest program found that fails in the same way."""

        def still_fails(candidate):
            again = None if self.stopped else self._run(candidate, attempts)
            return again is not None and again.kind == failure.kind

        attempts = os.path.join(folder, "attempts")
        small, runs = shrink(trial, still_fails, self.options.shrink_runs)
        shutil.rmtree(attempts, ignore_errors=True)
        folder = os.path.join(folder, "small")
        again = self._run(small, folder)
        lines = [
            f"FAIL case {seed}: {failure.kind}: {failure.message}",
            f"  {trial.describe()}",
            f"  repeat: {self._repeat(seed)}",
            f"shrunk in {runs} runs to {small.describe()}",
            small.program.text(),
            *inputs_text(small.program),
        ]
        if again is None:
            lines.append("which did not fail when it ran once more")
        elif again.details:
            lines.append(again.details)
        else:
            lines.append(f"{again.kind}: {again.message}")
        with open(os.path.join(folder, "command")) as file:
            lines.append(f"command: {file.read()}")
        return "\n".join(lines)

    def _repeat(self, seed):
        options = self.options
        command = [sys.argv[0], "--case", str(seed)]
        if options.features != FEATURES:
            command += ["--features", ",".join(options.features)]
        if options.max_s != MAX_S:
            command += ["--max-s", str(options.max_s)]
        return shlex.join(command)


def inputs_text(program):
    """A line for each input, as ring-run's --input numbers them."""
    operands = [
        (f"{operand.name}{n}", operand)
        for n, case in enumerate(program.cases.values())
        for operand in case.operands()
    ]
    return [
        f"input {i}, {name} = {array_text(operand.array)}"
        for i, (name, operand) in enumerate(operands)
    ]


def main():
    options = parse_arguments()
    folder = options.keep or tempfile.mkdtemp(prefix="ring-random-")
    tester = Tester(options, folder)
    tester.run()
    if not options.keep and not tester.failed:
        shutil.rmtree(folder)
    return 0 if tester.passed and not tester.failed else 1


if __name__ == "__main__":
    sys.exit(main())
