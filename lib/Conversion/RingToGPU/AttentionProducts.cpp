//===- AttentionProducts.cpp - S = Q K^T and O += P V ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both products by mma.sync: operands from shared memory and from the registers
// of the weights, and for f32 three products of tf32.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Operands and one product
//===----------------------------------------------------------------------===//

/// Where this lane reads its operands.
void AttentionKernelBuilder::placeLanes() {
  // ldmatrix.x4 takes rows from lanes 0-7, 8-15, 16-23, 24-31.
  Value row8 = b.band(lane, 7), second = b.band(b.shr(lane, 3), 1),
        third = b.shr(lane, 4);
  queryPlace = {b.band(lane, 15), third, Value()};
  keyPlace = {b.add(row8, b.shl(third, 3)), second, Value()};
  if (!isF32()) {
    valuePlace = {b.add(row8, b.shl(second, 3)), third, Value()};
    return;
  }
  // No ldmatrix transposes 32-bit elements. Steps of 8 keys are taken in the
  // order in which P lies in registers: keys 2t and 2t + 1 are its columns t
  // and t + 4.
  Value column = b.shr(lane, 2), key = b.shl(b.band(lane, 3), 1);
  Value bytes = b.shl(b.band(column, 3), 2);
  valuePlace = {key, b.shr(column, 2), bytes};
  valuePlaceNext = {b.add(key, 1), b.shr(column, 2), bytes};
}

/// Sign, exponent and the upper 10 bits of the mantissa of an f32.
static constexpr int64_t kBitsOfTF32 = 0xffffe000;

/// f32: x = high + low, each with the 11 bits of a tf32 (Ootomo, Yokota 2022).
/// mma ignores the bits of `low` beyond them.
MmaOperand AttentionKernelBuilder::operand(ValueRange registers, Guard guard) {
  MmaOperand result;
  if (!isF32()) {
    llvm::append_range(result.high, registers);
    return result;
  }
  for (Value bits : registers) {
    Value x = b.fromBits(bits);
    // Rounded by integers: cvt.rna.tf32 is four instructions on sm_80.
    Value high = b.band(b.add(bits, 1 << 12), kBitsOfTF32);
    if (guard != Guard::None)
      high = b.select(b.less(b.i32(kLargestF32), b.band(bits, INT32_MAX)),
                      b.band(bits, kBitsOfTF32), high);
    if (guard == Guard::HighOnly)
      // A NaN whose payload is cut off would be an infinity.
      high = b.select(b.compare(arith::CmpFPredicate::ORD, x, x), high,
                      b.i32(0x7fc00000));
    else
      result.low.push_back(b.bits(b.fsub(x, b.fromBits(high))));
    result.high.push_back(high);
  }
  return result;
}

/// To one tile of 16 x 8. f32 takes three products of tf32; what is left out,
/// low times low, is below 2^-22 of the product.
void AttentionKernelBuilder::addProduct(MutableArrayRef<Value> c,
                                        const MmaOperand &a,
                                        const MmaOperand &other) {
  Values sum(c);
  if (!a.low.empty()) {
    sum = b.mma(productKind(), a.low, other.high, sum);
    sum = b.mma(productKind(), a.high, other.low, sum);
  }
  llvm::copy(b.mma(productKind(), a.high, other.high, sum), c.begin());
}

//===----------------------------------------------------------------------===//
// S = Q K^T
//===----------------------------------------------------------------------===//

/// Q K^T, [row tile][score tile][4].
Values AttentionKernelBuilder::scores(Value stage) {
  Values fast = scores(stage, Guard::None, 0, plan.rowTiles);
  if (!isF32())
    return fast;
  // What comes of an infinity is right only where it is looked for, which is
  // rarely worth its instructions.
  Value finite = b.truth(true);
  for (Value x : fast)
    finite = b.band(finite, b.isFinite(x));
  return b.choose(
      b.voteAll(finite), [&] { return fast; },
      [&] { return exactScores(stage); });
}

