//===- Contraction.cpp - What a contraction is ----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ring;

std::optional<unsigned> Contraction::dimOf(OpOperand *operand,
                                           unsigned loop) const {
  AffineMap map = linalg::LinalgOp(op).getMatchingIndexingMap(operand);
  return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
}

/// The argument that `value` is, or is the extension of.
static BlockArgument widened(Value value, int64_t &ops) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>()) {
    ++ops;
    value = extension.getIn();
  }
  return dyn_cast<BlockArgument>(value);
}

bool mlir::ring::addsProduct(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  Block &body = *op.getBlock();
  int64_t ops = 3; // product, sum and yield
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || !sum.getType().isF32())
    return false;
  BlockArgument out = body.getArgument(2);
  if (sum.getLhs() != out && sum.getRhs() != out)
    return false;
  Value term = sum.getLhs() == out ? sum.getRhs() : sum.getLhs();
  auto product = term.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  BlockArgument a = widened(product.getLhs(), ops),
                b = widened(product.getRhs(), ops);
  if (!a || !b || a.getOwner() != &body || b.getOwner() != &body)
    return false;
  return a.getArgNumber() + b.getArgNumber() == 1 &&
         static_cast<int64_t>(body.getOperations().size()) == ops;
}

static bool isUsable(OpOperand *operand) {
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  return type && type.isStrided() && !type.getMemorySpace() &&
         (type.getElementType().isF32() || type.getElementType().isBF16() ||
          type.getElementType().isF16());
}

std::optional<Contraction> Contraction::match(linalg::LinalgOp op) {
  if (op->getNumResults() != 0 || !addsProduct(op))
    return std::nullopt;
  Contraction result{op,
                     op.getDpsInputOperand(0),
                     op.getDpsInputOperand(1),
                     op.getDpsInitOperand(0),
                     {},
                     {},
                     {},
                     {}};
  for (OpOperand &operand : op->getOpOperands())
    if (!isUsable(&operand) ||
        !op.getMatchingIndexingMap(&operand).isProjectedPermutation(
            /*allowZeroInResults=*/true))
      return std::nullopt;

  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    bool inLhs = result.dimOf(result.lhs, loop).has_value(),
         inRhs = result.dimOf(result.rhs, loop).has_value(),
         inOut = result.dimOf(result.out, loop).has_value();
    // Else it is a sum, or a copy, in one operand alone.
    if (inLhs + inRhs + inOut < 2 ||
        inOut != (iterators[loop] == utils::IteratorType::parallel))
      return std::nullopt;
    if (sizes[loop] == 1)
      continue;
    (!inOut           ? result.sums
     : inLhs && inRhs ? result.batch
     : inLhs          ? result.rows
                      : result.columns)
        .push_back(loop);
  }
  auto place = [&](unsigned loop) { return *result.dimOf(result.out, loop); };
  for (auto *loops : {&result.batch, &result.rows, &result.columns})
    llvm::sort(*loops,
               [&](unsigned a, unsigned b) { return place(a) < place(b); });
  // Vectors lie along the columns.
  if (result.columns.empty() ||
      (!result.rows.empty() &&
       place(result.rows.back()) > place(result.columns.back()))) {
    std::swap(result.lhs, result.rhs);
    std::swap(result.rows, result.columns);
  }
  if (result.columns.empty())
    return std::nullopt;
  return result;
}
