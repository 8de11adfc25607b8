//===- RaiseAttentionMask.cpp - Masks in tensor ops -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

/// Larger than any sequence, and small enough that sums of a few positions stay
/// within 64 bits.
static constexpr int64_t kMaxPositions = int64_t(1) << 48;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::optional<double> mlir::ring::getFloatConstant(ExprContext &context,
                                                   Expr *expr) {
  expr = context.resolve(expr);
  if (auto value = dyn_cast_or_null<FloatAttr>(expr->constant)) {
    Type type = value.getType();
    if (type.isF16() || type.isBF16() || type.isF32() || type.isF64())
      return value.getValueAsDouble();
    return std::nullopt;
  }
  if (Expr *extension = getApplied<arith::ExtFOp>(context, expr))
    return getFloatConstant(context, extension->operands[0]);
  Expr *truncation = getApplied<arith::TruncFOp>(context, expr);
  if (!truncation)
    return std::nullopt;
  std::optional<double> value =
      getFloatConstant(context, truncation->operands[0]);
  if (!value)
    return std::nullopt;
  APFloat rounded(*value);
  bool losesInfo = false;
  rounded.convert(
      cast<FloatType>(truncation->value.getType()).getFloatSemantics(),
      APFloat::rmNearestTiesToEven, &losesInfo);
  // Overflow and underflow change more than the last place.
  bool keepsMagnitude = rounded.isNormal() || !losesInfo;
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return keepsMagnitude ? *value : rounded.convertToDouble();
}

