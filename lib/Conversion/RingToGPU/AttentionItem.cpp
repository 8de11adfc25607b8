//===- AttentionItem.cpp - The item of a thread block ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernel is told: parameters, the item that this thread block works
// on, the rows of its tile, and where elements of tensors lie.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

Value AttentionKernelBuilder::parameter(size_t offset, Type type) {
  Value place =
      LLVM::GEPOp::create(b, params.getType(), b.getI8Type(), params,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return b.load(type, place);
}

Value AttentionKernelBuilder::itemField(size_t offset, bool late) {
  Value item =
      b.at(pointerParameter(PARAMETER(items)),
           b.mul(b.extend(b.blockIdx(0)), sizeof(ring_attention_item)));
  return LLVM::LoadOp::create(b, b.getI32Type(), b.at(item, b.i64(offset)),
                              /*alignment=*/4, /*isVolatile=*/late);
}

Value AttentionKernelBuilder::elementPointer(Value pointer, size_t strides,
                                             ArrayRef<Value> indices,
                                             int64_t bytes) {
  Value offset = b.i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value stride = parameter64(strides + dim * sizeof(int64_t));
    offset = b.add(offset, b.mul(b.extend(index), stride));
  }
  return b.at(pointer, b.mul(offset, bytes));
}

Value AttentionKernelBuilder::threadRow(int64_t tile, int64_t half) {
  Value first = b.mul(warp, 16 * plan.rowTiles);
  return b.add(b.add(first, b.shr(lane, 2)), 16 * tile + 8 * half);
}

Value AttentionKernelBuilder::headOf(Value row) {
  return b.add(b.mul(headBlock, plan.pack), b.urem(row, plan.pack));
}

Value AttentionKernelBuilder::queryOf(Value row) {
  return b.add(queryBegin, b.udiv(row, plan.pack));
}

void AttentionKernelBuilder::decodeItem(bool late) {
  thread = b.threadIdx();
  lane = b.band(thread, 31);
  warp = b.shr(thread, 5);
  // ptxas would keep the special register's value from the beginning.
  headBlock =
      late ? b.load(b.getI32Type(), warpInfo(kHeadBlock)) : b.blockIdx(1);
  batch = itemField(ITEM(batch), late);
  queryBegin = itemField(ITEM(query_begin), late);
  rowCount =
      b.mul(b.sub(itemField(ITEM(query_end), late), queryBegin), plan.pack);
  int64_t group = plan.shape.heads / plan.shape.kvHeads;
  kvHead = b.udiv(b.mul(headBlock, plan.pack), group);
}

/// What is needed again later, and should not take registers until then.
void AttentionKernelBuilder::storeWarpInfo() {
  auto start = [&](size_t pointer, size_t strides) {
    return elementPointer(pointerParameter(pointer), strides, {batch, kvHead},
                          plan.shape.elementBytes);
  };
  b.store(start(PARAMETER(key), PARAMETER(key_strides)), warpInfo(kKeyBase));
  b.store(start(PARAMETER(value), PARAMETER(value_strides)),
          warpInfo(kValueBase));
  b.store(headBlock, warpInfo(kHeadBlock));
  b.store(b.i32(0), warpInfo(kFinding));
  b.syncWarp();
}
