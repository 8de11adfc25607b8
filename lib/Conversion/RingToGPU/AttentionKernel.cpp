//===- AttentionKernel.cpp - Blockwise attention on a GPU -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlashAttention-2 (Dao 2023, algorithm 1): what the kernel does with an item,
// and what it does with each tile of keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

/// What is carried from one tile of keys to the next.
struct mlir::ring::KeyLoop {
  AttentionState state;
  SmallVector<KeyTile> tiles; ///< this one and those ahead, one a stage
  Value stage;                ///< where this tile lies, i32

  Values flat() const {
    Values all = state.flat();
    for (const KeyTile &tile : tiles)
      all.append(tile.flat());
    all.push_back(stage);
    return all;
  }
  static KeyLoop from(ValueRange all, const GPUTilePlan &plan) {
    size_t ofTiles = plan.stages * KeyTile::kFields;
    ValueRange state = all.drop_back(ofTiles + 1);
    ValueRange tiles = all.slice(state.size(), ofTiles);
    KeyLoop loop = {AttentionState::from(state, plan.rowTiles), {}, all.back()};
    for (; !tiles.empty(); tiles = tiles.drop_front(KeyTile::kFields))
      loop.tiles.push_back(KeyTile::from(tiles));
    return loop;
  }
};

AttentionKernelBuilder::AttentionKernelBuilder(const AttentionKernelSpec &spec,
                                               LLVM::LLVMFuncOp kernel,
                                               LLVM::GlobalOp global)
    : spec(spec), plan(spec.plan), b(kernel.getLoc(), kernel.getContext()),
      score(spec.score, b), params(kernel.getArgument(0)) {
  b.setInsertionPointToStart(&kernel.front());
  shared = LLVM::AddressOfOp::create(b, b.sharedPointer(), global.getSymName());
}

//===----------------------------------------------------------------------===//
// Tiles of keys
//===----------------------------------------------------------------------===//

Values AttentionKernelBuilder::addWeightedValues(ArrayRef<Values> p, Values acc,
                                                 const KeyTile &tile,
                                                 Value stage) {
  Value found = b.choose(
      needsFiniteValues(tile),
      [&]() -> Values { return {foundNonFinite(tile)}; },
      [&]() -> Values { return {b.truth(false)}; })[0];
  if (isF32())
    return b.choose(
        found,
        [&] {
          Values withEffects = takeOutNonFinite(acc, tile, stage);
          return accumulate(p, withEffects, stage, Guard::Largest);
        },
        [&] { return accumulate(p, acc, stage, Guard::None); });
  acc = b.choose(
      found, [&] { return takeOutNonFinite(acc, tile, stage); },
      [&] { return acc; });
  return accumulate(p, acc, stage, Guard::None);
}

KeyLoop AttentionKernelBuilder::visitTile(KeyLoop loop) {
  int64_t stages = plan.stages;
  const KeyTile &tile = loop.tiles.front();
  Value stage = stages == 1 ? b.i32(0) : loop.stage;
  auto after = [&](int64_t count) -> Value {
    return b.urem(b.add(stage, count), stages);
  };
  Value partial = isPartial(tile);

  b.waitForCopies(openCopies());
  b.barrier(); // K is there; nobody reads the last tile's V any more
  copyValues(loop.tiles.back(), after(stages - 1));
  if (usesPositions())
    storeKeyInfo(tile);
  else
    b.branch(partial, [&] { storeKeyInfo(tile); });
  Values s = scores(stage);

  b.waitForCopies(openCopies());
  b.branch(needsFiniteValues(tile), [&] { findNonFinite(tile, stage); });
  b.barrier(); // V and the keys' positions are there, K is free
  if (spec.transformsScores())
    s = transformScores(s);
  s = b.choose(
      partial,
      [&] {
        Values masked(s);
        for (int64_t rowTile = 0; rowTile < plan.rowTiles; ++rowTile)
          mask(masked, rowTile);
        return masked;
      },
      [&] { return s; });
  // Rounded at once: half the registers.
  SmallVector<Values> p = weightOperands(onlineSoftmax(s, loop.state));
  // Not earlier: the addresses would find no register beside the scores.
  KeyTile next = nextTile(loop.tiles.back());
  copyKeys(next, stage);
  loop.state.acc = addWeightedValues(p, loop.state.acc, tile, stage);

  loop.tiles.erase(loop.tiles.begin());
  loop.tiles.push_back(next);
  loop.stage = after(1);
  return loop;
}

