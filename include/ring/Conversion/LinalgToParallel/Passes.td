//===- Passes.td - Linalg to items on the pool -------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_LINALGTOPARALLEL_PASSES_TD
#define RING_CONVERSION_LINALGTOPARALLEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToParallelPass
    : Pass<"convert-linalg-to-parallel", "::mlir::ModuleOp"> {
  let summary = "run linalg ops on memrefs in parts, on the pool";
  let description = [{
    A linalg op whose results all have the dimension of its first parallel loop
    is cut along it: a function of one work item holds the op on a part of each
    operand, and a `ring.parallel_call` takes the op's place, or a call where there
    is one item. An item is about 32768 turns of the innermost loop. Equal ops
    share a function.

    ```mlir
    linalg.exp ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>)
    // becomes
    ring.parallel_call @f_0_elementwise(%items, %none) (%a, %b, %rows) : memref<?x64xf32>, memref<?x64xf32>, index
    ```

    Left alone are ops of fewer turns, ops with a body that writes memory, and
    those of functions that others call, which cannot call the runtime.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::ring::RingDialect", "::mlir::scf::SCFDialect"];
}

#endif // RING_CONVERSION_LINALGTOPARALLEL_PASSES_TD
