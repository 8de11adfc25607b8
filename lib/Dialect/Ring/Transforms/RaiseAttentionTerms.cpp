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

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

bool mlir::ring::isAttentionFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

bool mlir::ring::isRounding(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op) &&
         isAttentionFloat(op->getOperand(0).getType()) &&
         isAttentionFloat(op->getResult(0).getType());
}

Expr *mlir::ring::skipRoundings(ExprContext &context, Expr *expr,
                                SmallVectorImpl<Type> *types) {
  while (true) {
    Expr *resolved = context.resolve(expr);
    if (resolved->kind != Expr::Kind::Apply || !isRounding(resolved->op))
      return expr;
    if (types && isa<arith::TruncFOp>(resolved->op))
      types->push_back(resolved->value.getType());
    expr = resolved->operands[0];
  }
}

Expr *mlir::ring::skipExtensions(ExprContext &context, Expr *expr) {
  while (Expr *extension = getApplied<arith::ExtFOp>(context, expr)) {
    if (!isRounding(extension->op))
      break;
    expr = extension->operands[0];
  }
  return expr;
}

Expr *mlir::ring::getContraction(ExprContext &context, Expr *expr) {
  Expr *sum = getReduction<arith::AddFOp>(context, expr);
  return sum && getProduct(context, sum) ? sum : nullptr;
}

Expr *mlir::ring::getProduct(ExprContext &context, Expr *contraction) {
  return getTerm<arith::MulFOp>(context, contraction->operands[1]);
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
    return part->kind == Expr::Kind::Apply &&
           isa<math::ExpOp, math::Exp2Op>(part->op);
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

/// A float constant, also one that is converted from an integer.
static std::optional<double> getNumber(ExprContext &context, Expr *expr) {
  if (Expr *conversion = getTerm<arith::SIToFPOp>(context, expr)) {
    std::optional<int64_t> integer =
        getIntegerConstant(context, conversion->operands[0]);
    return integer ? std::optional<double>(*integer) : std::nullopt;
  }
  return getFloatConstant(context, expr);
}

bool mlir::ring::isFloatConstant(ExprContext &context, Expr *expr,
                                 double value) {
  std::optional<double> constant = getNumber(context, expr);
  return constant && *constant == value;
}

std::optional<double> mlir::ring::getFactor(ExprContext &context, Expr *expr) {
  Expr *root = getTerm<math::SqrtOp, math::RsqrtOp>(context, expr);
  if (!root)
    return getNumber(context, expr);
  std::optional<double> square = getNumber(context, root->operands[0]);
  if (!square)
    return std::nullopt;
  return isa<math::SqrtOp>(root->op) ? std::sqrt(*square)
                                     : 1 / std::sqrt(*square);
}

std::optional<ScaledExpr> mlir::ring::getScaled(ExprContext &context,
                                                Expr *expr) {
  expr = context.resolve(skipRoundings(context, expr));
  if (expr->kind != Expr::Kind::Apply ||
      !isa<arith::MulFOp, arith::DivFOp>(expr->op))
    return std::nullopt;
  bool divides = isa<arith::DivFOp>(expr->op);
  if (auto factor = getFactor(context, expr->operands[1]))
    return ScaledExpr{divides ? 1 / *factor : *factor, expr->operands[0]};
  if (auto factor = getFactor(context, expr->operands[0]); factor && !divides)
    return ScaledExpr{*factor, expr->operands[1]};
  return std::nullopt;
}
