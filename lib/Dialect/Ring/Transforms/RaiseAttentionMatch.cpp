//===- RaiseAttentionMatch.cpp - Attention in tensor ops ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ring;

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

LogicalResult AttentionMatcher::matchOutput() {
  element = context.element(op, 0);
  Expr *sum = getContraction(context, element);
  if (!isFloatConstant(context, sum->operands[0], 0))
    return fail(op, "the product with the values does not start at 0");
  Expr *product = getProduct(context, sum);
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

/// True iff `op` computes tensors, and nothing else hangs on it than those.
static bool computesTensors(Operation *op) {
  return isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
         op->getNumResults() != 0 &&
         llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// What else hangs on the scores would have to be computed beside the
/// attention, which then saves nothing. Only the log of the sum is one of its
/// results.
LogicalResult AttentionMatcher::checkOtherUses() {
  // Looking at further expressions expands further ops.
  expanded = context.getExpandedOps();
  SmallVector<Operation *> worklist = {scoreOp};
  llvm::DenseSet<Operation *> seen = {scoreOp, op};
  // By which op another use began.
  llvm::DenseMap<Operation *, Operation *> others;
  while (!worklist.empty()) {
    Operation *current = worklist.pop_back_val();
    bool isResult = isLogSum(current);
    for (Operation *user : current->getUsers()) {
      Operation *other = others.lookup(current);
      bool isPart = expanded.contains(user) || user == op;
      if (!(other && isPart) &&
          (seen.contains(user) || isDead(user) || (isResult && !isPart)))
        continue;
      bool leaves =
          user->getBlock() != op->getBlock() || !computesTensors(user);
      if (leaves || (other && isPart))
        return fail(other ? other : user, "the scores or the weights of the "
                                          "values have another use");
      seen.insert(user);
      if (!isPart)
        others[user] = other ? other : user;
      worklist.push_back(user);
    }
  }
  return success();
}

/// Takes the conditions out of `data` that are clauses.
void AttentionMatcher::takeClauses(ScoreData &data, AttentionMatch &match) {
  size_t conditions = data.parts.size();
  if (conditions == 0)
    return;
  const OperandRead &query = match.operands.query;
  llvm::erase_if(data.parts, [&](const HidingCondition &part) {
    if (!match.lengths) {
      match.lengths = matchLengths(context, at, query, part);
      if (match.lengths)
        return true;
    }
    if (match.segments)
      return false;
    match.segments = matchSegments(context, at, query, part);
    return match.segments.has_value();
  });
  data.isTaken = data.parts.empty();
  // Of what was joined, the first may be gone. A bias has them all.
  data.isJoined |= &data != &*bias && data.parts.size() != conditions;
}

/// Where a tensor that changes scores is read, or how it is computed where that
/// saves one of queries x keys.
LogicalResult AttentionMatcher::placeData(const ScoreData &data,
                                          function_ref<bool(Type)> isOfType,
                                          const OperandRead &query,
                                          std::optional<OperandRead> &read,
                                          std::optional<DataMask> &mask,
                                          Indices &target) {
  // Several conditions have no tensor in common.
  if (data.root->isLoad() && !data.isJoined)
    read = matchScoreData(context, at, query, data.root, isOfType);
  bool isSmall = read && (at.query.empty() || read->target[2].empty());
  if (!isSmall && !data.parts.empty())
    mask = matchDataMask(context, at, query, data.parts);
  // What is no tensor yet is not made one of queries x keys.
  if (mask && !mask->isSmall(at) && (read || !data.root->isLoad()))
    mask.reset();
  if (mask)
    target = mask->getTarget(at);
  else if (read)
    target = read->target;
  else if (!data.root->isLoad())
    mismatch = asTensor;
  else
    mismatch = {context.resolve(data.root)->op,
                "the bias or mask is not read as [1 or batch, 1 or heads, 1 or "
                "queries, keys] in some order"};
  return success(mask || read);
}

LogicalResult AttentionMatcher::finish(AttentionMatch &match) {
  if (!(std::abs(scale) <= std::numeric_limits<float>::max()))
    return fail(scoreOp, "the scale is not finite");
  match.scale = scale;
  if (softcap)
    match.softcap = *softcap;
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
  if (sink) {
    if (std::optional<double> constant = getFloatConstant(context, sink))
      match.sink = *constant;
    else
      match.sinks = matchSinks(context, match.operands.query, sink);
    if (!match.sink && !match.sinks)
      return fail(sink, "the sink is not read as [heads]");
  }
  for (std::optional<ScoreData> *data : {&bias, &condition})
    if (*data)
      takeClauses(**data, match);
  auto isBoolean = [](Type type) { return type.isInteger(1); };
  const OperandRead &query = match.operands.query;
  if ((bias && !bias->isTaken &&
       failed(placeData(*bias, isAttentionFloat, query, match.bias,
                        match.biasMask, match.biasTarget))) ||
      (condition && !condition->isTaken &&
       failed(placeData(*condition, isBoolean, query, match.condition,
                        match.conditionMask, match.conditionTarget))))
    return failure();
  if (match.bias || match.biasMask || match.condition || match.conditionMask)
    match.asTensor = asTensor;
  if (condition) {
    match.hidden = condition->hidden && !match.conditionMask;
    match.fill = static_cast<float>(condition->fill);
  }
  bool mayBeEmpty = visible->mayLeaveEmptyRows();
  // A row that two of them hide has its weights where the higher score is.
  if (mayBeEmpty && hidesByFiniteScore && masks > 1)
    return fail(maskOp,
                "several masks, one of a finite score, may hide all keys "
                "from a query");
  // A row that sees nothing has all its weight on the sink, and gives 0.
  if (sink)
    match.emptyRows = EmptyRows::Zero;
  else if (mayBeEmpty && hidesByFiniteScore)
    match.emptyRows = EmptyRows::Uniform;
  else if ((mayBeEmpty || bias || condition) && !emptyRowsAreZero)
    match.emptyRows = EmptyRows::NaN;
  match.result = element->indices;
  if (!hasSizes(op->getResult(0), match.result) ||
      !canRearrange(match.operands.output, match.result))
    return fail(op, "the output's dimensions are in an order that is not "
                    "understood");
  return finishLogSums(match);
}

Operation *mlir::ring::getLastOperand(linalg::LinalgOp op,
                                      const AttentionMatch &match) {
  SmallVector<Value> operands = {match.operands.query.tensor,
                                 match.operands.key.tensor,
                                 match.operands.value.tensor};
  for (const auto *read : {&match.bias, &match.condition, &match.sinks})
    if (*read)
      operands.push_back((*read)->tensor);
  Operation *last = nullptr;
  for (Value operand : operands)
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == op->getBlock() &&
        (!last || last->isBeforeInBlock(def)))
      last = def;
  return last;
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
