//===- FlexAttention.cpp - Attention with functions of scores -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `score_mod(score, batch, head, query, key)` gives another score, and
// `mask_mod(batch, head, query, key)` whether the pair is visible. Both compute
// with tensors of rank 0, which are scalars here.
//
//===----------------------------------------------------------------------===//

#include "FlexAttention.h"

#include "../UnlinkedOp.h"
#include "TorchScalars.h"
#include "TorchTypes.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

FailureOr<FlexFunctions> mlir::ring::getFlexFunctions(Operation *op) {
  FlexFunctions functions;
  for (auto [name, function] : {std::pair("score_mod_fn", &functions.score),
                                std::pair("mask_mod_fn", &functions.mask)}) {
    Attribute given = op->getAttr(name);
    if (!given)
      continue;
    auto symbol = dyn_cast<FlatSymbolRefAttr>(given);
    if (symbol)
      *function =
          SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, symbol);
    if (!*function || !(*function).getBody().hasOneBlock())
      return emitNamedError(op) << "has " << given << " as " << name
                                << ", expected a function of one block";
  }
  return functions;
}

/// What the function returns for these arguments, as scalars of the types that
/// it has for its own.
static FailureOr<Value> inlineScalars(OpBuilder &b, func::FuncOp function,
                                      ArrayRef<Value> arguments,
                                      Type resultType) {
  Block &body = function.getBody().front();
  auto notUnderstood = [&]() {
    return function.emitError("takes or gives something else than what "
                              "flex attention calls it with");
  };
  if (body.getNumArguments() != arguments.size())
    return notUnderstood();
  IRMapping scalars;
  for (auto [argument, given] : llvm::zip(body.getArguments(), arguments)) {
    Value value = given;
    RankedTensorType type = toTensor(argument.getType());
    if (!type || type.getRank() != 0)
      return notUnderstood();
    Type element = type.getElementType();
    if (isa<IndexType>(value.getType()) && element.isInteger(32))
      value = arith::IndexCastOp::create(b, function.getLoc(), element, value);
    if (value.getType() != element)
      return notUnderstood();
    scalars.map(argument, value);
  }
  for (Operation &op : body.without_terminator())
    if (failed(convertTorchScalar(b, &op, scalars)))
      return failure();
  Operation *end = body.getTerminator();
  Value result = isa<func::ReturnOp>(end) && end->getNumOperands() == 1
                     ? scalars.lookupOrNull(end->getOperand(0))
                     : Value();
  if (!result || result.getType() != resultType)
    return notUnderstood();
  return result;
}

static LogicalResult buildScore(OpBuilder &b, AttentionOp attention,
                                const FlexFunctions &functions) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = attention.getLoc();
  Type f32 = b.getF32Type(), index = b.getIndexType();
  Block *block = b.createBlock(&attention.getScore(), {},
                               {f32, index, index, index, index},
                               SmallVector<Location>(5, loc));
  SmallVector<Value> arguments(block->args_begin(), block->args_end());
  Value score = arguments[0];
  if (functions.score) {
    FailureOr<Value> changed =
        inlineScalars(b, functions.score, arguments, f32);
    if (failed(changed))
      return failure();
    score = *changed;
  }
  if (functions.mask) {
    FailureOr<Value> visible = inlineScalars(
        b, functions.mask, ArrayRef(arguments).drop_front(), b.getI1Type());
    if (failed(visible))
      return failure();
    Value hidden = arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    score = arith::SelectOp::create(b, loc, *visible, score, hidden);
  }
  if (score == block->getArgument(0))
    block->erase();
  else
    YieldOp::create(b, loc, score);
  return success();
}

/// query, key, value, scale, return_lse, return_max_scores.
FailureOr<Value> mlir::ring::convertFlexAttention(OpBuilder &b, Operation *op) {
  if (failed(checkAttributes(op, {"mask_mod_fn", "score_mod_fn"})))
    return failure();
  if (op->getNumOperands() != 6 || op->getNumResults() == 0)
    return emitNamedError(op)
           << "has " << op->getNumOperands() << " operands, expected 6";
  for (Value other : op->getResults().drop_front())
    if (!other.use_empty())
      return emitNamedError(op)
             << "has a use of its log-sum-exp or maximum, which is not "
                "supported";
  FailureOr<FlexFunctions> functions = getFlexFunctions(op);
  if (failed(functions))
    return failure();
  FailureOr<SmallVector<RankedTensorType>> inputs = attentionInputs(op);
  if (failed(inputs))
    return failure();
  ArrayRef<RankedTensorType> types = *inputs;
  // Scores are f32 in a region, and of the inputs' type in the function.
  if (!types[0].getElementType().isF32())
    return emitNamedError(op) << "of " << types[0].getElementType()
                              << " is not supported, expected f32";
  RankedTensorType result = toTensor(op->getResult(0).getType());
  SmallVector<int64_t> shape(types[0].getShape());
  shape[3] = types[2].getDimSize(3);
  if (!result || result != types[0].clone(shape))
    return emitNamedError(op)
           << "has a result of type " << op->getResult(0).getType()
           << ", expected " << types[0].clone(shape);
  FloatAttr scale;
  if (!getTorchOperand(op, 3, "constant.none")) {
    std::optional<double> given = getTorchNumber(op, 3);
    if (!given)
      return emitNamedError(op) << "has a scale that is no constant";
    scale = b.getF32FloatAttr(static_cast<float>(*given));
  }
  // A row that sees nothing gives 0, there as here.
  auto attention = AttentionOp::create(
      b, op->getLoc(), result, /*lse=*/Type(), op->getOperand(0),
      op->getOperand(1), op->getOperand(2), nullptr, nullptr, nullptr, nullptr,
      nullptr, nullptr, MaskAttr(), scale, FloatAttr(), EmptyRowsAttr());
  if ((functions->score || functions->mask) &&
      failed(buildScore(b, attention, *functions)))
    return failure();
  return Value(attention.getOut());
}
