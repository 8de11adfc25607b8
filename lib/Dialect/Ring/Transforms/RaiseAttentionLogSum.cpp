//===- RaiseAttentionLogSum.cpp - The logarithm of the sum ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may return log(sum(exp(s))), or compute its weights from it.
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

namespace {
/// log(sum) + shift.
struct LogSum {
  Expr *sum, *shift;
};
} // namespace

static std::optional<LogSum> getLogSum(ExprContext &context, Expr *expr) {
  Expr *add = getTerm<arith::AddFOp>(context, expr);
  if (!add)
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (Expr *log = getTerm<math::LogOp>(context, add->operands[i]))
      if (Expr *sum = getReduction<arith::AddFOp>(context, log->operands[0]))
        return LogSum{sum, add->operands[1 - i]};
  return std::nullopt;
}

/// Of `m`, or 0 where abs(m) is infinite, the `m`; null where it is not that.
static Expr *getGuarded(ExprContext &context, Expr *shift) {
  Expr *select = getTerm<arith::SelectOp>(context, shift);
  Expr *compare = select
                      ? getApplied<arith::CmpFOp>(context, select->operands[0])
                      : nullptr;
  if (!compare || !isFloatConstant(context, compare->operands[1], INFINITY))
    return nullptr;
  Expr *abs = getTerm<math::AbsFOp>(context, compare->operands[0]);
  bool infiniteIfTrue;
  switch (cast<arith::CmpFOp>(compare->op).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    infiniteIfTrue = true;
    break;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
  case arith::CmpFPredicate::OLT:
    infiniteIfTrue = false;
    break;
  default:
    return nullptr;
  }
  Expr *max = select->operands[infiniteIfTrue ? 2 : 1];
  bool matches =
      abs &&
      isFloatConstant(context, select->operands[infiniteIfTrue ? 1 : 2], 0) &&
      context.equal(max, abs->operands[0]);
  return matches ? max : nullptr;
}

/// The log of the sum of the exponentials of `scores`, and of a sink that is
/// returned. `isGuarded`: it is -inf for rows of -inf, where it were NaN
/// otherwise.
FailureOr<Expr *> AttentionMatcher::matchLogSum(Expr *expr, bool &isGuarded) {
  std::optional<LogSum> log = getLogSum(context, expr);
  if (!log)
    return fail(expr, "the weights of the values are not a softmax's quotient");
  Expr *exp = getTerm<math::ExpOp>(context, log->sum->operands[1]);
  Expr *difference =
      exp ? getTerm<arith::SubFOp>(context, exp->operands[0]) : nullptr;
  if (!difference || !isFloatConstant(context, log->sum->operands[0], 0) ||
      !context.equal(log->shift, difference->operands[1]))
    return fail(log->sum, "the logarithm is not that of a sum of exponentials "
                          "of differences to what is added to it");
  Expr differences = *log->sum;
  differences.operands[1] = difference->operands[0];
  FailureOr<Expr *> inSum =
      matchOverKeys(&differences, scores, "the sum of the exponentials");
  if (failed(inSum))
    return failure();
  Expr *max = getGuarded(context, log->shift);
  isGuarded = max;
  FailureOr<Expr *> inMaximum = matchMaximum(max ? max : log->shift);
  if (failed(inMaximum))
    return failure();
  if (*inSum != *inMaximum)
    return fail(log->sum, "the sum and the maximum have different sinks");
  return inSum;
}

/// The load of `tensor` that is a part of `expr`; null without.
static Expr *findLoad(ExprContext &context, Expr *expr, Value tensor) {
  SmallVector<Expr *> worklist = {expr};
  llvm::DenseSet<Expr *> seen;
  while (!worklist.empty()) {
    Expr *part = worklist.pop_back_val();
    if (!seen.insert(part).second)
      continue;
    if (part->isLoad() && part->value == tensor)
      return part;
    if (Expr *expansion = context.expand(part))
      worklist.push_back(expansion);
    llvm::append_range(worklist, part->operands);
  }
  return nullptr;
}

