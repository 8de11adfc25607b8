//===- Passes.td - Ring to GPU kernels ---------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_RINGTOGPU_PASSES_TD
#define RING_CONVERSION_RINGTOGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertRingToGPUPass : Pass<"convert-ring-to-gpu", "::mlir::ModuleOp"> {
  let summary = "lower attention on memrefs to kernels of a GPU";
  let description = [{
    In rank functions with rounds, the `ring.online_attention`s and the
    `ring.finalize` of one state on memrefs become one kernel in the
    `gpu.module` of the program and calls that launch it: one `ring.device.round`
    for each round, the last of which also writes the results. The state is
    private to the kernel. Tensors that the caller passed are imported, ids,
    lengths and offsets also copied to the host, where work lists are made.

    The kernel is FlashAttention-2's on `mma.sync`, `ldmatrix` and `cp.async`
    (sm_80 and later). Its tile plan is chosen by a search over what the chip
    has, and is a remark. f32 inputs take three products of tf32.

    `mixed`: rank functions stay what they are, for the ranks on a CPU, and get
    a copy for those on a GPU.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"",
           "What to make kernels for: sm_80, sm_86, sm_87 or sm_89">,
    Option<"mixed", "mixed", "bool", "false",
           "Some ranks compute on a CPU">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}

def ExpandDeviceMathPass : Pass<"ring-expand-device-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "replace functions that a GPU has no instruction for";
  let description = [{
    `math` ops of a `score` region become polynomials and what the GPU has
    instructions for; an op that is left is refused by name. Otherwise they
    would be calls of a library that is not linked.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def DeviceToLLVMPass : Pass<"ring-device-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower what is left in kernels to the LLVM dialect";
  let description = [{
    `arith`, `cf`, `index` and `math` ops; structured control flow has become
    `cf` before. (Upstream's conversion of `cf` takes whole modules, and its
    conversion of GPU modules makes calls of a library of `math`.)
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // RING_CONVERSION_RINGTOGPU_PASSES_TD