/// f32, with whatever is in Q and K: an infinity has a low part that is NaN,
/// and where the product of high parts overflows, those with low parts may do
/// so with another sign. Then it alone is the score.
Values AttentionKernelBuilder::exactScores(Value stage) {
  Values all;
  // One row tile after the other, which takes fewer registers.
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    all.append(exactScores(stage, tile));
  return all;
}

Values AttentionKernelBuilder::exactScores(Value stage, int64_t rowTile) {
  Values high = scores(stage, Guard::HighOnly, rowTile, 1);
  assert(high.size() <= 32 && "a bit for each score");
  struct Class {
    float value;
    Value members; ///< bit i: score i is of it
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Class classes[] = {{infinity, b.i32(0)},
                     {-infinity, b.i32(0)},
                     {std::numeric_limits<float>::quiet_NaN(), b.i32(0)}};
  for (auto [i, x] : llvm::enumerate(high))
    for (Class &each : classes) {
      Value isMember =
          std::isnan(each.value)
              ? b.compare(arith::CmpFPredicate::UNO, x, x)
              : b.compare(arith::CmpFPredicate::OEQ, x, b.f32(each.value));
      each.members = b.bor(
          each.members, b.select(isMember, b.i32(int64_t(1) << i), b.i32(0)));
    }
  Values all = scores(stage, Guard::Largest, rowTile, 1);
  for (auto [i, x] : llvm::enumerate(all))
    for (const Class &each : classes) {
      Value isMember =
          b.notEqual(b.band(each.members, int64_t(1) << i), b.i32(0));
      x = b.select(isMember, b.f32(each.value), x);
    }
  return all;
}

/// Of `tiles` row tiles from `firstTile` on.
Values AttentionKernelBuilder::scores(Value stage, Guard guard,
                                      int64_t firstTile, int64_t tiles) {
  SharedTile queries = plan.queries(), keys = plan.keys();
  // The warp's rows begin at a multiple of 16, which the permutation ignores.
  LanePlace place = queryPlace;
  place.row =
      b.add(b.add(place.row, b.mul(warp, 16 * plan.rowTiles)), 16 * firstTile);
  auto addChunks = [&](Values &s, Value queryBase, Value keyBase,
                       int64_t chunks) {
    for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
      SmallVector<MmaOperand> a;
      for (int64_t tile = 0; tile < tiles; ++tile)
        a.push_back(operand(b.loadMatrices(laneAddress(queries, queryBase,
                                                       16 * tile, chunk, place),
                                           /*transposed=*/false),
                            guard));
      for (int64_t pair = 0; pair < plan.scoreTiles() / 2; ++pair) {
        Values k = b.loadMatrices(
            laneAddress(keys, keyBase, 16 * pair, chunk, keyPlace),
            /*transposed=*/false);
        for (int64_t which = 0; which < 2; ++which) {
          MmaOperand columns = operand(ArrayRef(k).slice(2 * which, 2), guard);
          for (int64_t tile = 0; tile < tiles; ++tile)
            addProduct(
                MutableArrayRef(s).slice(scoreIndex(tile, 2 * pair + which), 4),
                a[tile], columns);
        }
      }
    }
  };
  Values s(4 * tiles * plan.scoreTiles(), b.f32(0));
  Value queryOffset = b.i32(plan.queriesOffset());
  Value keyOffset = keysOffset(stage);
  int64_t panels = keys.chunks() / keys.panelChunks();
  if (!isF32() || panels == 1) {
    addChunks(s, sharedAt(queryOffset), sharedAt(keyOffset), keys.chunks());
    return s;
  }
  // Products of f32 are many instructions: a loop, for the cache that holds
  // them.
  return b.loop(
      b.i32(0), b.i32(panels), b.i32(1), s,
      [&](Value panel, ValueRange carried) {
        Values sum(carried);
        addChunks(
            sum,
            sharedAt(b.add(queryOffset, b.mul(panel, queries.panelBytes()))),
            sharedAt(b.add(keyOffset, b.mul(panel, keys.panelBytes()))),
            keys.panelChunks());
        return sum;
      });
}

