//===- RaiseAttentionTerms.cpp - Parts of an expression -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::ring;

Expr *mlir::ring::getContraction(ExprContext &context, Expr *expr) {
  Expr *sum = getReduction<arith::AddFOp>(context, expr);
  return sum && getApplied<arith::MulFOp>(context, sum->operands[1]) ? sum
                                                                     : nullptr;
}

/// True iff `predicate` holds for a part of `expr`, not looking into products
/// of matrices.
static bool hasPart(ExprContext &context, Expr *expr,
                    function_ref<bool(Expr *)> predicate) {
  SmallVector<Expr *> worklist = {expr};
  llvm::DenseSet<Expr *> seen;
  while (!worklist.empty()) {
    Expr *part = context.resolve(worklist.pop_back_val());
    if (!seen.insert(part).second)
      continue;
    if (predicate(part))
      return true;
    if (!getContraction(context, part))
      llvm::append_range(worklist, part->operands);
  }
  return false;
}

bool mlir::ring::hasSoftmax(ExprContext &context, Expr *expr) {
  auto isExp = [](Expr *part) {
    return part->kind == Expr::Kind::Apply && isa<math::ExpOp>(part->op);
  };
  auto isPlainReduction = [&](Expr *part) {
    return part->isReduction() && !getContraction(context, part);
  };
  return hasPart(context, expr, isExp) &&
         hasPart(context, expr, isPlainReduction);
}

bool mlir::ring::hasContraction(ExprContext &context, Expr *expr) {
  return hasPart(context, expr, [&](Expr *part) {
    return getContraction(context, part) != nullptr;
  });
}

bool mlir::ring::isFloatConstant(ExprContext &context, Expr *expr,
                                 double value) {
  std::optional<double> constant = getFloatConstant(context, expr);
  return constant && *constant == value;
}
