//===- Contraction.h - What a contraction is --------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTION_H
#define RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::ring {

/// out[batch, row, column] += lhs[batch, row, sum] * rhs[batch, sum, column],
/// in f32, where each of the four stands for any number of loops of `op`.
struct Contraction {
  linalg::LinalgOp op;
  OpOperand *lhs, *rhs, *out;
  /// Loops of the op, the outer ones first: in the order of the result, sums in
  /// the order in which the op adds up. Left out are those of one turn.
  SmallVector<unsigned> batch, rows, columns, sums;

  /// The dimension of `operand` that loop `loop` walks along, if any.
  std::optional<unsigned> dimOf(OpOperand *operand, unsigned loop) const;

  /// Nothing unless `op` is one on strided memrefs, and nothing else. Rows and
  /// columns are exchanged where that puts the last dimension of the result
  /// along the columns.
  static std::optional<Contraction> match(linalg::LinalgOp op);
};

/// True iff an op of two inputs adds their product, in f32, to what its result
/// is, and does nothing else.
bool addsProduct(linalg::LinalgOp op);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTION_H
