//===- RaiseAttentionData.h - Masks of data ---------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask of data that is -inf where a pair is hidden is a conjunction of
// conditions. Frameworks join them to one tensor of queries x keys; taken
// apart, those that do not depend on the query need none.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONDATA_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONDATA_H

#include "RaiseAttentionOperands.h"

namespace mlir::ring {

/// Scalars that are computed from tensors, positions and constants, one step
/// after the other, for each batch entry, head, query and key.
struct ScalarProgram {
  struct Step {
    enum class Kind { Read, Constant, Position, Apply };
    Kind kind;
    /// Which of `reads`, or which dimension's position.
    unsigned number = 0;
    TypedAttr constant = nullptr;
    Operation *op = nullptr;
    SmallVector<unsigned, 3> operands = {};
  };

  /// What the steps depend on of batch, heads, queries and keys; empty for the
  /// others.
  Indices target = Indices(4);
  std::vector<OperandRead> reads;
  std::vector<Step> steps;

  /// A tensor of `type`, read at `shape`, of what `result` makes of the values
  /// of all steps.
  Value build(OpBuilder &builder, Location loc, const Indices &shape, Type type,
              function_ref<Value(OpBuilder &, ValueRange)> result) const;
};

/// Appends to `program` what gives `expr`, and returns the step that does.
/// Nothing where it depends on anything else than batch, heads and positions.
std::optional<unsigned> writeProgram(ExprContext &context,
                                     const AttentionIndices &at,
                                     const OperandRead &query, Expr *expr,
                                     ScalarProgram &program);

/// Conditions of data that hold where a pair is visible.
struct DataMask {
  ScalarProgram program;
  /// Steps, and whether each is negated.
  SmallVector<std::pair<unsigned, bool>> conditions;

  /// True unless it takes a tensor of queries x keys.
  bool isSmall(const AttentionIndices &at) const {
    return at.query.empty() || program.target[2].empty();
  }
  /// What the tensor is read at: as a bias is, by each key.
  Indices getTarget(const AttentionIndices &at) const {
    Indices target = program.target;
    target[3] = at.key;
    return target;
  }
};

/// All of `hiding` as one; nothing where one is not understood.
std::optional<DataMask> matchDataMask(ExprContext &context,
                                      const AttentionIndices &at,
                                      const OperandRead &query,
                                      ArrayRef<HidingCondition> hiding);

/// The tensor of `mask`, read at `target`: booleans that hold where a pair is
/// visible or, of floats, 0 there and -inf elsewhere.
Value buildDataMask(OpBuilder &builder, Location loc, const DataMask &mask,
                    const Indices &target, Type type);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONDATA_H
