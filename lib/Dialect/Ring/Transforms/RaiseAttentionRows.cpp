//===- RaiseAttentionRows.cpp - Visible keys of each query ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionRows.h"

#include "RaiseAttentionMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ring;

using ::ring::Interval;

//===----------------------------------------------------------------------===//
// Sets of rows
//===----------------------------------------------------------------------===//

VisibleRows::VisibleRows(int64_t queries, int64_t keys,
                         llvm::function_ref<Interval(int64_t)> visible)
    : keys(keys) {
  for (int64_t i = 0; i < queries; ++i)
    rows.push_back(::ring::intersect(visible(i), {0, keys}));
}

bool VisibleRows::hasEmptyRow() const {
  return llvm::any_of(rows, [](const Interval &row) { return row.empty(); });
}

void VisibleRows::intersect(const VisibleRows &other) {
  for (auto [row, with] : llvm::zip_equal(rows, other.rows))
    row = ::ring::intersect(row, with);
}

bool VisibleRows::unite(const VisibleRows &other) {
  for (auto [row, with] : llvm::zip_equal(rows, other.rows)) {
    if (with.empty())
      continue;
    if (row.empty()) {
      row = with;
      continue;
    }
    if (row.end < with.begin || with.end < row.begin)
      return false;
    row = {std::min(row.begin, with.begin), std::max(row.end, with.end)};
  }
  return true;
}

