//===- RaiseAttentionSoftmax.cpp - The weights of the values --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ring;

/// A maximum with the lowest number changes no score: -inf does not, and where
/// all scores of a row are -inf, the lowest finite number gives 0 / 0 as -inf
/// gives NaN.
static bool isLowest(ExprContext &context, Expr *expr) {
  std::optional<double> constant = getFloatConstant(context, expr);
  return constant && *constant <= -std::numeric_limits<float>::max();
}

static Expr *skipMaximumWithLowest(ExprContext &context, Expr *expr) {
  if (Expr *max = getTerm<arith::MaximumFOp>(context, expr))
    for (unsigned i : {0, 1})
      if (isLowest(context, max->operands[i]))
        return max->operands[1 - i];
  return expr;
}

/// True iff what a maximum of scores starts at is below all of them. maxnumf
/// takes the other operand of a NaN.
static bool startsBelowScores(ExprContext &context, Expr *max) {
  std::optional<double> start = getFloatConstant(context, max->operands[0]);
  if (start && std::isnan(*start))
    return isa<arith::MaxNumFOp>(max->op);
  return isLowest(context, max->operands[0]);
}

/// The element of a concatenation for the last value of `over`, where `element`
/// depends on `over` by this load alone.
Expr *AttentionMatcher::findSink(Expr *element, const Digit &over) {
  Expr *found = nullptr;
  SmallVector<Expr *> worklist = {element};
  llvm::DenseSet<Expr *> seen;
  while (!worklist.empty()) {
    Expr *part = context.resolve(worklist.pop_back_val());
    if (!seen.insert(part).second)
      continue;
    bool depends = llvm::any_of(part->indices, [&](const Index &index) {
      return llvm::any_of(index, [&](const Digit &digit) {
        return digit.variable == over.variable;
      });
    });
    if (depends && found)
      return nullptr;
    if (depends)
      found = part;
    llvm::append_range(worklist, part->operands);
  }
  if (!found)
    return nullptr;
  besideSink = context.restrict(found, over, at.key[0]);
  return context.loadLast(found, over);
}

/// What is done to the scores after the concatenation is done to the sink as
/// well, which `ring.attention` takes as it is.
bool AttentionMatcher::isSinkBesideScores() {
  for (Expr *part = scores; part;) {
    if (part == besideSink)
      return true;
    bool rounded = part->kind == Expr::Kind::Apply && isRounding(part->op);
    part = rounded ? part->operands[0] : context.expand(part);
  }
  return false;
}

FailureOr<Expr *> AttentionMatcher::matchOverKeys(Expr *reduction,
                                                  Expr *element,
                                                  const Twine &what) {
  const Index &over = reduction->variables;
  Expr *reduced = reduction->operands[1], *found = nullptr;
  Renaming renaming;
  if (over.size() == 1 && at.key.size() == 1 &&
      ShapedType::isStatic(over[0].size) &&
      over[0].size - 1 == at.key[0].size) {
    found = findSink(reduced, over[0]);
    reduced = found ? context.restrict(reduced, over[0], at.key[0]) : nullptr;
    if (!reduced)
      return fail(reduction->op, what + " runs over one more than the keys, "
                                        "which is no sink");
  } else if (over.size() > 1 || getSize(over) != getSize(at.key)) {
    return fail(reduction->op, what + " does not run over the keys");
  } else if (!over.empty()) {
    renaming.push_back({at.key[0], over[0]});
  }
  // The renaming is one to one, so this also says that the reduction does not
  // depend on the key that it is used for.
  if (context.equal(skipRoundings(context, element),
                    skipRoundings(context, reduced), renaming))
    return found;
  return fail(reduction->op,
              what + " does not run over the keys of the same scores");
}

