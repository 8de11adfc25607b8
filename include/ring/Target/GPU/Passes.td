//===- Passes.td - Kernels to what a device loads ----------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_GPU_PASSES_TD
#define RING_TARGET_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def SerializeKernelsPass : Pass<"ring-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "turn kernels into images that a device loads";
  let description = [{
    Each `gpu.module`, lowered to the LLVM and NVVM dialects, becomes a
    `gpu.binary` with one object for each of `formats`, whose properties say its
    kind and chip:

    - `vgpu`: MLIR bytecode of the module, for the virtual GPU;
    - `ptx`: text that a driver compiles for its own chip;
    - `cubin`: machine code by ptxas, from `ptxas`, the environment variable
      RING_PTXAS, PATH or the Python package `nvidia-cuda-nvcc`. What ptxas warns
      about is a warning at the module.

    Without ptxas a `cubin` is an error that says where it was looked for; with
    `optional`, a remark.
  }];
  let options = [
    ListOption<"formats", "formats", "std::string",
               "Of the images: vgpu, ptx, cubin">,
    Option<"ptxas", "ptxas", "std::string", "\"\"", "Path of ptxas">,
    Option<"optional", "optional", "bool", "false",
           "A cubin that cannot be made is left out">];
}

#endif // RING_TARGET_GPU_PASSES_TD
