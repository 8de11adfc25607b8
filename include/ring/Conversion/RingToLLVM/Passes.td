//===- Passes.td - Ring to runtime calls -------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_RINGTOLLVM_PASSES_TD
#define RING_CONVERSION_RINGTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertRingToLLVMPass : Pass<"convert-ring-to-llvm", "::mlir::ModuleOp"> {
  let summary = "lower communication, work lists and host ops to runtime calls";
  let description = [{
    Rank functions and host functions get a context as first argument and
    return a status; every runtime call is checked and the first bad status is
    returned (include/ring/Runtime/Runtime.h). Expects structured control flow
    to have been lowered to `cf`, and tensors to memrefs; upstream's conversions
    to LLVM follow.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def ExportInterfacePass : Pass<"ring-export-interface", "::mlir::ModuleOp"> {
  let summary = "give C interfaces their plain names and hide the rest";
  let description = [{
    After the conversion to LLVM: `_mlir_ciface_f`, which takes pointers to
    strided memref descriptors, becomes the exported `f`; every other function
    becomes internal.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def SplitConstantsPass : Pass<"ring-split-constants", "::mlir::ModuleOp"> {
  let summary = "give each use of an LLVM constant its own";
  let description = [{
    Whether two constants are equal depends on the number of ranks, so sharing
    them makes the size of a program depend on it. LLVM shares them again.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // RING_CONVERSION_RINGTOLLVM_PASSES_TD
