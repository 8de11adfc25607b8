//===- RaiseAttentionMatch.cpp - Attention in tensor ops ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

template <typename... CombinerTys>
static Expr *getReduction(ExprContext &context, Expr *expr) {
  expr = context.resolve(expr);
  return expr->isReduction() && isa<CombinerTys...>(expr->op) ? expr : nullptr;
}

/// A sum of products. What it starts at is another question.
static Expr *getContraction(ExprContext &context, Expr *expr) {
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

static bool hasSoftmax(ExprContext &context, Expr *expr) {
  auto isExp = [](Expr *part) {
    return part->kind == Expr::Kind::Apply && isa<math::ExpOp>(part->op);
  };
  auto isPlainReduction = [&](Expr *part) {
    return part->isReduction() && !getContraction(context, part);
  };
  return hasPart(context, expr, isExp) &&
         hasPart(context, expr, isPlainReduction);
}

static bool hasContraction(ExprContext &context, Expr *expr) {
  return hasPart(context, expr, [&](Expr *part) {
    return getContraction(context, part) != nullptr;
  });
}

static bool isFloatConstant(ExprContext &context, Expr *expr, double value) {
  std::optional<double> constant = getFloatConstant(context, expr);
  return constant && *constant == value;
}

/// True iff `op` and what hangs on its results could be erased.
static bool isDead(Operation *op) {
  return isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::all_of(op->getUsers(), isDead);
}

bool mlir::ring::weighsBySoftmax(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      op.getNumReductionLoops() == 0)
    return false;
  ExprContext context(op->getBlock());
  Expr *sum = getContraction(context, context.element(op, 0));
  return sum && hasSoftmax(context, sum->operands[1]);
}

//===----------------------------------------------------------------------===//
// The matcher
//===----------------------------------------------------------------------===//

namespace {

/// Takes the expression of one element apart, from the output to the operands.
class AttentionMatcher {
public:
  AttentionMatcher(linalg::LinalgOp op, Mismatch &mismatch)
      : context(op->getBlock()), op(op), mismatch(mismatch) {}

  FailureOr<AttentionMatch> run();

private:
  LogicalResult matchOutput();
  LogicalResult matchDimensions();
  LogicalResult matchProbabilities();
  LogicalResult matchSoftmax(Expr *quotient);
  LogicalResult matchEmptyRowTest(Expr *condition);
  LogicalResult matchScores();
  LogicalResult matchAddedMask(Expr *mask);
  LogicalResult matchDotProduct(Expr *sum);
  LogicalResult checkOtherUses();
  LogicalResult finish(AttentionMatch &match);

  /// Succeeds iff `reduction` over its variables is one of `element` over all
  /// keys, and the same for each key.
  LogicalResult matchOverKeys(Expr *reduction, Expr *element,
                              const Twine &what);
  LogicalResult restrictPairs(Expr *condition, bool negated, Expr *mask);

  LogicalResult fail(Operation *where, const Twine &reason) {
    mismatch = {where, reason.str()};
    return failure();
  }
  LogicalResult fail(Expr *expr, const Twine &reason) {
    expr = context.resolve(expr);
    return fail(expr->op ? expr->op : op.getOperation(), reason);
  }

  ExprContext context;
  linalg::LinalgOp op;
  Mismatch &mismatch;

  AttentionIndices at;
  Expr *element = nullptr;
  Expr *probabilities = nullptr, *values = nullptr;
  Expr *scores = nullptr, *queries = nullptr, *keys = nullptr;
  std::optional<VisiblePairs> visible;
  Operation *maskOp = nullptr;
  Operation *scoreOp = nullptr;
  bool emptyRowsAreZero = false;
  double scale = 1;
};

} // namespace

LogicalResult AttentionMatcher::matchOutput() {
  element = context.element(op, 0);
  Expr *sum = getContraction(context, element);
  if (!isFloatConstant(context, sum->operands[0], 0))
    return fail(op, "the product with the values does not start at 0");
  Expr *product = getApplied<arith::MulFOp>(context, sum->operands[1]);
  probabilities = product->operands[0];
  values = product->operands[1];
  if (!hasSoftmax(context, probabilities))
    std::swap(probabilities, values);
  if (hasSoftmax(context, values))
    return fail(op, "both factors of the product have a softmax");
  if (sum->variables.size() > 1)
    return fail(op, "the product with the values sums over more than the keys");
  at.key = sum->variables;
  return matchDimensions();
}

