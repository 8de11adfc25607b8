"""What a machine lacks for GPUs is said in one line, with tool and version: ptxas, the
driver, NCCL, the virtual GPU, kernels for a chip. Nothing is there but what a case puts
there: no PATH, no virtual environment. The CPU needs none of it."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t %ring_obj_root %ring_src_root %host_cc

import ctypes
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

OUT, TREE, SOURCE, CC = Path(sys.argv[1]), *map(Path, sys.argv[2:4]), sys.argv[4]
TYPE = "tensor<1x1x32x16xbf16>"
CHIPS = "sm_80, sm_86, sm_87 or sm_89"
# What a sanitizer and the dynamic linker are told, and nothing else.
EMPTY = {name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name or name.startswith("LD_")}
TOOLS = OUT / "build" / "bin"
FILE = OUT / "f.mlir"
FILE.write_text(f"""func.func @f(%q: {TYPE}) -> {TYPE} {{
  %o = ring.attention %q, %q, %q : ({TYPE}, {TYPE}, {TYPE}) -> {TYPE}
  return %o : {TYPE}
}}
""")
# ptxas is also looked for beside the build tree, so the tools get another one.
TOOLS.mkdir(parents=True)
for tool in "ring-opt", "ring-run":
    shutil.copy(TREE / "bin" / tool, TOOLS / tool)


def start(tool, *flags, **environment):
    line = [TOOLS / tool, *flags]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env={**EMPTY, **environment})
    return done, f"{' '.join(map(str, line))}\n{environment}\nexit {done.returncode}\n{done.stdout}{done.stderr}"


def ring_opt(expected, *options, code=1, **environment):
    """One located error, below which MLIR may show the place, and no op."""
    pipeline = "--ring-to-nvvm=ranks=2 " + " ".join(options)
    done, said = start("ring-opt", FILE, pipeline, "-o", os.devnull, **environment)
    assert done.returncode == code, said
    if not code:
        assert not done.stderr, said
        return
    first, *rest = done.stderr.splitlines()
    located = re.fullmatch(re.escape(str(FILE)) + r":\d+:\d+: error: (.*)", first)
    assert located and re.fullmatch(expected, located[1]), f"expected {expected}: {said}"
    place = FILE.read_text().splitlines()
    assert not rest or (len(rest) == 2 and rest[0] in place and rest[1].strip() == "^"), said


def ring_run(expected, *flags, code=3, refused=None, **environment):
    """One line on stderr, and, where something is refused, the object on stdout."""
    done, said = start("ring-run", FILE, "--ranks=2", "--random=1", "--check", "--json", *flags, **environment)
    assert done.returncode == code and done.stderr.count("\n") == 1, said
    message = re.sub(r"^(ring-run|" + re.escape(str(FILE)) + r":\d+:\d+): error: ", "", done.stderr.rstrip("\n"))
    assert re.fullmatch(expected, message), f"expected {expected}: {said}"
    if refused:
        assert json.loads(done.stdout)["refused"] == refused, said
    else:
        assert not done.stdout, said


def runs(*flags, **environment):
    done, said = start("ring-run", FILE, "--ranks=2", "--random=1", "--check", "--json", *flags, **environment)
    assert done.returncode == 0 and not done.stderr and json.loads(done.stdout)["ok"], said


def program(path, text, executable=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def ptxas(name, assembles, release="12.0", folder=OUT):
    """A script that answers --version as ptxas does, and then does `assembles`."""
    return program(folder / name, f"""#!/bin/sh
case $1 in
  --version)
    echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
    echo "Cuda compilation tools, release {release}, V{release}.88" ;;
  *)
    {assembles} ;;
esac
""")


def library(path, functions):
    """A shared library with C functions."""
    path.parent.mkdir(exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text("\n".join(functions))
    subprocess.run([CC, "-shared", "-fPIC", "-o", path, source], check=True)
    return {"LD_LIBRARY_PATH": os.pathsep.join([str(path.parent), os.environ.get("LD_LIBRARY_PATH", "")])}


def functions(header, prefix, **bodies):
    """All that the runtime asks of a library, returning 0 but where a body is given."""
    names = re.findall(f'"({prefix}[A-Z]\\w+)"', (SOURCE / "lib" / "Runtime" / header).read_text())
    assert len(names) > 5 and set(bodies) <= set(names), names
    return {name: bodies.get(name, f"int {name}(void) {{ return 0; }}") for name in names}


def installed(name):
    """Where the machine has it, its absence cannot be tested."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def number(name, value):
    return f"int {name}(int *value) {{ *value = {value}; return 0; }}"


