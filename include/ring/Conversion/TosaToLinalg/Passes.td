//===- Passes.td - TOSA to linalg --------------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_TOSATOLINALG_PASSES_TD
#define RING_CONVERSION_TOSATOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTosaPass : Pass<"convert-tosa", "::mlir::ModuleOp"> {
  let summary = "lower TOSA to linalg, arith and tensor with upstream's passes";
  let description = [{
    Runs upstream's `tosa-make-broadcastable`, `tosa-to-linalg-named`,
    `tosa-to-linalg`, `tosa-to-arith` and `tosa-to-tensor` on functions that have
    a TOSA op, and leaves others as they are: some of those passes fold and
    reorder whatever they meet.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::index::IndexDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::tosa::TosaDialect"];
}

#endif // RING_CONVERSION_TOSATOLINALG_PASSES_TD