/// The softmax, or 0 where all scores of the row are -inf. That is the rule of
/// `ring.attention` for queries that see nothing.
LogicalResult AttentionMatcher::matchProbabilities() {
  Expr *select = getTerm<arith::SelectOp>(context, probabilities);
  bool zeroIfTrue = select && isFloatConstant(context, select->operands[1], 0);
  if (!select ||
      (!zeroIfTrue && !isFloatConstant(context, select->operands[2], 0)))
    return matchSoftmax(probabilities);
  Expr *condition = select->operands[0];
  Expr *quotient = select->operands[zeroIfTrue ? 2 : 1];
  emptyRowsAreZero = true;
  if (zeroIfTrue && context.resolve(condition)->isReduction())
    return success(succeeded(matchSoftmax(quotient)) &&
                   succeeded(matchEmptyRowTest(condition)));
  zeroWeights = ScoreData{condition, zeroIfTrue, -INFINITY};
  return matchSoftmax(quotient);
}

/// The sum of the exponentials, which may leave those out that are hidden.
LogicalResult AttentionMatcher::matchSum(Expr *sum, Expr *numerator) {
  const char *what = "the sum of the exponentials";
  Expr summed = *sum;
  Expr *select = getTerm<arith::SelectOp>(context, sum->operands[1]);
  if (zeroWeights && select) {
    bool hidden = zeroWeights->hidden;
    Expr conditions = *sum;
    conditions.operands[1] = select->operands[0];
    if (!isFloatConstant(context, select->operands[hidden ? 1 : 2], 0) ||
        failed(matchOverKeys(&conditions, zeroWeights->root, what)))
      return fail(sum,
                  "the sum of the exponentials leaves other pairs out than "
                  "the weights");
    summed.operands[1] = select->operands[hidden ? 2 : 1];
  }
  FailureOr<Expr *> found = matchOverKeys(&summed, numerator, what);
  if (failed(found))
    return failure();
  if (*found != sink)
    return fail(sum, "the sum and the maximum have different sinks");
  return success();
}

LogicalResult AttentionMatcher::matchSoftmax(Expr *quotient) {
  quotient = context.resolve(skipRoundings(context, quotient));
  Expr *numerator = nullptr, *denominator = nullptr;
  if (getTerm<arith::DivFOp>(context, quotient)) {
    numerator = quotient->operands[0];
    denominator = quotient->operands[1];
  } else if (getTerm<arith::MulFOp>(context, quotient)) {
    for (unsigned i : {0, 1})
      if (Expr *inverse =
              getTerm<arith::DivFOp>(context, quotient->operands[i]);
          inverse && isFloatConstant(context, inverse->operands[0], 1)) {
        numerator = quotient->operands[1 - i];
        denominator = inverse->operands[1];
      }
  }
  if (Expr *exp = getTerm<math::ExpOp>(context, quotient)) {
    // exp(s - log(sum(exp(s)))).
    Expr *difference = getTerm<arith::SubFOp>(context, exp->operands[0]);
    if (!difference)
      return fail(exp,
                  "the weights of the values are not a softmax's quotient");
    scores = difference->operands[0];
    bool isGuarded;
    FailureOr<Expr *> found = matchLogSum(difference->operands[1], isGuarded);
    if (failed(found))
      return failure();
    sink = *found;
    return matchScoresOfSoftmax();
  }
  if (!denominator)
    return fail(quotient, "the weights of the values are not a softmax's "
                          "quotient");
  Expr *exp = getTerm<math::ExpOp, math::Exp2Op>(context, numerator);
  if (!exp)
    return fail(numerator, "the softmax's numerator is no exponential");
  if (failed(matchExponent(exp)))
    return failure();

  Expr *sum = getReduction<arith::AddFOp>(context, denominator);
  if (!sum)
    return fail(denominator,
                "the softmax's denominator is no sum of exponentials");
  if (!isFloatConstant(context, sum->operands[0], 0))
    return fail(sum, "the sum of the exponentials does not start at 0");
  if (failed(matchSum(sum, numerator)))
    return failure();
  return matchScoresOfSoftmax();
}

LogicalResult AttentionMatcher::matchScoresOfSoftmax() {
  if (failed(skipFirstMaxima()))
    return failure();
  scaleAtSoftmax = scale;
  if (sink && (scale != 1 || !isSinkBesideScores()))
    return fail(scores, "scores and sinks are changed together");
  return success();
}

