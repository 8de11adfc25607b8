"""Attention kernels as PTX and as a cubin, for tests that look at the code."""

import os
import re
import subprocess
import sysconfig

CUDA = os.path.join(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin")
PTXAS = os.path.join(CUDA, "ptxas")
NVDISASM = os.path.join(CUDA, "nvdisasm")

SCORE = """ score {
  ^bb0(%x: f32, %batch: index, %head: index, %query: index, %key: index):
    %y = math.tanh %x : f32
    ring.yield %y : f32
  }"""


def program(depth, value_depth, kind, what):
    """`ring.attention` of 4 heads; `what`: plain, causal, generic (segments, lengths
    and a window) or bias_score."""
    query = f"tensor<1x4x1024x{depth}x{kind}>"
    value = f"tensor<1x4x1024x{value_depth}x{kind}>"
    arguments, types = f"%q: {query}, %k: {query}, %v: {value}", [query, query, value]
    clauses = {"plain": "", "causal": " mask(<causal>)"}.get(what)
    if what == "generic":
        arguments += ", %s: tensor<1x1024xi32>, %n: tensor<1xi32>"
        types += ["tensor<1x1024xi32>"] * 2 + ["tensor<1xi32>"]
        clauses = " segments(%s, %s) lengths(%n) mask(<causal, window = [127, 0]>)"
    elif what == "bias_score":
        bias = f"tensor<1x4x1024x1024x{kind}>"
        arguments += f", %b: {bias}"
        types.append(bias)
        clauses = " bias(%b)" + SCORE
    return f"""func.func @f({arguments}) -> {value} {{
  %o = ring.attention %q, %k, %v{clauses} : ({', '.join(types)}) -> {value}
  return %o : {value}
}}
"""


def make_ptx(variant, stem):
    """Writes stem.mlir and stem.ptx for the arguments of `program`. Returns the PTX
    and what ring-opt says of the tile plan."""
    with open(stem + ".mlir", "w") as file:
        file.write(program(*variant))
    made = subprocess.run(
        ["ring-opt", stem + ".mlir", "--ring-to-nvvm=formats=ptx ranks=2",
         "--remarks-filter=convert-ring-to-gpu"],
        capture_output=True, text=True, check=True,
    )
    # The image in the host program is a string with \XX for special characters.
    quoted = re.search(r'@ring_image_ring_kernels_0\("([^"]*)"', made.stdout).group(1)
    ptx = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), quoted).rstrip("\0")
    with open(stem + ".ptx", "w") as file:
        file.write(ptx)
    plan = re.search(r'TilePlan.*Remark="([^"]*)"', made.stderr).group(1)
    return ptx, plan


def assemble(stem):
    """stem.ptx to stem.cubin; what ptxas says."""
    done = subprocess.run(
        [PTXAS, "-arch=sm_80", "-O3", "-v", stem + ".ptx", "-o", stem + ".cubin"],
        capture_output=True, text=True, check=True,
    )
    return done.stdout + done.stderr