/// What the variables of `indices` have to be for `source` to be `target`.
static std::optional<Indices> substitute(const Indices &indices,
                                         const Indices &source,
                                         const Indices &target) {
  SmallVector<std::pair<Digit, Index>> values;
  for (auto [from, to] : llvm::zip_equal(source, target)) {
    SmallVector<int64_t> sizes;
    for (const Digit &digit : from)
      sizes.push_back(digit.size);
    std::optional<Indices> parts = split(to, sizes);
    if (!parts)
      return std::nullopt;
    for (auto [digit, part] : llvm::zip_equal(from, *parts))
      values.push_back({digit, part});
  }
  // The most significant first.
  llvm::sort(values, [](const auto &a, const auto &b) {
    return a.first.divisor > b.first.divisor;
  });
  Indices result;
  for (const Index &index : indices) {
    Index replaced, covered;
    for (const auto &[digit, value] : values)
      if (index.size() == 1 && digit.variable == index[0].variable) {
        replaced = concatenate({replaced, value});
        covered = concatenate({covered, Index({digit})});
      }
    if (covered != index)
      return std::nullopt;
    result.push_back(std::move(replaced));
  }
  return result;
}

/// True iff the result of `candidate` is the log of the sum of this attention,
/// which then is one of its results.
bool AttentionMatcher::isLogSum(Operation *candidate) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(candidate);
  if (!linalgOp || candidate->getNumResults() != 1 || scaleAtSoftmax != 1 ||
      linalgOp.getNumReductionLoops() != 0 ||
      !linalgOp.hasPureTensorSemantics())
    return false;
  // In the variables of `candidate`, to see how its rows are those of the
  // scores; then in those of the scores.
  Expr *own = context.element(linalgOp, 0);
  std::optional<LogSum> log = getLogSum(context, own);
  if (!log)
    return false;
  Expr *reduced = log->sum->operands[1];
  if (sink && log->sum->variables.size() == 1)
    reduced = context.restrict(reduced, log->sum->variables[0], at.key[0]);
  Value product = scoreOp->getResult(0);
  Expr *source = reduced ? findLoad(context, reduced, product) : nullptr;
  Expr *target = findLoad(context, scores, product);
  if (!source || !target)
    return false;
  std::optional<Indices> rows =
      substitute(own->indices, source->indices, target->indices);
  if (!rows)
    return false;
  LogSumMatch match;
  match.read = {own->value, *rows, {}};
  FailureOr<Expr *> found =
      matchLogSum(context.load(own->value, *rows), match.isGuarded);
  if (failed(found) || *found != sink)
    return false;
  logSums.push_back(std::move(match));
  return true;
}

LogicalResult AttentionMatcher::finishLogSums(AttentionMatch &match) {
  const Indices &query = match.operands.query.target;
  bool mayBeEmpty = visible->mayLeaveEmptyRows();
  Operation *last = getLastOperand(op, match);
  for (LogSumMatch &log : logSums) {
    Operation *where = log.read.tensor.getDefiningOp();
    // Of ring.attention it is -inf where a query sees nothing.
    if (!sink && (mayBeEmpty || bias || condition) && !log.isGuarded)
      return fail(where, "the logarithm of the sum is NaN where a query sees "
                         "nothing");
    if (!sink && mayBeEmpty && hidesByFiniteScore)
      return fail(where, "the logarithm of the sum is finite where a finite "
                         "score hides all keys from a query");
    for (Operation *user : log.read.tensor.getUsers())
      if (Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
          last && ancestor && !expanded.contains(user) &&
          !last->isBeforeInBlock(ancestor))
        return fail(user,
                    "the logarithm of the sum is used before all operands "
                    "are known");
    log.read.target = {query[0], query[1], query[2]};
    if (!hasSizes(log.read.tensor, log.read.indices) ||
        !canRearrange(log.read.target, log.read.indices))
      return fail(where, "the dimensions of the logarithm of the sum are in an "
                         "order that is not understood");
    match.logSums.push_back(log.read);
  }
  return success();
}
