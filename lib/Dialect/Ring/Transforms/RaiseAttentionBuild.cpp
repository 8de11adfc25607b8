//===- RaiseAttentionBuild.cpp - The op that was matched ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionBuild.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <tuple>

using namespace mlir;
using namespace mlir::ring;

static RankedTensorType getTypeAt(const Indices &indices, Type elementType) {
  return RankedTensorType::get(llvm::map_to_vector(indices, getSize),
                               elementType);
}

/// `tensor` with elements of `elementType`, which are extended or rounded.
static Value convertElements(OpBuilder &builder, Location loc, Value tensor,
                             Type elementType) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == elementType)
    return tensor;
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, tensor), elementType);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  bool widens = elementType.getIntOrFloatBitWidth() >
                type.getElementType().getIntOrFloatBitWidth();
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    Value element = arguments[0];
    element = widens
                  ? Value(arith::ExtFOp::create(b, loc, elementType, element))
                  : arith::TruncFOp::create(b, loc, elementType, element);
    linalg::YieldOp::create(b, loc, element);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), tensor, init,
                                   ArrayRef<AffineMap>{identity, identity},
                                   loops, body)
      .getResult(0);
}

/// Scores of pairs that the condition hides become `fill`.
static void buildScore(OpBuilder &builder, AttentionOp op, Value condition,
                       const AttentionMatch &match) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  Block *block =
      builder.createBlock(&op.getScore(), {}, {f32, index, index, index, index},
                          SmallVector<Location>(5, loc));
  SmallVector<Value> place;
  for (auto [dim, read] : llvm::enumerate(match.conditionTarget))
    place.push_back(read.empty()
                        ? Value(arith::ConstantIndexOp::create(builder, loc, 0))
                        : block->getArgument(1 + dim));
  Value flag = tensor::ExtractOp::create(builder, loc, condition, place);
  Value score = block->getArgument(0);
  Value fill = arith::ConstantOp::create(builder, loc,
                                         builder.getF32FloatAttr(match.fill));
  Value result = match.hidden
                     ? arith::SelectOp::create(builder, loc, flag, fill, score)
                     : arith::SelectOp::create(builder, loc, flag, score, fill);
  YieldOp::create(builder, loc, result);
}

static AttentionOp createAttention(OpBuilder &builder, Location loc,
                                   const AttentionMatch &match,
                                   Type elementType) {
  auto materialize = [&](const OperandRead &read) {
    return rearrange(builder, loc, read.tensor, read.indices, read.target,
                     getTypeAt(read.target, getElementTypeOrSelf(read.tensor)));
  };
  auto operand = [&](const OperandRead &read) {
    return convertElements(builder, loc, materialize(read), elementType);
  };
  Value query = operand(match.operands.query);
  Value key = operand(match.operands.key);
  Value value = operand(match.operands.value);
  Value bias;
  if (match.biasMask)
    bias = buildDataMask(builder, loc, *match.biasMask, match.biasTarget,
                         builder.getF32Type());
  else if (match.bias)
    bias = materialize(*match.bias);
  if (bias && getElementTypeOrSelf(bias) != elementType)
    bias = convertElements(builder, loc, bias, builder.getF32Type());
  Value sinks;
  if (match.sinks)
    sinks = convertElements(builder, loc, materialize(*match.sinks),
                            builder.getF32Type());
  if (match.sink)
    sinks = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            getTypeAt({match.operands.query.target[1]}, builder.getF32Type()),
            *match.sink));
  Value condition;
  if (match.conditionMask)
    condition = buildDataMask(builder, loc, *match.conditionMask,
                              match.conditionTarget, builder.getI1Type());
  else if (match.condition)
    condition = materialize(*match.condition);
  Value lengths, querySegments, keySegments;
  if (match.lengths)
    lengths = buildLengths(builder, loc, *match.lengths);
  if (match.segments)
    std::tie(querySegments, keySegments) =
        buildSegments(builder, loc, *match.segments);
  EmptyRowsAttr emptyRows;
  if (match.emptyRows != EmptyRows::Zero)
    emptyRows = EmptyRowsAttr::get(builder.getContext(), match.emptyRows);
  Type lse;
  if (!match.logSums.empty())
    lse = getTypeAt(match.logSums[0].target, builder.getF32Type());
  FloatAttr softcap;
  if (match.softcap)
    softcap = builder.getF32FloatAttr(*match.softcap);
  auto op = AttentionOp::create(
      builder, loc, getTypeAt(match.operands.output, elementType), lse, query,
      key, value, bias, querySegments, keySegments, lengths,
      /*offsets=*/nullptr, sinks, match.mask,
      builder.getF32FloatAttr(match.scale), softcap, emptyRows);
  if (condition)
    buildScore(builder, op, condition, match);
  return op;
}

