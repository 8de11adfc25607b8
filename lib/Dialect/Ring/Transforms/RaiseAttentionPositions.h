//===- RaiseAttentionPositions.h - Scalars of positions ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an expression of one element is at each position of a query or a key,
// where it depends on nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONPOSITIONS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONPOSITIONS_H

#include "RaiseAttentionExpr.h"

#include "ring/Dialect/Ring/Transforms/ConstantTensors.h"

namespace mlir::ring {

/// Evaluates expressions at positions. Both indices are one variable, or empty
/// for a sequence of one position; their sizes are static.
class PositionEvaluator {
public:
  PositionEvaluator(ExprContext &context, const Index &query, const Index &key)
      : context(context), query(query), key(key) {}

  /// What an expression depends on.
  struct Dependence {
    bool onQuery = false, onKey = false;
    /// Loads of constants by both positions.
    SmallVector<Expr *, 1> tables = {};
  };
  /// Nothing where it depends on anything else.
  std::optional<Dependence> getDependence(Expr *expr);

  /// The value of `expr`, which depends on no position but through `table`,
  /// where the table's element is `element`; null where it is not known.
  Attribute evaluateFor(Expr *expr, Expr *table, Attribute element);

  /// The value of `expr`, which depends on one of the positions at most, at
  /// each position of the query, or of the key. Empty where it is not known.
  std::vector<Attribute> evaluateAll(Expr *expr, bool alongKey);

  /// A constant that is read by query and key.
  struct Table {
    ConstantElements elements;
    int64_t queryStride = 0, keyStride = 0;
  };
  std::optional<Table> getTable(Expr *load);

private:
  bool addDependence(Expr *expr, Dependence &dependence,
                     llvm::DenseSet<Expr *> &seen);
  bool addDependence(const Indices &indices, Dependence &dependence) const;
  std::optional<int64_t> getPosition(const Index &index, int64_t queryAt,
                                     int64_t keyAt) const;
  Attribute evaluate(Expr *expr, int64_t queryAt, int64_t keyAt);
  Attribute evaluateNew(Expr *expr, int64_t queryAt, int64_t keyAt);

  ExprContext &context;
  Index query, key;
  ConstantTensors tensors;
  /// Of one pair.
  llvm::DenseMap<Expr *, Attribute> values;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONPOSITIONS_H
