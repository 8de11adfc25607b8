//===- RaiseAttentionClauses.cpp - Lengths and documents ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionClauses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
/// `lhs predicate rhs`, of integers, where the pair is visible.
struct Comparison {
  arith::CmpIPredicate predicate;
  Expr *lhs, *rhs;
};
} // namespace

static std::optional<Comparison> getComparison(ExprContext &context,
                                               const HidingCondition &hiding) {
  Expr *condition = context.resolve(hiding.condition);
  bool negated = hiding.negated;
  while (Expr *flip = getApplied<arith::XOrIOp>(context, condition)) {
    bool last = getIntegerConstant(context, flip->operands[1]) == 1;
    if (!last && getIntegerConstant(context, flip->operands[0]) != 1)
      return std::nullopt;
    condition = context.resolve(flip->operands[last ? 0 : 1]);
    negated = !negated;
  }
  if (!getApplied<arith::CmpIOp>(context, condition))
    return std::nullopt;
  arith::CmpIPredicate predicate =
      cast<arith::CmpIOp>(condition->op).getPredicate();
  return Comparison{negated ? arith::invertPredicate(predicate) : predicate,
                    condition->operands[0], condition->operands[1]};
}

static bool isIntegerOf64Bits(Type type) {
  return type.isIntOrIndex() &&
         (type.isIndex() || type.getIntOrFloatBitWidth() <= 64);
}

/// True iff the program depends on nothing but the dimensions with `allowed`.
static bool dependsOnly(const ScalarProgram &program, ArrayRef<bool> allowed) {
  return llvm::all_of_zip(program.target, allowed,
                          [](const Index &index, bool isAllowed) {
                            return isAllowed || index.empty();
                          });
}

