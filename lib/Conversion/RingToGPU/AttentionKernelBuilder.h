//===- AttentionKernelBuilder.h - Parts of the GPU kernel -------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlashAttention-2 on mma.sync. A thread block owns a tile of rows, pairs of a
// query and a head of one group, and each of its warps 16 or 32 of them:
//
//   for each tile of keys:                AttentionKernel.cpp
//     S    = Q K^T                        AttentionProducts.cpp
//     S    = softcap, bias, score         AttentionSoftmax.cpp
//     S    = mask                         AttentionMask.cpp
//     max' = max(max, row max of S)       AttentionSoftmax.cpp
//     P    = exp2(S * c - max' * c)       c = scale * log2 e
//     acc  = acc * exp2((max - max') * c)
//     acc  = acc + P V                    AttentionProducts.cpp
//
// K and V come by cp.async, one tile of each `stages` ahead: V of this tile is
// copied while S is computed, K of the next one while P V is. K is read by
// ldmatrix, V by ldmatrix.trans (AttentionTiles.cpp); P stays in registers.
//
// A thread holds, of each tile of 16 x 8 accumulators, rows lane / 4 and
// lane / 4 + 8, columns 2 * (lane % 4) and the next one (PTX ISA, "Matrix
// Fragments for mma.m16n8k16"): four threads share a row.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNELBUILDER_H
#define RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNELBUILDER_H

#include "AttentionKernel.h"
#include "DeviceBuilder.h"
#include "DeviceScore.h"

#include "ring/Runtime/Device.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <cstddef>

namespace mlir::ring {

// Byte offsets in the structs of ring/Runtime/Device.h.
#define PARAMETER(name) offsetof(ring_attention_params, name)
#define ITEM(name) offsetof(ring_attention_item, name)
#define RANGE(name) offsetof(ring_attention_range, name)

/// The largest f32 that rounds to a finite tf32: 2^128 - 2^116 - 2^104.
constexpr int64_t kLargestF32 = 0x7f7fefff;

/// The running state of a thread's rows: `acc` [row tile][value tile][4], `max`
/// and `sum` [row tile][2]. Maxima are of raw products where a scale is all
/// that follows; sums are of this thread's columns until the end.
struct AttentionState {
  Values acc, max, sum;

  Values flat() const {
    Values all(acc);
    all.append(max);
    all.append(sum);
    return all;
  }
  static AttentionState from(ValueRange all, int64_t rowTiles) {
    size_t rows = 2 * rowTiles, first = all.size() - 2 * rows;
    return {Values(all.take_front(first)), Values(all.slice(first, rows)),
            Values(all.take_back(rows))};
  }
};

/// A tile of keys: `end - begin` or fewer of them are left of its range, none
/// behind the last tile. In few registers, as it is carried from tile to tile.
struct KeyTile {
  Value rangeAndFull; ///< 2 * (index into `ranges`) + (nothing of it is hidden)
  Value begin, end;   ///< local keys, i32

  Values flat() const { return {rangeAndFull, begin, end}; }
  static KeyTile from(ValueRange all) { return {all[0], all[1], all[2]}; }
  static constexpr size_t kFields = 3;
};

struct KeyLoop; // AttentionKernel.cpp

/// What a row of the tile sees, from shared memory.
struct RowInfo {
  Value lower, upper, id, position; ///< i32
};

/// A key of the tile, from shared memory. Position -1: no query of the batch
/// entry sees it.
struct KeyInfo {
  Value position, id; ///< i32
};

/// Where a lane reads in a matrix of operands, or what address it gives to
/// ldmatrix: relative to the matrix' first row and chunk.
struct LanePlace {
  Value row;
  Value bit;        ///< 1: in the next chunk
  Value extraBytes; ///< within the chunk, null: none
};

/// Registers of an operand of mma; of f32 in tf32.
struct MmaOperand {
  Values high;
  Values low; ///< f32 only; empty: left out
};

/// Byte offsets of what each warp has in shared memory.
enum WarpInfo : int64_t {
  kKeyBase = 0,    ///< pointer to K of the batch entry and head
  kValueBase = 8,  ///< the same of V
  kHeadBlock = 16, ///< i32
  /// 1 + first key of the tile of V in which a NaN or an infinity was found
  /// last, i32.
  kFinding = 20,
};

class AttentionKernelBuilder {
public:
  AttentionKernelBuilder(const AttentionKernelSpec &spec,
                         LLVM::LLVMFuncOp kernel, LLVM::GlobalOp shared);
  bool build();

private:
  // All of an item, its keys, one tile of them: AttentionKernel.cpp.
  AttentionState visitKeys(AttentionState state);
  KeyLoop visitTile(KeyLoop loop);
  /// acc + P V, whatever is in V.
  Values addWeightedValues(ArrayRef<Values> p, Values acc, const KeyTile &tile,
                           Value stage);
  /// Groups of copies that may be open behind each of the two waits of a tile.
  /// Of K and V alternately, the tiles in their order: the same number.
  int64_t openCopies() const { return 2 * (plan.stages - 1); }

