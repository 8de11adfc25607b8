"""Programs of every clause through the passes, and programs of unusual size."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t %S/../Dialect/Ring/Transforms/Inputs/run_passes.py

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from attention_case import Case
from ring_attention import LAYOUTS, Mask, Program
from score_regions import ALIBI, BUCKETS

FOLDER, RUN_PASSES = sys.argv[1:]
RANKS = 4
OPEN = frozenset(["batch", "queries", "keys"])
normal = np.random.default_rng(13).standard_normal
# Constants of 16, 32 and 64 bits; `empty_rows(nan)` is a name.
NAN = re.compile(
    r"0x(7FC|FFC|7FF8|FFF8|7E0|FE0)[0-9A-F]* : (f|bf)|[^a-z_.]nan\b",
    re.IGNORECASE,
)
# The passes that make each form of the one before it.
FORMS = {
    1: [f"--ring-shard-attention=ranks={RANKS}"],
    2: ["--ring-apply-layout=layout=balanced"],
    3: ["--ring-classify-blocks"],
    4: ["--ring-pipeline-rounds=prefetch-distance=2"],
    5: [
        "--ring-expand-host",
        "--ring-bufferize-transfers",
        "--ring-results-to-destinations",
        "--one-shot-bufferize=bufferize-function-boundaries",
    ],
}


def every_clause(dtype, empty_rows, score, dynamic=frozenset()):
    length = 24
    ids = np.repeat([[0, 1, 2, -1], [3, 3, 4, 5]], 6, axis=1)
    case = Case(
        normal((2, 4, length, 8)),
        normal((2, 2, length, 8)),
        normal((2, 2, length, 5)),
        Mask(causal=True, window=(9, 3), chunk=16, prefix=2),
        dtype=dtype,
        bias=normal((2, 4, length, length)),
        query_segments=ids,
        key_segments=ids,
        lengths=[length, 3],
        offsets=[0, -4],
        sinks=normal(4),
        softcap=3.0,
        empty_rows=empty_rows,
        score=score,
        dynamic=dynamic,
    )
    table = score.random_table(np.random.default_rng(14), case.sizes)
    return case.replace(table=table)


def programs():
    """All clauses at once: with static sizes, and with sizes and tables that are
    values."""
    return {
        "static": every_clause("f32", "uniform", BUCKETS),
        "dynamic": every_clause("bf16", "nan", ALIBI, OPEN),
    }


def output(*line):
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stderr}"
    return done.stdout


def path(name):
    return os.path.join(FOLDER, name)


def write_forms(name, case):
    """Files of the program in each form."""
    text, files = Program({"0": case}).text(), {}
    for form in range(6):
        files[form] = path(f"{name}{form}.mlir")
        if form:
            text = output("ring-opt", files[form - 1], *FORMS[form])
        with open(files[form], "w") as file:
            file.write(text)
    return files


def no_nan_constant():
    """M13: in any form, nor in the LLVM dialect."""
    for name, case in programs().items():
        files = write_forms(name, case)
        option = f"--ring-to-cpu=ranks={RANKS} layout=balanced prefetch-distance=2"
        texts = [open(file).read() for file in files.values()]
        texts.append(output("ring-opt", files[0], option))
        for form, text in enumerate(texts):
            found = NAN.search(text.replace("empty_rows(nan)", ""))
            assert not found, f"{name}, form {form}: {found}"


class File(Program):
    """A program that is a file in another form."""

    def __init__(self, case, file):
        super().__init__({"0": case})
        self.file = file

    def text(self):
        return open(self.file).read()


def every_form_runs():
    """A program of every clause gives the same bits in each of its forms. On memrefs
    the sizes of results are known only where they are static."""
    for name, case in programs().items():
        files = write_forms(name, case)
        bits = {}
        for form, file in files.items():
            program = File(case, file)
            if form == 5 and case.dynamic:
                done = program.launch(FOLDER, RANKS, "balanced")
                refused = done.report()["refused"]
                assert done.code == 3 and refused == "dynamic sizes of results", done
                continue
            results, _ = program.run(RANKS, "balanced", prefetch=2)
            program.check(results, f"{name}, form {form}")
            bits[form] = results["0"].bits
        assert len(set(bits.values())) == 1, f"{name}: {bits.keys()}"


def every_schedule_is_right():
    """P3: proved after each pass."""
    for name, case in programs().items():
        for form, file in write_forms(name, case).items():
            if form:
                output("ring-opt", file, "--ring-verify-schedule")


def each_pass_alone_and_twice():
    """G4: on each form of programs of every clause; run_passes.py says more."""
    files = []
    for name, case in programs().items():
        files += write_forms(name, case).values()
    said = output(sys.executable, RUN_PASSES, "ring-opt", *files).splitlines()
    expected = [
        "0 crashes",
        "0 passes that do something the second time",
        "0 errors without a place",
    ]
    assert said == expected, said


def run(program, arrays, *flags, code=0, environment=None, setup=None):
    """Runs a text with array inputs: the report of --json and result 0."""
    with open(path("program.mlir"), "w") as file:
        file.write(program)
    out = path("out.npy")
    line = [shutil.which("ring-run"), file.name, "--json", f"--output=0={out}", *flags]
    for n, array in enumerate(arrays):
        np.save(path(f"in{n}.npy"), array)
        line.append(f"--input={n}={path(f'in{n}.npy')}")
    env = os.environ if environment is None else environment
    done = subprocess.run(
        line, capture_output=True, text=True, env=env, preexec_fn=setup
    )
    assert done.returncode == code, done.stderr
    report = json.loads(done.stdout)
    return (report, done.stderr) if code else (report, np.load(out))


def self_attention(shape, clauses="", ids=None, dtype="f32"):
    """A function of q, k, v of one shape, and ids where there are some."""
    x = f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
    types, arguments = [x] * 3, f"%q: {x}, %k: {x}, %v: {x}"
    if ids is not None:
        clauses = f"segments(%s, %s) {clauses}"
        types += [f"tensor<{ids.shape[0]}x{ids.shape[1]}xi32>"] * 2
        arguments += f", %s: {types[-1]}"
    return f"""func.func @attention({arguments}) -> {x} {{
  %o = ring.attention %q, %k, %v {clauses} : ({', '.join(types)}) -> {x}
  return %o : {x}
}}
"""


def dense(q, k, v):
    """Causal attention in float64 of arrays [..., S, d] with small S."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    score = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    score = np.where(np.tri(score.shape[-1], dtype=bool), score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ v


