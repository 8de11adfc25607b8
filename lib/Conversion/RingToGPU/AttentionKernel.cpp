//===- AttentionKernel.cpp - Blockwise attention on a GPU -----------------===//
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
//   for each tile of keys:
//     S    = Q K^T                      mma, K by ldmatrix
//     S    = softcap, bias, score, mask
//     max' = max(max, row max of S)
//     P    = exp2(S * c - max' * c)     c = scale * log2 e; P stays in
//     registers acc  = acc * exp2((max - max') * c) + P V     mma, V by
//     ldmatrix.trans
//
// K and V come by cp.async, one tile of each `stages` ahead: V of this tile is
// copied while S is computed, K of the next one while P V is.
//
// A thread holds, of each tile of 16 x 8 accumulators, rows lane / 4 and
// lane / 4 + 8, columns 2 * (lane % 4) and the next one (PTX ISA, "Matrix
// Fragments for mma.m16n8k16"): four threads share a row.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "DeviceBuilder.h"
#include "DeviceScore.h"

#include "ring/Runtime/Device.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

namespace {

constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;

/// Sign, exponent and the upper 10 bits of the mantissa of an f32.
constexpr int64_t kBitsOfTF32 = 0xffffe000;
/// The largest f32 that rounds to a finite tf32: 2^128 - 2^116 - 2^104.
constexpr int64_t kLargestF32 = 0x7f7fefff;

/// The running state of a thread's rows: `acc` [row tile][value tile][4], `max`
/// and `sum` [row tile][2]. Maxima are of raw products where a scale is all
/// that follows; sums are of this thread's columns until the end.
struct State {
  Values acc, max, sum;

  Values flat() const {
    Values all(acc);
    all.append(max);
    all.append(sum);
    return all;
  }
  static State from(ValueRange all, int64_t rowTiles) {
    size_t rows = 2 * rowTiles, first = all.size() - 2 * rows;
    return {Values(all.take_front(first)), Values(all.slice(first, rows)),
            Values(all.take_back(rows))};
  }
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

/// A tile of keys: `end - begin` or fewer of them are left of its range, none
/// behind the last tile. In few registers, as it is carried from tile to tile.
struct KeyTile {
  Value rangeAndFull; ///< 2 * (index into `ranges`) + (nothing of it is hidden)
  Value begin, end;   ///< local keys, i32

  Values flat() const { return {rangeAndFull, begin, end}; }
  static KeyTile from(ValueRange all) { return {all[0], all[1], all[2]}; }
  static constexpr size_t kFields = 3;
};

/// What a row of the tile sees, from shared memory.
struct RowInfo {
  Value lower, upper, id, position; ///< i32
};

class AttentionKernel {
public:
  AttentionKernel(const AttentionKernelSpec &spec, LLVM::LLVMFuncOp kernel,
                  LLVM::GlobalOp shared);
  bool build();

private:
  // Parameters and places.
  Value parameter(size_t offset, Type type);
  Value parameter32(size_t offset) { return parameter(offset, b.getI32Type()); }
  Value parameter64(size_t offset) { return parameter(offset, b.getI64Type()); }
  Value pointerParameter(size_t offset) {
    return parameter(offset, b.globalPointer());
  }
  Value isNull(Value pointer);
  /// `late`: read here, and not kept in a register until here.
  Value itemField(size_t offset, bool late = false);
  /// pointer + sum of index * stride elements; strides lie at `strides`.
  Value element(Value pointer, size_t strides, ArrayRef<Value> indices,
                int64_t bytes);
  Value positionOf(Value local, Value base, Value begin, Value block,
                   Value stride);
  /// Row of the tile of row tile `tile`, upper or lower half.
  Value threadRow(int64_t tile, int64_t half);
  Value headOf(Value row);
  Value queryOf(Value row);
  Value hasQuery(Value row) { return b.less(row, rowCount); }

  // Shared memory.
  Value warpInfo(int64_t field) {
    return sharedAt(b.add(b.mul(warp, GPUTilePlan::kWarpInfoBytes),
                          plan.warpInfoOffset() + field));
  }
  Value sharedAt(Value byteOffset) { return b.at(shared, byteOffset); }
  Value dynamicOffset(const SharedTile &tile, Value row, Value chunk);
  /// The address that a lane gives to ldmatrix, or where it reads: chunk
  /// `chunk` + bit (of the lane) of row `row` + laneRow.
  struct LanePlace {
    Value row, bit, extraBytes;
  };
  Value laneAddress(const SharedTile &tile, Value base, int64_t row,
                    int64_t chunk, const LanePlace &lane);

  /// Which operands a product of f32 takes.
  enum class Guard {
    None,     ///< numbers below kLargestF32
    Largest,  ///< all numbers
    NonFinite ///< infinities and NaN too
  };

  // The steps.
  void decodeItem(bool late);
  void storeWarpInfo();
  void placeLanes();
  void loadQueries();
  void storeRowInfo();
  void storeKeyInfo(const KeyTile &tile);
  /// The chunks of a tile that this thread copies. `body` gets the rows between
  /// the first one and each, and its byte offset if they were at the same row.
  void
  ownChunks(const SharedTile &tile,
            const std::function<void(int64_t rowsBelow, Value offset)> &body);
  /// The same by a loop, which is short: places in the tile at offset `base`.
  Values loopOwnChunks(
      const SharedTile &tile, Value base, ValueRange carried,
      const std::function<Values(Value place, ValueRange carried)> &body);
  /// Of them: the first row, the column, and the rows from one to the next.
  struct OwnChunks {
    Value row, chunk;
    int64_t step;
  };
  OwnChunks firstOwnChunk(const SharedTile &tile);
  void copyTile(const SharedTile &tile, Value target, Value source,
                Value strideBytes, Value rows, int64_t columnBytes);
  void copyKeys(const KeyTile &tile, Value stage);
  void copyValues(const KeyTile &tile, Value stage);
  KeyTile firstTile();
  KeyTile nextTile(const KeyTile &tile);
  KeyTile rangeAt(Value range);
  Value isThere(const KeyTile &tile) { return b.less(tile.begin, tile.end); }
  Value isPartial(const KeyTile &tile);

  State visitKeys(State state);
  Values scores(Value stage);
  Values scores(Value stage, Guard guard);
  Values transform(Values s);
  void mask(Values &s, int64_t rowTile);
  Values softmax(Values s, State &state);
  Values accumulate(ArrayRef<Values> p, Values acc, Value stage, Guard guard);
  Value mayHideNonFinite(const KeyTile &tile);
  void findNonFinite(const KeyTile &tile, Value stage);
  Value foundNonFinite(const KeyTile &tile);
  Values spareHiddenRows(Values acc, const KeyTile &tile, Value stage);

  RowInfo rowInfo(int64_t tile, int64_t half);
  Values keyInfo(int64_t tile);
  Value sees(const RowInfo &row, Value position, Value id);