/// Tells the output's dimensions apart by which factor depends on them: queries
/// only the probabilities, channels only the values, batch and heads both.
LogicalResult AttentionMatcher::matchDimensions() {
  for (const Index &index : element->indices)
    for (const Digit &digit : index) {
      bool inProbabilities = ExprContext::mentions(probabilities, digit);
      bool inValues = ExprContext::mentions(values, digit);
      if (inProbabilities && inValues)
        at.heads.push_back(digit);
      else
        (inProbabilities ? at.query : at.valueChannel).push_back(digit);
    }
  if (at.query.size() > 1 || at.valueChannel.size() > 1)
    return fail(op, "the product with the values has more than one dimension "
                    "of queries or of value channels");
  visible.emplace(at.query, at.key);
  return success();
}

LogicalResult AttentionMatcher::matchOverKeys(Expr *reduction, Expr *element,
                                              const Twine &what) {
  const Index &over = reduction->variables;
  if (over.size() > 1 || getSize(over) != getSize(at.key))
    return fail(reduction->op, what + " does not run over the keys");
  Renaming renaming;
  if (!over.empty())
    renaming.push_back({at.key[0], over[0]});
  // The renaming is one to one, so this also says that the reduction does not
  // depend on the key that it is used for.
  if (context.equal(element, reduction->operands[1], renaming))
    return success();
  return fail(reduction->op,
              what + " does not run over the keys of the same scores");
}

/// The softmax, or 0 where all scores of the row are -inf. That is the rule of
/// `ring.attention` for queries that see nothing.
LogicalResult AttentionMatcher::matchProbabilities() {
  Expr *select = getApplied<arith::SelectOp>(context, probabilities);
  if (!select || !isFloatConstant(context, select->operands[1], 0))
    return matchSoftmax(context.resolve(probabilities));
  if (failed(matchSoftmax(context.resolve(select->operands[2]))))
    return failure();
  emptyRowsAreZero = true;
  return matchEmptyRowTest(select->operands[0]);
}

LogicalResult AttentionMatcher::matchSoftmax(Expr *quotient) {
  if (!getApplied<arith::DivFOp>(context, quotient))
    return fail(quotient, "the weights of the values are not a softmax's "
                          "quotient");
  Expr *numerator = quotient->operands[0];
  Expr *exp = getApplied<math::ExpOp>(context, numerator);
  if (!exp)
    return fail(numerator, "the softmax's numerator is no exponential");
  Expr *difference = getApplied<arith::SubFOp>(context, exp->operands[0]);
  if (!difference)
    return fail(exp->operands[0], "the maximum is not subtracted from the "
                                  "scores before the exponential");
  scores = difference->operands[0];

  Expr *max = getReduction<arith::MaximumFOp, arith::MaxNumFOp>(
      context, difference->operands[1]);
  if (!max)
    return fail(difference->operands[1],
                "what is subtracted from the scores is not their maximum");
  if (!isFloatConstant(context, max->operands[0], -INFINITY))
    return fail(max, "the maximum of the scores does not start at -inf");
  if (failed(matchOverKeys(max, scores, "the maximum of the scores")))
    return failure();

  Expr *sum = getReduction<arith::AddFOp>(context, quotient->operands[1]);
  if (!sum)
    return fail(quotient->operands[1],
                "the softmax's denominator is no sum of exponentials");
  if (!isFloatConstant(context, sum->operands[0], 0))
    return fail(sum, "the sum of the exponentials does not start at 0");
  return matchOverKeys(sum, numerator, "the sum of the exponentials");
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
    compared = extension->operands[0];
  // Not the comparison but what it compares has to be equal to the scores.
  Expr rest = *all;
  rest.operands[1] = compared;
  return matchOverKeys(&rest, scores,
                       "the test for rows without a visible key");
}

LogicalResult AttentionMatcher::restrictPairs(Expr *condition, bool negated,
                                              Expr *mask) {
  if (scale <= 0)
    return fail(mask,
                "the mask is multiplied by a factor that is not positive");
  maskOp = mask->op;
  return visible->restrict(context, condition, negated, mismatch);
}

