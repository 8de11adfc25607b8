"""Programs compiled to object files, linked by cc and called from here through the
C ABI: what a C program sees, with memory that the test chooses.

A sanitized runtime cannot be loaded into Python: such tests are UNSUPPORTED there.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from contextlib import contextmanager

import numpy as np

from attention_case import loaded, stored
from dense_reference import errors

SOURCE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(SOURCE, "..", "..", "..", "include")
OK, MISMATCH, TIMEOUT, PEER, USAGE = range(5)
RankBody = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class HostOptions(ctypes.Structure):
    _fields_ = [
        ("ranks", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("deadline", ctypes.c_double),
        ("trace", ctypes.c_int32),
        ("devices", ctypes.c_char_p),
        ("transport", ctypes.c_char_p),
        ("sm_margin", ctypes.c_int32),
        ("graph", ctypes.c_int32),
    ]


def library_folder():
    """That of the build whose ring-run is on PATH."""
    tools = os.path.dirname(os.path.realpath(shutil.which("ring-run")))
    return os.path.join(os.path.dirname(tools), "lib")


def load_runtime():
    path = os.path.join(library_folder(), "libring_runtime.so")
    runtime = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    runtime.ring_host_create.restype = ctypes.c_void_p
    runtime.ring_host_error.restype = ctypes.c_char_p
    runtime.ring_host_error.argtypes = [ctypes.c_void_p]
    runtime.ring_host_destroy.argtypes = [ctypes.c_void_p]
    runtime.ring_rank.argtypes = [ctypes.c_void_p]
    runtime.ring_host_run.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int32,
        RankBody,
        ctypes.c_void_p,
    ]
    return runtime


def descriptor(array):
    """The memref descriptor of an array, with any strides."""
    ints = ctypes.c_int64 * max(array.ndim, 1)

    class Memref(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ints),
            ("strides", ints),
        ]

    address = array.__array_interface__["data"][0]
    strides = [n // array.itemsize for n in array.strides]
    return Memref(address, address, 0, ints(*array.shape), ints(*strides))


class Host:
    """A set of ranks of this process."""

    def __init__(self, ranks, threads=2, deadline=20.0, devices="cpu"):
        self.runtime, self.ranks = load_runtime(), ranks
        options = HostOptions(ranks, threads, deadline, 0, devices.encode())
        message = ctypes.create_string_buffer(256)
        self.pointer = self.runtime.ring_host_create(
            ctypes.byref(options), message, ctypes.c_size_t(len(message))
        )
        assert self.pointer, message.value.decode()

    def error(self):
        return self.runtime.ring_host_error(self.pointer).decode()

    def run(self, body, ranks=None):
        """body(rank, context) -> status, on a thread for each rank."""

        def call(context, _):
            return body(self.runtime.ring_rank(context), context)

        ranks = ranks or self.ranks
        return self.runtime.ring_host_run(self.pointer, ranks, RankBody(call), None)

    def close(self):
        self.runtime.ring_host_destroy(self.pointer)


@contextmanager
def ring(ranks, **options):
    host = Host(ranks, **options)
    try:
        yield host
    finally:
        host.close()


class Library:
    """A program as a shared library, from program.o and program.c of a folder."""

    def __init__(self, folder):
        path = lambda name: os.path.join(folder, name)
        library = path("program.so")
        line = ["cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC"]
        line += [f"-I{INCLUDE}", path("program.c"), path("program.o"), "-o", library]
        line += [f"-L{library_folder()}", f"-Wl,-rpath,{library_folder()}"]
        subprocess.run([*line, "-lring_runtime", "-lm"], check=True)
        load_runtime()
        self.functions = ctypes.CDLL(library)

    def call(self, host, arrays):
        """The host function on whole arrays, inputs and then outputs: status."""
        return self._call("attention", ctypes.c_void_p(host.pointer), arrays)

    def call_host(self, name, host, arrays):
        """The same, of a function with another name."""
        return self._call(name, ctypes.c_void_p(host.pointer), arrays)

    def call_rank(self, context, arrays):
        """The rank function on a rank's local arrays."""
        return self._call("attention_rank", ctypes.c_void_p(context), arrays)

    def _call(self, name, first, arrays):
        descriptors = [descriptor(x) for x in arrays]
        function = getattr(self.functions, name)
        return function(first, *map(ctypes.byref, descriptors))


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def compiled(text, folder, ranks, layout="zigzag", prefetch=1, device="cpu"):
    """What --emit-object makes of a program. The header is part of what is tested."""
    line = ["ring-run", write(folder, "program.mlir", text)]
    line += [f"--emit-object={os.path.join(folder, 'program.o')}"]
    line += [f"--ranks={ranks}", f"--layout={layout}", f"--device={device}"]
    subprocess.run([*line, f"--prefetch-distance={prefetch}"], check=True)
    write(folder, "program.c", '#include "program.h"\n')
    return Library(folder)