AttentionState AttentionKernelBuilder::visitKeys(AttentionState state) {
  SmallVector<KeyTile> ahead = {firstTile()};
  copyKeys(ahead[0], b.i32(0));
  for (int64_t s = 1; s < plan.stages; ++s) {
    copyValues(ahead[s - 1], b.i32(s - 1));
    ahead.push_back(nextTile(ahead[s - 1]));
    copyKeys(ahead[s], b.i32(s));
  }

  KeyLoop first = {std::move(state), std::move(ahead), b.i32(0)};
  Values last = b.whileLoop(
      first.flat(),
      [&](ValueRange carried) {
        return isThere(KeyLoop::from(carried, plan).tiles.front());
      },
      [&](ValueRange carried) {
        return visitTile(KeyLoop::from(carried, plan)).flat();
      });
  return KeyLoop::from(last, plan).state;
}

//===----------------------------------------------------------------------===//
// An item
//===----------------------------------------------------------------------===//

bool AttentionKernelBuilder::build() {
  decodeItem(/*late=*/false);
  storeWarpInfo();
  placeLanes();
  rangeBegin = itemField(ITEM(range_begin));
  rangeEnd = itemField(ITEM(range_end));
  Value fresh = b.notEqual(itemField(ITEM(fresh)), b.i32(0));
  // Computed where it is used, as are the other places of the item: none of
  // them should take registers while the keys are visited.
  auto tileState = [&] {
    return statePointer(pointerParameter(PARAMETER(states)),
                        itemField(ITEM(tile)));
  };
  AttentionState state = chooseState(
      fresh, [&] { return identity(); },
      [&] { return loadState(tileState()); });
  state = chooseState(
      b.less(rangeBegin, rangeEnd),
      [&] {
        loadQueries();
        storeRowInfo();
        return visitKeys(state);
      },
      [&] { return state; });
  headBlock = b.load(b.getI32Type(), warpInfo(kHeadBlock));
  auto mergePartial = [&](Value index, ValueRange carried) -> Values {
    Value other = statePointer(pointerParameter(PARAMETER(partials)), index);
    return merge(AttentionState::from(carried, plan.rowTiles), other).flat();
  };
  state =
      AttentionState::from(b.loop(itemField(ITEM(merge_begin), /*late=*/true),
                                  itemField(ITEM(merge_end), /*late=*/true),
                                  b.i32(1), state.flat(), mergePartial),
                           plan.rowTiles);
  // What follows is read again: nothing is kept for it meanwhile.
  b.syncWarp();
  decodeItem(/*late=*/true);
  Value target = itemField(ITEM(target), /*late=*/true);
  b.branch(
      b.equal(target, b.i32(RING_TARGET_RESULT)), [&] { writeResult(state); },
      [&] {
        Value isState = b.equal(target, b.i32(RING_TARGET_STATE));
        Value base = LLVM::SelectOp::create(
            b, isState, pointerParameter(PARAMETER(states)),
            pointerParameter(PARAMETER(partials)));
        Value index =
            b.select(isState, itemField(ITEM(tile), /*late=*/true), target);
        storeState(state, statePointer(base, index));
      });
  LLVM::ReturnOp::create(b, ValueRange());
  return !score.failed();
}

bool mlir::ring::buildAttentionKernel(const AttentionKernelSpec &spec,
                                      LLVM::LLVMFuncOp kernel,
                                      LLVM::GlobalOp shared) {
  return AttentionKernelBuilder(spec, kernel, shared).build();
}
