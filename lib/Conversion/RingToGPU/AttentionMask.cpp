//===- AttentionMask.cpp - What a row of a tile sees ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tiles of keys are visited, and which keys of a tile a row sees: those
// at positions of the row's one interval, with the row's segment id.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Ranges of keys
//===----------------------------------------------------------------------===//

Value AttentionKernelBuilder::rangePlace(Value range) {
  return b.at(pointerParameter(PARAMETER(ranges)),
              b.mul(b.extend(range), sizeof(ring_attention_range)));
}

Value AttentionKernelBuilder::rangeField(Value place, size_t offset) {
  return b.load(b.getI32Type(), b.at(place, b.i64(offset)));
}

/// The first tile of a range, or none.
KeyTile AttentionKernelBuilder::rangeAt(Value range) {
  return KeyTile::from(b.choose(
      b.less(range, rangeEnd),
      [&]() -> Values {
        Value place = rangePlace(range);
        return {b.add(b.shl(range, 1), rangeField(place, RANGE(full))),
                rangeField(place, RANGE(begin)), rangeField(place, RANGE(end))};
      },
      [&]() -> Values { return {b.i32(0), b.i32(0), b.i32(0)}; }));
}

KeyTile AttentionKernelBuilder::firstTile() { return rangeAt(rangeBegin); }

KeyTile AttentionKernelBuilder::nextTile(const KeyTile &tile) {
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

Value AttentionKernelBuilder::isPartial(const KeyTile &tile) {
  Value whole = b.band(b.notEqual(b.band(tile.rangeAndFull, 1), b.i32(0)),
                       b.less(b.add(tile.begin, plan.keyTile - 1), tile.end));
  return b.bnot(whole);
}

//===----------------------------------------------------------------------===//
// Rows and keys
//===----------------------------------------------------------------------===//

Value AttentionKernelBuilder::positionOf(Value local, Value base, Value begin,
                                         Value block, Value stride) {
  Value index = b.sub(local, base);
  Value whole = b.mul(b.udiv(index, block), stride);
  return b.add(begin, b.add(whole, b.urem(index, block)));
}

/// lower(p) and upper(p) of ring/Runtime/Device.h for each row, its segment id
/// and its position. An empty interval where there is no query, or none that
/// sees.
void AttentionKernelBuilder::storeRowInfo() {
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

  // In 64 bits: the bounds may be unbounded and the position negative.
  auto boundsOf = [&](Value position) -> std::pair<Value, Value> {
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
    return {lower, b.truncate(b.smin(upper, wideMax))};
  };
  auto segmentOf = [&](Value row, Value position) {
    return b.choose(
        b.isNull(segments), [&]() -> Values { return {zero}; },
        [&]() -> Values {
          return b.choose(
              hasQuery(row),
              [&]() -> Values {
                return {b.load(
                    b.getI32Type(),
                    elementPointer(segments, PARAMETER(query_segments_strides),
                                   {batch, position}, sizeof(int32_t)))};
              },
              [&]() -> Values { return {b.i32(-1)}; });
        })[0];
  };
  b.loop(thread, b.i32(plan.rows()), b.i32(plan.threads()), [&](Value row) {
    Value position = positionOf(queryOf(row), base, begin, block, stride);
    auto [lower, upper] = boundsOf(position);
    Value seesAny = hasQuery(row);
    Value id = segmentOf(row, position);
    seesAny = b.band(seesAny, b.less(b.i32(-1), id));
    upper = b.select(seesAny, upper, zero);
    position = b.select(hasQuery(row), position, zero);
    Value place = sharedAt(b.add(b.mul(row, 16), plan.rowInfoOffset()));
    for (auto [field, value] :
         llvm::enumerate(Values{lower, upper, id, position}))
      b.store(value, b.at(place, b.i32(4 * field)));
  });
}

/// Position and id of each key of the tile; position -1 where no query of the
/// batch entry sees it.
void AttentionKernelBuilder::storeKeyInfo(const KeyTile &tile) {
  b.loop(thread, b.i32(plan.keyTile), b.i32(plan.threads()), [&](Value place) {
    Value local = b.add(tile.begin, place);
    Values info = b.choose(
        b.less(local, tile.end),
        [&]() -> Values {
          Value range = rangePlace(b.shr(tile.rangeAndFull, 1));
          Value position =
              positionOf(local, rangeField(range, RANGE(keys.base)),
                         rangeField(range, RANGE(keys.begin)),
                         rangeField(range, RANGE(keys.block)),
                         rangeField(range, RANGE(keys.stride)));
          Value segments = pointerParameter(PARAMETER(key_segments));
          return b.choose(
              b.isNull(segments),
              [&]() -> Values { return {position, b.i32(0)}; },
              [&]() -> Values {
                Value id = b.load(
                    b.getI32Type(),
                    elementPointer(segments, PARAMETER(key_segments_strides),
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

RowInfo AttentionKernelBuilder::rowInfo(int64_t tile, int64_t half) {
  Value place = b.add(b.mul(threadRow(tile, half), 16), plan.rowInfoOffset());
  Values info = b.loadFour(b.getI32Type(), sharedAt(place));
  return {info[0], info[1], info[2], info[3]};
}

/// Position and id of this thread's two keys of the key tile's `tile`-th eight.
std::array<KeyInfo, 2> AttentionKernelBuilder::keyInfo(int64_t tile) {
  Value place =
      b.add(b.mul(b.band(lane, 3), 16), plan.keyInfoOffset() + 64 * tile);
  Values info = b.loadFour(b.getI32Type(), sharedAt(place));
  return {{{info[0], info[1]}, {info[2], info[3]}}};
}

Value AttentionKernelBuilder::sees(const RowInfo &row, const KeyInfo &key) {
  Value above = b.bnot(b.less(key.position, row.lower));
  return b.band(b.band(above, b.less(key.position, row.upper)),
                b.equal(key.id, row.id));
}

/// By select, so that a hidden key's NaN does not get through.
void AttentionKernelBuilder::mask(Values &s, int64_t rowTile) {
  RowInfo rows[] = {rowInfo(rowTile, 0), rowInfo(rowTile, 1)};
  for (int64_t tile = 0; tile < plan.scoreTiles(); ++tile) {
    std::array<KeyInfo, 2> keys = keyInfo(tile);
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t column = 0; column < 2; ++column) {
        Value &x = s[scoreIndex(rowTile, tile, half, column)];
        x = b.select(sees(rows[half], keys[column]), x, b.negativeInfinity());
      }
  }
}