def many_heads_and_documents():
    """C3: batch x heads = 65,536 of S=16; 80,000 documents of 16 in a sequence."""
    for batch, heads in (65536, 1), (1, 65536), (256, 256):
        shape = batch, heads, 16, 8
        arrays = [normal(shape).astype(np.float32) for _ in range(3)]
        text = self_attention(shape, "mask(<causal>)")
        _, got = run(text, arrays, "--ranks=2")
        error = abs(got - dense(*arrays)).max()
        assert error < 1e-5, f"{shape}: {error}"

    documents = 80000
    shape = 1, 1, 16 * documents, 8
    ids = np.repeat(np.arange(documents, dtype=np.int32), 16)[None]
    arrays = [normal(shape).astype(np.float32) for _ in range(3)]
    expected = dense(*(x.reshape(documents, 16, 8) for x in arrays)).reshape(shape)
    text = self_attention(shape, "mask(<causal>)", ids)
    layouts = LAYOUTS if "RING_TEST_ALL" in os.environ else ("zigzag", "balanced")
    for layout in layouts:
        flags = "--ranks=8", f"--layout={layout}"
        _, got = run(text, [*arrays, ids], *flags)
        error = abs(got - expected).max()
        assert error < 1e-5, f"80,000 documents, {layout}: {error}"


def large_head_sizes():
    """C4: right, or refused with the bytes that are needed and the limit."""
    for depth, dtype in (256, "f16"), (512, "f32"):
        inputs = [normal((1, 2, 130, depth)) for _ in range(3)]
        program = Program()
        program.add(f"{dtype}, d={depth}", *inputs, Mask(causal=True), dtype=dtype)
        results, _ = program.run(3)
        program.check(results, "3 ranks")
    text = self_attention((1, 1, 3, 65536))
    report, said = run(text, [], "--random=1", code=3)
    assert report["refused"] == "head size", report
    place = re.escape(path("program.mlir")) + ":2:8: error: "
    sizes = re.match(place + r".* needs (\d+) bytes .* limit is (\d+)", said)
    needed, allowed = map(int, sizes.groups())
    assert needed > 65536 * 8 > 0 and allowed == 12 * 2**20, said