/// exp(c * (s - max(s))), or the same in base 2, where c is multiplied by
/// ln(2).
LogicalResult AttentionMatcher::matchExponent(Expr *exp) {
  if (isa<math::Exp2Op>(exp->op))
    exponentScale = llvm::numbers::ln2;
  Expr *exponent = exp->operands[0];
  while (std::optional<ScaledExpr> scaled = getScaled(context, exponent)) {
    exponentScale *= scaled->factor;
    exponent = scaled->rest;
  }
  if (!(exponentScale > 0))
    return fail(exp, "the exponent is multiplied by a factor that is not "
                     "positive");
  Expr *difference = getTerm<arith::SubFOp>(context, exponent);
  if (!difference)
    return fail(exponent, "the maximum is not subtracted from the scores "
                          "before the exponential");
  setScale(exponentScale);
  return matchDifference(difference);
}

/// s - max(s), or c * s - c * max(s).
LogicalResult AttentionMatcher::matchDifference(Expr *difference) {
  scores = difference->operands[0];
  Expr *subtracted = skipMaximumWithLowest(context, difference->operands[1]);
  while (std::optional<ScaledExpr> scaled = getScaled(context, subtracted)) {
    std::optional<ScaledExpr> scaledScores = getScaled(context, scores);
    if (!scaledScores || scaledScores->factor != scaled->factor ||
        !(scaled->factor > 0))
      return fail(subtracted, "the maximum is not multiplied as the scores are "
                              "that it is subtracted from");
    multiply(scaled->factor);
    scores = scaledScores->rest;
    subtracted = scaled->rest;
  }
  FailureOr<Expr *> found = matchMaximum(subtracted);
  if (failed(found))
    return failure();
  sink = *found;
  return success();
}

/// The maximum of the scores, and of the sink that is returned.
FailureOr<Expr *> AttentionMatcher::matchMaximum(Expr *expr) {
  Expr *max = getReduction<arith::MaximumFOp, arith::MaxNumFOp>(context, expr);
  if (!max)
    return fail(expr,
                "what is subtracted from the scores is not their maximum");
  if (!startsBelowScores(context, max))
    return fail(max, "the maximum of the scores does not start at -inf");
  return matchOverKeys(max, scores, "the maximum of the scores");
}

/// The maximum may have been subtracted before: a shift of a whole row changes
/// no weight.
LogicalResult AttentionMatcher::skipFirstMaxima() {
  while (Expr *difference = getTerm<arith::SubFOp>(context, scores)) {
    scores = difference->operands[0];
    FailureOr<Expr *> found =
        matchMaximum(skipMaximumWithLowest(context, difference->operands[1]));
    if (failed(found))
      return failure();
    if (*found != sink)
      return fail(difference, "the maxima have different sinks");
  }
  return success();
}

LogicalResult AttentionMatcher::matchEmptyRowTest(Expr *condition) {
  Expr *all = getReduction<arith::AndIOp>(context, condition);
  if (!all)
    return fail(condition, "the weights of the values are replaced by 0 where "
                           "some score of the row may be above -inf");
  if (getIntegerConstant(context, all->operands[0]) != 1)
    return fail(all, "the test for rows without a visible key does not start "
                     "at true");
  Expr *compare = getApplied<arith::CmpFOp>(context, all->operands[1]);
  if (!compare ||
      cast<arith::CmpFOp>(compare->op).getPredicate() !=
          arith::CmpFPredicate::OEQ ||
      !isFloatConstant(context, compare->operands[1], -INFINITY))
    return fail(all->operands[1], "the test for rows without a visible key "
                                  "does not compare scores with -inf");
  Expr *compared = compare->operands[0];
  if (Expr *extension = getApplied<arith::ExtFOp>(context, compared))
    compared = extension->operands[0]; // to f64
  // Not the comparison but what it compares has to be equal to the scores.
  Expr rest = *all;
  rest.operands[1] = compared;
  FailureOr<Expr *> found =
      matchOverKeys(&rest, scores, "the test for rows without a visible key");
  if (failed(found))
    return failure();
  if (*found)
    return fail(all, "the test for rows without a visible key has a sink");
  return success();
}
