//===- RaiseAttentionScores.cpp - What the scores are made of -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>
#include <utility>

using namespace mlir;
using namespace mlir::ring;

/// True iff a score of this has weight 0 beside any that a model computes:
/// exp(fill - max) is 0 in f32 unless max is below fill + 104, and a finite
/// fill of this magnitude takes up what it is added to.
static bool hidesPairs(double fill) { return fill <= -1e38; }

/// -inf where `fill` overflows in `type`: finfo(f32).min does in f16 and bf16.
static double overflow(double fill, Type type) {
  APFloat rounded(fill);
  bool losesInfo = false;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.isInfinity() ? std::copysign(INFINITY, fill) : fill;
}

static double overflow(double fill, ArrayRef<Type> roundings) {
  for (Type type : llvm::reverse(roundings))
    fill = overflow(fill, type);
  return fill;
}

/// Base 2 and log2(e) undo each other but for their rounding to f32.
void AttentionMatcher::setScale(double newScale) {
  bool isOne = std::abs(newScale - 1) <= std::numeric_limits<float>::epsilon();
  scale = isOne ? 1 : newScale;
}

void AttentionMatcher::multiply(double factor) {
  steps.push_back({factor});
  setScale(scale * factor);
}

/// What a score of `fill` is when the maximum is subtracted.
double AttentionMatcher::atSoftmax(double fill) const {
  for (const Step &step : llvm::reverse(steps))
    fill = step.roundedTo ? overflow(fill, step.roundedTo)
                          : static_cast<float>(fill * step.factor);
  return fill;
}

/// `restricted` becomes what is visible, as `mask` has it.
void AttentionMatcher::replacePairs(const VisiblePairs &restricted, double fill,
                                    Expr *mask) {
  visible = restricted;
  maskOp = context.resolve(mask)->op;
  ++masks;
  hidesByFiniteScore |= std::isfinite(fill);
}

LogicalResult AttentionMatcher::checkHides(double fill, Expr *mask) {
  if (softcap)
    return fail(mask, "scores are masked before they are capped");
  if (foundZeroWeights)
    return fail(mask, "a query that sees nothing gives 0 under one mask, and "
                      "NaN under another");
  if (scale <= 0)
    return fail(mask,
                "the mask is multiplied by a factor that is not positive");
  // From the difference to the maximum on, it cannot overflow any more.
  if (!hidesPairs(fill) || !hidesPairs(fill * exponentScale))
    return fail(mask, "the mask does not replace scores by -inf, or by a "
                      "finite score that is as low");
  return success();
}

/// Pairs for which `condition` is false (true where `negated`) get the score
/// `fill` at the softmax, as follows from positions.
LogicalResult AttentionMatcher::hide(Expr *condition, bool negated, double fill,
                                     Expr *mask) {
  VisiblePairs restricted = *visible;
  if (failed(checkHides(fill, mask)) ||
      failed(restricted.restrict(context, condition, negated, mismatch)))
    return failure();
  replacePairs(restricted, fill, mask);
  return success();
}

/// As `hide`, where what is added is a constant for each pair: 0 or a low
/// number, which is rounded to `roundings`, the last first.
LogicalResult AttentionMatcher::hideByTable(Expr *mask,
                                            ArrayRef<Type> roundings) {
  VisiblePairs restricted = *visible;
  double fill = 0;
  if (failed(restricted.restrictByTable(context, mask, fill)) ||
      !hidesPairs(fill))
    return failure();
  fill = atSoftmax(overflow(fill, roundings));
  if (failed(checkHides(fill, mask)))
    return failure();
  replacePairs(restricted, fill, mask);
  return success();
}

