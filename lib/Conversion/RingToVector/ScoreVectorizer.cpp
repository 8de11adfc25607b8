//===- ScoreVectorizer.cpp - A score region over vectors ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreVectorizer.h"

using namespace mlir;
using namespace mlir::ring;

ScoreVectorizer::ScoreVectorizer(Region &region, KernelBuilder &b,
                                 ValueRange captures, ValueRange arguments)
    : region(region), b(b) {
  outside.map(captures, arguments);
  cloneScoreConstants(b, region, outside);
}

Value ScoreVectorizer::asVector(Value value, int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, b.vectorOf(lanes, value.getType()),
                                     value);
}

void ScoreVectorizer::perLane(Operation &op, IRMapping &mapping,
                              int64_t lanes) {
  assert(op.getNumResults() == 1 && "ops of a score region have one result");
  VectorType type = b.vectorOf(lanes, op.getResult(0).getType());
  Value start = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value all =
      b.loop(b.index(0), b.index(lanes), 1, start,
             [&](Value lane, ValueRange carried) -> SmallVector<Value> {
               IRMapping scalars;
               for (Value operand : op.getOperands()) {
                 Value value = mapping.lookup(operand);
                 if (isa<VectorType>(value.getType()))
                   value = vector::ExtractOp::create(b, value, lane);
                 scalars.map(operand, value);
               }
               Value result = b.clone(op, scalars)->getResult(0);
               return {vector::InsertOp::create(b, result, carried[0], lane)};
             })[0];
  mapping.map(op.getResult(0), all);
}

void ScoreVectorizer::vectorize(Operation &op, IRMapping &mapping,
                                int64_t lanes) {
  if (llvm::none_of(op.getOperands(), [&](Value operand) {
        return isa<VectorType>(mapping.lookup(operand).getType());
      })) {
    b.clone(op, mapping);
    return;
  }
  // A look-up in a captured tensor, and the index dialect.
  if (!OpTrait::hasElementwiseMappableTraits(&op))
    return perLane(op, mapping, lanes);
  OperationState state(op.getLoc(), op.getName());
  for (Value operand : op.getOperands())
    state.operands.push_back(asVector(mapping.lookup(operand), lanes));
  for (Type type : op.getResultTypes())
    state.types.push_back(b.vectorOf(lanes, type));
  state.addAttributes(op.getAttrs());
  mapping.map(op.getResults(), b.create(state)->getResults());
}

Value ScoreVectorizer::apply(Value x, Value batch, Value head, Value queryIndex,
                             Value keyIndex) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  Block &block = region.front();
  IRMapping mapping(outside);
  mapping.map(block.getArguments(),
              ValueRange{x, batch, head, queryIndex, keyIndex});
  for (Operation &op : block.without_terminator())
    vectorize(op, mapping, lanes);
  auto yield = cast<YieldOp>(block.getTerminator());
  return asVector(mapping.lookup(yield.getScore()), lanes);
}
