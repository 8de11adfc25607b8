//===- FlexAttention.h - Attention with functions of scores -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_TORCHTORING_FLEXATTENTION_H
#define RING_LIB_CONVERSION_TORCHTORING_FLEXATTENTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::ring {

/// Of a `torch.hop_flex_attention`, the functions that change scores and hide
/// pairs, as long as they are in the torch dialect; null where there is none.
/// An error at the op where what it names is no function with a body.
struct FlexFunctions {
  func::FuncOp score, mask;
};
FailureOr<FlexFunctions> getFlexFunctions(Operation *op);

/// What a `torch.hop_flex_attention` becomes, for its first result, with the
/// functions in a `score` region. An error at an op that is not understood.
FailureOr<Value> convertFlexAttention(OpBuilder &b, Operation *op);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_TORCHTORING_FLEXATTENTION_H