/// As `hide`, but pairs may also be hidden by a tensor.
LogicalResult AttentionMatcher::hideByData(Expr *condition, bool negated,
                                           double fill, Expr *mask) {
  if (succeeded(hide(condition, negated, fill, mask)))
    return success();
  if (softcap || foundZeroWeights)
    return failure();
  Mismatch asPositions = mismatch;
  // Of several conditions that hide by -inf, each hides by itself. Beside a
  // finite score, which rows are empty would depend on all of them.
  Expr *parts = context.resolve(condition);
  bool hides = fill == -INFINITY;
  if (hides && isConjunction(parts, negated))
    return success(
        succeeded(hideByData(parts->operands[0], negated, fill, mask)) &&
        succeeded(hideByData(parts->operands[1], negated, fill, mask)));
  // Conditions that hide by -inf are joined to one.
  bool joins = this->condition && hides && !this->condition->parts.empty();
  if (!condition->isLoad() && !hides) {
    mismatch = asPositions;
    return failure();
  }
  // What ring.attention replaces is the biased score.
  if ((this->condition && !joins) || bias)
    return fail(mask, "scores are replaced twice, or changed after that");
  double scaled = static_cast<float>(fill * exponentScale);
  if (std::isfinite(fill) && std::isinf(scaled))
    return fail(mask, "what replaces scores becomes infinite in base e");
  if (joins)
    this->condition->isJoined = true;
  else
    this->condition = ScoreData{condition, negated, scaled};
  if (hides)
    this->condition->parts.push_back({condition, negated});
  asTensor = asPositions;
  return success();
}

/// Restricts the pairs by those of several conditions that follow from
/// positions; the others are appended to `data`.
void AttentionMatcher::hideParts(Expr *condition, bool negated, Expr *mask,
                                 SmallVectorImpl<HidingCondition> &data) {
  Expr *parts = context.resolve(condition);
  Mismatch before = mismatch;
  if (succeeded(hide(condition, negated, -INFINITY, mask)))
    return;
  if (!isConjunction(parts, negated)) {
    data.push_back({condition, negated});
    return;
  }
  for (Expr *part : parts->operands)
    hideParts(part, negated, mask, data);
  mismatch = before;
}

LogicalResult AttentionMatcher::addBias(Expr *summand,
                                        ArrayRef<HidingCondition> parts) {
  if (softcap)
    return fail(summand, "a bias is added to scores before they are capped");
  if (foundZeroWeights)
    return fail(summand, "a query that sees nothing gives 0 under a mask, and "
                         "NaN under a bias of -inf");
  // Ring adds it in f32.
  summand = skipExtensions(context, summand);
  if (!summand->isLoad() && parts.empty())
    return fail(summand,
                "what is added to the scores is no mask and no tensor");
  if (bias || scale != 1)
    return fail(
        summand,
        "the scores have more than one bias, or one that is multiplied");
  Type type = getElementTypeOrSelf(summand->value);
  if (llvm::any_of(steps, [&](const Step &step) {
        return step.roundedTo && step.roundedTo != type;
      }))
    return fail(summand, "a bias is rounded with the scores to a type in which "
                         "it may be infinite");
  bias = ScoreData{summand};
  bias->parts.assign(parts.begin(), parts.end());
  return success();
}

LogicalResult AttentionMatcher::matchAddedMask(Expr *mask) {
  if (isFloatConstant(context, mask, 0))
    return success();
  SmallVector<Type, 2> ownRoundings;
  Expr *masked = skipRoundings(context, mask, &ownRoundings);
  SmallVector<HidingCondition> data;
  if (Expr *select = getApplied<arith::SelectOp>(context, masked))
    for (bool negated : {false, true}) {
      Expr *kept = select->operands[negated ? 2 : 1];
      std::optional<double> fill =
          getFloatConstant(context, select->operands[negated ? 1 : 2]);
      if (!isFloatConstant(context, kept, 0) || !fill || !hidesPairs(*fill))
        continue;
      fill = atSoftmax(overflow(*fill, ownRoundings));
      if (succeeded(hide(select->operands[0], negated, *fill, select)))
        return success();
      // What is -inf may be hidden as well, where a part says where it is.
      if (std::isinf(*fill))
        hideParts(select->operands[0], negated, select, data);
    }
  if (succeeded(hideByTable(masked, ownRoundings)))
    return success();
  Mismatch asMask = std::exchange(mismatch, {});
  if (failed(addBias(mask, data)))
    return failure();
  asTensor = asMask;
  return success();
}

LogicalResult AttentionMatcher::cap(Expr *tanh) {
  if (softcap)
    return fail(tanh, "the scores are capped twice");
  if (!(static_cast<float>(scale) > 0) || !std::isfinite(scale))
    return fail(tanh, "the scores are capped by a number that is not positive "
                      "and finite");
  softcap = scale;
  return success();
}

