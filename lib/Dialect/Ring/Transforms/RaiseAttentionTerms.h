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

template <typename... CombinerTys>
Expr *getReduction(ExprContext &context, Expr *expr) {
  expr = context.resolve(expr);
  return expr->isReduction() && isa<CombinerTys...>(expr->op) ? expr : nullptr;
}

/// A sum of products. What it starts at is another question.
Expr *getContraction(ExprContext &context, Expr *expr);

/// True iff a product of matrices is a part of `expr`.
bool hasContraction(ExprContext &context, Expr *expr);

/// True iff exponentials and a reduction are parts of `expr`, not looking into
/// products of matrices.
bool hasSoftmax(ExprContext &context, Expr *expr);

bool isFloatConstant(ExprContext &context, Expr *expr, double value);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONTERMS_H
