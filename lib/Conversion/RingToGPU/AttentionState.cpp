//===- AttentionState.cpp - Running states of a tile of rows --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States in registers and in global memory, and what two of them make.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

AttentionState AttentionKernelBuilder::chooseState(
    Value condition, const std::function<AttentionState()> &then,
    const std::function<AttentionState()> &otherwise) {
  return AttentionState::from(b.choose(
                                  condition, [&] { return then().flat(); },
                                  [&] { return otherwise().flat(); }),
                              plan.rowTiles);
}

AttentionState AttentionKernelBuilder::identity() {
  AttentionState state;
  state.acc.assign(4 * plan.rowTiles * plan.valueTiles(), b.f32(0));
  state.max.assign(2 * plan.rowTiles, b.negativeInfinity());
  state.sum.assign(2 * plan.rowTiles, b.f32(0));
  return state;
}

Value AttentionKernelBuilder::statePointer(Value base, Value index) {
  Value tile =
      b.add(b.mul(b.extend(index), plan.headBlocks()), b.extend(headBlock));
  Value place =
      b.add(b.mul(tile, plan.stateFloats() * 4), b.extend(b.mul(thread, 16)));
  return b.at(base, place);
}

/// Four values of each thread side by side: what a warp reads at a time lies in
/// one piece.
AttentionState AttentionKernelBuilder::loadState(Value pointer) {
  Values all;
  for (int64_t i = 0; i < plan.stateRegisters() / 4; ++i)
    all.append(b.loadFour(b.getF32Type(),
                          b.at(pointer, b.i64(i * plan.threads() * 16))));
  return AttentionState::from(all, plan.rowTiles);
}

void AttentionKernelBuilder::storeState(const AttentionState &state,
                                        Value pointer) {
  Values all = state.flat();
  for (int64_t i = 0; i < plan.stateRegisters() / 4; ++i)
    b.storeFour(ArrayRef(all).slice(4 * i, 4),
                b.at(pointer, b.i64(i * plan.threads() * 16)));
}

/// Merges the state at `pointer` into `a`, a few registers at a time.
AttentionState AttentionKernelBuilder::merge(AttentionState a, Value pointer) {
  auto four = [&](int64_t index) {
    return b.loadFour(b.getF32Type(),
                      b.at(pointer, b.i64(index * 16 * plan.threads())));
  };
  int64_t accVectors = plan.rowTiles * plan.valueTiles();
  Values rows;
  for (int64_t i = 0; i < plan.rowTiles; ++i)
    rows.append(four(accVectors + i));
  ArrayRef<Value> otherMax = ArrayRef(rows).take_front(2 * plan.rowTiles);
  ArrayRef<Value> otherSum = ArrayRef(rows).take_back(2 * plan.rowTiles);
  Value c = b.f32(toBase2());
  Values mine, theirs;
  auto merged = [&](Value &x, Value y, size_t row) {
    x = b.fma(y, theirs[row], b.fmul(x, mine[row]));
  };
  for (int64_t row = 0; row < 2 * plan.rowTiles; ++row) {
    Value max = b.fmax(a.max[row], otherMax[row]), base = baseOf(max);
    mine.push_back(b.exp2(b.fmul(b.fsub(a.max[row], base), c)));
    theirs.push_back(b.exp2(b.fmul(b.fsub(otherMax[row], base), c)));
    a.max[row] = max;
    merged(a.sum[row], otherSum[row], row);
  }
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t column = 0; column < plan.valueTiles(); ++column) {
      size_t at = accIndex(tile, column);
      Values other = four(at / 4);
      for (int64_t i = 0; i < 4; ++i)
        merged(a.acc[at + i], other[i], 2 * tile + i / 2);
    }
  return a;
}