/// Scores have to be hidden where weights are 0. By what does not matter then,
/// and a query that sees nothing gives 0. Returns the scores below.
FailureOr<Expr *> AttentionMatcher::hideWhereZero() {
  bool hidden = zeroWeights->hidden;
  Expr *select = getTerm<arith::SelectOp>(context, scores);
  std::optional<double> fill;
  if (select && context.equal(zeroWeights->root, select->operands[0]))
    fill = getFloatConstant(context, select->operands[hidden ? 1 : 2]);
  if (!fill || !hidesPairs(*fill))
    return fail(scores,
                "the weights are replaced by 0 where the scores are not "
                "hidden");
  if (failed(hideByData(zeroWeights->root, hidden, -INFINITY, select)))
    return failure();
  foundZeroWeights = true;
  return select->operands[hidden ? 2 : 1];
}

LogicalResult AttentionMatcher::matchScores() {
  FailureOr<Expr *> start = zeroWeights ? hideWhereZero() : scores;
  if (failed(start))
    return failure();
  Expr *expr = context.resolve(*start);
  while (!expr->isReduction() || !getContraction(context, expr)) {
    if (expr->kind != Expr::Kind::Apply)
      return fail(expr, "the scores are no product of queries and keys");
    Operation *scalarOp = expr->op;
    SmallVector<Expr *, 3> &operands = expr->operands;
    Expr *next = nullptr;
    if (isa<arith::AddFOp>(scalarOp)) {
      bool first = hasContraction(context, operands[0]);
      if (first == hasContraction(context, operands[1]))
        return fail(expr, "the scores are a sum of which it is not known which "
                          "part is the mask");
      next = operands[first ? 0 : 1];
      if (failed(matchAddedMask(operands[first ? 1 : 0])))
        return failure();
    } else if (isa<arith::MulFOp, arith::DivFOp>(scalarOp)) {
      std::optional<ScaledExpr> scaled = getScaled(context, expr);
      if (!scaled)
        return fail(expr, "the scale of the scores is not constant");
      multiply(scaled->factor);
      next = scaled->rest;
    } else if (isRounding(scalarOp)) {
      SmallVector<Type, 2> types;
      next = skipRoundings(context, expr, &types);
      for (Type type : types)
        steps.push_back({1, type});
    } else if (isa<math::TanhOp>(scalarOp)) {
      if (failed(cap(expr)))
        return failure();
      next = operands[0];
    } else if (isa<arith::SelectOp>(scalarOp)) {
      std::optional<double> fill = getFloatConstant(context, operands[1]);
      bool negated = fill.has_value();
      if (!negated)
        fill = getFloatConstant(context, operands[2]);
      if (!fill)
        return fail(expr, "the mask replaces scores by something else than a "
                          "constant");
      if (failed(hideByData(operands[0], negated, atSoftmax(*fill), expr)))
        return failure();
      next = operands[negated ? 2 : 1];
    } else {
      return fail(expr, "the scores are changed before the softmax in a way "
                        "that is not understood");
    }
    expr = context.resolve(next);
  }
  return matchDotProduct(expr);
}

LogicalResult AttentionMatcher::matchDotProduct(Expr *sum) {
  scoreOp = cast<OpResult>(sum->value).getOwner();
  // A sum that starts at a tensor adds it.
  Expr *start = sum->operands[0];
  if (!isFloatConstant(context, start, 0) &&
      (getFloatConstant(context, start) || failed(matchAddedMask(start))))
    return fail(scoreOp, "the product of queries and keys does not start at 0");
  if (sum->variables.size() > 1)
    return fail(scoreOp, "the product of queries and keys sums over more than "
                         "one dimension");
  at.channel = sum->variables;
  Expr *product = getProduct(context, sum);
  queries = product->operands[0];
  keys = product->operands[1];
  if ((!at.query.empty() && ExprContext::mentions(keys, at.query[0])) ||
      (!at.key.empty() && ExprContext::mentions(queries, at.key[0])))
    std::swap(queries, keys);
  return success();
}
