//===- RaiseAttentionRows.h - Visible keys of each query --------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask as what it leaves of each row: one interval of keys, as every
// `#ring.mask` does. That takes memory linear in the sequence, also where the
// mask is a constant of queries x keys.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONROWS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONROWS_H

#include "RaiseAttentionPositions.h"

#include "ring/Analysis/Mask.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::ring {

/// The keys that each query sees.
class VisibleRows {
public:
  /// Every query sees what `visible` says.
  VisibleRows(int64_t queries, int64_t keys,
              llvm::function_ref<::ring::Interval(int64_t)> visible);

  int64_t getNumQueries() const { return rows.size(); }
  const ::ring::Interval &operator[](int64_t query) const {
    return rows[query];
  }
  bool hasEmptyRow() const;

  void intersect(const VisibleRows &other);
  /// False where a row would be two intervals.
  bool unite(const VisibleRows &other);
  /// False where a row would be two intervals.
  bool complement();

  /// A mask that leaves exactly these rows, null for one that hides nothing;
  /// failure where there is none.
  FailureOr<MaskAttr> getMask(MLIRContext *context) const;

private:
  bool leavesThese(MaskAttr mask) const;
  FailureOr<MaskAttr> getMask(MLIRContext *context,
                              std::optional<Alignment> align) const;

  /// An empty one is {0, 0}.
  std::vector<::ring::Interval> rows;
  int64_t keys;
};

/// Finds rows of conditions on positions.
class RowFinder {
public:
  /// As for `PositionEvaluator`.
  RowFinder(ExprContext &context, const Index &query, const Index &key)
      : context(context), query(query), key(key),
        positions(context, query, key) {}

  /// The pairs for which a condition is true (false where `negated`). Nothing
  /// where they do not follow from positions, or a row is no interval.
  std::optional<VisibleRows> find(Expr *condition, bool negated);

  /// The pairs at which a table that is added to scores has 0 where it has one
  /// other value, `fill`, for all other pairs. Nothing where it is no such
  /// table.
  std::optional<VisibleRows> findAdded(Expr *summand, double &fill);

private:
  std::optional<VisibleRows> findBoth(Expr *a, Expr *b, bool negated);
  std::optional<VisibleRows> findEither(Expr *a, Expr *b, bool negated);
  std::optional<VisibleRows> findChosen(Expr *select, bool negated);
  std::optional<VisibleRows> findCompared(Expr *compare, bool negated);
  std::optional<VisibleRows> findListed(Expr *condition, bool negated,
                                        bool alongKey);
  std::optional<VisibleRows>
  findInTable(Expr *table,
              llvm::function_ref<std::optional<bool>(Attribute)> isVisible);

  ExprContext &context;
  Index query, key;
  PositionEvaluator positions;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONROWS_H
