"""Programs that were compiled for something else, forked processes, and many calls,
through the C ABI from Python."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import resource
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case
from object_program import (
    MISMATCH,
    OK,
    USAGE,
    assert_right,
    compiled,
    inputs_of,
    outputs_of,
    ring,
)
from ring_attention import Mask, Program

OPEN = frozenset(["batch", "queries", "keys"])
normal = np.random.default_rng(10).standard_normal


def attention(length, mask=Mask(causal=True), dynamic=frozenset()):
    return Case(*(normal((1, 2, length, 8)) for _ in range(3)), mask, dynamic=dynamic)


def library_of(case, ranks):
    sizes = case.sizes
    name = f"{ranks}-{sizes['queries']}-{case.mask.causal}-{len(case.dynamic)}"
    folder = os.path.join(sys.argv[1], name)
    return compiled(Program({"0": case}).text(), folder, ranks, "contiguous")


def call(library, host, case):
    """Status and results of one call."""
    outputs = outputs_of(case)
    return library.call(host, [*inputs_of(case), *outputs]), outputs


def other_number_of_ranks():
    """S7: compiled for 2 ranks and started on 4, and the reverse."""
    case = attention(8)
    for compiled_for, started_on in (2, 4), (4, 2):
        library = library_of(case, compiled_for)
        with ring(started_on) as host:
            begin = time.monotonic()
            status, _ = call(library, host, case)
            assert time.monotonic() - begin < 5
            assert status == MISMATCH, (status, host.error())
            both = f"compiled for {compiled_for} ranks started on {started_on}"
            assert both in host.error(), host.error()


def other_programs():
    """R5: ranks compiled for S=8 and for S=10, or for other masks: each ends."""
    eight, ten = attention(8), attention(10)
    sizes = "8 queries", "10 queries", "8 keys", "10 keys"
    masks = "mask none", "mask #ring.mask<causal>"
    for cases, parts in ((eight, ten), sizes), ((eight, attention(8, Mask())), masks):
        libraries = [library_of(case, 2) for case in cases]
        seen = {}

        def body(rank, context):
            rows = cases[rank].sizes["queries"] // 2
            inputs = [x[:, :, :rows].copy() for x in inputs_of(cases[rank])]
            outputs = outputs_of(cases[rank], rows)
            seen[rank] = libraries[rank].call_rank(context, [*inputs, *outputs])
            return seen[rank]

        with ring(2) as host:
            begin = time.monotonic()
            assert host.run(body) == MISMATCH
            assert time.monotonic() - begin < 5
            assert seen == {0: MISMATCH, 1: MISMATCH}, seen
            for part in "rank 0", "rank 1", "run different programs", *parts:
                assert part in host.error(), host.error()


def in_child(work):
    """Runs work() in a forked process, which ends well where that returns True."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked_worker():
    """R10: initialise, fork a worker, run. The worker's own ring works; the parent's
    says that it cannot; the parent goes on."""
    case = attention(30)
    library = library_of(case, 3)
    with ring(3) as host:
        status, outputs = call(library, host, case)
        assert status == OK
        bits = [x.tobytes() for x in outputs]

        def with_its_own():
            with ring(3) as own:
                status, got = call(library, own, case)
                return status == OK and [x.tobytes() for x in got] == bits

        def with_the_parents():
            status, _ = call(library, host, case)
            return status == USAGE and "has to create its own" in host.error()

        assert in_child(with_its_own) == 0
        assert in_child(with_the_parents) == 0
        status, outputs = call(library, host, case)
        assert status == OK and [x.tobytes() for x in outputs] == bits
        assert_right(case, outputs, "after a fork")


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def many_calls_need_no_more_memory():
    """G9: 1,000 calls, right ones and refused ones, and 100 rings: memory is flat."""
    case = attention(300, dynamic=OPEN)
    library = library_of(case, 3)
    arrays = [*inputs_of(case), *outputs_of(case)]
    wrong = [arrays[0], arrays[1][:, :, :299], *arrays[2:]]

    def calls(times):
        with ring(3) as host:
            for _ in range(times):
                assert library.call(host, arrays) == OK
                assert library.call(host, wrong) == USAGE

    calls(50)
    before = peak_memory()
    calls(1000)
    for _ in range(100):
        calls(1)
    grown = peak_memory() - before
    # A leak of one local tensor a call would be 6 MB and more.
    assert grown < 2 * 2**20, f"{grown} bytes"


for test in (
    other_number_of_ranks,
    other_programs,
    forked_worker,
    many_calls_need_no_more_memory,
):
    print(test.__name__, flush=True)
    test()