LogicalResult AttentionMatcher::matchAddedMask(Expr *mask) {
  if (isFloatConstant(context, mask, 0))
    return success();
  Expr *select = getApplied<arith::SelectOp>(context, mask);
  if (!select)
    return fail(mask, "what is added to the scores is no mask");
  for (bool negated : {false, true}) {
    Expr *kept = select->operands[negated ? 2 : 1];
    Expr *hidden = select->operands[negated ? 1 : 2];
    if (isFloatConstant(context, kept, 0) &&
        isFloatConstant(context, hidden, -INFINITY))
      return restrictPairs(select->operands[0], negated, select);
  }
  return fail(select, "the mask that is added to the scores is not 0 or -inf");
}

LogicalResult AttentionMatcher::matchScores() {
  Expr *expr = context.resolve(scores);
  while (!getContraction(context, expr)) {
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
      bool divides = isa<arith::DivFOp>(scalarOp);
      std::optional<double> factor = getFloatConstant(context, operands[1]);
      next = operands[0];
      if (!factor && !divides) {
        factor = getFloatConstant(context, operands[0]);
        next = operands[1];
      }
      if (!factor)
        return fail(expr, "the scale of the scores is not constant");
      scale = divides ? scale / *factor : scale * *factor;
    } else if (isa<arith::SelectOp>(scalarOp)) {
      bool negated = isFloatConstant(context, operands[1], -INFINITY);
      if (!negated && !isFloatConstant(context, operands[2], -INFINITY))
        return fail(expr, "the mask does not replace scores by -inf");
      if (failed(restrictPairs(operands[0], negated, expr)))
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
  if (!isFloatConstant(context, sum->operands[0], 0))
    return fail(scoreOp, "the product of queries and keys does not start at 0");
  if (sum->variables.size() > 1)
    return fail(scoreOp, "the product of queries and keys sums over more than "
                         "one dimension");
  at.channel = sum->variables;
  Expr *product = getApplied<arith::MulFOp>(context, sum->operands[1]);
  queries = product->operands[0];
  keys = product->operands[1];
  if ((!at.query.empty() && ExprContext::mentions(keys, at.query[0])) ||
      (!at.key.empty() && ExprContext::mentions(queries, at.key[0])))
    std::swap(queries, keys);
  return success();
}

/// What else hangs on the scores would have to be computed beside the
/// attention, which then saves nothing.
LogicalResult AttentionMatcher::checkOtherUses() {
  SmallVector<Operation *> worklist = {scoreOp};
  llvm::DenseSet<Operation *> seen = {scoreOp, op};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val()->getUsers()) {
      if (context.getExpandedOps().contains(user)) {
        if (seen.insert(user).second)
          worklist.push_back(user);
      } else if (!seen.contains(user) && !isDead(user)) {
        return fail(user, "the scores or the weights of the values have "
                          "another use");
      }
    }
  return success();
}

LogicalResult AttentionMatcher::finish(AttentionMatch &match) {
  if (!(std::abs(scale) <= std::numeric_limits<float>::max()))
    return fail(scoreOp, "the scale is not finite");
  match.scale = scale;
  FailureOr<MaskAttr> mask = visible->getMask(op->getContext());
  if (failed(mask))
    return fail(maskOp, "no mask of ring.attention lets query i see the keys " +
                            visible->describe());
  match.mask = *mask;
  match.emptyRowsAreNaN = !emptyRowsAreZero && visible->mayLeaveEmptyRows();
  match.result = element->indices;
  if (!hasSizes(op->getResult(0), match.result) ||
      !canRearrange(match.operands.output, match.result))
    return fail(op, "the output's dimensions are in an order that is not "
                    "understood");
  return success();
}

FailureOr<AttentionMatch> AttentionMatcher::run() {
  if (failed(matchOutput()) || failed(matchProbabilities()) ||
      failed(matchScores()) || failed(checkOtherUses()))
    return failure();
  FailureOr<AttentionOperands> operands =
      matchOperands(context, at, queries, keys, values, scale, mismatch);
  if (failed(operands))
    return failure();
  AttentionMatch match;
  match.operands = std::move(*operands);
  if (failed(finish(match)))
    return failure();
  return match;
}

FailureOr<AttentionMatch> mlir::ring::matchAttention(linalg::LinalgOp op,
                                                     Mismatch &mismatch) {
  return AttentionMatcher(op, mismatch).run();
}