//===----------------------------------------------------------------------===//
// acc = acc + P V
//===----------------------------------------------------------------------===//

/// The weights of one step of P V as operand a: 16 keys, or 8 in f32.
Values AttentionKernelBuilder::weightOperand(const Values &p, int64_t rowTile,
                                             int64_t step) {
  if (isF32()) {
    size_t at = scoreIndex(rowTile, step);
    return {b.bits(p[at]), b.bits(p[at + 2]), b.bits(p[at + 1]),
            b.bits(p[at + 3])};
  }
  Values registers;
  for (int64_t tile : {2 * step, 2 * step + 1}) {
    size_t at = scoreIndex(rowTile, tile);
    for (int64_t half : {0, 2})
      registers.push_back(
          b.pack(productKind(), p[at + half], p[at + half + 1]));
  }
  return registers;
}

SmallVector<Values> AttentionKernelBuilder::weightOperands(const Values &p) {
  SmallVector<Values> all;
  for (int64_t step = 0; step < productSteps(); ++step)
    for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
      all.push_back(weightOperand(p, tile, step));
  return all;
}

/// The values of one step for a pair of value tiles as operand b: 2 registers
/// for each.
Values AttentionKernelBuilder::valueOperands(Value base, int64_t step,
                                             int64_t pair) {
  SharedTile values = plan.values();
  if (!isF32())
    return b.loadMatrices(
        laneAddress(values, base, 16 * step, 2 * pair, valuePlace),
        /*transposed=*/true);
  Values registers;
  for (int64_t tile : {2 * pair, 2 * pair + 1})
    for (const LanePlace &place : {valuePlace, valuePlaceNext})
      registers.push_back(
          b.load(b.getI32Type(),
                 laneAddress(values, base, 8 * step, 2 * tile, place)));
  return registers;
}

/// acc + P V, for the operands that `weightOperands` makes of P.
Values AttentionKernelBuilder::accumulate(ArrayRef<Values> p, Values acc,
                                          Value stage, Guard guard) {
  SharedTile values = plan.values();
  Value offset = valuesOffset(stage);
  auto addStep = [&](Values &acc, ArrayRef<Values> weights, Value base,
                     int64_t step) {
    SmallVector<MmaOperand> a;
    for (const Values &registers : weights)
      a.push_back(operand(registers));
    for (int64_t pair = 0; pair < plan.valueTiles() / 2; ++pair) {
      Values v = valueOperands(base, step, pair);
      for (int64_t which = 0; which < 2; ++which) {
        MmaOperand columns = operand(ArrayRef(v).slice(2 * which, 2), guard);
        for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
          addProduct(
              MutableArrayRef(acc).slice(accIndex(tile, 2 * pair + which), 4),
              a[tile], columns);
      }
    }
  };
  if (!isF32()) {
    for (int64_t step = 0; step < productSteps(); ++step)
      addStep(acc, p.slice(step * plan.rowTiles, plan.rowTiles),
              sharedAt(offset), step);
    return acc;
  }
  // A loop as in `scores`. The weights of the step are the first ones that are
  // carried, and change places with those of the steps to come.
  size_t ofStep = 4 * plan.rowTiles, ofAcc = acc.size();
  Values carried(acc);
  for (const Values &registers : p)
    carried.append(registers);
  Values results =
      b.loop(b.i32(0), b.i32(productSteps()), b.i32(1), carried,
             [&](Value step, ValueRange arguments) {
               Values acc(arguments.take_front(ofAcc));
               ValueRange weights = arguments.drop_front(ofAcc);
               SmallVector<Values> first;
               for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
                 first.push_back(Values(weights.slice(4 * tile, 4)));
               Value base = sharedAt(
                   b.add(offset, b.mul(step, 8 * values.panelRowBytes())));
               addStep(acc, first, base, /*step=*/0);
               acc.append(Values(weights.drop_front(ofStep)));
               acc.append(Values(weights.take_front(ofStep)));
               return acc;
             });
  results.truncate(ofAcc);
  return results;
}
