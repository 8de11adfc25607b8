# Configuration of the lit tests (`./dev test` runs them; one file by hand:
# `lit-22 -v test/Dialect/Ring/FILE.mlir`).

import os

import lit.formats

# Without the site configuration that CMake wrote, lit was started on a path in
# the source tree: go by the one in build/, or what -D ring_site_config names.
if not hasattr(config, "ring_binary_dir"):
    here = os.path.dirname(os.path.abspath(__file__))
    site = lit_config.params.get(
        "ring_site_config",
        os.path.join(os.path.dirname(here), "build", "test", "lit.site.cfg.py"),
    )
    if not os.path.exists(site):
        lit_config.fatal(f"{site} not found: run ./dev build first")
    lit_config.load_config(config, site)
    raise SystemExit

config.name = "Ring"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = [
    "Inputs",
    "CMakeLists.txt",
    "lit.cfg.py",
    "lit.site.cfg.py.in",
]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.ring_binary_dir, "test")

# ring-opt, ring-run, ...; then FileCheck, not, count, split-file, mlir-opt of
# the LLVM that the project is built with, before any other on PATH.
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.ring_binary_dir, "bin"),
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)

# What may matter to a test from the environment, besides what lit passes on.
# (OPENBLAS_*: NumPy needs them on some processors.)
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "RING_POISON"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    # Python with NumPy.
    ("%python", config.ring_python),
    # The C compiler of the build, for libraries that a test needs.
    ("%host_cc", config.ring_c_compiler),
    # Models and other files that tests share with the examples.
    ("%examples", os.path.join(config.ring_source_dir, "examples")),
    ("%ring_src_root", config.ring_source_dir),
    ("%ring_obj_root", config.ring_binary_dir),
]

# `REQUIRES: mpi`: a launcher, and the runtime's part for it.
if config.ring_mpi_launcher:
    config.available_features.add("mpi")
config.substitutions.append(("%mpirun", config.ring_mpi_launcher))

# `REQUIRES: asan` and the like: address, undefined and thread of RING_SANITIZE.
# %sanitizer_calls: in a grep -E pattern, what a sanitizer has generated code call.
calls = ""
for sanitizer in config.ring_sanitize.split(";"):
    if sanitizer:
        feature = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}[sanitizer]
        config.available_features.add(feature)
        if feature != "ubsan":
            calls = f"|__{feature}_[a-z0-9_]+"
config.substitutions.append(("%sanitizer_calls", calls))
