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
#include <utility>

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

/// A maximum with the lowest number changes no score: -inf does not, and where
/// all scores of a row are -inf, the lowest finite number gives 0 / 0 as -inf
/// gives NaN.
static bool isLowest(ExprContext &context, Expr *expr) {
  std::optional<double> constant = getFloatConstant(context, expr);
  return constant && *constant <= -std::numeric_limits<float>::max();
}

static Expr *skipMaximumWithLowest(ExprContext &context, Expr *expr) {
  if (Expr *max = getApplied<arith::MaximumFOp>(context, expr))
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

/// True iff a score of this has weight 0 beside any that a model computes:
/// exp(fill - max) is 0 in f32 unless max is below fill + 104, and a finite
/// fill of this magnitude takes up what it is added to.
static bool hidesPairs(double fill) { return fill <= -1e38; }

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
  /// Of several dimensions that may be the queries', takes the one that
  /// `candidate` counts, the longest first.
  AttentionMatcher(linalg::LinalgOp op, Mismatch &mismatch, size_t candidate)
      : context(op->getBlock()), op(op), mismatch(mismatch),
        candidate(candidate) {}

  FailureOr<AttentionMatch> run();

  /// Valid after `run`: how many dimensions may be the queries'.
  size_t getNumCandidates() const { return candidates; }

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
  LogicalResult hide(Expr *condition, bool negated, double fill, Expr *mask);
  LogicalResult hideByData(Expr *condition, bool negated, double fill,
                           Expr *mask);
  LogicalResult restrictPairs(Expr *condition, bool negated, double fill,
                              Expr *mask);
  void hideParts(Expr *condition, bool negated, Expr *mask);
  LogicalResult addBias(Expr *summand);

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
  size_t candidate, candidates = 1;

  AttentionIndices at;
  Expr *element = nullptr;
  Expr *probabilities = nullptr, *values = nullptr;
  Expr *scores = nullptr, *queries = nullptr, *keys = nullptr;
  std::optional<VisiblePairs> visible;
  /// What stays a tensor: added to the scores, or telling which of them are
  /// replaced.
  std::optional<ScoreData> bias, condition;
  Operation *maskOp = nullptr;
  Operation *scoreOp = nullptr;
  bool emptyRowsAreZero = false;
  /// Why a mask stays a tensor.
  Mismatch asTensor;
  /// How often pairs are hidden by positions; sometimes by a finite score.
  int masks = 0;
  bool hidesByFiniteScore = false;
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
/// Where several query heads share one of the values, they stand apart from it,
/// and only the probabilities depend on them, as on the queries.
LogicalResult AttentionMatcher::matchDimensions() {
  Index rows;
  for (const Index &index : element->indices)
    for (const Digit &digit : index) {
      bool inProbabilities = ExprContext::mentions(probabilities, digit);
      bool inValues = ExprContext::mentions(values, digit);
      if (inProbabilities && inValues)
        at.heads.push_back(digit);
      else
        (inProbabilities ? rows : at.valueChannel).push_back(digit);
    }
  if (at.valueChannel.size() > 1)
    return fail(op, "the product with the values has more than one dimension "
                    "of value channels");
  candidates = std::max<size_t>(rows.size(), 1);
  if (!rows.empty()) {
    Index longestFirst = rows;
    llvm::sort(longestFirst, [](const Digit &a, const Digit &b) {
      // A dynamic size counts as the longest.
      auto size = [](const Digit &d) { return static_cast<uint64_t>(d.size); };
      return size(a) != size(b) ? size(a) > size(b) : a < b;
    });
    at.query.push_back(longestFirst[candidate]);
    for (const Digit &digit : rows)
      if (!(digit == at.query[0]))
        at.heads.push_back(digit);
  }
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
  Expr *numerator = nullptr, *denominator = nullptr;
  if (getApplied<arith::DivFOp>(context, quotient)) {
    numerator = quotient->operands[0];
    denominator = quotient->operands[1];
  } else if (getApplied<arith::MulFOp>(context, quotient)) {
    for (unsigned i : {0, 1})
      if (Expr *inverse =
              getApplied<arith::DivFOp>(context, quotient->operands[i]);
          inverse && isFloatConstant(context, inverse->operands[0], 1)) {
        numerator = quotient->operands[1 - i];
        denominator = inverse->operands[1];
      }
  }
  if (!denominator)
    return fail(quotient, "the weights of the values are not a softmax's "
                          "quotient");
  Expr *exp = getApplied<math::ExpOp>(context, numerator);
  if (!exp)
    return fail(numerator, "the softmax's numerator is no exponential");
  Expr *difference = getApplied<arith::SubFOp>(context, exp->operands[0]);
  if (!difference)
    return fail(exp->operands[0], "the maximum is not subtracted from the "
                                  "scores before the exponential");
  scores = difference->operands[0];

  Expr *subtracted = skipMaximumWithLowest(context, difference->operands[1]);
  Expr *max =
      getReduction<arith::MaximumFOp, arith::MaxNumFOp>(context, subtracted);
  if (!max)
    return fail(subtracted,
                "what is subtracted from the scores is not their maximum");
  if (!startsBelowScores(context, max))
    return fail(max, "the maximum of the scores does not start at -inf");
  if (failed(matchOverKeys(max, scores, "the maximum of the scores")))
    return failure();

  Expr *sum = getReduction<arith::AddFOp>(context, denominator);
  if (!sum)
    return fail(denominator,
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
                                              double fill, Expr *mask) {
  VisiblePairs restricted = *visible;
  if (failed(restricted.restrict(context, condition, negated, mismatch)))
    return failure();
  visible = restricted;
  maskOp = mask->op;
  ++masks;
  hidesByFiniteScore |= std::isfinite(fill);
  return success();
}

/// Pairs for which `condition` is false (true where `negated`) get the score
/// `fill`, instead of theirs or beside it, as follows from positions.
LogicalResult AttentionMatcher::hide(Expr *condition, bool negated, double fill,
                                     Expr *mask) {
  if (scale <= 0)
    return fail(mask,
                "the mask is multiplied by a factor that is not positive");
  if (std::isfinite(fill) && scale != 1)
    return fail(mask, "a mask of a finite score is multiplied by a factor");
  return restrictPairs(condition, negated, fill, mask);
}

/// As `hide`, but pairs may also be hidden by a tensor.
LogicalResult AttentionMatcher::hideByData(Expr *condition, bool negated,
                                           double fill, Expr *mask) {
  if (succeeded(hide(condition, negated, fill, mask)))
    return success();
  Mismatch asPositions = mismatch;
  // Of several conditions that hide by -inf, each hides by itself. Beside a
  // finite score, which rows are empty would depend on all of them.
  Expr *parts = context.resolve(condition);
  if (std::isinf(fill) && isConjunction(parts, negated))
    return success(
        succeeded(hideByData(parts->operands[0], negated, fill, mask)) &&
        succeeded(hideByData(parts->operands[1], negated, fill, mask)));
  if (!condition->isLoad()) {
    mismatch = asPositions;
    return failure();
  }
  // What ring.attention replaces is the biased score.
  if (this->condition || bias || scale != 1)
    return fail(mask, "scores are replaced twice, or changed after that");
  this->condition = ScoreData{condition, negated, fill};
  asTensor = asPositions;
  return success();
}

/// Restricts the pairs by those of several conditions that follow from
/// positions.
void AttentionMatcher::hideParts(Expr *condition, bool negated, Expr *mask) {
  Expr *parts = context.resolve(condition);
  Mismatch before = mismatch;
  if (succeeded(hide(condition, negated, -INFINITY, mask)) ||
      !isConjunction(parts, negated))
    return;
  for (Expr *part : parts->operands)
    hideParts(part, negated, mask);
  mismatch = before;
}

LogicalResult AttentionMatcher::addBias(Expr *summand) {
  if (!summand->isLoad())
    return fail(summand,
                "what is added to the scores is no mask and no tensor");
  if (bias || scale != 1)
    return fail(
        summand,
        "the scores have more than one bias, or one that is multiplied");
  bias = ScoreData{summand};
  return success();
}

LogicalResult AttentionMatcher::matchAddedMask(Expr *mask) {
  if (isFloatConstant(context, mask, 0))
    return success();
  if (Expr *select = getApplied<arith::SelectOp>(context, mask))
    for (bool negated : {false, true}) {
      Expr *kept = select->operands[negated ? 2 : 1];
      std::optional<double> fill =
          getFloatConstant(context, select->operands[negated ? 1 : 2]);
      if (!isFloatConstant(context, kept, 0) || !fill || !hidesPairs(*fill))
        continue;
      if (succeeded(hide(select->operands[0], negated, *fill, select)))
        return success();
      // What is -inf may be hidden as well, where a part says where it is.
      if (std::isinf(*fill))
        hideParts(select->operands[0], negated, select);
    }
  Mismatch asMask = std::exchange(mismatch, {});
  if (failed(addBias(mask)))
    return failure();
  asTensor = asMask;
  return success();
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
      std::optional<double> fill = getFloatConstant(context, operands[1]);
      bool negated = fill.has_value();
      if (!negated)
        fill = getFloatConstant(context, operands[2]);
      if (!fill || !hidesPairs(*fill))
        return fail(expr, "the mask does not replace scores by -inf, or by a "
                          "finite score that is as low");
      if (failed(hideByData(operands[0], negated, *fill, expr)))
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
  // Where all that a query sees is -inf, what it gives would be the mean of
  // what a finite score hides.
  if (hidesByFiniteScore && (bias || condition))
    return fail(maskOp, "pairs are hidden by a finite score beside a bias or a "
                        "mask of data");
  // A pair that both hide has the finite score, or -inf: which, and so where
  // the weights of a row are that is hidden all along, depends on their order.
  if (condition && std::isfinite(condition->fill) && masks > 0)
    return fail(maskOp, "a mask of positions beside a mask of data by a finite "
                        "score");
  auto read = [&](const std::optional<ScoreData> &data, Type type,
                  std::optional<OperandRead> &place) -> LogicalResult {
    if (data)
      place =
          matchScoreData(context, at, match.operands.query, data->root, type);
    if (!data || place)
      return success();
    return fail(data->root, "the bias or mask is not read as [1 or batch, 1 or "
                            "heads, 1 or queries, keys] in some order");
  };
  Builder builder(op->getContext());
  if (failed(read(bias, builder.getF32Type(), match.bias)) ||
      failed(read(condition, builder.getI1Type(), match.condition)))
    return failure();
  match.asTensor = asTensor;
  if (condition) {
    match.hidden = condition->hidden;
    match.fill = static_cast<float>(condition->fill);
  }
  bool mayBeEmpty = visible->mayLeaveEmptyRows();
  // A row that two of them hide has its weights where the higher score is.
  if (mayBeEmpty && hidesByFiniteScore && masks > 1)
    return fail(maskOp,
                "several masks, one of a finite score, may hide all keys "
                "from a query");
  if (mayBeEmpty && hidesByFiniteScore)
    match.emptyRows = EmptyRows::Uniform;
  else if ((mayBeEmpty || bias || condition) && !emptyRowsAreZero)
    match.emptyRows = EmptyRows::NaN;
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
  Mismatch first;
  for (size_t candidate = 0, count = 1; candidate < count; ++candidate) {
    AttentionMatcher matcher(op, mismatch, candidate);
    FailureOr<AttentionMatch> match = matcher.run();
    if (succeeded(match))
      return match;
    count = matcher.getNumCandidates();
    if (candidate == 0)
      first = mismatch;
  }
  mismatch = first;
  return failure();
}
