//===- RaiseAttentionTerms.h - Parts of an expression -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sums, constants and exponentials an expression is made of.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONTERMS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONTERMS_H

#include "RaiseAttentionMask.h"

namespace mlir::ring {

/// True iff attention is computed in `type`, or rounded to it.
bool isAttentionFloat(Type type);

/// True iff the scalar op `op` converts between f16, bf16 and f32.
bool isRounding(Operation *op);

/// `expr` without conversions between f16, bf16 and f32. Ring keeps f32
/// throughout, so that roundings on the way are left out. Appends the types
/// that are rounded to, the last first, to `types`.
Expr *skipRoundings(ExprContext &context, Expr *expr,
                    SmallVectorImpl<Type> *types = nullptr);

/// `expr` without conversions to f32, which change no number.
Expr *skipExtensions(ExprContext &context, Expr *expr);

/// As `getApplied`, but for roundings.
template <typename... OpTys> Expr *getTerm(ExprContext &context, Expr *expr) {
  return getApplied<OpTys...>(context, skipRoundings(context, expr));
}

/// A reduction by one of the combiners, but for roundings.
template <typename... CombinerTys>
Expr *getReduction(ExprContext &context, Expr *expr) {
  expr = context.resolve(skipRoundings(context, expr));
  return expr->isReduction() && isa<CombinerTys...>(expr->op) ? expr : nullptr;
}

/// A sum of products. What it starts at is another question.
Expr *getContraction(ExprContext &context, Expr *expr);

/// The product that a contraction sums.
Expr *getProduct(ExprContext &context, Expr *contraction);

/// True iff a product of matrices is a part of `expr`.
bool hasContraction(ExprContext &context, Expr *expr);

/// True iff exponentials and a reduction are parts of `expr`, not looking into
/// products of matrices.
bool hasSoftmax(ExprContext &context, Expr *expr);

bool isFloatConstant(ExprContext &context, Expr *expr, double value);

/// A constant, the square root of one, or its inverse; also of an integer.
std::optional<double> getFactor(ExprContext &context, Expr *expr);

struct ScaledExpr {
  double factor;
  Expr *rest;
};

/// The constant factor of a product or quotient, and what it scales.
std::optional<ScaledExpr> getScaled(ExprContext &context, Expr *expr);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONTERMS_H
