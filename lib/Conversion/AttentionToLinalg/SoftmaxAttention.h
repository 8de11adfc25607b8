//===- SoftmaxAttention.h - The definition of attention ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_ATTENTIONTOLINALG_SOFTMAXATTENTION_H
#define RING_LIB_CONVERSION_ATTENTIONTOLINALG_SOFTMAXATTENTION_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"

namespace mlir::ring {

/// softmax(scale * Q K^T + mask) V over loops that the maps of the operands
/// share, each a projected permutation.
struct SoftmaxAttention {
  /// f32 tensors of static shape.
  Value query, key, value;
  /// f32.
  Value scale;
  /// Added to the scores, or, of i1, hides with -inf where it is false; may be
  /// null.
  Value mask;
  AffineMap queryMap, keyMap, valueMap, maskMap, outputMap;

  /// Null, with the reason in `error`, where the maps are not those of an
  /// attention.
  Value build(OpBuilder &b, Location loc, std::string &error) const;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_ATTENTIONTOLINALG_SOFTMAXATTENTION_H
