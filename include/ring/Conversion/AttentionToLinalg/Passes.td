//===- Passes.td - Attention ops to linalg -----------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_ATTENTIONTOLINALG_PASSES_TD
#define RING_CONVERSION_ATTENTIONTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttentionToLinalgPass
    : Pass<"convert-attention-to-linalg", "::mlir::ModuleOp"> {
  let summary = "spell out attention ops of other dialects, and running sums, in linalg";
  let description = [{
    The dialects are not linked: ops are matched by name, in generic form. Each
    is replaced by its definition, softmax(scale * Q K^T + mask) V, from which
    `ring-raise-attention` recognises it, with what its mask is. Where it does
    not, the definition can still be run.

    | op | is |
    |---|---|
    | `tm_tensor.attention` | `[..., Sq, d]`, `[..., Sk, d]`, `[..., Sk, dv]` and a mask `[..., Sq, Sk]` that is added; the scale is 1 / sqrt(d) unless the attribute `scale` says another. A mask of booleans hides where it is false |
    | `iree_linalg_ext.attention` | what its indexing maps say, with a scale and, where it has six operands, a mask; its region must return the score |
    | `tm_tensor.scan` | the sums of the elements up to each one, with it or, where not `inclusive`, without it and with the accumulator; a loop, or a constant where the elements follow from constants |

    Operands of attention are f32 tensors of static shape. Anything else, an
    attribute that is not known among it, is an error at the op.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // RING_CONVERSION_ATTENTIONTOLINALG_PASSES_TD