bool VisibleRows::complement() {
  for (Interval &row : rows) {
    if (row.empty())
      row = {0, keys};
    else if (row.begin == 0)
      row = ::ring::intersect({row.end, keys}, {0, keys});
    else if (row.end == keys)
      row = {0, row.begin};
    else
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

bool VisibleRows::leavesThese(MaskAttr mask) const {
  ::ring::PositionalMask bound = mask.bind(getNumQueries(), keys);
  for (auto [i, row] : llvm::enumerate(rows)) {
    Interval visible = ::ring::intersect(bound.visibleKeys(i, keys), {0, keys});
    if (visible.begin != row.begin || visible.end != row.end)
      return false;
  }
  return true;
}

/// Whatever the parts of the mask are, each has to be one of a few: a side of a
/// window is what the row that reaches farthest has, a chunk begins where a
/// query sees no key before its own, or is as long as the longest row, and a
/// prefix is where the keys of a query end beyond its own. Which of them it is,
/// if any, is tried.
FailureOr<MaskAttr> VisibleRows::getMask(MLIRContext *context,
                                         std::optional<Alignment> align) const {
  int64_t shift = align == Alignment::BottomRight ? keys - getNumQueries() : 0;
  std::optional<int64_t> left, right, prefix, chunkBegin, longest;
  SmallVector<std::optional<int64_t>, 4> chunks = {std::nullopt};
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (row.empty())
      continue;
    int64_t p = static_cast<int64_t>(i) + shift;
    left = std::max(left.value_or(p - row.begin), p - row.begin);
    right = std::max(right.value_or(row.end - 1 - p), row.end - 1 - p);
    longest = std::max(longest.value_or(0), row.size());
    if (row.end - 1 > p)
      prefix = std::max(prefix.value_or(row.end), row.end);
    if (p <= 0 || row.begin != p || chunks.size() == 3)
      continue;
    chunks.push_back(chunkBegin ? p - *chunkBegin : p);
    chunkBegin = p;
  }
  if (longest)
    chunks.push_back(longest);
  auto attempt = [&](bool causal, bool leftSide, bool rightSide,
                     std::optional<int64_t> chunk, bool withPrefix) {
    std::optional<int64_t> l = leftSide ? left : std::nullopt,
                           r = rightSide ? right : std::nullopt;
    if (causal && !withPrefix && l)
      r = 0;
    if ((l && *l < 0) || (r && *r < 0))
      return MaskAttr();
    MaskAttr mask =
        MaskAttr::get(context, causal, l, r, /*hasWindow=*/l || r, chunk,
                      withPrefix ? prefix : std::nullopt, align);
    return leavesThese(mask) ? mask : MaskAttr();
  };
  for (std::optional<int64_t> chunk : chunks)
    for (bool withPrefix : {false, true})
      for (bool leftSide : {false, true})
        for (bool causal : {true, false})
          for (bool rightSide : {false, true})
            if ((causal && !withPrefix && rightSide) ||
                (withPrefix && (!causal || !prefix)) || (leftSide && !left) ||
                (rightSide && !right))
              continue;
            else if (MaskAttr mask = attempt(causal, leftSide, rightSide, chunk,
                                             withPrefix))
              return mask;
  return failure();
}

FailureOr<MaskAttr> VisibleRows::getMask(MLIRContext *context) const {
  if (llvm::all_of(rows, [&](const Interval &row) {
        return row.begin == 0 && row.end == keys;
      }))
    return MaskAttr();
  if (getNumQueries() == keys)
    return getMask(context, std::nullopt);
  FailureOr<MaskAttr> topLeft = getMask(context, Alignment::TopLeft);
  FailureOr<MaskAttr> bottomRight = getMask(context, Alignment::BottomRight);
  // The alignment that makes it causal is the one that was meant.
  bool preferBottomRight = succeeded(bottomRight) &&
                           (failed(topLeft) || (!(*topLeft).getCausal() &&
                                                (*bottomRight).getCausal()));
  return preferBottomRight ? bottomRight : topLeft;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

std::optional<VisibleRows> RowFinder::findBoth(Expr *a, Expr *b, bool negated) {
  std::optional<VisibleRows> rows = find(a, negated);
  std::optional<VisibleRows> with = rows ? find(b, negated) : std::nullopt;
  if (!with)
    return std::nullopt;
  rows->intersect(*with);
  return rows;
}

std::optional<VisibleRows> RowFinder::findEither(Expr *a, Expr *b,
                                                 bool negated) {
  std::optional<VisibleRows> rows = find(a, negated);
  std::optional<VisibleRows> with = rows ? find(b, negated) : std::nullopt;
  if (!with || !rows->unite(*with))
    return std::nullopt;
  return rows;
}

/// `select(c, a, b)` is a where c holds, and b where it does not.
std::optional<VisibleRows> RowFinder::findChosen(Expr *select, bool negated) {
  Expr *condition = select->operands[0];
  std::optional<VisibleRows> rows = find(condition, false);
  std::optional<VisibleRows> others = rows ? find(condition, true) : rows;
  std::optional<VisibleRows> a =
      others ? find(select->operands[1], negated) : others;
  std::optional<VisibleRows> b = a ? find(select->operands[2], negated) : a;
  if (!b)
    return std::nullopt;
  rows->intersect(*a);
  others->intersect(*b);
  if (!rows->unite(*others))
    return std::nullopt;
  return rows;
}

/// What is on one side depends on the query, on the other on the key, where the
/// numbers never decrease, or never increase: then each predicate leaves an
/// interval.
std::optional<VisibleRows> RowFinder::findCompared(Expr *compare,
                                                   bool negated) {
  arith::CmpIPredicate predicate =
      cast<arith::CmpIOp>(compare->op).getPredicate();
  Expr *ofQuery = compare->operands[0], *ofKey = compare->operands[1];
  std::optional<PositionEvaluator::Dependence> left = positions.getDependence(
                                                   ofQuery),
                                               right = positions.getDependence(
                                                   ofKey);
  if (!left || !right || !left->tables.empty() || !right->tables.empty())
    return std::nullopt;
  // Unsigned, what is negative would be large.
  if (predicate > arith::CmpIPredicate::sge)
    return std::nullopt;
  if (left->onKey || right->onQuery) {
    std::swap(ofQuery, ofKey);
    std::swap(left, right);
    switch (predicate) {
    case arith::CmpIPredicate::slt:
      predicate = arith::CmpIPredicate::sgt;
      break;
    case arith::CmpIPredicate::sle:
      predicate = arith::CmpIPredicate::sge;
      break;
    case arith::CmpIPredicate::sgt:
      predicate = arith::CmpIPredicate::slt;
      break;
    case arith::CmpIPredicate::sge:
      predicate = arith::CmpIPredicate::sle;
      break;
    default:
      break;
    }
  }
  if (left->onKey || right->onQuery)
    return std::nullopt;
  if (negated)
    predicate = arith::invertPredicate(predicate);
  auto numbers = [&](Expr *expr, bool alongKey, std::vector<int64_t> &list) {
    for (Attribute value : positions.evaluateAll(expr, alongKey)) {
      auto integer = cast<IntegerAttr>(value);
      if (integer.getValue().getBitWidth() > 64)
        return false;
      list.push_back(integer.getValue().getSExtValue());
    }
    return !list.empty();
  };
  std::vector<int64_t> queries, keys;
  if (!numbers(ofQuery, /*alongKey=*/false, queries) ||
      !numbers(ofKey, /*alongKey=*/true, keys))
    return std::nullopt;
  bool increases = llvm::is_sorted(keys);
  if (!increases && !llvm::is_sorted(keys, std::greater<int64_t>()))
    return std::nullopt;

  int64_t count = keys.size();
  // How many keys, in order, are on the near side of `number`, itself included
  // where `orEqual`.
  auto before = [&](int64_t number, bool orEqual) -> int64_t {
    return llvm::partition_point(keys,
                                 [&](int64_t k) {
                                   if (k == number)
                                     return orEqual;
                                   return increases ? k < number : k > number;
                                 }) -
           keys.begin();
  };
  VisibleRows rows(queries.size(), count, [&](int64_t i) -> Interval {
    int64_t q = queries[i];
    int64_t begin = before(q, false), end = before(q, true);
    // Which keys k have `q predicate k`.
    switch (predicate) {
    case arith::CmpIPredicate::eq:
    case arith::CmpIPredicate::ne:
      return {begin, end};
    case arith::CmpIPredicate::sgt:
      return increases ? Interval{0, begin} : Interval{end, count};
    case arith::CmpIPredicate::sge:
      return increases ? Interval{0, end} : Interval{begin, count};
    case arith::CmpIPredicate::slt:
      return increases ? Interval{end, count} : Interval{0, begin};
    case arith::CmpIPredicate::sle:
      return increases ? Interval{begin, count} : Interval{0, end};
    default:
      llvm_unreachable("unsigned predicates have been refused");
    }
  });
  if (predicate == arith::CmpIPredicate::ne && !rows.complement())
    return std::nullopt;
  return rows;
}

/// A condition on one position.
std::optional<VisibleRows> RowFinder::findListed(Expr *condition, bool negated,
                                                 bool alongKey) {
  std::vector<Attribute> list = positions.evaluateAll(condition, alongKey);
  auto holds = [&](Attribute value) {
    return cast<IntegerAttr>(value).getValue().isZero() == negated;
  };
  int64_t queries = getSize(query), keys = getSize(key);
  if (list.empty())
    return std::nullopt;
  if (!alongKey)
    return VisibleRows(queries, keys, [&](int64_t i) {
      return Interval{0, holds(list[i]) ? keys : 0};
    });
  auto begin = llvm::find_if(list, holds);
  auto end = std::find_if_not(begin, list.end(), holds);
  if (std::any_of(end, list.end(), holds))
    return std::nullopt;
  Interval visible{begin - list.begin(), end - list.begin()};
  return VisibleRows(queries, keys, [&](int64_t) { return visible; });
}

std::optional<VisibleRows> RowFinder::findInTable(
    Expr *load, llvm::function_ref<std::optional<bool>(Attribute)> isVisible) {
  std::optional<PositionEvaluator::Table> table = positions.getTable(load);
  if (!table)
    return std::nullopt;
  // A mask holds two numbers, or a few; what holds many is none.
  constexpr size_t kMostNumbers = 16;
  llvm::DenseMap<uint64_t, bool> known;
  bool isMask = true;
  auto sees = [&](int64_t i, int64_t j) {
    uint64_t bits =
        table->elements.getBits(i * table->queryStride + j * table->keyStride);
    auto [it, inserted] = known.try_emplace(bits, false);
    if (!inserted)
      return it->second;
    std::optional<bool> visible;
    if (known.size() <= kMostNumbers)
      visible = isVisible(table->elements.getElement(bits));
    isMask &= visible.has_value();
    return it->second = visible.value_or(false);
  };
  int64_t keys = getSize(key);
  VisibleRows rows(getSize(query), keys, [&](int64_t i) -> Interval {
    Interval visible{keys, 0};
    int64_t count = 0;
    for (int64_t j = 0; j < keys && isMask; ++j) {
      if (!sees(i, j))
        continue;
      visible = {std::min(visible.begin, j), j + 1};
      ++count;
    }
    isMask &= count == visible.size();
    return visible;
  });
  if (!isMask)
    return std::nullopt;
  return rows;
}

std::optional<VisibleRows> RowFinder::find(Expr *condition, bool negated) {
  condition = context.resolve(condition);
  if (std::optional<int64_t> constant =
          getIntegerConstant(context, condition)) {
    int64_t seen = (*constant != 0) != negated ? getSize(key) : 0;
    return VisibleRows(getSize(query), getSize(key),
                       [&](int64_t) { return Interval{0, seen}; });
  }
  if (condition->kind == Expr::Kind::Apply) {
    ArrayRef<Expr *> operands = condition->operands;
    if (isConjunction(condition, negated))
      return findBoth(operands[0], operands[1], negated);
    if (isConjunction(condition, !negated))
      return findEither(operands[0], operands[1], negated);
    if (isa<arith::XOrIOp>(condition->op))
      for (unsigned i : {0, 1})
        if (std::optional<int64_t> value =
                getIntegerConstant(context, operands[i]))
          return find(operands[1 - i], negated != (*value != 0));
    if (isa<arith::SelectOp>(condition->op))
      return findChosen(condition, negated);
    VisiblePairs band(query, key);
    Mismatch ignored;
    if (succeeded(band.restrictLinearly(context, condition, negated, ignored)))
      return band.getRows();
    if (isa<arith::CmpIOp>(condition->op))
      if (std::optional<VisibleRows> rows = findCompared(condition, negated))
        return rows;
  }
  std::optional<PositionEvaluator::Dependence> dependence =
      positions.getDependence(condition);
  if (!dependence || (dependence->onQuery && dependence->onKey))
    return std::nullopt;
  if (dependence->tables.empty())
    return findListed(condition, negated, dependence->onKey);
  if (dependence->tables.size() != 1 || dependence->onQuery ||
      dependence->onKey)
    return std::nullopt;
  Expr *table = dependence->tables[0];
  return findInTable(table, [&](Attribute element) -> std::optional<bool> {
    auto value = dyn_cast_or_null<IntegerAttr>(
        positions.evaluateFor(condition, table, element));
    if (!value)
      return std::nullopt;
    return value.getValue().isZero() == negated;
  });
}

std::optional<VisibleRows> RowFinder::findAdded(Expr *summand, double &fill) {
  std::optional<PositionEvaluator::Dependence> dependence =
      positions.getDependence(summand);
  if (!dependence || dependence->tables.size() != 1 || dependence->onQuery ||
      dependence->onKey)
    return std::nullopt;
  Expr *table = dependence->tables[0];
  std::optional<double> hidden;
  std::optional<VisibleRows> rows =
      findInTable(table, [&](Attribute element) -> std::optional<bool> {
        auto value = dyn_cast_or_null<FloatAttr>(
            positions.evaluateFor(summand, table, element));
        if (!value || value.getValue().isNaN())
          return std::nullopt;
        double number = value.getValueAsDouble();
        if (number != 0 && hidden.value_or(number) != number)
          return std::nullopt;
        if (number != 0)
          hidden = number;
        return number == 0;
      });
  if (!rows || !hidden)
    return std::nullopt;
  fill = *hidden;
  return rows;
}
