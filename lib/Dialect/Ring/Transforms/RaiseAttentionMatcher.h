//===- RaiseAttentionMatcher.h - Matches one attention ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of one match: RaiseAttentionMatch.cpp tells the dimensions apart
// and puts the result together, RaiseAttentionSoftmax.cpp takes the weights
// apart, RaiseAttentionScores.cpp the scores,
// RaiseAttentionLogSum.cpp finds what else is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCHER_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCHER_H

#include "RaiseAttentionMatch.h"
#include "RaiseAttentionTerms.h"

namespace mlir::ring {

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
  LogicalResult matchExponent(Expr *exp);
  FailureOr<Expr *> matchMaximum(Expr *max);
  LogicalResult matchDifference(Expr *difference);
  LogicalResult matchScoresOfSoftmax();
  LogicalResult skipFirstMaxima();
  LogicalResult matchEmptyRowTest(Expr *condition);
  LogicalResult matchSum(Expr *sum, Expr *numerator);
  FailureOr<Expr *> hideWhereZero();
  LogicalResult matchScores();
  LogicalResult matchAddedMask(Expr *mask);
  LogicalResult matchDotProduct(Expr *sum);
  LogicalResult checkOtherUses();
  FailureOr<Expr *> matchLogSum(Expr *expr, bool &isGuarded);
  bool isLogSum(Operation *candidate);
  LogicalResult finishLogSums(AttentionMatch &match);
  LogicalResult finish(AttentionMatch &match);

  /// Succeeds iff `reduction` over its variables is one of `element` over all
  /// keys, and the same for each key; or over the keys and a sink, a load that
  /// is returned.
  FailureOr<Expr *> matchOverKeys(Expr *reduction, Expr *element,
                                  const Twine &what);
  Expr *findSink(Expr *element, const Digit &over);
  bool isSinkBesideScores();
  LogicalResult checkHides(double fill, Expr *mask);
  LogicalResult hide(Expr *condition, bool negated, double fill, Expr *mask);
  LogicalResult hideByTable(Expr *mask, ArrayRef<Type> roundings);
  LogicalResult hideByData(Expr *condition, bool negated, double fill,
                           Expr *mask);
  void replacePairs(const VisiblePairs &restricted, double fill, Expr *mask);
  void hideParts(Expr *condition, bool negated, Expr *mask,
                 SmallVectorImpl<HidingCondition> &data);
  void takeClauses(ScoreData &data, AttentionMatch &match);
  LogicalResult placeData(const ScoreData &data,
                          function_ref<bool(Type)> isOfType,
                          const OperandRead &query,
                          std::optional<OperandRead> &read,
                          std::optional<DataMask> &mask, Indices &target);
  LogicalResult addBias(Expr *summand, ArrayRef<HidingCondition> parts);
  LogicalResult cap(Expr *tanh);
  void setScale(double newScale);
  void multiply(double factor);
  double atSoftmax(double fill) const;

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
  /// One for each row, beside the scores; null without.
  Expr *sink = nullptr;
  /// What the sink was found beside, at the keys.
  Expr *besideSink = nullptr;
  std::optional<VisiblePairs> visible;
  /// What stays a tensor: added to the scores, or telling which of them are
  /// replaced.
  std::optional<ScoreData> bias, condition;
  Operation *maskOp = nullptr;
  Operation *scoreOp = nullptr;
  bool emptyRowsAreZero = false;
  /// Where the weights are 0, which a mask of the scores says as well.
  std::optional<ScoreData> zeroWeights;
  /// That mask has been found: it alone makes rows empty.
  bool foundZeroWeights = false;
  struct LogSumMatch {
    OperandRead read;
    bool isGuarded = false;
  };
  SmallVector<LogSumMatch, 1> logSums;
  /// The ops that the attention is made of.
  llvm::DenseSet<Operation *> expanded;
  /// Why a mask stays a tensor.
  Mismatch asTensor;
  /// How often pairs are hidden by positions; sometimes by a finite score.
  int masks = 0;
  bool hidesByFiniteScore = false;
  /// Of what is inside of what has been matched. Outside of a softcap it is the
  /// cap, inside it goes on from there, since c * tanh(t * x) is
  /// softcap(c * t * x).
  double scale = 1;
  std::optional<double> softcap;
  /// By which the difference to the maximum is multiplied, ln(2) where the base
  /// is 2. Part of `scale`.
  double exponentScale = 1;
  /// `scale` of what `scores` is.
  double scaleAtSoftmax = 1;
  /// What becomes of the scores on the way to the difference, the last first:
  /// they are multiplied, or rounded to a type.
  struct Step {
    double factor = 1;
    Type roundedTo = nullptr;
  };
  SmallVector<Step, 4> steps;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONMATCHER_H