def no_ptxas():
    nothing = "no ptxas: not in PATH, RING_PTXAS is not set, and no Python package nvidia-cuda-nvcc in the virtual environment"
    ring_opt(nothing, "formats=cubin")
    ring_opt(nothing, "formats=cubin", PATH="", VIRTUAL_ENV=str(OUT))
    # Each place where it is looked for comes before the ones below.
    package = Path("lib", "python3", "site-packages", "nvidia", "cu13", "bin")
    here, active, path = OUT / ".venv" / package, OUT / "active" / package, OUT / "path"
    environment = {}
    for release, folder, added in (
        ("1.1", here, {}),
        ("2.2", active, {"VIRTUAL_ENV": str(OUT / "active")}),
        ("3.3", path, {"PATH": str(path)}),
        ("4.4", OUT / "named", {"RING_PTXAS": str(OUT / "named" / "ptxas")}),
    ):
        tool = ptxas("ptxas", "echo no; exit 1", release, folder)
        environment.update(added)
        refuses = f"ptxas {release} ('{tool}') refuses the kernels for sm_80: no"
        ring_opt(re.escape(refuses), "formats=cubin", **environment)
    refuses = f"ptxas 5.5 ('{ptxas('option', 'echo no; exit 1', '5.5')}') refuses the kernels for sm_80: no"
    ring_opt(re.escape(refuses), "formats=cubin", f"ptxas={OUT / 'option'}", **environment)
    shutil.rmtree(OUT / ".venv")


def bad_ptxas():
    """What the driver would compile is not asked of a tool that is named."""
    old = ptxas("old", """echo "ptxas info    : (C7505) A note"
    echo "ptxas $3, line 5; fatal   : Unsupported .version 8.0; current version is '7.0'"
    echo "ptxas fatal   : Ptx assembly aborted due to errors"; exit 255""", "11.0")
    chip = ptxas("chip", """echo "ptxas fatal   : Value 'sm_89' is not defined for option 'gpu-name'"; exit 255""", "11.0")
    cases = {
        old: r"ptxas 11\.0 \('.*/old'\) refuses the kernels for sm_80: .*Unsupported \.version 8\.0; current version is '7\.0'",
        ptxas("silent", "exit 7"): r"ptxas 12\.0 \('.*/silent'\) refuses the kernels for sm_80: exit code 7",
        ptxas("nothing", "exit 0"): r"ptxas 12\.0 \('.*/nothing'\) has written no cubin",
        ptxas("dies", "kill -SEGV $$"): r"ptxas 12\.0: '.*/dies' has failed: Segmentation fault.*",
        program(OUT / "dies-at-once", "#!/bin/sh\nkill -SEGV $$\n"): r"'.*/dies-at-once' has failed: Segmentation fault.*",
        program(OUT / "other", "#!/bin/sh\necho hello\n"): r"'.*/other' is no ptxas: --version says nothing of a release",
        program(OUT / "text", "hello\n"): r"cannot run '.*/text': .*Exec format error",
        program(OUT / "plain", "hello\n", executable=False): r"cannot run '.*/plain': .*Permission denied",
        TOOLS: r"cannot run '.*/bin': .*Permission denied",
        OUT / "absent": r"cannot run '.*/absent': .*No such file or directory",
    }
    for tool, expected in cases.items():
        ring_opt(expected, "formats=cubin", f"ptxas={tool}")
        ring_run(expected, "--device=cuda", f"--ptxas={tool}")
    refuses = r"ptxas 11\.0 \('.*/chip'\) refuses the kernels for sm_89: ptxas fatal +: Value 'sm_89' is not defined for option 'gpu-name'"
    ring_opt(refuses, "chip=sm_89 formats=cubin", f"ptxas={chip}")
    ring_run(refuses, "--device=cuda:sm_89", f"--ptxas={chip}")
    runs(RING_PTXAS=str(OUT / "absent"))
    runs("--device=vgpu", RING_PTXAS=str(OUT / "absent"))


def no_kernels_for_a_chip():
    for chip in "sm_70", "sm_90", "sm_90a", "sm_50", "sm_8x", "sm_":
        refuses = f"feature 'chip {chip}' is not supported by convert-ring-to-gpu, expected {CHIPS}"
        ring_opt(refuses, f"chip={chip}", "formats=ptx")
        for device in "vgpu", "cuda":
            ring_run(refuses, f"--device={device}:{chip}", refused=f"chip {chip}")
    ring_opt(f"feature 'chip x' is not supported by convert-ring-to-gpu, expected {CHIPS}", "chip=x")
    for device in "vgpu:x", "cuda:x", "vgpu:0", "vgpu:", "cpu:sm_80":
        ring_run(re.escape(f"--device '{device}': expected cpu, cuda[:CHIP] or vgpu[:CHIP], where CHIP is {CHIPS}"), f"--device={device}", code=2)
    # All that are named do.
    for chip in re.findall(r"sm_\w+", CHIPS):
        runs(f"--device=vgpu:{chip}")
    ring_opt("no image format 'elf', expected vgpu, ptx or cubin", "formats=elf")


def no_virtual_gpu():
    refuses = "no virtual GPU: nowhere: cannot open shared object file: No such file or directory"
    ring_run(refuses, "--device=vgpu", refused="vgpu", RING_VGPU_LIBRARY="nowhere")
    # It is not asked for.
    runs(RING_VGPU_LIBRARY="nowhere")


