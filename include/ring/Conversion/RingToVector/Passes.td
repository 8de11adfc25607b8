//===- Passes.td - Ring to vector code ---------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_RINGTOVECTOR_PASSES_TD
#define RING_CONVERSION_RINGTOVECTOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertRingToVectorPass : Pass<"convert-ring-to-vector", "::mlir::ModuleOp"> {
  let summary = "lower attention on memrefs to register-blocked vector code";
  let description = [{
    `ring.online_attention`, `ring.merge` and `ring.finalize` on memrefs become
    kernels, functions of one work item (batch entry, head, tile of queries)
    made of `vector`, `memref` and `scf` ops, and `ring.parallel_call`s of them.

    Queries lie along the vector lanes: Q is transposed once an item, and both
    products are outer products of a scalar of K or V with a vector of queries,
    so maxima and sums of the softmax never cross lanes. exp is a polynomial in
    the IR. Full key ranges run without mask code; in partial ones a key is
    compared with the interval of keys that each query sees.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register: 128, 256 or 512">,
    Option<"keyTile", "key-tile", "int64_t", "96",
           "Keys that a tile of queries meets at once">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // RING_CONVERSION_RINGTOVECTOR_PASSES_TD
