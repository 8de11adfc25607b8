//===- DeviceScore.cpp - A score region on the GPU ------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceScore.h"

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Runtime/Runtime.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ring;

DeviceScore::DeviceScore(Region *region, DeviceBuilder &b)
    : region(region), b(b) {
  if (region)
    captured = getScoreCaptures(*region);
}

Value DeviceScore::captureField(Value captures, int64_t capture, size_t offset,
                                Type type) {
  return b.load(type,
                b.at(captures, b.i64(capture * sizeof(ring_tensor) + offset)));
}

/// In the machine's type for `type`: index is 64 bits wide, an i1 a byte.
static Type storedType(OpBuilder &b, Type type) {
  if (type.isIndex())
    return b.getI64Type();
  return type.isInteger(1) ? b.getI8Type() : type;
}

static Value fromStored(DeviceBuilder &b, Value value, Type type) {
  if (type.isIndex())
    return arith::IndexCastOp::create(b, type, value);
  return type.isInteger(1) ? b.notEqual(value, b.like(value, 0)) : value;
}

Value DeviceScore::loadFrom(Operation &op, int64_t capture,
                            const IRMapping &mapping, Value captures) {
  auto load = cast<memref::LoadOp>(op);
  Type type = load.getType(), stored = storedType(b, type);
  Value data = captureField(captures, capture, offsetof(ring_tensor, data),
                            b.globalPointer());
  Value offset = b.i64(0);
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    Value stride = captureField(
        captures, capture,
        offsetof(ring_tensor, strides) + dim * sizeof(int64_t), b.getI64Type());
    Value place =
        arith::IndexCastOp::create(b, b.getI64Type(), mapping.lookup(index));
    offset = b.add(offset, b.mul(place, stride));
  }
  int64_t bytes = llvm::divideCeil(stored.getIntOrFloatBitWidth(), 8);
  Value address = b.at(data, b.mul(offset, bytes));
  return fromStored(b, b.load(stored, address), type);
}

Value DeviceScore::apply(Value x, Value batch, Value head, Value queryPosition,
                         Value keyPosition, Value captures) {
  Block &block = region->front();
  IRMapping mapping;
  mapping.map(block.getArgument(0), x);
  Value indices[] = {batch, head, queryPosition, keyPosition};
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments().drop_front(), indices))
    mapping.map(argument,
                Value(arith::IndexCastOp::create(b, b.getIndexType(), value)));
  cloneScoreConstants(b, *region, mapping);
  for (auto [index, value] : llvm::enumerate(captured)) {
    if (isa<MemRefType>(value.getType()))
      continue;
    Value data = captureField(captures, index, offsetof(ring_tensor, data),
                              b.globalPointer());
    Type type = value.getType();
    mapping.map(value, fromStored(b, b.load(storedType(b, type), data), type));
  }
  for (Operation &op : block.without_terminator()) {
    if (isa<memref::LoadOp>(op)) {
      auto place = llvm::find(captured, op.getOperand(0));
      if (place != captured.end()) {
        mapping.map(op.getResult(0),
                    loadFrom(op, place - captured.begin(), mapping, captures));
        continue;
      }
    }
    if (op.getNumRegions() != 0 ||
        llvm::any_of(op.getOperandTypes(), llvm::IsaPred<MemRefType>)) {
      if (!hasFailed)
        refuse(&op, op.getName().getStringRef(),
               "in a score region by convert-ring-to-gpu");
      hasFailed = true;
      return x;
    }
    b.clone(op, mapping);
  }
  auto yield = cast<YieldOp>(block.getTerminator());
  return mapping.lookup(yield.getScore());
}
