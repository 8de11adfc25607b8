//===- RaiseAttentionOperands.h - Query, key and value ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tensors are query, key and value of attention, and how to rearrange
// those that have their dimensions in another order.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONOPERANDS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONOPERANDS_H

#include "RaiseAttentionMask.h"

namespace mlir::ring {

/// The dimensions of attention as variables. Each is one variable, or empty
/// where its size is 1, but for `heads`: batch and heads in any number of
/// variables.
struct AttentionIndices {
  Index heads, query, key, channel, valueChannel;
};

/// Where an operand is read, and where `ring.attention` reads it: [batch,
/// heads, positions, channels]. If the two differ, it has to be rearranged.
struct OperandRead {
  Value tensor;
  Indices indices, target;
};

struct AttentionOperands {
  OperandRead query, key, value;
  /// The output, [batch, heads, Sq, dv].
  Indices output;
};

/// Finds the tensors that the factors `query` and `key` of the scores and
/// `value` of the output are elements of, as far up as they are only moved.
/// Constant factors of query and key are multiplied into `scale`. On failure
/// says why in `mismatch`.
FailureOr<AttentionOperands> matchOperands(ExprContext &context,
                                           const AttentionIndices &at,
                                           Expr *query, Expr *key, Expr *value,
                                           double &scale, Mismatch &mismatch);

/// A condition that hides pairs by -inf, where it is false (true where
/// `negated`).
struct HidingCondition {
  Expr *condition;
  bool negated;
};

/// What changes scores and stays a tensor, as it was found.
struct ScoreData {
  /// What is added, or a condition: of several that are joined, the first.
  Expr *root;
  /// Which value of the condition hides a pair, and by which score.
  bool hidden = false;
  double fill = 0;
  bool isJoined = false;
  /// True iff clauses say all of it.
  bool isTaken = false;
  /// What hides, where all that it does is to hide by -inf what positions do
  /// not.
  SmallVector<HidingCondition> parts = {};
};

/// The tensor of `root`, read as [1 or batch, 1 or heads, 1 or Sq, Sk]. Nothing
/// where it is not, or where its elements are of none of the types.
std::optional<OperandRead> matchScoreData(ExprContext &context,
                                          const AttentionIndices &at,
                                          const OperandRead &query, Expr *root,
                                          function_ref<bool(Type)> isOfType);

/// The tensor of `root`, read as [heads]. Nothing where it is not.
std::optional<OperandRead> matchSinks(ExprContext &context,
                                      const OperandRead &query, Expr *root);

/// The tensor of a load, read as [1 or batch, 1 or heads, 1 or Sq, 1 or Sk].
/// Nothing where it is not.
std::optional<OperandRead> readScoreData(const AttentionIndices &at,
                                         const OperandRead &query, Expr *load);

/// True iff the type of `tensor` has the sizes, static or not, of what it is
/// read at.
bool hasSizes(Value tensor, const Indices &indices);

/// True iff `rearrange` can do it.
bool canRearrange(Indices source, Indices target);

/// Makes the element at `source` of `tensor` the one at `target` of a tensor of
/// `type`.
Value rearrange(OpBuilder &builder, Location loc, Value tensor, Indices source,
                Indices target, RankedTensorType type);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONOPERANDS_H