//===----------------------------------------------------------------------===//
// The result's type
//===----------------------------------------------------------------------===//

/// True iff `op` is a loop nest in which `tensor` is only rounded to `type`.
static bool onlyRounds(Operation *op, Value tensor, Type type) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() != tensor ||
                  llvm::all_of(
                      generic.getMatchingBlockArgument(&operand).getUsers(),
                      [&](Operation *user) {
                        return isa<arith::TruncFOp>(user) &&
                               user->getResult(0).getType() == type;
                      });
         });
}

/// True iff all that becomes of the elements of `tensor` is that they are
/// rounded to `type`.
static bool isRoundedTo(Value tensor, Type type) {
  return llvm::all_of(tensor.getUsers(), [&](Operation *user) {
    bool moves =
        isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) ||
        (isa<linalg::TransposeOp>(user) && user->getOperand(0) == tensor &&
         user->getOperand(1) != tensor);
    return moves ? isRoundedTo(user->getResult(0), type)
                 : onlyRounds(user, tensor, type);
  });
}

/// The inputs' type, where they have one in common and the result of `op`, if
/// it is wider, is rounded to it; f32 otherwise.
static Type getElementType(linalg::LinalgOp op, const AttentionOperands &from) {
  Type type = getElementTypeOrSelf(from.query.tensor);
  Type resultType = getElementTypeOrSelf(op->getResult(0));
  bool same = type == getElementTypeOrSelf(from.key.tensor) &&
              type == getElementTypeOrSelf(from.value.tensor);
  if (same && (type == resultType || isRoundedTo(op->getResult(0), type)))
    return type;
  return Float32Type::get(op->getContext());
}

//===----------------------------------------------------------------------===//
// Users
//===----------------------------------------------------------------------===//

/// Where the result was the output with dimensions merged, expanding it again
/// gives the output.
static void forwardExpansions(Value replaced, Value result,
                              AttentionOp attention) {
  auto collapse = result.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || collapse.getSrc() != attention.getOut())
    return;
  for (Operation *user : llvm::make_early_inc_range(replaced.getUsers()))
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user);
        expand && expand.getType() == attention.getOut().getType() &&
        expand.getReassociationIndices() == collapse.getReassociationIndices())
      expand.getResult().replaceAllUsesWith(attention.getOut());
}

/// Rounding what has been rounded already gives the same.
static void forwardRoundings(Value replaced, Value result) {
  for (Operation *user : llvm::make_early_inc_range(replaced.getUsers())) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (generic && generic.getNumDpsInputs() == 1 &&
        user->getNumResults() == 1 &&
        user->getResult(0).getType() == result.getType() &&
        llvm::all_of(generic.getIndexingMapsArray(),
                     [](AffineMap map) { return map.isIdentity(); }) &&
        isa_and_nonnull<arith::TruncFOp>(
            generic.getBody()->getTerminator()->getOperand(0).getDefiningOp()))
      user->getResult(0).replaceAllUsesWith(result);
  }
}

/// Results of the attention besides its output may be used before `op`: it goes
/// to where its operands are known.
static void setInsertionPoint(OpBuilder &builder, linalg::LinalgOp op,
                              const AttentionMatch &match) {
  if (match.logSums.empty())
    builder.setInsertionPoint(op);
  else if (Operation *last = getLastOperand(op, match))
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(op->getBlock());
}

Value mlir::ring::buildAttention(OpBuilder &builder, linalg::LinalgOp op,
                                 const AttentionMatch &match) {
  OpBuilder::InsertionGuard guard(builder);
  setInsertionPoint(builder, op, match);
  Location loc = op->getLoc();
  Value replaced = op->getResult(0);
  AttentionOp attention =
      createAttention(builder, loc, match, getElementType(op, match.operands));
  for (const OperandRead &log : match.logSums) {
    auto type = cast<RankedTensorType>(log.tensor.getType());
    Value lse = rearrange(builder, loc, attention.getLse(), log.target,
                          log.indices, type.clone(builder.getF32Type()));
    Value tensor = log.tensor;
    tensor.replaceAllUsesWith(
        convertElements(builder, loc, lse, type.getElementType()));
  }
  auto type = cast<RankedTensorType>(replaced.getType());
  Value result = rearrange(
      builder, loc, attention.getOut(), match.operands.output, match.result,
      type.clone(attention.getOut().getType().getElementType()));
  forwardExpansions(replaced, result, attention);
  if (result.getType() != type)
    forwardRoundings(replaced, result);
  return convertElements(builder, loc, result, type.getElementType());
}