  // Parameters, the item and its rows: AttentionItem.cpp.
  Value parameter(size_t offset, Type type);
  Value parameter32(size_t offset) { return parameter(offset, b.getI32Type()); }
  Value parameter64(size_t offset) { return parameter(offset, b.getI64Type()); }
  Value pointerParameter(size_t offset) {
    return parameter(offset, b.globalPointer());
  }
  /// `late`: read here, and not kept in a register until here.
  Value itemField(size_t offset, bool late = false);
  /// pointer + sum of index * stride elements; strides lie at `strides`.
  Value elementPointer(Value pointer, size_t strides, ArrayRef<Value> indices,
                       int64_t bytes);
  void decodeItem(bool late);
  void storeWarpInfo();
  Value warpInfo(int64_t field) {
    return sharedAt(b.add(b.mul(warp, GPUTilePlan::kWarpInfoBytes),
                          plan.warpInfoOffset() + field));
  }
  /// Row of the tile of row tile `tile`, upper or lower half.
  Value threadRow(int64_t tile, int64_t half);
  Value headOf(Value row);
  Value queryOf(Value row);
  Value hasQuery(Value row) { return b.less(row, rowCount); }

  // Tiles in shared memory: AttentionTiles.cpp.
  Value sharedAt(Value byteOffset) { return b.at(shared, byteOffset); }
  Value chunkOffset(const SharedTile &tile, Value row, Value chunk);
  Value laneAddress(const SharedTile &tile, Value base, int64_t row,
                    int64_t chunk, const LanePlace &place);
  /// The chunks of a tile that this thread copies: the first row, the first
  /// column, and the rows from one to the next.
  struct OwnChunks {
    Value row, chunk;
    int64_t step;
  };
  OwnChunks ownChunks(const SharedTile &tile);
  /// For those of each group of columns: `firstChunk` columns further.
  void forOwnChunks(const SharedTile &tile,
                    const std::function<void(int64_t firstChunk)> &eachGroup);
  /// For each of them, by a loop: places in the tile at offset `base`.
  Values loopOwnChunks(
      const SharedTile &tile, Value base, ValueRange carried,
      const std::function<Values(Value place, ValueRange carried)> &body);
  /// Of the tiles of K and V in stage `stage`.
  Value keysOffset(Value stage) {
    return b.add(b.mul(stage, plan.keys().bytes()), plan.keysOffset());
  }
  Value valuesOffset(Value stage) {
    return b.add(b.mul(stage, plan.values().bytes()), plan.valuesOffset());
  }
  void loadQueries();
  /// What of K or V is copied: `columns` of each key of the rows at the pointer
  /// in `base`, whose distance is the parameter at `stride`.
  struct CopySource {
    WarpInfo base;
    size_t stride;
    int64_t columns;
  };
  void copyTile(const SharedTile &tile, Value offset, const KeyTile &keys,
                const CopySource &source);
  void copyKeys(const KeyTile &tile, Value stage);
  void copyValues(const KeyTile &tile, Value stage);

  // Ranges of keys, and what a row sees of a tile: AttentionMask.cpp.
  Value rangePlace(Value range);
  Value rangeField(Value place, size_t offset);
  KeyTile rangeAt(Value range);
  KeyTile firstTile();
  KeyTile nextTile(const KeyTile &tile);
  Value isThere(const KeyTile &tile) { return b.less(tile.begin, tile.end); }
  Value isPartial(const KeyTile &tile);
  Value positionOf(Value local, Value base, Value begin, Value block,
                   Value stride);
  void storeRowInfo();
  void storeKeyInfo(const KeyTile &tile);
  RowInfo rowInfo(int64_t tile, int64_t half);
  std::array<KeyInfo, 2> keyInfo(int64_t tile);
  Value sees(const RowInfo &row, const KeyInfo &key);
  void mask(Values &s, int64_t rowTile);

