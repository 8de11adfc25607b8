//===- AttentionTiles.cpp - Tiles in shared memory ------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Q, K and V in shared memory: how they are copied there by cp.async, and where
// threads and lanes find their parts.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value AttentionKernelBuilder::chunkOffset(const SharedTile &tile, Value row,
                                          Value chunk) {
  int64_t width = tile.panelChunks();
  Value number = b.band(b.shr(row, tile.swizzleShift()), tile.swizzleMask());
  Value permuted = b.bxor(b.urem(chunk, width), number);
  Value inPanel = b.add(b.mul(row, tile.panelRowBytes()),
                        b.mul(permuted, SharedTile::kChunkBytes));
  return b.add(b.mul(b.udiv(chunk, width), tile.panelBytes()), inPanel);
}

Value AttentionKernelBuilder::laneAddress(const SharedTile &tile, Value base,
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

/// Columns of chunks that the threads copy side by side. Wider rows are copied
/// in several groups of columns: the fewer rows at once, the more permutations
/// of them a thread would keep in registers.
static constexpr int64_t kGroupChunks = 32;

AttentionKernelBuilder::OwnChunks
AttentionKernelBuilder::ownChunks(const SharedTile &tile) {
  // A thread stays in its column and goes down by a power of two of rows: what
  // it copies next is a constant away, mostly.
  int64_t columns =
      std::min<int64_t>(llvm::PowerOf2Ceil(tile.chunks()), kGroupChunks);
  return {b.udiv(thread, columns), b.urem(thread, columns),
          plan.threads() / columns};
}

void AttentionKernelBuilder::forOwnChunks(
    const SharedTile &tile,
    const std::function<void(int64_t firstChunk)> &eachGroup) {
  OwnChunks own = ownChunks(tile);
  for (int64_t first = 0; first < tile.chunks(); first += kGroupChunks) {
    int64_t chunks = std::min(tile.chunks() - first, kGroupChunks);
    Value has;
    if (!llvm::isPowerOf2_64(chunks) || (first && chunks < kGroupChunks))
      has = b.less(own.chunk, b.i32(chunks));
    if (own.step > tile.rows()) {
      Value hasRow = b.less(own.row, b.i32(tile.rows()));
      has = has ? b.band(has, hasRow) : hasRow;
    }
    if (has)
      b.branch(has, [&] { eachGroup(first); });
    else
      eachGroup(first);
  }
}

Values AttentionKernelBuilder::loopOwnChunks(
    const SharedTile &tile, Value base, ValueRange carried,
    const std::function<Values(Value place, ValueRange carried)> &body) {
  OwnChunks own = ownChunks(tile);
  Values state(carried);
  for (int64_t first = 0; first < tile.chunks(); first += kGroupChunks) {
    Value chunk = b.add(own.chunk, first);
    Value end = b.select(b.less(chunk, b.i32(tile.chunks())),
                         b.i32(tile.rows()), b.i32(0));
    state = b.loop(own.row, end, b.i32(own.step), state,
                   [&](Value row, ValueRange carried) -> Values {
                     return body(
                         sharedAt(b.add(base, chunkOffset(tile, row, chunk))),
                         carried);
                   });
  }
  return state;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Rows beyond the last query are zero: they are computed on, never written.
void AttentionKernelBuilder::loadQueries() {
  SharedTile tile = plan.queries();
  Value pointer = pointerParameter(PARAMETER(query));
  int64_t columnBytes = plan.shape.depth * plan.shape.elementBytes;
  Value total = b.i32(tile.rows() * tile.chunks());
  b.loop(thread, total, b.i32(plan.threads()), [&](Value place) {
    Value row = b.udiv(place, tile.chunks());
    Value chunk = b.urem(place, tile.chunks());
    Value byte = b.mul(chunk, SharedTile::kChunkBytes);
    Value source = b.at(elementPointer(pointer, PARAMETER(query_strides),
                                       {batch, headOf(row), queryOf(row)},
                                       plan.shape.elementBytes),
                        b.extend(byte));
    Value rest =
        b.smin(b.sub(b.i32(columnBytes), byte), b.i32(SharedTile::kChunkBytes));
    Value bytes = b.select(hasQuery(row), b.smax(rest, b.i32(0)), b.i32(0));
    Value target = b.add(chunkOffset(tile, row, chunk), plan.queriesOffset());
    b.copyAsync(sharedAt(target), source, bytes);
  });
}

/// To the tile at `offset`. Rows at and beyond the end of the keys become zero,
/// without being read.
void AttentionKernelBuilder::copyTile(const SharedTile &tile, Value offset,
                                      const KeyTile &keys,
                                      const CopySource &source) {
  int64_t elementBytes = plan.shape.elementBytes;
  int64_t columnBytes = source.columns * elementBytes;
  Value stride = b.mul(parameter64(source.stride), elementBytes);
  Value begin = b.at(b.load(b.globalPointer(), warpInfo(source.base)),
                     b.mul(b.extend(keys.begin), stride));
  Value target = sharedAt(offset);
  Value rows = b.sub(keys.end, keys.begin);
  OwnChunks own = ownChunks(tile);
  Value byte = b.mul(own.chunk, SharedTile::kChunkBytes);
  Value start =
      b.at(begin, b.add(b.mul(b.extend(own.row), stride), b.extend(byte)));
  Value stepBytes = b.mul(stride, own.step);
  Value inTile = chunkOffset(tile, own.row, own.chunk);
  forOwnChunks(tile, [&](int64_t firstChunk) {
    int64_t firstByte = firstChunk * SharedTile::kChunkBytes;
    int64_t panels = firstChunk / tile.panelChunks();
    Value chunkBytes = b.i32(SharedTile::kChunkBytes);
    if (columnBytes != tile.chunks() * SharedTile::kChunkBytes)
      chunkBytes = b.smax(
          b.smin(b.sub(b.i32(columnBytes - firstByte), byte), chunkBytes),
          b.i32(0));
    Value from = b.at(start, b.i64(firstByte));
    for (int64_t below = 0; below < tile.rows(); below += own.step) {
      // Bits of the first row and of what is added to it are apart: so are what
      // they do to the permutation.
      int64_t number = (below >> tile.swizzleShift()) & tile.swizzleMask();
      Value permuted = b.bxor(inTile, number * SharedTile::kChunkBytes);
      int64_t constant =
          panels * tile.panelBytes() + below * tile.panelRowBytes();
      // Written so that nothing but `permuted` is the same for all tiles, and
      // takes registers meanwhile.
      Value place = b.at(b.at(target, permuted), b.i32(constant));
      Value has = b.less(own.row, b.sub(rows, below));
      b.copyAsync(place, from, b.select(has, chunkBytes, b.i32(0)));
      from = b.at(from, stepBytes);
    }
  });
}

/// A group of copies for each tile, and an empty one behind the last: the waits
/// count groups.
void AttentionKernelBuilder::copyKeys(const KeyTile &keys, Value stage) {
  b.branch(isThere(keys), [&] {
    copyTile(plan.keys(), keysOffset(stage), keys,
             {kKeyBase, PARAMETER(key_strides[2]), plan.shape.depth});
  });
  b.commitCopies();
}

void AttentionKernelBuilder::copyValues(const KeyTile &keys, Value stage) {
  b.branch(isThere(keys), [&] {
    copyTile(plan.values(), valuesOffset(stage), keys,
             {kValueBase, PARAMETER(value_strides[2]), plan.shape.valueDepth});
  });
  b.commitCopies();
}