  // Products.
  /// An operand's registers; of f32 in tf32, as two or three of them.
  struct Operand {
    Values high, low;
    Values cross; ///< what meets the other operand's low part
  };
  Operand operand(ValueRange registers, Guard guard = Guard::None);
  Values product(const Operand &a, const Operand &other, ValueRange c);
  Value nonFiniteCode(Value bits);
  Value finitePart(Value bits);
  /// Steps of the product with V: of 16 keys, or 8 in f32.
  int64_t productSteps() const { return plan.keyTile / (isF32() ? 8 : 16); }
  Values weights(const Values &p, int64_t rowTile, int64_t step);
  /// Those of all steps, [step][row tile].
  SmallVector<Values> allWeights(const Values &p);
  Values valuesOf(Value base, int64_t step, int64_t pair);
  /// The same for a pair known at run time, in the tile at `offset`.
  Values valuesAt(Value offset, int64_t step, Value pair);
  Value effectOf(Value codes);

  // States.
  State identity();
  State loadState(Value pointer);
  void storeState(const State &state, Value pointer);
  Value statePointer(Value base, Value index);
  State merge(State a, Value pointer);
  Value guarded(Value max);
  void finish(State state);
  void writeRow(ArrayRef<Value> values, Value row, Value lse);

  // Indices into flat arrays.
  size_t accIndex(int64_t rowTile, int64_t tile) const {
    return (rowTile * plan.valueTiles() + tile) * 4;
  }
  size_t scoreIndex(int64_t rowTile, int64_t tile) const {
    return (rowTile * plan.scoreTiles() + tile) * 4;
  }
  bool isF32() const { return plan.shape.elementBytes == 4; }
  DeviceBuilder::Product productKind() const {
    return spec.element.isF16()    ? DeviceBuilder::Product::F16
           : spec.element.isBF16() ? DeviceBuilder::Product::BF16
                                   : DeviceBuilder::Product::TF32;
  }
  /// P in f16 is scaled by 2^14, or small weights vanish.
  double weightExponent() const { return spec.element.isF16() ? 14 : 0; }
  /// Score units to base 2.
  double toBase2() const {
    return spec.transformsScores() ? kLog2E : spec.scale * kLog2E;
  }

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
} // namespace

#define PARAMETER(name) offsetof(ring_attention_params, name)
#define ITEM(name) offsetof(ring_attention_item, name)
#define RANGE(name) offsetof(ring_attention_range, name)

AttentionKernel::AttentionKernel(const AttentionKernelSpec &spec,
                                 LLVM::LLVMFuncOp kernel, LLVM::GlobalOp global)
    : spec(spec), plan(spec.plan), b(kernel.getLoc(), kernel.getContext()),
      score(spec.score, b), params(kernel.getArgument(0)) {
  b.setInsertionPointToStart(&kernel.front());
  shared = LLVM::AddressOfOp::create(b, b.sharedPointer(), global.getSymName());
}

//===----------------------------------------------------------------------===//
// Parameters and places
//===----------------------------------------------------------------------===//

Value AttentionKernel::parameter(size_t offset, Type type) {
  Value place =
      LLVM::GEPOp::create(b, params.getType(), b.getI8Type(), params,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return b.load(type, place);
}

Value AttentionKernel::isNull(Value pointer) {
  Value null = LLVM::ZeroOp::create(b, pointer.getType());
  return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, pointer, null);
}

Value AttentionKernel::itemField(size_t offset, bool late) {
  Value item =
      b.at(pointerParameter(PARAMETER(items)),
           b.mul(b.extend(b.blockIdx(0)), sizeof(ring_attention_item)));
  return LLVM::LoadOp::create(b, b.getI32Type(), b.at(item, b.i64(offset)),
                              /*alignment=*/4, /*isVolatile=*/late);
}

Value AttentionKernel::element(Value pointer, size_t strides,
                               ArrayRef<Value> indices, int64_t bytes) {
  Value offset = b.i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value stride = parameter64(strides + dim * sizeof(int64_t));
    offset = b.add(offset, b.mul(b.extend(index), stride));
  }
  return b.at(pointer, b.mul(offset, bytes));
}

Value AttentionKernel::positionOf(Value local, Value base, Value begin,
                                  Value block, Value stride) {
  Value index = b.sub(local, base);
  Value whole = b.mul(b.udiv(index, block), stride);
  return b.add(begin, b.add(whole, b.urem(index, block)));
}

Value AttentionKernel::threadRow(int64_t tile, int64_t half) {
  Value first = b.mul(warp, 16 * plan.rowTiles);
  return b.add(b.add(first, b.shr(lane, 2)), 16 * tile + 8 * half);
}

Value AttentionKernel::headOf(Value row) {
  return b.add(b.mul(headBlock, plan.pack), b.urem(row, plan.pack));
}

Value AttentionKernel::queryOf(Value row) {
  return b.add(queryBegin, b.udiv(row, plan.pack));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value AttentionKernel::dynamicOffset(const SharedTile &tile, Value row,
                                     Value chunk) {
  int64_t width = tile.panelChunks();
  Value number = b.band(b.shr(row, tile.swizzleShift()), tile.swizzleMask());
  Value permuted = b.bxor(b.urem(chunk, width), number);
  Value inPanel = b.add(b.mul(row, tile.panelRowBytes()),
                        b.mul(permuted, SharedTile::kChunkBytes));
  return b.add(b.mul(b.udiv(chunk, width), tile.panelBytes()), inPanel);
}

Value AttentionKernel::laneAddress(const SharedTile &tile, Value base,
                                   int64_t row, int64_t chunk,
                                   const LanePlace &place) {
  // `row` is a multiple of 8 and `chunk` even, so they do not disturb the
  // lane's part of the permutation.
  int64_t width = tile.panelChunks();
  Value number =
      b.band(b.shr(place.row, tile.swizzleShift()), tile.swizzleMask());
  Value permuted = b.bxor(b.bxor(place.bit, number), chunk % width);
  Value offset = b.add(b.mul(place.row, tile.panelRowBytes()),
                       b.mul(permuted, SharedTile::kChunkBytes));
  if (place.extraBytes)
    offset = b.add(offset, place.extraBytes);
  Value address = b.at(base, offset);
  int64_t constant =
      chunk / width * tile.panelBytes() + row * tile.panelRowBytes();
  return constant ? b.at(address, b.i32(constant)) : address;
}

//===----------------------------------------------------------------------===//
// Before the first key
//===----------------------------------------------------------------------===//

void AttentionKernel::decodeItem(bool late) {
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
void AttentionKernel::storeWarpInfo() {
  auto start = [&](size_t pointer, size_t strides) {
    return element(pointerParameter(pointer), strides, {batch, kvHead},
                   plan.shape.elementBytes);
  };
  b.store(start(PARAMETER(key), PARAMETER(key_strides)), warpInfo(kKeyBase));
  b.store(start(PARAMETER(value), PARAMETER(value_strides)),
          warpInfo(kValueBase));
  b.store(headBlock, warpInfo(kHeadBlock));
  b.store(b.i32(0), warpInfo(kFinding));
  NVVM::SyncWarpOp::create(b, b.i32(-1));
}

/// Where this lane reads its operands.
void AttentionKernel::placeLanes() {
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

/// Rows beyond the last query are zero: they are computed on, never written.
void AttentionKernel::loadQueries() {
  SharedTile tile = plan.queries();
  Value pointer = pointerParameter(PARAMETER(query));
  int64_t columnBytes = plan.shape.depth * plan.shape.elementBytes;
  Value total = b.i32(tile.rows() * tile.chunks());
  b.loop(thread, total, b.i32(plan.threads()), [&](Value place) {
    Value row = b.udiv(place, tile.chunks());
    Value chunk = b.urem(place, tile.chunks());
    Value byte = b.mul(chunk, SharedTile::kChunkBytes);
    Value source = b.at(element(pointer, PARAMETER(query_strides),
                                {batch, headOf(row), queryOf(row)},
                                plan.shape.elementBytes),
                        b.extend(byte));
    Value rest =
        b.smin(b.sub(b.i32(columnBytes), byte), b.i32(SharedTile::kChunkBytes));
    Value bytes = b.select(hasQuery(row), b.smax(rest, b.i32(0)), b.i32(0));
    Value target = b.add(dynamicOffset(tile, row, chunk), plan.queriesOffset());
    b.copyAsync(sharedAt(target), source, bytes);
  });
}

/// lower(p) and upper(p) of ring/Runtime/Device.h for each row. In 64 bits: the
/// bounds may be unbounded and the position negative.
void AttentionKernel::storeRowInfo() {
  Value base = itemField(ITEM(queries.base)),
        begin = itemField(ITEM(queries.begin)),
        block = itemField(ITEM(queries.block)),
        stride = itemField(ITEM(queries.stride));
  Value shift = itemField(ITEM(shift)), keyCount = itemField(ITEM(key_count));
  Value left = parameter32(PARAMETER(left)),
        right = parameter32(PARAMETER(right)),
        chunk = parameter32(PARAMETER(chunk)),
        prefix = parameter32(PARAMETER(prefix)),
        causal = parameter32(PARAMETER(causal));
  Value segments = pointerParameter(PARAMETER(query_segments));
  Value zero = b.i32(0), unbounded = b.i32(INT32_MAX), wideZero = b.i64(0);

  b.loop(thread, b.i32(plan.rows()), b.i32(plan.threads()), [&](Value row) {
    Value position = positionOf(queryOf(row), base, begin, block, stride);
    Value p = b.add(b.extend(position), b.extend(shift));
    Value lower = b.choose(
        b.equal(left, unbounded), [&]() -> Values { return {wideZero}; },
        [&]() -> Values { return {b.sub(p, b.extend(left))}; })[0];
    Value upper = b.extend(keyCount);
    upper = b.select(b.equal(right, unbounded), upper,
                     b.smin(upper, b.add(b.add(p, b.extend(right)), 1)));
    Value causalEnd = b.smax(b.add(p, 1), b.extend(prefix));
    upper = b.select(b.notEqual(causal, zero), b.smin(upper, causalEnd), upper);
    Values bounds = b.choose(
        b.notEqual(chunk, zero),
        [&]() -> Values {
          Value size = b.extend(chunk);
          // Rounds down, also below 0.
          Value rounded =
              b.select(b.less(p, wideZero), b.sub(p, b.sub(size, 1)), p);
          Value first = b.mul(arith::DivSIOp::create(b, rounded, size), size);
          return {b.smax(lower, first), b.smin(upper, b.add(first, size))};
        },
        [&]() -> Values { return {lower, upper}; });
    lower = b.smax(bounds[0], wideZero);
    upper = b.smax(bounds[1], wideZero);
    Value wideMax = b.i64(INT32_MAX);
    lower = b.truncate(b.smin(lower, wideMax));
    upper = b.truncate(b.smin(upper, wideMax));
    Value seesAny = hasQuery(row);
    Value id = b.choose(
        isNull(segments), [&]() -> Values { return {zero}; },
        [&]() -> Values {
          return b.choose(
              hasQuery(row),
              [&]() -> Values {
                return {
                    b.load(b.getI32Type(),
                           element(segments, PARAMETER(query_segments_strides),
                                   {batch, position}, sizeof(int32_t)))};
              },
              [&]() -> Values { return {b.i32(-1)}; });
        })[0];
    seesAny = b.band(seesAny, b.less(b.i32(-1), id));
    upper = b.select(seesAny, upper, zero);
    position = b.select(hasQuery(row), position, zero);
    Value place = sharedAt(b.add(b.mul(row, 16), plan.rowInfoOffset()));
    for (auto [field, value] :
         llvm::enumerate(Values{lower, upper, id, position}))
      b.store(value, b.at(place, b.i32(4 * field)));
  });
}

//===----------------------------------------------------------------------===//
// Tiles of keys
//===----------------------------------------------------------------------===//

/// The first tile of a range, or none.
KeyTile AttentionKernel::rangeAt(Value range) {
  return KeyTile::from(b.choose(
      b.less(range, rangeEnd),
      [&]() -> Values {
        Value place =
            b.at(pointerParameter(PARAMETER(ranges)),
                 b.mul(b.extend(range), sizeof(ring_attention_range)));
        auto field = [&](size_t offset) {
          return b.load(b.getI32Type(), b.at(place, b.i64(offset)));
        };
        return {b.add(b.shl(range, 1), field(RANGE(full))), field(RANGE(begin)),
                field(RANGE(end))};
      },
      [&]() -> Values { return {b.i32(0), b.i32(0), b.i32(0)}; }));
}

KeyTile AttentionKernel::firstTile() { return rangeAt(rangeBegin); }

KeyTile AttentionKernel::nextTile(const KeyTile &tile) {
  Value next = b.add(tile.begin, plan.keyTile);
  return KeyTile::from(b.choose(
      b.less(next, tile.end),
      [&]() -> Values { return {tile.rangeAndFull, next, tile.end}; },
      [&]() -> Values {
        // Also behind the last tile: its range is the first one.
        Value range = b.add(b.shr(tile.rangeAndFull, 1), 1);
        return rangeAt(b.select(isThere(tile), range, rangeEnd)).flat();
      }));
}

AttentionKernel::OwnChunks
AttentionKernel::firstOwnChunk(const SharedTile &tile) {
  // A thread stays in its column and goes down by a power of two of rows: what
  // it copies next is a constant away, mostly.
  int64_t columns = llvm::PowerOf2Ceil(tile.chunks());
  return {b.udiv(thread, columns), b.urem(thread, columns),
          plan.threads() / columns};
}

void AttentionKernel::ownChunks(
    const SharedTile &tile,
    const std::function<void(int64_t rowsBelow, Value offset)> &body) {
  OwnChunks own = firstOwnChunk(tile);
  auto eachRow = [&] {
    // Bits of the first row and of what is added to it are apart: so are what
    // they do to the permutation.
    Value first = dynamicOffset(tile, own.row, own.chunk);
    for (int64_t i = 0; i < tile.rows(); i += own.step) {
      int64_t number = (i >> tile.swizzleShift()) & tile.swizzleMask();
      Value permuted = b.bxor(first, number * SharedTile::kChunkBytes);
      body(i, permuted);
    }
  };
  int64_t chunks = tile.chunks();
  if (llvm::isPowerOf2_64(chunks) && own.step <= tile.rows())
    return eachRow();
  Value has = b.less(own.chunk, b.i32(chunks));
  if (own.step > tile.rows())
    has = b.band(has, b.less(own.row, b.i32(tile.rows())));
  b.branch(has, eachRow);
}

Values AttentionKernel::loopOwnChunks(
    const SharedTile &tile, Value base, ValueRange carried,
    const std::function<Values(Value place, ValueRange carried)> &body) {
  OwnChunks own = firstOwnChunk(tile);
  Value end = b.select(b.less(own.chunk, b.i32(tile.chunks())),
                       b.i32(tile.rows()), b.i32(0));
  return b.loop(
      own.row, end, b.i32(own.step), carried,
      [&](Value row, ValueRange carried) -> Values {
        return body(sharedAt(b.add(base, dynamicOffset(tile, row, own.chunk))),
                    carried);
      });
}

/// Rows at and beyond `rows` become zero, without being read.
void AttentionKernel::copyTile(const SharedTile &tile, Value target,
                               Value source, Value strideBytes, Value rows,
                               int64_t columnBytes) {
  OwnChunks own = firstOwnChunk(tile);
  Value byte = b.mul(own.chunk, SharedTile::kChunkBytes);
  Value bytesOfRow = b.i32(SharedTile::kChunkBytes);
  if (columnBytes != tile.chunks() * SharedTile::kChunkBytes)
    bytesOfRow =
        b.smax(b.smin(b.sub(b.i32(columnBytes), byte), bytesOfRow), b.i32(0));
  Value from = b.at(
      source, b.add(b.mul(b.extend(own.row), strideBytes), b.extend(byte)));
  Value stepBytes = b.mul(strideBytes, own.step);
  ownChunks(tile, [&](int64_t rowsBelow, Value offset) {
    // Written so that nothing but `offset` is the same for all tiles, and takes
    // registers meanwhile.
    Value has = b.less(own.row, b.sub(rows, rowsBelow));
    Value place =
        b.at(b.at(target, offset), b.i32(rowsBelow * tile.panelRowBytes()));
    b.copyAsync(place, from, b.select(has, bytesOfRow, b.i32(0)));
    from = b.at(from, stepBytes);
  });
}

void AttentionKernel::copyKeys(const KeyTile &tile, Value stage) {
  b.branch(isThere(tile), [&] {
    int64_t bytes = plan.shape.elementBytes;
    Value stride = b.mul(parameter64(PARAMETER(key_strides[2])), bytes);
    Value source = b.at(b.load(b.globalPointer(), warpInfo(kKeyBase)),
                        b.mul(b.extend(tile.begin), stride));
    Value target =
        sharedAt(b.add(b.mul(stage, plan.keys().bytes()), plan.keysOffset()));
    copyTile(plan.keys(), target, source, stride, b.sub(tile.end, tile.begin),
             plan.shape.depth * bytes);
  });
  b.commitCopies();
}

void AttentionKernel::copyValues(const KeyTile &tile, Value stage) {
  b.branch(isThere(tile), [&] {
    int64_t bytes = plan.shape.elementBytes;
    Value stride = b.mul(parameter64(PARAMETER(value_strides[2])), bytes);
    Value source = b.at(b.load(b.globalPointer(), warpInfo(kValueBase)),
                        b.mul(b.extend(tile.begin), stride));
    Value target = sharedAt(
        b.add(b.mul(stage, plan.values().bytes()), plan.valuesOffset()));
    copyTile(plan.values(), target, source, stride, b.sub(tile.end, tile.begin),
             plan.shape.valueDepth * bytes);
  });
  b.commitCopies();
}

Value AttentionKernel::isPartial(const KeyTile &tile) {
  Value whole = b.band(b.notEqual(b.band(tile.rangeAndFull, 1), b.i32(0)),
                       b.less(b.add(tile.begin, plan.keyTile - 1), tile.end));
  return b.bxor(whole, b.truth(true));
}

/// Position and id of each key of the tile; position -1 where no query of the
/// batch entry sees it.
void AttentionKernel::storeKeyInfo(const KeyTile &tile) {
  b.loop(thread, b.i32(plan.keyTile), b.i32(plan.threads()), [&](Value place) {
    Value local = b.add(tile.begin, place);
    Values info = b.choose(
        b.less(local, tile.end),
        [&]() -> Values {
          Value range = b.at(pointerParameter(PARAMETER(ranges)),
                             b.mul(b.extend(b.shr(tile.rangeAndFull, 1)),
                                   sizeof(ring_attention_range)));
          auto field = [&](size_t offset) {
            return b.load(b.getI32Type(), b.at(range, b.i64(offset)));
          };
          Value position = positionOf(
              local, field(RANGE(keys.base)), field(RANGE(keys.begin)),
              field(RANGE(keys.block)), field(RANGE(keys.stride)));
          Value segments = pointerParameter(PARAMETER(key_segments));
          return b.choose(
              isNull(segments),
              [&]() -> Values { return {position, b.i32(0)}; },
              [&]() -> Values {
                Value id =
                    b.load(b.getI32Type(),
                           element(segments, PARAMETER(key_segments_strides),
                                   {batch, position}, sizeof(int32_t)));
                Value hidden = b.less(id, b.i32(0));
                return {b.select(hidden, b.i32(-1), position), id};
              });
        },
        [&]() -> Values { return {b.i32(-1), b.i32(0)}; });
    Value target = sharedAt(b.add(b.mul(place, 8), plan.keyInfoOffset()));
    b.store(info[0], target);
    b.store(info[1], b.at(target, b.i32(4)));
  });
}

static Values elementsOf(DeviceBuilder &b, Value vector) {
  Values elements;
  for (int64_t i = 0; i < 4; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(b, vector, b.i32(i)));
  return elements;
}

RowInfo AttentionKernel::rowInfo(int64_t tile, int64_t half) {
  Value place = b.add(b.mul(threadRow(tile, half), 16), plan.rowInfoOffset());
  Values info = elementsOf(
      b, b.load(VectorType::get({4}, b.getI32Type()), sharedAt(place), 16));
  return {info[0], info[1], info[2], info[3]};
}

/// Position and id of this thread's two keys of the key tile's `tile`-th eight.
Values AttentionKernel::keyInfo(int64_t tile) {
  Value place =
      b.add(b.mul(b.band(lane, 3), 16), plan.keyInfoOffset() + 64 * tile);
  return elementsOf(
      b, b.load(VectorType::get({4}, b.getI32Type()), sharedAt(place), 16));
}

Value AttentionKernel::sees(const RowInfo &row, Value position, Value id) {
  Value above = b.bxor(b.less(position, row.lower), b.truth(true));
  return b.band(b.band(above, b.less(position, row.upper)),
                b.equal(id, row.id));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// f32: x = high + low, each with the 11 bits of a tf32 (Ootomo, Yokota 2022).
/// mma ignores the bits of `low` beyond them.
AttentionKernel::Operand AttentionKernel::operand(ValueRange registers,
                                                  Guard guard) {
  Operand result;
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
    Value low = b.bits(b.fsub(x, b.fromBits(high))), cross = high;
    if (guard == Guard::NonFinite) {
      // An infinity minus itself is none, and must not meet the other operand's
      // low part, which may be 0 or of another sign than the whole. A NaN whose
      // payload is cut off would be an infinity.
      Value finite = b.isFinite(x), zero = b.i32(0);
      low = b.select(finite, low, zero);
      cross = b.select(finite, high, zero);
      high = b.select(b.compare(arith::CmpFPredicate::ORD, x, x), high,
                      b.i32(0x7fc00000));
    }
    result.high.push_back(high);
    result.low.push_back(low);
    result.cross.push_back(cross);
  }
  return result;
}

/// One tile of 16 x 8. f32 takes three products of tf32; what is left out, low
/// times low, is below 2^-22 of the product.
Values AttentionKernel::product(const Operand &a, const Operand &other,
                                ValueRange c) {
  Values sum(c);
  if (isF32()) {
    sum = b.mma(productKind(), a.low, other.cross, sum);
    sum = b.mma(productKind(), a.cross, other.low, sum);
  }
  return b.mma(productKind(), a.high, other.high, sum);
}

/// Q K^T, [row tile][score tile][4].
Values AttentionKernel::scores(Value stage) {
  if (!isF32())
    return scores(stage, Guard::None);
  Values fast = scores(stage, Guard::None);
  // What comes of an infinity is right only where it is looked for, which is
  // rarely worth its instructions.
  Value finite = b.truth(true);
  for (Value x : fast)
    finite = b.band(finite, b.isFinite(x));
  return b.choose(
      b.voteAll(finite), [&] { return fast; },
      [&] { return scores(stage, Guard::NonFinite); });
}

Values AttentionKernel::scores(Value stage, Guard guard) {
  SharedTile queries = plan.queries(), keys = plan.keys();
  // The warp's rows begin at a multiple of 16, which the permutation ignores.
  LanePlace place = queryPlace;
  place.row = b.add(place.row, b.mul(warp, 16 * plan.rowTiles));
  auto addChunks = [&](Values &s, Value queryBase, Value keyBase,
                       int64_t chunks) {
    for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
      SmallVector<Operand> a;
      for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
        a.push_back(operand(b.loadMatrices(laneAddress(queries, queryBase,
                                                       16 * tile, chunk, place),
                                           /*transposed=*/false),
                            guard));
      for (int64_t pair = 0; pair < plan.scoreTiles() / 2; ++pair) {
        Values k = b.loadMatrices(
            laneAddress(keys, keyBase, 16 * pair, chunk, keyPlace),
            /*transposed=*/false);
        for (int64_t which = 0; which < 2; ++which) {
          Operand columns = operand(ArrayRef(k).slice(2 * which, 2), guard);
          for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
            size_t at = scoreIndex(tile, 2 * pair + which);
            llvm::copy(product(a[tile], columns, ArrayRef(s).slice(at, 4)),
                       s.begin() + at);
          }
        }
      }
    }
  };
  Values s(4 * plan.rowTiles * plan.scoreTiles(), b.f32(0));
  Value queryOffset = b.i32(plan.queriesOffset());
  Value keyOffset = b.add(b.mul(stage, keys.bytes()), plan.keysOffset());
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

/// The weights of one step of P V as operand a: 16 keys, or 8 in f32.
Values AttentionKernel::weights(const Values &p, int64_t rowTile,
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

SmallVector<Values> AttentionKernel::allWeights(const Values &p) {
  SmallVector<Values> all;
  for (int64_t step = 0; step < productSteps(); ++step)
    for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
      all.push_back(weights(p, tile, step));
  return all;
}

/// The values of one step for a pair of value tiles as operand b: 2 registers
/// for each.
Values AttentionKernel::valuesOf(Value base, int64_t step, int64_t pair) {
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

Values AttentionKernel::valuesAt(Value offset, int64_t step, Value pair) {
  SharedTile values = plan.values();
  auto place = [&](const LanePlace &lane, int64_t row, Value chunk) {
    Value address = b.add(offset, dynamicOffset(values, b.add(lane.row, row),
                                                b.add(chunk, lane.bit)));
    return sharedAt(lane.extraBytes ? b.add(address, lane.extraBytes)
                                    : address);
  };
  if (!isF32())
    return b.loadMatrices(place(valuePlace, 16 * step, b.shl(pair, 1)),
                          /*transposed=*/true);
  Values registers;
  for (int64_t tile : {0, 1})
    for (const LanePlace &lane : {valuePlace, valuePlaceNext})
      registers.push_back(
          b.load(b.getI32Type(),
                 place(lane, 8 * step, b.add(b.shl(pair, 2), 2 * tile))));
  return registers;
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

/// scale, softcap, bias, `score`: the order of the contract.
Values AttentionKernel::transform(Values s) {
  Value bias = spec.bias ? pointerParameter(PARAMETER(bias)) : Value();
  int64_t biasBytes =
      spec.bias ? spec.bias.getIntOrFloatBitWidth() / 8 : int64_t(0);
  Value keyStride = bias ? parameter64(PARAMETER(bias_strides[3])) : Value();
  Value captures = spec.score ? pointerParameter(PARAMETER(captures)) : Value();
  Value lastRow = b.sub(rowCount, 1);
  struct Row {
    Value bias, head, position;
  };
  SmallVector<Row> rows;
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t half = 0; half < 2; ++half) {
      Row row;
      // Rows without a query compute what the last one does.
      Value number = b.smin(threadRow(tile, half), lastRow);
      row.head = headOf(number);
      if (bias)
        row.bias = element(bias, PARAMETER(bias_strides),
                           {batch, row.head, queryOf(number)}, biasBytes);
      if (spec.score)
        row.position = rowInfo(tile, half).position;
      rows.push_back(row);
    }
  for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys) {
    Values info = bias || spec.score ? keyInfo(keys) : Values();
    for (int64_t column = 0; column < 2; ++column) {
      // Hidden keys are masked later; until then they are the first key.
      Value position =
          info.empty() ? Value() : b.smax(info[2 * column], b.i32(0));
      Value biasOffset =
          bias ? b.mul(b.mul(b.extend(position), keyStride), biasBytes)
               : Value();
      for (auto [index, row] : llvm::enumerate(rows)) {
        Value &x = s[scoreIndex(index / 2, keys) + 2 * (index % 2) + column];
        x = b.fmul(x, b.f32(spec.scale));
        if (spec.softcap) {
          Value inverse = b.f32(1.0f / *spec.softcap);
          x = b.fmul(b.f32(*spec.softcap), b.tanh(b.fmul(x, inverse)));
        }
        if (bias)
          x = b.fadd(x, b.widen(b.load(spec.bias, b.at(row.bias, biasOffset))));
        if (spec.score)
          x = score.apply(x, batch, row.head, row.position, position, captures);
      }
    }
  }
  return s;
}

/// By select, so that a hidden key's NaN does not get through.
void AttentionKernel::mask(Values &s, int64_t rowTile) {
  RowInfo rows[] = {rowInfo(rowTile, 0), rowInfo(rowTile, 1)};
  for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys) {
    Values info = keyInfo(keys);
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t column = 0; column < 2; ++column) {
        Value &x = s[scoreIndex(rowTile, keys) + 2 * half + column];
        x = b.select(sees(rows[half], info[2 * column], info[2 * column + 1]),
                     x, b.negativeInfinity());
      }
  }
}

/// Where a maximum is -inf nothing was seen, and 0 is subtracted instead.
Value AttentionKernel::guarded(Value max) {
  Value empty = b.compare(arith::CmpFPredicate::OEQ, max, b.negativeInfinity());
  return b.select(empty, b.f32(0), max);
}

/// Scores to weights; rescales the state to the new maxima.
Values AttentionKernel::softmax(Values s, State &state) {
  constexpr double kMostFused = 1 << 16;
  Value c = b.f32(toBase2());
  Values bases;
  Value fused = b.truth(true);
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t half = 0; half < 2; ++half) {
      size_t row = 2 * tile + half;
      Value max = s[scoreIndex(tile, 0) + 2 * half];
      for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
        for (int64_t column = 0; column < 2; ++column)
          if (keys + column > 0)
            max = b.fmax(max, s[scoreIndex(tile, keys) + 2 * half + column]);
      for (int64_t distance : {1, 2})
        max = b.fmax(max, b.shuffleXor(max, distance));
      max = b.fmax(state.max[row], max);
      Value base = guarded(max);
      Value decay = b.exp2(b.fmul(b.fsub(state.max[row], base), c));
      state.max[row] = max;
      state.sum[row] = b.fmul(state.sum[row], decay);
      for (int64_t column = 0; column < plan.valueTiles(); ++column)
        for (int64_t i = 0; i < 2; ++i) {
          Value &x = state.acc[accIndex(tile, column) + 2 * half + i];
          x = b.fmul(x, decay);
        }
      bases.push_back(base);
      // s * c - max * c in one rounding leaves an error of max * c * 2^-24.
      fused =
          b.band(fused, b.compare(arith::CmpFPredicate::OLT,
                                  b.fabs(b.fmul(base, c)), b.f32(kMostFused)));
    }
  Value exponent = b.f32(weightExponent());
  auto weigh = [&](const std::function<Value(Value x, size_t row)> &power) {
    Values p(s);
    for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
      for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
        for (int64_t i = 0; i < 4; ++i) {
          Value &x = p[scoreIndex(tile, keys) + i];
          x = b.exp2(power(x, 2 * tile + i / 2));
        }
    return p;
  };
  Values p = b.choose(
      b.voteAll(fused),
      [&] {
        Values offsets;
        for (Value base : bases)
          offsets.push_back(b.fma(base, b.f32(-toBase2()), exponent));
        return weigh(
            [&](Value x, size_t row) { return b.fma(x, c, offsets[row]); });
      },
      [&] {
        return weigh([&](Value x, size_t row) {
          return b.fma(b.fsub(x, bases[row]), c, exponent);
        });
      });
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
      for (int64_t i = 0; i < 4; ++i) {
        Value &sum = state.sum[2 * tile + i / 2];
        sum = b.fadd(sum, p[scoreIndex(tile, keys) + i]);
      }
  return p;
}

// A value that is not finite, seen by some rows of a tile only: 0 * Inf would
// be NaN for the others. Then V is multiplied without these values, and what
// they do to a row is counted by a product of "sees" (1 or 0) and a code for
// each of them, in f32 exactly: at most 127 keys are in a tile.
static constexpr float kCodeOfInfinity = 1, kCodeOfNegative = 128,
                       kCodeOfNaN = 16384;

namespace {
/// A 16-bit or 32-bit floating-point format.
struct Format {
  int64_t exponent, mantissa, sign; ///< masks
  int64_t one, negative, nan;       ///< the codes
};
} // namespace

static Format formatOf(Type type) {
  if (type.isF16())
    return {0x7c00, 0x03ff, 0x8000, 0x3c00, 0x5800, 0x7400};
  if (type.isBF16())
    return {0x7f80, 0x007f, 0x8000, 0x3f80, 0x4300, 0x4680};
  return {0x7f800000, 0x007fffff, 0x80000000,
          0x3f800000, 0x43000000, 0x46800000};
}

/// Applies `body` to the one or two elements in a register.
static Value onElements(DeviceBuilder &b, Value bits, bool two,
                        const std::function<Value(Value)> &body) {
  if (!two)
    return body(bits);
  Value lower = body(b.band(bits, 0xffff)), upper = body(b.shr(bits, 16));
  return b.bor(lower, b.shl(upper, 16));
}

Value AttentionKernel::nonFiniteCode(Value bits) {
  Format format = formatOf(spec.element);
  return onElements(b, bits, !isF32(), [&](Value x) -> Value {
    Value finite =
        b.notEqual(b.band(x, format.exponent), b.i32(format.exponent));
    Value isNaN = b.notEqual(b.band(x, format.mantissa), b.i32(0));
    Value isNegative = b.notEqual(b.band(x, format.sign), b.i32(0));
    Value code =
        b.select(isNegative, b.i32(format.negative), b.i32(format.one));
    code = b.select(isNaN, b.i32(format.nan), code);
    return b.select(finite, b.i32(0), code);
  });
}

Value AttentionKernel::finitePart(Value bits) {
  Format format = formatOf(spec.element);
  return onElements(b, bits, !isF32(), [&](Value x) -> Value {
    Value finite =
        b.notEqual(b.band(x, format.exponent), b.i32(format.exponent));
    return b.select(finite, x, b.i32(0));
  });
}

/// Whether a NaN or an infinity of the tile of V would do more than it should:
/// to rows that do not see it; or at all, in f32, whose products take numbers.
Value AttentionKernel::mayHideNonFinite(const KeyTile &tile) {
  return isF32() ? b.truth(true) : isPartial(tile);
}

/// Looks for NaN and infinities in the part of the tile of V that this thread
/// copied, before the barrier behind which others read it.
void AttentionKernel::findNonFinite(const KeyTile &tile, Value stage) {
  Format format = formatOf(spec.element);
  SharedTile values = plan.values();
  Value base = b.add(b.mul(stage, values.bytes()), plan.valuesOffset());
  // No thread looks where it has not copied: that may not be there yet.
  Value found = loopOwnChunks(
      values, base, b.truth(false),
      [&](Value place, ValueRange carried) -> Values {
        Value any = carried[0];
        for (Value word :
             elementsOf(b, b.load(VectorType::get({4}, b.getI32Type()), place,
                                  SharedTile::kChunkBytes))) {
          if (isF32()) {
            any =
                b.bor(any, b.less(b.i32(kLargestF32), b.band(word, INT32_MAX)));
            continue;
          }
          for (int64_t shift : {0, 16}) {
            int64_t exponent = format.exponent << shift;
            any = b.bor(any, b.equal(b.band(word, exponent), b.i32(exponent)));
          }
        }
        return {any};
      })[0];
  b.branch(found, [&] { b.store(b.add(tile.begin, 1), warpInfo(kFinding)); });
}

/// Behind the barrier: whether any thread has.
Value AttentionKernel::foundNonFinite(const KeyTile &tile) {
  Value any = b.truth(false), found = b.add(tile.begin, 1);
  for (int64_t w = 0; w < plan.warps; ++w)
    any = b.bor(
        any,
        b.equal(found, b.load(b.getI32Type(),
                              sharedAt(b.i32(plan.warpInfoOffset() +
                                             GPUTilePlan::kWarpInfoBytes * w +
                                             kFinding)))));
  return any;
}

/// Adds to acc what the tile's infinities and NaNs do to the rows that see
/// them, and takes them out of the tile. All threads of the block take part.
Values AttentionKernel::spareHiddenRows(Values acc, const KeyTile &keys,
                                        Value stage) {
  SharedTile values = plan.values();
  Value offset = b.add(b.mul(stage, values.bytes()), plan.valuesOffset());
  // The rare path is kept small rather than fast: a loop over pairs of value
  // tiles, whose places in shared memory the registers do not know, and one row
  // tile after the other.
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
    Values visible(4 * plan.rowTiles * plan.scoreTiles(), b.f32(1));
    auto masked = [&] {
      mask(visible, tile);
      for (Value &x : visible)
        x = b.fmax(x, b.f32(0)); // hidden: -inf
      return visible;
    };
    if (isF32()) {
      Values all(visible);
      visible = b.choose(isPartial(keys), masked, [&] { return all; });
    } else {
      visible = masked();
    }
    SmallVector<Values> seen;
    for (int64_t step = 0; step < productSteps(); ++step)
      seen.push_back(weights(visible, tile, step));
    acc =
        b.loop(b.i32(0), b.i32(plan.valueTiles() / 2), b.i32(1), acc,
               [&](Value pair, ValueRange carried) {
                 Values codes(8, b.f32(0));
                 for (int64_t step = 0; step < productSteps(); ++step) {
                   Values code;
                   for (Value bits : valuesAt(offset, step, pair))
                     code.push_back(nonFiniteCode(bits));
                   for (int64_t which = 0; which < 2; ++which) {
                     auto counts = codes.begin() + 4 * which;
                     // Small whole numbers: exact, in tf32 too.
                     Values sum = b.mma(productKind(), seen[step],
                                        ArrayRef(code).slice(2 * which, 2),
                                        Values(counts, counts + 4));
                     llvm::copy(sum, counts);
                   }
                 }
                 Values next(carried);
                 for (Value &code : codes)
                   code = effectOf(code);
                 for (int64_t column = 0; column < plan.valueTiles(); ++column)
                   for (int64_t i = 0; i < 4; ++i) {
                     Value &x = next[accIndex(tile, column) + i];
                     x = b.select(b.equal(pair, b.i32(column / 2)),
                                  b.fadd(x, codes[4 * (column % 2) + i]), x);
                   }
                 return next;
               });
  }
  b.barrier();
  loopOwnChunks(values, offset, {}, [&](Value place, ValueRange) -> Values {
    for (int64_t word = 0; word < 4; ++word) {
      Value address = b.at(place, b.i32(4 * word));
      b.store(finitePart(b.load(b.getI32Type(), address)), address);
    }
    return {};
  });
  b.barrier();
  return acc;
}

