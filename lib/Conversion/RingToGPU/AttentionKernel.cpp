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

AttentionKernelBuilder::AttentionKernelBuilder(const AttentionKernelSpec &spec,
                                               LLVM::LLVMFuncOp kernel,
                                               LLVM::GlobalOp global)
    : spec(spec), plan(spec.plan), b(kernel.getLoc(), kernel.getContext()),
      score(spec.score, b), params(kernel.getArgument(0)) {
  b.setInsertionPointToStart(&kernel.front());
  shared = LLVM::AddressOfOp::create(b, b.sharedPointer(), global.getSymName());
}

//===----------------------------------------------------------------------===//
// One tile after the other
//===----------------------------------------------------------------------===//

Values AttentionKernelBuilder::addValues(ArrayRef<Values> p, Values acc,
                                         const KeyTile &tile, Value stage) {
  Value found = b.choose(
      needsFiniteValues(tile),
      [&]() -> Values { return {foundNonFinite(tile)}; },
      [&]() -> Values { return {b.truth(false)}; })[0];
  if (isF32())
    return b.choose(
        found,
        [&] {
          Values effects = takeOutNonFinite(acc, tile, stage);
          return accumulate(p, effects, stage, Guard::Largest);
        },
        [&] { return accumulate(p, acc, stage, Guard::None); });
  acc = b.choose(
      found, [&] { return takeOutNonFinite(acc, tile, stage); },
      [&] { return acc; });
  return accumulate(p, acc, stage, Guard::None);
}

AttentionState AttentionKernelBuilder::visitKeys(AttentionState state) {
  int64_t stages = plan.stages;
  // Of K and V alternately, the tiles in their order: with the same number left
  // open at each of the two waits of a tile.
  int64_t open = 2 * (stages - 1);
  SmallVector<KeyTile> ahead = {firstTile()};
  copyKeys(ahead[0], b.i32(0));
  for (int64_t s = 1; s < stages; ++s) {
    copyValues(ahead[s - 1], b.i32(s - 1));
    ahead.push_back(nextTile(ahead[s - 1]));
    copyKeys(ahead[s], b.i32(s));
  }

  Values carried = state.flat();
  size_t ofState = carried.size();
  for (const KeyTile &tile : ahead)
    carried.append(tile.flat());
  carried.push_back(b.i32(0)); // the stage of this tile
  Values results = b.whileLoop(
      carried,
      [&](ValueRange arguments) {
        return isThere(
            KeyTile::from(arguments.slice(ofState, KeyTile::kFields)));
      },
      [&](ValueRange arguments) {
        AttentionState state =
            AttentionState::from(arguments.take_front(ofState), plan.rowTiles);
        SmallVector<KeyTile> tiles;
        for (int64_t s = 0; s < stages; ++s)
          tiles.push_back(KeyTile::from(arguments.slice(
              ofState + s * KeyTile::kFields, KeyTile::kFields)));
        Value stage = stages == 1 ? b.i32(0) : arguments.back();
        auto after = [&](int64_t count) -> Value {
          return b.urem(b.add(stage, count), stages);
        };
        const KeyTile &tile = tiles.front();
        Value partial = isPartial(tile);

        b.waitForCopies(open);
        b.barrier(); // K is there; nobody reads the last tile's V any more
        copyValues(tiles.back(), after(stages - 1));
        if (usesPositions())
          storeKeyInfo(tile);
        else
          b.branch(partial, [&] { storeKeyInfo(tile); });
        Values s = scores(stage);

        b.waitForCopies(open);
        b.branch(needsFiniteValues(tile), [&] { findNonFinite(tile, stage); });
        b.barrier(); // V and the keys' positions are there, K is free
        if (spec.transformsScores())
          s = transform(s);
        s = b.choose(
            partial,
            [&] {
              Values masked(s);
              for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
                mask(masked, tile);
              return masked;
            },
            [&] { return s; });
        // Rounded at once: half the registers.
        SmallVector<Values> p = allWeights(onlineSoftmax(s, state));
        // Not earlier: the addresses would find no register beside the scores.
        KeyTile next = nextTile(tiles.back());
        copyKeys(next, stage);
        state.acc = addValues(p, state.acc, tile, stage);

        Values yielded = state.flat();
        for (int64_t s = 1; s < stages; ++s)
          yielded.append(tiles[s].flat());
        yielded.append(next.flat());
        yielded.push_back(after(1));
        return yielded;
      });
  return AttentionState::from(ValueRange(results).take_front(ofState),
                              plan.rowTiles);
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
  state = AttentionState::from(
      b.loop(itemField(ITEM(merge_begin), /*late=*/true),
             itemField(ITEM(merge_end), /*late=*/true), b.i32(1), state.flat(),
             [&](Value index, ValueRange carried) {
               Value other =
                   statePointer(pointerParameter(PARAMETER(partials)), index);
               return merge(AttentionState::from(carried, plan.rowTiles), other)
                   .flat();
             }),
      plan.rowTiles);
  // What follows is read again: nothing is kept for it meanwhile.
  b.syncWarp();
  decodeItem(/*late=*/true);
  Value target = itemField(ITEM(target), /*late=*/true);
  b.branch(
      b.equal(target, b.i32(RING_TARGET_RESULT)), [&] { finish(state); },
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