  // S = Q K^T and acc + P V: AttentionProducts.cpp.
  /// Which operands a product of f32 takes.
  enum class Guard {
    None,    ///< numbers up to kLargestF32
    Largest, ///< all numbers
    HighOnly ///< infinities and NaN too, without low parts
  };
  void placeLanes();
  MmaOperand operand(ValueRange registers, Guard guard = Guard::None);
  void addProduct(MutableArrayRef<Value> c, const MmaOperand &a,
                  const MmaOperand &other);
  Values scores(Value stage);
  Values scores(Value stage, Guard guard, int64_t firstTile, int64_t tiles);
  Values exactScores(Value stage);
  Values exactScores(Value stage, int64_t rowTile);
  /// Steps of the product with V: of 16 keys, or 8 in f32.
  int64_t productSteps() const { return plan.keyTile / (isF32() ? 8 : 16); }
  Values weightOperand(const Values &p, int64_t rowTile, int64_t step);
  /// Those of all steps, [step][row tile].
  SmallVector<Values> weightOperands(const Values &p);
  Values valueOperands(Value base, int64_t step, int64_t pair);
  Values accumulate(ArrayRef<Values> p, Values acc, Value stage, Guard guard);
  DeviceBuilder::Product productKind() const {
    return spec.element.isF16()    ? DeviceBuilder::Product::F16
           : spec.element.isBF16() ? DeviceBuilder::Product::BF16
                                   : DeviceBuilder::Product::TF32;
  }

  // Scores to weights: AttentionSoftmax.cpp.
  Values transformScores(Values s);
  Value baseOf(Value max);
  Value rowMaximum(const Values &s, int64_t tile, int64_t half);
  void decay(AttentionState &state, int64_t tile, int64_t half, Value factor);
  Values weigh(const Values &s, ArrayRef<Value> bases, Value areSmall);
  Values onlineSoftmax(const Values &s, AttentionState &state);
  /// `x` of the four threads of a row, put together.
  Value acrossRow(Value x, llvm::function_ref<Value(Value, Value)> combine) {
    for (int64_t distance : {1, 2})
      x = combine(x, b.shuffleXor(x, distance));
    return x;
  }
  /// P in f16 is scaled by 2^14, or small weights vanish.
  double weightExponent() const { return spec.element.isF16() ? 14 : 0; }
  /// Score units to base 2.
  double toBase2() const {
    return spec.transformsScores() ? llvm::numbers::log2e
                                   : spec.scale * llvm::numbers::log2e;
  }

  // NaN and infinities in V: AttentionNonFinite.cpp.
  Value needsFiniteValues(const KeyTile &tile);
  void findNonFinite(const KeyTile &tile, Value stage);
  Value foundNonFinite(const KeyTile &tile);
  Values takeOutNonFinite(Values acc, const KeyTile &tile, Value stage);
  Value nonFiniteCode(Value bits);
  Value finitePart(Value bits);
  /// `valueOperands` of a pair known at run time, in the tile at `offset`.
  Values valueOperandsAt(Value offset, int64_t step, Value pair);
  SmallVector<Values> seenKeys(const KeyTile &keys, int64_t rowTile);
  Values countCodes(ArrayRef<Values> seen, Value offset, Value pair);
  Value effectOf(Value codes);

  // States: AttentionState.cpp.
  AttentionState chooseState(Value condition,
                             const std::function<AttentionState()> &then,
                             const std::function<AttentionState()> &otherwise);
  AttentionState identity();
  AttentionState loadState(Value pointer);
  void storeState(const AttentionState &state, Value pointer);
  Value statePointer(Value base, Value index);
  AttentionState merge(AttentionState a, Value pointer);

  // The result: AttentionResult.cpp.
  void writeResult(const AttentionState &state);
  /// A row's sum of weights and its maximum, in natural units, with a sink; and
  /// what the weights were multiplied by for it.
  struct RowTotal {
    Value sum, max, decay;
  };
  RowTotal addSink(Value sum, Value max, Value row, Value sinks);
  Values meanOfValues(Value mean);
  void writeRow(ArrayRef<Value> values, Value row, Value lse);

  // Indices into flat arrays.
  size_t accIndex(int64_t rowTile, int64_t tile, int64_t half = 0,
                  int64_t column = 0) const {
    return (rowTile * plan.valueTiles() + tile) * 4 + 2 * half + column;
  }
  size_t scoreIndex(int64_t rowTile, int64_t tile, int64_t half = 0,
                    int64_t column = 0) const {
    return (rowTile * plan.scoreTiles() + tile) * 4 + 2 * half + column;
  }
  /// The first of this lane's two columns of each tile of 8.
  Value laneColumn() { return b.shl(b.band(lane, 3), 1); }
  /// Scores depend on positions, so also in tiles that nothing is hidden of.
  bool usesPositions() const { return spec.bias || spec.score; }
  bool isF32() const { return plan.shape.elementBytes == 4; }

  const AttentionKernelSpec &spec;
  const GPUTilePlan &plan;
  DeviceBuilder b;
  DeviceScore score;
  Value params, shared;
  Value thread, lane, warp, headBlock;
  Value batch, queryBegin, rangeBegin, rangeEnd, rowCount, kvHead;
  // Where this lane reads operands: rows of Q; keys of K; keys of V.
  LanePlace queryPlace, keyPlace, valuePlace, valuePlaceNext;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNELBUILDER_H