def small_stack():
    """G8: S=65,536 with a stack of 8 MiB, compiled and run."""
    size = 8 * 2**20

    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (size, size))

    shape = 1, 2, 65536, 8
    text = self_attention(shape, "mask(<causal, window = [15, 0]>)")
    for layout in LAYOUTS:
        flags = "--random=1", "--ranks=16", f"--layout={layout}"
        report, got = run(text, [], *flags, setup=limit)
        assert got.shape == shape and report["ok"], layout


def children_peak(*line):
    """The most memory that a command needs, in bytes."""
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, line
    return usage.ru_maxrss * 1024


def many_runs_need_no_more_memory():
    """G9: one run and 1,000; also of the sanitized builds."""
    case = every_clause("f32", "uniform", BUCKETS)
    program = Program({"0": case})
    done = program.launch(FOLDER, 3)
    assert done.code == 0, done.stderr
    few, many = (children_peak(*done.command, f"--repeat={n}") for n in (10, 1000))
    # A leak of one rank's output a run would be 1.3 MB, and more of others.
    allowed = 64 * 2**20 if "ASAN_OPTIONS" in os.environ else 2**20
    assert many - few < allowed, f"{few} bytes, then {many}"


def large_constants():
    """G11: 100 MB of weights compile in seconds and stay a resource."""
    shape = 1, 8, 48829, 64
    weights = normal(shape).astype(np.float32)
    assert weights.nbytes > 100e6
    x, w = "tensor<1x8x16x64xf32>", f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"""func.func @attention(%q: {x}) -> {x} {{
  %w = arith.constant dense_resource<weights> : {w}
  %o = ring.attention %q, %w, %w mask(<window = [7, 0], align = bottom_right>)
    : ({x}, {w}, {w}) -> {x}
  return %o : {x}
}}
{{-# dialect_resources: {{ builtin: {{
  weights: "0x04000000{weights.tobytes().hex()}" }} }} #-}}
"""
    begin = time.monotonic()
    run(text, [], "--random=1", "--ranks=2", "--check")
    elide = "--mlir-elide-resource-strings-if-larger=10"
    compiled = output("ring-opt", path("program.mlir"), "--ring-to-cpu=ranks=2", elide)
    seconds = time.monotonic() - begin
    assert seconds < 60, f"{seconds} s"  # 8 s on a busy machine of two cores
    assert "dense_resource<weights>" in compiled and len(compiled) < 10e6
    os.remove(path("program.mlir"))


def clean_environment():
    """C11: no PATH, no variable at all; no CUDA is needed, and none is looked for."""
    text = self_attention((1, 2, 40, 8), "mask(<causal>)")
    empty = {n: v for n, v in os.environ.items() if n.startswith("LD_")}
    flags = "--random=1", "--ranks=3", "--check"
    report, _ = run(text, [], *flags, environment=empty)
    assert report["ok"], report
    report, said = run(text, [], *flags, "--device=cuda", code=3, environment=empty)
    assert report["refused"] == "cuda" and said.count("\n") == 1, said


def another_llvm():
    """G13: the versions found and needed, where CMake finds another LLVM."""
    cmake = shutil.which("cmake")
    if not cmake:
        return
    prefix, tree = path("llvm"), path("tree")
    os.makedirs(prefix)
    with open(os.path.join(prefix, "MLIRConfig.cmake"), "w") as file:
        file.write('set(LLVM_VERSION 19.1.7)\nset(LLVM_VERSION_MAJOR 19)\n')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    line = [cmake, "-G", "Ninja", "-S", source, "-B", tree, f"-DMLIR_DIR={prefix}"]
    done = subprocess.run(line, capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and "needs LLVM/MLIR 22, found 19.1.7" in said, said


for test in (
    no_nan_constant,
    every_schedule_is_right,
    every_form_runs,
    each_pass_alone_and_twice,
    many_heads_and_documents,
    large_head_sizes,
    small_stack,
    many_runs_need_no_more_memory,
    large_constants,
    clean_environment,
    another_llvm,
):
    print(test.__name__, flush=True)
    test()
