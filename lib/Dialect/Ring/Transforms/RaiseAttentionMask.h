//===- RaiseAttentionMask.h - Masks in tensor ops ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns comparisons of positions into a `#ring.mask`.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMASK_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMASK_H

#include "RaiseAttentionRows.h"

#include <string>

namespace mlir::ring {

/// Why a computation is not attention.
struct Mismatch {
  /// The op in the way; null where it is a function argument.
  Operation *op = nullptr;
  std::string reason;
};

/// Resolved operand-wise access to scalar ops.
template <typename... OpTys>
Expr *getApplied(ExprContext &context, Expr *expr) {
  expr = context.resolve(expr);
  return expr->kind == Expr::Kind::Apply && isa<OpTys...>(expr->op) ? expr
                                                                    : nullptr;
}

/// True iff a resolved condition (its negation where `negated`) holds where
/// those of both its operands do.
bool isConjunction(const Expr *condition, bool negated);

/// The value of a constant of f16, bf16, f32 or f64, through conversions. Of a
/// constant that is rounded to a narrower type, the value before rounding: that
/// is what was meant, and it is at most half a unit in the last place away.
std::optional<double> getFloatConstant(ExprContext &context, Expr *expr);

/// The value of an integer, boolean or index constant, sign-extended but for
/// booleans, which are 0 and 1.
std::optional<int64_t> getIntegerConstant(ExprContext &context, Expr *expr);

/// Which pairs (query i, key j) may see each other: those with
/// `i - left <= j <= i + right`, as far as these are given, that are in `rows`
/// as well, where there are some.
class VisiblePairs {
public:
  /// Both indices are one variable, or empty for a sequence of one position.
  VisiblePairs(const Index &query, const Index &key) : query(query), key(key) {}

  /// Leaves only the pairs for which `condition` is true (false where
  /// `negated`). On failure says why in `mismatch`.
  LogicalResult restrict(ExprContext &context, Expr *condition, bool negated,
                         Mismatch &mismatch);

  /// As `restrict`, for conditions that only bound `j - i`, of any size of the
  /// sequences.
  LogicalResult restrictLinearly(ExprContext &context, Expr *condition,
                                 bool negated, Mismatch &mismatch);

  /// Leaves only the pairs for which a table of constants that is added to the
  /// scores is 0; `fill` is what it is for all others. Failure where it is no
  /// such table.
  LogicalResult restrictByTable(ExprContext &context, Expr *summand,
                                double &fill);

  /// What there is of each row, of static sizes.
  VisibleRows getRows() const;

  /// The mask that leaves these pairs, null for all pairs. Failure where
  /// `#ring.mask` has no words for it.
  FailureOr<MaskAttr> getMask(MLIRContext *context) const;

  /// True unless each query is known to see a key. Without keys no query does,
  /// which every spelling of a softmax gives 0 for.
  bool mayLeaveEmptyRows() const;

  /// The interval in words, e.g. "i - 4 <= j <= i - 1".
  std::string describe() const;

private:
  /// `query * i + key * j + constant`.
  struct Linear {
    int64_t query = 0, key = 0, constant = 0;
  };
  std::optional<Linear> evaluateList(Expr *expr) const;
  std::optional<Linear> evaluate(ExprContext &context, Expr *expr,
                                 Mismatch &mismatch) const;
  std::pair<int64_t, int64_t> getRange(const Linear &linear) const;
  bool hasRows() const;
  LogicalResult keep(MLIRContext *context, const VisibleRows &visible);
  LogicalResult requireNotPositive(const Linear &linear, Expr *source,
                                   Mismatch &mismatch);

  Index query, key;
  std::optional<int64_t> left, right;
  std::optional<VisibleRows> rows;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMASK_H