static Value collapse(OpBuilder &builder, Location loc, Value tensor,
                      ArrayRef<ReassociationIndices> groups) {
  return tensor::CollapseShapeOp::create(builder, loc, tensor, groups);
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

std::optional<LengthsMatch>
mlir::ring::matchLengths(ExprContext &context, const AttentionIndices &at,
                         const OperandRead &query,
                         const HidingCondition &hiding) {
  std::optional<Comparison> compare = getComparison(context, hiding);
  int64_t keys = getSize(at.key);
  if (!compare || at.key.empty() || ShapedType::isDynamic(keys) ||
      keys > INT32_MAX || ShapedType::isDynamic(getSize(query.target[0])))
    return std::nullopt;
  Expr *bound;
  arith::CmpIPredicate below = arith::CmpIPredicate::slt,
                       upTo = arith::CmpIPredicate::sle;
  if (context.asIndex(compare->lhs) == at.key) {
    bound = compare->rhs;
  } else if (context.asIndex(compare->rhs) == at.key) {
    bound = compare->lhs;
    below = arith::CmpIPredicate::sgt;
    upTo = arith::CmpIPredicate::sge;
  } else {
    return std::nullopt;
  }
  if (compare->predicate != below && compare->predicate != upTo)
    return std::nullopt;
  LengthsMatch match = {
      {}, 0, compare->predicate == upTo, query.target[0], keys};
  std::optional<unsigned> step =
      writeProgram(context, at, query, bound, match.program);
  if (!step || !dependsOnly(match.program, {true, false, false, false}) ||
      !isIntegerOf64Bits(getElementTypeOrSelf(bound->value)))
    return std::nullopt;
  match.bound = *step;
  return match;
}

Value mlir::ring::buildLengths(OpBuilder &builder, Location loc,
                               const LengthsMatch &match) {
  auto length = [&](OpBuilder &b, ValueRange steps) -> Value {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
    };
    Value bound = steps[match.bound];
    if (bound.getType().isIndex())
      bound = arith::IndexCastOp::create(b, loc, b.getI64Type(), bound);
    else if (bound.getType() != b.getI64Type())
      bound = arith::ExtSIOp::create(b, loc, b.getI64Type(), bound);
    // Before it is shifted, so that nothing overflows.
    Value clamped = arith::MaxSIOp::create(b, loc, bound, constant(-1));
    clamped = arith::MinSIOp::create(b, loc, clamped, constant(match.keys));
    clamped = arith::AddIOp::create(b, loc, clamped, constant(match.shift));
    clamped = arith::MaxSIOp::create(b, loc, clamped, constant(0));
    clamped = arith::MinSIOp::create(b, loc, clamped, constant(match.keys));
    return arith::TruncIOp::create(b, loc, b.getI32Type(), clamped);
  };
  Value lengths = match.program.build(builder, loc,
                                      {match.batch, Index(), Index(), Index()},
                                      builder.getI32Type(), length);
  return collapse(builder, loc, lengths, {{0, 1, 2, 3}});
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

std::optional<SegmentsMatch>
mlir::ring::matchSegments(ExprContext &context, const AttentionIndices &at,
                          const OperandRead &query,
                          const HidingCondition &hiding) {
  std::optional<Comparison> compare = getComparison(context, hiding);
  if (!compare || compare->predicate != arith::CmpIPredicate::eq)
    return std::nullopt;
  for (const Index &index : {query.target[0], at.query, at.key})
    if (ShapedType::isDynamic(getSize(index)) || getSize(index) >= INT32_MAX)
      return std::nullopt;
  // An id may be an element that is loaded, or a scalar.
  Type type = getElementTypeOrSelf(compare->lhs->value);
  if (!isa<IntegerType>(type) || !isIntegerOf64Bits(type))
    return std::nullopt;
  SegmentsMatch match = {{}, {}, 0, 0, query.target[0], at.query, at.key, type};
  for (auto [ofQuery, ofKey] : {std::pair(compare->lhs, compare->rhs),
                                std::pair(compare->rhs, compare->lhs)}) {
    match.queryProgram = match.keyProgram = {};
    std::optional<unsigned> queryId = writeProgram(context, at, query, ofQuery,
                                                   match.queryProgram),
                            keyId = writeProgram(context, at, query, ofKey,
                                                 match.keyProgram);
    if (!queryId || !keyId ||
        !dependsOnly(match.queryProgram, {true, false, true, false}) ||
        !dependsOnly(match.keyProgram, {true, false, false, true}))
      continue;
    // Of keys alone, one condition for each key is less.
    if (match.queryProgram.target[2].empty() ||
        match.keyProgram.target[3].empty())
      continue;
    match.queryId = *queryId;
    match.keyId = *keyId;
    return match;
  }
  return std::nullopt;
}

/// For each of `ids`, [batch, n], the first of `keys`, [batch, Sk], that is
/// equal; Sk where none is, which no key is named by.
static Value findFirst(OpBuilder &builder, Location loc, Value ids,
                       Value keys) {
  auto idsType = cast<RankedTensorType>(ids.getType()),
       keysType = cast<RankedTensorType>(keys.getType());
  Type i32 = builder.getI32Type();
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(keysType.getDimSize(1)));
  Value init = tensor::EmptyOp::create(builder, loc, idsType.getShape(), i32);
  init = linalg::FillOp::create(builder, loc, none, init).getResult(0);
  AffineExpr b, i, j;
  bindDims(builder.getContext(), b, i, j);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{b, i}, {b, j}, {b, i}}, builder.getContext());
  using utils::IteratorType;
  return linalg::GenericOp::create(
             builder, loc, TypeRange(init.getType()), ValueRange{ids, keys},
             ValueRange(init), maps,
             {IteratorType::parallel, IteratorType::parallel,
              IteratorType::reduction},
             [&](OpBuilder &nested, Location at, ValueRange x) {
               Value position = linalg::IndexOp::create(nested, at, 2);
               position = arith::IndexCastOp::create(nested, at, i32, position);
               Value equal = arith::CmpIOp::create(
                   nested, at, arith::CmpIPredicate::eq, x[0], x[1]);
               Value found =
                   arith::SelectOp::create(nested, at, equal, position, x[2]);
               Value least = arith::MinSIOp::create(nested, at, x[2], found);
               linalg::YieldOp::create(nested, at, least);
             })
      ->getResult(0);
}

std::pair<Value, Value> mlir::ring::buildSegments(OpBuilder &builder,
                                                  Location loc,
                                                  const SegmentsMatch &match) {
  auto ids = [&](const ScalarProgram &program, unsigned id,
                 const Indices &shape) {
    Value tensor =
        program.build(builder, loc, shape, match.type,
                      [&](OpBuilder &, ValueRange steps) { return steps[id]; });
    return collapse(builder, loc, tensor, {{0, 1}, {2, 3}});
  };
  Value queries = ids(match.queryProgram, match.queryId,
                      {match.batch, Index(), match.query, Index()});
  Value keys = ids(match.keyProgram, match.keyId,
                   {match.batch, Index(), Index(), match.key});
  return {findFirst(builder, loc, queries, keys),
          findFirst(builder, loc, keys, keys)};
}