def compiled_by_passes(text, folder, options, left_out=()):
    """What the passes of ring-to-cpu{options} make of it, but for some."""
    program = write(folder, "program.mlir", text)
    pipeline = ["ring-opt", program, f"--ring-to-cpu={options}", "-o", os.devnull]
    shown = subprocess.run(
        [*pipeline, "--dump-pass-pipeline"], check=True, capture_output=True, text=True
    ).stderr
    passes = shown[shown.index("builtin.module(") :]
    for name in left_out:
        assert name in passes, name
        passes = re.sub(rf"^ *{name}(\{{.*\}})?,$", "", passes, flags=re.MULTILINE)
        assert name not in passes, passes
    path = lambda name: os.path.join(folder, name)
    passes = " ".join(passes.split())
    for line in (
        ["ring-opt", program, f"--pass-pipeline={passes}", "-o", path("llvm.mlir")],
        ["mlir-translate", "--mlir-to-llvmir", path("llvm.mlir"), "-o", path("p.ll")],
        ["llc", "-relocation-model=pic", "-filetype=obj", "-mcpu=native"]
        + [path("p.ll"), "-o", path("program.o")],
    ):
        subprocess.run(line, check=True)
    write(folder, "program.c", "")
    return Library(folder)


class GuardedMemory:
    """Arrays with a page before or after them that nobody may touch."""

    PAGE = os.sysconf("SC_PAGESIZE")
    NONE, READ, WRITE, PRIVATE_ANONYMOUS = 0, 1, 3, 0x22

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        self.libc.mmap.argtypes = [pointer, size, number, number, number, size]
        self.libc.mprotect.argtypes = [pointer, size, number]
        self.libc.munmap.argtypes = [pointer, size]
        self.regions = []

    def array(self, content, at_end, read_only):
        """A copy of `content` that ends where a guard begins, or begins where one
        ends."""
        content = np.ascontiguousarray(content)
        pages = -(-max(content.nbytes, 1) // self.PAGE)
        size = (pages + 2) * self.PAGE
        begin = self.libc.mmap(None, size, self.NONE, self.PRIVATE_ANONYMOUS, -1, 0)
        assert begin != ctypes.c_void_p(-1).value, "no memory"
        self.regions.append((begin, size))
        usable = begin + self.PAGE, pages * self.PAGE
        assert self.libc.mprotect(*usable, self.WRITE) == 0
        address = begin + self.PAGE
        address += pages * self.PAGE - content.nbytes if at_end else 0
        memory = (ctypes.c_char * content.nbytes).from_address(address)
        copy = np.frombuffer(memory, content.dtype).reshape(content.shape)
        copy[...] = content
        if read_only:
            assert self.libc.mprotect(*usable, self.READ) == 0
        return copy

    def free(self):
        for region in self.regions:
            self.libc.munmap(*region)
        self.regions = []


@contextmanager
def guarded_memory():
    memory = GuardedMemory()
    try:
        yield memory
    finally:
        memory.free()


def inputs_of(case):
    """The arrays that a compiled program of one attention takes."""
    return [stored(x.array, x.element) for x in case.operands()]


def outputs_of(case, rows=None):
    """Arrays for its results, full of NaN, for all queries or so many."""
    sizes = case.sizes
    shape = [sizes["batch"], sizes["heads"], rows or sizes["queries"]]
    out = stored(np.full([*shape, sizes["value_depth"]], np.nan), case.dtype)
    lse = stored(np.full(shape, np.nan), "f32")
    return [out, lse] if case.lse else [out]


def assert_right(case, outputs, where):
    """Outputs of a compiled program against float64."""
    arrays = [loaded(outputs[0], case.dtype)]
    arrays += [loaded(outputs[1], "f32")] if case.lse else []
    error = errors(case, case.reference(), *arrays)
    assert not error.wrong, f"{where}: {error.message}"
