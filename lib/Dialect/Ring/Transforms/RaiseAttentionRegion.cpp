//===- RaiseAttentionRegion.cpp - Masks of ring.attention -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frontends whose ops take functions of scores, or masks that are tensors, give
// them to `ring.attention` as they are. A pair whose score is -inf is hidden,
// rows that are hidden all along included, so a mask is the same and saves
// work.
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionRegion.h"

#include "RaiseAttentionMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

namespace {

/// The mask of one attention, as it is being found.
class MaskRaiser {
public:
  explicit MaskRaiser(AttentionOp op)
      : op(op), context(op->getBlock()),
        visible(variable(Query), variable(Key)) {}

  bool run();

private:
  /// The order of the region's arguments.
  enum Argument { Score, Batch, Head, Query, Key };

  Index variable(Argument argument);
  Expr *scalar(Value value);
  bool restrict(Expr *condition, bool negated);
  bool restrictParts(Expr *condition, bool negated);
  bool raiseFromRegion();
  bool raiseFromBias();

  AttentionOp op;
  ExprContext context;
  VisiblePairs visible;
  DenseMap<Value, Expr *> scalars;
};

} // namespace

Index MaskRaiser::variable(Argument argument) {
  auto query = cast<RankedTensorType>(op.getQuery().getType()),
       key = cast<RankedTensorType>(op.getKey().getType());
  int64_t size =
      argument == Key ? key.getDimSize(2) : query.getDimSize(argument - Batch);
  return context.variable(op, argument, size);
}

/// What a value of the region is.
Expr *MaskRaiser::scalar(Value value) {
  if (Expr *known = scalars.lookup(value))
    return known;
  Operation *def = value.getDefiningOp();
  Expr expr = {Expr::Kind::Unknown, def ? def : op.getOperation(), value};
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner()->getParentOp() == op) {
    if (argument.getArgNumber() != Score) {
      expr.kind = Expr::Kind::Position;
      expr.indices = {variable(static_cast<Argument>(argument.getArgNumber()))};
    }
  } else if (matchPattern(value, m_Constant(&expr.constant))) {
    expr.kind = Expr::Kind::Constant;
  } else if (def && def->getParentOp() == op &&
             OpTrait::hasElementwiseMappableTraits(def) &&
             def->getNumResults() == 1 && isMemoryEffectFree(def)) {
    expr.kind = Expr::Kind::Apply;
    for (Value operand : def->getOperands())
      expr.operands.push_back(scalar(operand));
  }
  return scalars[value] = context.create(std::move(expr));
}

bool MaskRaiser::restrict(Expr *condition, bool negated) {
  Mismatch ignored;
  VisiblePairs restricted = visible;
  if (failed(restricted.restrict(context, condition, negated, ignored)) ||
      failed(restricted.getMask(op->getContext())))
    return false;
  visible = restricted;
  return true;
}

/// Restricts the pairs by those of several conditions that follow from
/// positions. True iff all do.
bool MaskRaiser::restrictParts(Expr *condition, bool negated) {
  if (restrict(condition, negated))
    return true;
  if (isConjunction(condition, negated))
    for (Expr *part : condition->operands)
      restrictParts(part, negated);
  return false;
}

static bool isHidden(Value score) {
  FloatAttr constant;
  return matchPattern(score, m_Constant(&constant)) &&
         constant.getValue().isInfinity() && constant.getValue().isNegative();
}

bool MaskRaiser::raiseFromRegion() {
  Block &block = op.getScore().front();
  auto yield = cast<YieldOp>(block.getTerminator());
  Value score = yield.getScore();
  while (auto select = score.getDefiningOp<arith::SelectOp>()) {
    bool negated = isHidden(select.getTrueValue());
    if (!negated && !isHidden(select.getFalseValue()))
      break;
    if (!restrictParts(scalar(select.getCondition()), negated))
      break;
    score = negated ? select.getFalseValue() : select.getTrueValue();
  }
  FailureOr<MaskAttr> mask = visible.getMask(op->getContext());
  if (failed(mask) || (!*mask && score == yield.getScore()))
    return false;
  op.setMaskAttr(*mask);
  yield.setOperand(score);
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      inner.erase();
  if (score == block.getArgument(Score)) {
    op.getScore().dropAllReferences();
    op.getScore().getBlocks().clear();
  }
  return *mask != nullptr;
}

bool MaskRaiser::raiseFromBias() {
  Indices indices;
  auto type = cast<RankedTensorType>(op.getBias().getType());
  for (Argument argument : {Batch, Head, Query, Key})
    indices.push_back(
        type.getDimSize(argument - Batch) == 1 ? Index() : variable(argument));
  Expr *bias = context.load(op.getBias(), indices);
  double fill = -INFINITY;
  bool isMask = false;
  if (Expr *select = getApplied<arith::SelectOp>(context, bias)) {
    for (bool negated : {false, true})
      if (getFloatConstant(context, select->operands[negated ? 2 : 1]) == 0.0 &&
          getFloatConstant(context, select->operands[negated ? 1 : 2]) ==
              -INFINITY)
        isMask |= restrictParts(context.resolve(select->operands[0]), negated);
  } else {
    VisiblePairs restricted = visible;
    isMask = succeeded(restricted.restrictByTable(context, bias, fill)) &&
             fill == -INFINITY;
    if (isMask)
      visible = restricted;
  }
  FailureOr<MaskAttr> mask = visible.getMask(op->getContext());
  if (failed(mask) || (!*mask && !isMask))
    return false;
  op.setMaskAttr(*mask);
  if (isMask)
    op.getBiasMutable().clear();
  return *mask != nullptr;
}

bool MaskRaiser::run() {
  // Offsets move the queries.
  if (op.getMaskAttr() || op.getOffsets())
    return false;
  if (!op.getScore().empty())
    return raiseFromRegion();
  return op.getBias() && raiseFromBias();
}

bool mlir::ring::raiseMask(AttentionOp op) { return MaskRaiser(op).run(); }