/// What the counted codes add to an accumulator.
Value AttentionKernel::effectOf(Value codes) {
  Value rest = codes;
  auto holds = [&](float unit) -> Value {
    Value count = LLVM::FFloorOp::create(b, b.fmul(rest, b.f32(1 / unit)));
    rest = b.fma(count, b.f32(-unit), rest);
    return b.compare(arith::CmpFPredicate::OGT, count, b.f32(0));
  };
  Value zero = b.f32(0);
  Value nan = b.select(holds(kCodeOfNaN), b.f32(std::nanf("")), zero);
  Value negative = b.select(holds(kCodeOfNegative), b.negativeInfinity(), zero);
  Value positive =
      b.select(holds(kCodeOfInfinity),
               b.f32(std::numeric_limits<float>::infinity()), zero);
  return b.fadd(b.fadd(positive, negative), nan);
}

/// acc + P V, for the operands that `weights` makes of P.
Values AttentionKernel::accumulate(ArrayRef<Values> p, Values acc, Value stage,
                                   Guard guard) {
  SharedTile values = plan.values();
  Value offset = b.add(b.mul(stage, values.bytes()), plan.valuesOffset());
  auto addStep = [&](Values &acc, ArrayRef<Values> weights, Value base,
                     int64_t step) {
    SmallVector<Operand> a;
    for (const Values &registers : weights)
      a.push_back(operand(registers));
    for (int64_t pair = 0; pair < plan.valueTiles() / 2; ++pair) {
      Values v = valuesOf(base, step, pair);
      for (int64_t which = 0; which < 2; ++which) {
        Operand columns = operand(ArrayRef(v).slice(2 * which, 2), guard);
        for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
          size_t at = accIndex(tile, 2 * pair + which);
          llvm::copy(product(a[tile], columns, ArrayRef(acc).slice(at, 4)),
                     acc.begin() + at);
        }
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

State AttentionKernel::visitKeys(State state) {
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
  bool hasInfo = spec.bias || spec.score;
  Values results = b.whileLoop(
      carried,
      [&](ValueRange arguments) {
        return isThere(
            KeyTile::from(arguments.slice(ofState, KeyTile::kFields)));
      },
      [&](ValueRange arguments) {
        State state = State::from(arguments.take_front(ofState), plan.rowTiles);
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
        if (hasInfo)
          storeKeyInfo(tile);
        else
          b.branch(partial, [&] { storeKeyInfo(tile); });
        Values s = scores(stage);

        b.waitForCopies(open);
        b.branch(mayHideNonFinite(tile), [&] { findNonFinite(tile, stage); });
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
        SmallVector<Values> p = allWeights(softmax(s, state));
        // Not earlier: the addresses would find no register beside the scores.
        KeyTile next = nextTile(tiles.back());
        copyKeys(next, stage);
        Value spare = b.choose(
            mayHideNonFinite(tile),
            [&]() -> Values { return {foundNonFinite(tile)}; },
            [&]() -> Values { return {b.truth(false)}; })[0];
        if (isF32()) {
          state.acc = b.choose(
              spare,
              [&] {
                Values acc = spareHiddenRows(state.acc, tile, stage);
                return accumulate(p, acc, stage, Guard::Largest);
              },
              [&] { return accumulate(p, state.acc, stage, Guard::None); });
        } else {
          state.acc = b.choose(
              spare, [&] { return spareHiddenRows(state.acc, tile, stage); },
              [&] { return state.acc; });
          state.acc = accumulate(p, state.acc, stage, Guard::None);
        }

        Values yielded = state.flat();
        for (int64_t s = 1; s < stages; ++s)
          yielded.append(tiles[s].flat());
        yielded.append(next.flat());
        yielded.push_back(after(1));
        return yielded;
      });
  return State::from(ValueRange(results).take_front(ofState), plan.rowTiles);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

State AttentionKernel::identity() {
  State state;
  state.acc.assign(4 * plan.rowTiles * plan.valueTiles(), b.f32(0));
  state.max.assign(2 * plan.rowTiles, b.negativeInfinity());
  state.sum.assign(2 * plan.rowTiles, b.f32(0));
  return state;
}

Value AttentionKernel::statePointer(Value base, Value index) {
  Value tile =
      b.add(b.mul(b.extend(index), plan.headBlocks()), b.extend(headBlock));
  Value place =
      b.add(b.mul(tile, plan.stateFloats() * 4), b.extend(b.mul(thread, 16)));
  return b.at(base, place);
}

/// Four values of each thread side by side: what a warp reads at a time lies in
/// one piece.
State AttentionKernel::loadState(Value pointer) {
  Values all;
  auto type = VectorType::get({4}, b.getF32Type());
  for (int64_t i = 0; i < plan.stateRegisters() / 4; ++i)
    all.append(elementsOf(
        b, b.load(type, b.at(pointer, b.i64(i * plan.threads() * 16)), 16)));
  return State::from(all, plan.rowTiles);
}

void AttentionKernel::storeState(const State &state, Value pointer) {
  Values all = state.flat();
  auto type = VectorType::get({4}, b.getF32Type());
  for (int64_t i = 0; i < plan.stateRegisters() / 4; ++i) {
    Value vector = LLVM::PoisonOp::create(b, type);
    for (int64_t j = 0; j < 4; ++j)
      vector =
          LLVM::InsertElementOp::create(b, vector, all[4 * i + j], b.i32(j));
    b.store(vector, b.at(pointer, b.i64(i * plan.threads() * 16)), 16);
  }
}

/// Merges the state at `pointer` into `a`, a few registers at a time.
State AttentionKernel::merge(State a, Value pointer) {
  auto type = VectorType::get({4}, b.getF32Type());
  auto four = [&](int64_t index) {
    return elementsOf(
        b,
        b.load(type, b.at(pointer, b.i64(index * 4 * 4 * plan.threads())), 16));
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
    Value max = b.fmax(a.max[row], otherMax[row]), base = guarded(max);
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

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// One row's columns, two of each value tile, and its lse.
void AttentionKernel::writeRow(ArrayRef<Value> values, Value row, Value lse) {
  b.branch(hasQuery(row), [&] {
    Value head = headOf(row), query = queryOf(row);
    int64_t bytes = spec.out.getIntOrFloatBitWidth() / 8;
    Value column = b.shl(b.band(lane, 3), 1);
    Value place = element(pointerParameter(PARAMETER(out)),
                          PARAMETER(out_strides), {batch, head, query}, bytes);
    place = b.at(place, b.mul(b.extend(column), bytes));
    for (int64_t tile = 0; tile < plan.valueTiles(); ++tile) {
      Value first = values[2 * tile], second = values[2 * tile + 1];
      Value target = b.at(place, b.i64(8 * tile * bytes));
      auto one = [&](Value value, Value address) {
        b.store(b.narrow(value, spec.out), address);
      };
      auto both = [&] {
        if (bytes == 2) {
          auto product = spec.out.isF16() ? DeviceBuilder::Product::F16
                                          : DeviceBuilder::Product::BF16;
          return b.store(b.pack(product, first, second), target, 4);
        }
        one(first, target);
        one(second, b.at(target, b.i64(bytes)));
      };
      int64_t rest = plan.shape.valueDepth - 8 * tile;
      if (rest >= 8) {
        both();
        continue;
      }
      b.branch(b.less(column, b.i32(rest)), [&] { one(first, target); });
      b.branch(b.less(b.add(column, 1), b.i32(rest)),
               [&] { one(second, b.at(target, b.i64(bytes))); });
    }
    Value lsePointer = pointerParameter(PARAMETER(lse));
    Value asked = b.bxor(isNull(lsePointer), b.truth(true));
    Value writes = b.band(asked, b.equal(b.band(lane, 3), b.i32(0)));
    b.branch(writes, [&] {
      b.store(lse, element(lsePointer, PARAMETER(lse_strides),
                           {batch, head, query}, sizeof(float)));
    });
  });
}

void AttentionKernel::finish(State state) {
  Value sinks = pointerParameter(PARAMETER(sinks));
  Value mean = pointerParameter(PARAMETER(mean));
  Value hasMean = b.bxor(isNull(mean), b.truth(true));
  double weightUnit = std::exp2(weightExponent());
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t half = 0; half < 2; ++half) {
      Value row = threadRow(tile, half);
      Value total = state.sum[2 * tile + half];
      for (int64_t distance : {1, 2})
        total = b.fadd(total, b.shuffleXor(total, distance));
      Value empty = b.compare(arith::CmpFPredicate::OEQ, total, b.f32(0));
      // In natural units from here on.
      Value max = state.max[2 * tile + half];
      if (!spec.transformsScores())
        max = b.fmul(max, b.f32(spec.scale));
      Values withSink = b.choose(
          isNull(sinks), [&]() -> Values { return {total, max, b.f32(1)}; },
          [&]() -> Values {
            // Rows without a query read the last one's.
            Value head = headOf(b.smin(row, b.sub(rowCount, 1)));
            Value sink =
                b.load(b.getF32Type(), element(sinks, PARAMETER(sinks_stride),
                                               {head}, sizeof(float)));
            Value raised = b.fmax(sink, max), base = guarded(raised);
            auto weight = [&](Value x) {
              return b.exp2(b.fmul(b.fsub(x, base), b.f32(kLog2E)));
            };
            Value decay = weight(max);
            Value ofSink = b.fmul(weight(sink), b.f32(weightUnit));
            return {b.fma(total, decay, ofSink), raised, decay};
          });
      Value logarithm = b.fmul(
          b.log2(b.fmul(withSink[0], b.f32(1 / weightUnit))), b.f32(kLn2));
      Value lse = b.fadd(withSink[1], logarithm);
      // Where nothing was seen acc is 0.
      Value factor = b.fmul(withSink[2], b.reciprocal(withSink[0]));
      bool nan = spec.emptyRows == EmptyRows::NaN;
      factor = b.select(empty, b.f32(nan ? std::nanf("") : 0.0f), factor);
      Values values;
      for (int64_t column = 0; column < plan.valueTiles(); ++column)
        for (int64_t i = 0; i < 2; ++i)
          values.push_back(
              b.fmul(state.acc[accIndex(tile, column) + 2 * half + i], factor));
      if (spec.emptyRows == EmptyRows::Uniform)
        values = b.choose(
            b.band(hasMean, empty),
            [&] {
              Values means;
              Value first = b.shl(b.band(lane, 3), 1);
              for (size_t i = 0; i < values.size(); ++i) {
                Value column = b.smin(b.add(first, 8 * (i / 2) + i % 2),
                                      b.i32(plan.shape.valueDepth - 1));
                means.push_back(
                    b.load(b.getF32Type(),
                           element(mean, PARAMETER(mean_strides),
                                   {batch, kvHead, column}, sizeof(float))));
              }
              return means;
            },
            [&] { return values; });
      writeRow(values, row, lse);
    }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

bool AttentionKernel::build() {
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
  State state = State::from(b.choose(
                                fresh, [&] { return identity().flat(); },
                                [&] { return loadState(tileState()).flat(); }),
                            plan.rowTiles);
  state = State::from(b.choose(
                          b.less(rangeBegin, rangeEnd),
                          [&] {
                            loadQueries();
                            storeRowInfo();
                            return visitKeys(state).flat();
                          },
                          [&] { return state.flat(); }),
                      plan.rowTiles);
  headBlock = b.load(b.getI32Type(), warpInfo(kHeadBlock));
  state = State::from(
      b.loop(itemField(ITEM(merge_begin), /*late=*/true),
             itemField(ITEM(merge_end), /*late=*/true), b.i32(1), state.flat(),
             [&](Value index, ValueRange carried) {
               Value other =
                   statePointer(pointerParameter(PARAMETER(partials)), index);
               return merge(State::from(carried, plan.rowTiles), other).flat();
             }),
      plan.rowTiles);
  // What follows is read again: nothing is kept for it meanwhile.
  NVVM::SyncWarpOp::create(b, b.i32(-1));
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
  return AttentionKernel(spec, kernel, shared).build();
}