def no_driver():
    absent = r"no CUDA driver: libcuda\.so\.1: cannot open shared object file: No such file or directory"
    if not installed("libcuda.so.1"):
        ring_run(absent, "--device=cuda", refused="cuda")
        ring_run(absent, "--device=cpu,cuda", refused="cuda")
    empty = program(OUT / "no-driver" / "libcuda.so.1", "").parent
    ring_run(r"no CUDA driver: .*libcuda\.so\.1: file too short", "--device=cuda", refused="cuda", LD_LIBRARY_PATH=str(empty))

    def driver(name, leave_out=(), **bodies):
        have = functions("Device/CudaDriver.h", "cu", **bodies)
        return library(OUT / f"driver-{name}" / "libcuda.so.1", [text for function, text in have.items() if function not in leave_out])

    version = number("cuDriverGetVersion", 11020)
    count = number("cuDeviceGetCount", 0)
    name = 'int cuGetErrorName(int code, const char **text) { *text = "CUDA_ERROR_NO_DEVICE"; return 0; }'
    text = 'int cuGetErrorString(int code, const char **text) { *text = "no CUDA-capable device"; return 0; }'
    fails = "int cuInit(unsigned flags) { return 100; }"
    for expected, environment in (
        ("has no function cuGraphInstantiateWithFlags", driver("old", ["cuGraphInstantiateWithFlags"], cuDriverGetVersion=version)),
        ("has no function cuInit", driver("bare", ["cuInit", "cuGetErrorName"], cuDriverGetVersion=version)),
        (r": CUDA_ERROR_NO_DEVICE \(no CUDA-capable device\)", driver("fails", cuDriverGetVersion=version, cuInit=fails, cuGetErrorName=name, cuGetErrorString=text)),
        (": there is no device", driver("empty", cuDriverGetVersion=version, cuDeviceGetCount=count)),
    ):
        ring_run(r"CUDA driver libcuda\.so\.1 of version 11\.2 ?" + expected, "--device=cuda", refused="cuda", **environment)
        runs(**environment)
    # Without a version there is none to be named.
    ring_run(r"CUDA driver libcuda\.so\.1 of unknown version has no function cuInit", "--device=cuda", refused="cuda",
             **library(OUT / "other-driver" / "libcuda.so.1", ["int other(void) { return 0; }"]))


def no_nccl():
    """With the virtual GPU's library in place of the driver's."""
    nccl = "--device=cuda", "--transport=nccl"
    (OUT / "driver").mkdir()
    (OUT / "driver" / "libcuda.so.1").symlink_to(TREE / "lib" / "libring_vgpu.so")

    def only_nccl(name, leave_out=(), **bodies):
        # The message's functions are not in the list of the header.
        have = {**functions("NCCL/NcclLibrary.h", "nccl", **bodies),
                "ncclGetErrorString": 'const char *ncclGetErrorString(int code) { return ""; }',
                "ncclGetLastError": 'const char *ncclGetLastError(void *comm) { return ""; }'}
        environment = library(OUT / name / "libnccl.so.2", [text for function, text in have.items() if function not in leave_out])
        return {"LD_LIBRARY_PATH": f"{driver}{os.pathsep}{environment['LD_LIBRARY_PATH']}"}

    driver = str(OUT / "driver")
    if not installed("libnccl.so.2"):
        absent = r"no NCCL: libnccl\.so\.2: cannot open shared object file: No such file or directory"
        ring_run(absent, *nccl, refused="cuda", LD_LIBRARY_PATH=driver)
    program(OUT / "driver" / "libnccl.so.2", "")
    ring_run(r"no NCCL: .*libnccl\.so\.2: file too short", *nccl, refused="cuda", LD_LIBRARY_PATH=driver)
    (OUT / "driver" / "libnccl.so.2").unlink()
    for expected, environment in (
        (r"of version 2\.17\.1 is too old, expected 2\.18\.0 or later", only_nccl("nccl-old", ncclGetVersion=number("ncclGetVersion", 21701))),
        (r"of version 2\.20\.5 has no function ncclCommAbort", only_nccl("nccl-part", ["ncclCommAbort"], ncclGetVersion=number("ncclGetVersion", 22005))),
        (r"of version 2\.8\.3 has no function ncclGetLastError", only_nccl("nccl-2.8", ["ncclGetLastError"], ncclGetVersion=number("ncclGetVersion", 2803))),
        ("of unknown version has no function ncclGetVersion", only_nccl("nccl-none", ["ncclGetVersion"])),
    ):
        ring_run(r"NCCL libnccl\.so\.2 " + expected, *nccl, refused="cuda", **environment)
        runs(**environment)


runs()
no_ptxas()
bad_ptxas()
no_kernels_for_a_chip()
no_virtual_gpu()
no_driver()
no_nccl()