std::optional<int64_t> mlir::ring::getIntegerConstant(ExprContext &context,
                                                      Expr *expr) {
  expr = context.resolve(expr);
  if (auto value = dyn_cast_or_null<BoolAttr>(expr->constant))
    return value.getValue();
  auto value = dyn_cast_or_null<IntegerAttr>(expr->constant);
  if (!value || value.getValue().getBitWidth() > 64)
    return std::nullopt;
  return value.getValue().getSExtValue();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static bool isInRange(std::pair<int64_t, int64_t> range, Type type) {
  unsigned width = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
  if (width >= 64)
    return true;
  int64_t bound = int64_t(1) << (width - 1);
  return range.first >= -bound && range.second < bound;
}

std::pair<int64_t, int64_t> VisiblePairs::getRange(const Linear &linear) const {
  std::pair<int64_t, int64_t> range = {linear.constant, linear.constant};
  auto extend = [&](int64_t factor, const Index &index) {
    int64_t size = getSize(index);
    int64_t last =
        factor * ((ShapedType::isDynamic(size) ? kMaxPositions : size) - 1);
    (factor < 0 ? range.first : range.second) += last;
  };
  extend(linear.query, query);
  extend(linear.key, key);
  return range;
}

/// A constant list of numbers that grow by the same step from one query, or one
/// key, to the next.
std::optional<VisiblePairs::Linear>
VisiblePairs::evaluateList(Expr *expr) const {
  DenseIntElementsAttr list;
  constexpr int64_t kLongest = 1 << 20;
  if (!expr->isLoad() || !matchPattern(expr->value, m_Constant(&list)) ||
      list.getNumElements() > kLongest || list.getNumElements() < 1)
    return std::nullopt;
  Index along;
  for (const Index &index : expr->indices) {
    if (index.empty())
      continue;
    if (!along.empty())
      return std::nullopt;
    along = index;
  }
  if (along.empty() || (along != query && along != key) ||
      getSize(along) != list.getNumElements())
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (const APInt &number : list.getValues<APInt>()) {
    if (number.getSignificantBits() > 48)
      return std::nullopt;
    numbers.push_back(number.getSExtValue());
  }
  int64_t first = numbers[0];
  int64_t step = numbers.size() > 1 ? numbers[1] - first : 0;
  if (std::abs(step) > kMaxPositions / kLongest)
    return std::nullopt;
  for (auto [i, number] : llvm::enumerate(numbers))
    if (number != first + static_cast<int64_t>(i) * step)
      return std::nullopt;
  return along == query ? Linear{step, 0, first} : Linear{0, step, first};
}

std::optional<VisiblePairs::Linear>
VisiblePairs::evaluate(ExprContext &context, Expr *expr,
                       Mismatch &mismatch) const {
  expr = context.resolve(expr);
  auto fail = [&](const char *reason) -> std::optional<Linear> {
    mismatch = {expr->op, reason};
    return std::nullopt;
  };
  if (expr->kind == Expr::Kind::Position) {
    const Index &index = expr->indices[0];
    if (index.empty())
      return Linear{0, 0, 0};
    if (index == query)
      return Linear{1, 0, 0};
    if (index == key)
      return Linear{0, 1, 0};
    return fail("the mask depends on an index that is no position of a query "
                "or a key");
  }
  if (std::optional<int64_t> constant = getIntegerConstant(context, expr)) {
    if (*constant <= -kMaxPositions || *constant >= kMaxPositions)
      return fail("a constant of the mask is too large for a position");
    return Linear{0, 0, *constant};
  }
  if (std::optional<Linear> listed = evaluateList(expr))
    return listed;
  if (expr->kind != Expr::Kind::Apply)
    return fail("the mask compares something else than positions");

  bool binary = isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(expr->op);
  if (!binary && !isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp>(expr->op))
    return fail("the mask computes with positions in a way that is not "
                "understood");
  std::optional<Linear> first = evaluate(context, expr->operands[0], mismatch);
  if (!first)
    return std::nullopt;
  Linear result = *first;
  if (binary) {
    std::optional<Linear> second =
        evaluate(context, expr->operands[1], mismatch);
    if (!second)
      return std::nullopt;
    if (isa<arith::MulIOp>(expr->op)) {
      if (result.query != 0 || result.key != 0)
        std::swap(result, *second);
      // Small enough that no product overflows before it is looked at below.
      constexpr int64_t kMostTimes = 1024;
      int64_t times = result.constant;
      if (result.query != 0 || result.key != 0 || std::abs(times) > kMostTimes)
        return fail("the mask multiplies positions by something else than a "
                    "small constant");
      result = {times * second->query, times * second->key,
                times * second->constant};
    } else {
      int64_t sign = isa<arith::SubIOp>(expr->op) ? -1 : 1;
      result.query += sign * second->query;
      result.key += sign * second->key;
      result.constant += sign * second->constant;
    }
  }
  constexpr int64_t kMaxFactor = 64;
  if (std::abs(result.query) > kMaxFactor ||
      std::abs(result.key) > kMaxFactor ||
      std::abs(result.constant) >= kMaxPositions)
    return fail("the mask computes with multiples of positions");
  std::pair<int64_t, int64_t> range = getRange(result);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(expr->op) && range.first < 0)
    return fail("the mask takes a negative number for an unsigned one");
  if (!isInRange(range, expr->value.getType()))
    return fail("positions may overflow in the mask");
  return result;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

bool mlir::ring::isConjunction(const Expr *condition, bool negated) {
  // not(a or b) = not a and not b.
  return condition->kind == Expr::Kind::Apply &&
         (negated ? isa<arith::OrIOp>(condition->op)
                  : isa<arith::AndIOp>(condition->op));
}

LogicalResult VisiblePairs::requireNotPositive(const Linear &linear,
                                               Expr *source,
                                               Mismatch &mismatch) {
  if (getRange(linear).second <= 0)
    return success();
  // Of a single position, the factor says nothing.
  int64_t queryFactor = query.empty() ? -linear.key : linear.query;
  int64_t keyFactor = key.empty() ? -linear.query : linear.key;
  if (keyFactor == 1 && queryFactor == -1) {
    right = std::min(right.value_or(-linear.constant), -linear.constant);
    return success();
  }
  if (keyFactor == -1 && queryFactor == 1) {
    left = std::min(left.value_or(-linear.constant), -linear.constant);
    return success();
  }
  mismatch = {source->op, "the mask does not compare the position of a key "
                          "with that of a query"};
  return failure();
}

LogicalResult VisiblePairs::restrictLinearly(ExprContext &context,
                                             Expr *condition, bool negated,
                                             Mismatch &mismatch) {
  condition = context.resolve(condition);
  std::optional<int64_t> constant = getIntegerConstant(context, condition);
  if (constant && (*constant != 0) != negated)
    return success();
  auto fail = [&](const char *reason) {
    mismatch = {condition->op, reason};
    return failure();
  };
  if (condition->kind != Expr::Kind::Apply)
    return fail("the mask is not computed from positions");
  if (isConjunction(condition, negated))
    return success(succeeded(restrictLinearly(context, condition->operands[0],
                                              negated, mismatch)) &&
                   succeeded(restrictLinearly(context, condition->operands[1],
                                              negated, mismatch)));
  if (isa<arith::XOrIOp>(condition->op))
    for (unsigned i : {0, 1})
      if (std::optional<int64_t> value =
              getIntegerConstant(context, condition->operands[i]))
        return restrictLinearly(context, condition->operands[1 - i],
                                negated != (*value != 0), mismatch);
  if (isa<arith::SelectOp>(condition->op)) {
    // `select(c, a, false)` is `c and a`, `select(c, true, b)` is `c or b`; of
    // the negated ones, each is the other.
    for (bool chosen : {true, false}) {
      std::optional<int64_t> value =
          getIntegerConstant(context, condition->operands[chosen ? 1 : 2]);
      if (!value || (*value != 0) != negated || chosen != negated)
        continue;
      return success(succeeded(restrictLinearly(context, condition->operands[0],
                                                negated, mismatch)) &&
                     succeeded(restrictLinearly(
                         context, condition->operands[chosen ? 2 : 1], negated,
                         mismatch)));
    }
    return fail("the mask chooses between conditions");
  }
  auto compare = dyn_cast<arith::CmpIOp>(condition->op);
  if (!compare)
    return fail("the mask is not a conjunction of comparisons of positions");

  std::optional<Linear> lhs =
      evaluate(context, condition->operands[0], mismatch);
  std::optional<Linear> rhs =
      evaluate(context, condition->operands[1], mismatch);
  if (!lhs || !rhs)
    return failure();
  Linear above = {lhs->query - rhs->query, lhs->key - rhs->key,
                  lhs->constant - rhs->constant};
  Linear below = {-above.query, -above.key, -above.constant};
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (negated)
    predicate = arith::invertPredicate(predicate);
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    above.constant += 1;
    return requireNotPositive(above, condition, mismatch);
  case arith::CmpIPredicate::sle:
    return requireNotPositive(above, condition, mismatch);
  case arith::CmpIPredicate::sgt:
    below.constant += 1;
    return requireNotPositive(below, condition, mismatch);
  case arith::CmpIPredicate::sge:
    return requireNotPositive(below, condition, mismatch);
  case arith::CmpIPredicate::eq:
    return success(succeeded(requireNotPositive(above, condition, mismatch)) &&
                   succeeded(requireNotPositive(below, condition, mismatch)));
  default:
    return fail("the mask compares positions in a way that is not understood");
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

bool VisiblePairs::hasRows() const {
  for (const Index &index : {query, key})
    if (int64_t size = getSize(index);
        ShapedType::isDynamic(size) || size < 1 ||
        size > ConstantTensors::kMostElements ||
        (!index.empty() && index != wholeVariable(index[0].variable, size)))
      return false;
  return true;
}

VisibleRows VisiblePairs::getRows() const {
  int64_t keys = getSize(key);
  VisibleRows band(getSize(query), keys, [&](int64_t i) {
    return ::ring::Interval{left ? i - *left : 0,
                            right ? i + *right + 1 : keys};
  });
  if (rows)
    band.intersect(*rows);
  return band;
}

LogicalResult VisiblePairs::keep(MLIRContext *context,
                                 const VisibleRows &visible) {
  VisibleRows all = getRows();
  all.intersect(visible);
  if (failed(all.getMask(context)))
    return failure();
  rows = all;
  return success();
}

LogicalResult VisiblePairs::restrict(ExprContext &context, Expr *condition,
                                     bool negated, Mismatch &mismatch) {
  VisiblePairs linear = *this;
  if (succeeded(
          linear.restrictLinearly(context, condition, negated, mismatch))) {
    *this = linear;
    return success();
  }
  if (!hasRows())
    return failure();
  std::optional<VisibleRows> visible =
      RowFinder(context, query, key).find(condition, negated);
  if (!visible)
    return failure();
  if (succeeded(keep(context.getContext(), *visible)))
    return success();
  mismatch = {context.resolve(condition)->op,
              "no mask of ring.attention leaves the same pairs"};
  return failure();
}

LogicalResult VisiblePairs::restrictByTable(ExprContext &context, Expr *summand,
                                            double &fill) {
  if (!hasRows())
    return failure();
  std::optional<VisibleRows> visible =
      RowFinder(context, query, key).findAdded(summand, fill);
  return success(visible && succeeded(keep(context.getContext(), *visible)));
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

FailureOr<MaskAttr> VisiblePairs::getMask(MLIRContext *context) const {
  if (rows)
    return getRows().getMask(context);
  int64_t queries = getSize(query), keys = getSize(key);
  bool known = ShapedType::isStatic(queries) && ShapedType::isStatic(keys);
  std::optional<int64_t> leftSide = left, rightSide = right;
  if (known && rightSide && *rightSide >= keys - 1)
    rightSide.reset();
  if (known && leftSide && *leftSide >= queries - 1)
    leftSide.reset();
  if (!leftSide && !rightSide)
    return MaskAttr();

  // The window around the position of query i that is i + shift.
  auto build = [&](int64_t shift,
                   std::optional<Alignment> align) -> FailureOr<MaskAttr> {
    std::optional<int64_t> l = leftSide, r = rightSide;
    if (l)
      *l += shift;
    if (r)
      *r -= shift;
    if ((l && *l < 0) || (r && *r < 0))
      return failure();
    bool causal = r == 0;
    if (causal && !l)
      r.reset();
    return MaskAttr::get(context, causal, l, r, /*hasWindow=*/l || r,
                         /*chunk=*/std::nullopt, /*prefix=*/std::nullopt,
                         align);
  };
  if (known && queries == keys)
    return build(0, std::nullopt);
  FailureOr<MaskAttr> topLeft = build(0, Alignment::TopLeft);
  if (!known)
    return topLeft;
  FailureOr<MaskAttr> bottomRight =
      build(keys - queries, Alignment::BottomRight);
  // The alignment that makes it causal is the one that was meant.
  bool preferBottomRight = succeeded(bottomRight) &&
                           (failed(topLeft) || (!(*topLeft).getCausal() &&
                                                (*bottomRight).getCausal()));
  return preferBottomRight ? bottomRight : topLeft;
}

bool VisiblePairs::mayLeaveEmptyRows() const {
  if (rows)
    return getRows().hasEmptyRow();
  if (right && *right < 0)
    return true;
  if (right && left && *left + *right < 0)
    return true;
  int64_t queries = getSize(query), keys = getSize(key);
  if (!left)
    return false;
  return ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys) ||
         queries - 1 - *left > keys - 1;
}

std::string VisiblePairs::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto shifted = [&](int64_t by) {
    os << "i";
    if (by != 0)
      os << (by < 0 ? " - " : " + ") << std::abs(by);
  };
  if (left) {
    shifted(-*left);
    os << " <= ";
  }
  os << "j";
  if (right) {
    os << " <= ";
    shifted(*right);
  }
  return text;
}
