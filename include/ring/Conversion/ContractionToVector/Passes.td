//===- Passes.td - Contractions to vector code -------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_CONTRACTIONTOVECTOR_PASSES_TD
#define RING_CONVERSION_CONTRACTIONTOVECTOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertContractionToVectorPass
    : Pass<"convert-contraction-to-vector", "::mlir::ModuleOp"> {
  let summary = "lower matrix products on memrefs to register-blocked vector code";
  let description = [{
    A linalg op on memrefs that adds products of two f32, bf16 or f16 operands to
    an f32 result, whatever its name, its indexing maps and its strides, becomes
    a `ring.parallel_call` of a kernel: a function of one work item, a tile of
    the result. Ops that differ in shapes and strides only share a kernel.

    ```mlir
    linalg.matmul ins(%a, %b : memref<?x64xf32>, memref<64x32xf32>) outs(%c : memref<?x32xf32>)
    // becomes, with strides and sizes at run time,
    ring.parallel_call @f_f32_matmul(%items, %none) (%a2, %b2, %c2, %rows, %columns)
        : memref<?x?xf32, strided<[?, ?], offset: ?>>, ...
    ```

    A kernel unpacks its operands to f32, a block of the summed dimension at a
    time, and adds outer products of a scalar of the left and a vector of the
    right operand in registers. Each element of the result is the sum that the
    op's loops give, term by term in their order, but for the rounding between
    product and sum: it depends neither on the number of threads nor on how the
    other dimensions are cut. A `linalg.fill` with 0 of the result, right before,
    becomes part of the kernel.

    Left alone are ops on other types, those that add up in 16 bits, products of
    fewer than 4096 multiplications, ops of functions that others call, and sums
    with no dimension of their own in either operand.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register: 128, 256 or 512">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::ring::RingDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def FoldContractionOperandsPass
    : Pass<"fold-contraction-operands", "::mlir::ModuleOp"> {
  let summary = "let matrix products read through transposes, broadcasts and casts";
  let description = [{
    For the ops that `convert-contraction-to-vector` takes, on tensors: an operand
    that is a transpose, a broadcast or an extension to f32 of another tensor is
    read from that one, by another indexing map, so that no copy of a weight has
    to be made. A result that starts from zeros gets a `linalg.fill` of its own,
    which can become part of the kernel.

    ```mlir
    %t = linalg.transpose ins(%w : tensor<96x64xf32>) outs(%e : tensor<64x96xf32>) permutation = [1, 0]
    %0 = linalg.matmul ins(%x, %t : tensor<?x64xf32>, tensor<64x96xf32>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
    // becomes
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], ...}
        ins(%x, %w : tensor<?x64xf32>, tensor<96x64xf32>) outs(%c : tensor<?x96xf32>) { ... } -> tensor<?x96xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
}

#endif // RING_CONVERSION_CONTRACTIONTOVECTOR_PASSES_TD
