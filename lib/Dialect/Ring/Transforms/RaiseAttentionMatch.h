//===- RaiseAttentionMatch.h - Attention in tensor ops ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves that a product of matrices is the last step of
// softmax(scale * Q K^T + mask) V.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCH_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCH_H

#include "RaiseAttentionClauses.h"

namespace mlir::ring {

struct AttentionMatch {
  AttentionOperands operands;
  /// How the contraction's result reads the output.
  Indices result;
  float scale = 1;
  std::optional<float> softcap;
  MaskAttr mask;
  /// Added to the scores.
  std::optional<OperandRead> bias;
  /// i1: scores become `fill` where it is `hidden`.
  std::optional<OperandRead> condition;
  /// Instead of either, what has to be computed, and what it is read at.
  std::optional<DataMask> biasMask, conditionMask;
  Indices biasTarget, conditionTarget;
  bool hidden = false;
  float fill = 0;
  std::optional<LengthsMatch> lengths;
  std::optional<SegmentsMatch> segments;
  /// A number for each head, read as [heads], or one constant for all.
  std::optional<OperandRead> sinks;
  std::optional<float> sink;
  /// What is the log of the sum of the exponentials, read as [batch, heads,
  /// queries].
  SmallVector<OperandRead, 1> logSums;
  EmptyRows emptyRows = EmptyRows::Zero;
  /// Why a mask stays a tensor; without a reason where none does.
  Mismatch asTensor;
};

/// The last op of the block of `op` that makes an operand of the attention;
/// null where all come from elsewhere.
Operation *getLastOperand(linalg::LinalgOp op, const AttentionMatch &match);

/// True iff `op` is a product of matrices with a softmax in a factor, so that
/// it is worth a word when it is no attention.
bool weighsBySoftmax(linalg::LinalgOp op);

/// Matches attention whose product with the values is `op`, for which
/// `weighsBySoftmax` holds. On failure says why in `mismatch`.
FailureOr<AttentionMatch> matchAttention(linalg::LinalgOp op,
                                         Mismatch &mismatch);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCH_H
