//===- AttentionNonFinite.cpp - NaN and infinities in V -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that is not finite, seen by some rows of a tile only: 0 * Inf would
// be NaN for the others. Then V is multiplied without these values, and what
// they do to a row is counted by a product of "sees" (1 or 0) and a code for
// each of them, in f32 exactly: at most 127 keys are in a tile.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ring;

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
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  auto bits = [](const APFloat &x) -> int64_t {
    return x.bitcastToAPInt().getZExtValue();
  };
  auto code = [&](float value) {
    APFloat x(value);
    bool inexact;
    x.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
    assert(!inexact && "a code is a power of two");
    return bits(x);
  };
  int64_t exponent = bits(APFloat::getInf(semantics));
  int64_t sign = bits(APFloat::getZero(semantics, /*Negative=*/true));
  return {exponent,
          sign - 1 - exponent,
          sign,
          code(kCodeOfInfinity),
          code(kCodeOfNegative),
          code(kCodeOfNaN)};
}

/// Applies `body` to the one or two elements in a register.
static Value onElements(DeviceBuilder &b, Value bits, bool two,
                        const std::function<Value(Value)> &body) {
  if (!two)
    return body(bits);
  Value lower = body(b.band(bits, 0xffff)), upper = body(b.shr(bits, 16));
  return b.bor(lower, b.shl(upper, 16));
}

Value AttentionKernelBuilder::nonFiniteCode(Value bits) {
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

Value AttentionKernelBuilder::finitePart(Value bits) {
  Format format = formatOf(spec.element);
  return onElements(b, bits, !isF32(), [&](Value x) -> Value {
    Value finite =
        b.notEqual(b.band(x, format.exponent), b.i32(format.exponent));
    return b.select(finite, x, b.i32(0));
  });
}

/// Whether P V goes wrong with a NaN or an infinity in the tile of V: in rows
/// that do not see it; or in any, in f32, whose products take numbers.
Value AttentionKernelBuilder::needsFiniteValues(const KeyTile &tile) {
  return isF32() ? b.truth(true) : isPartial(tile);
}

/// Looks for NaN and infinities in the part of the tile of V that this thread
/// copied, before the barrier behind which others read it.
void AttentionKernelBuilder::findNonFinite(const KeyTile &tile, Value stage) {
  Format format = formatOf(spec.element);
  SharedTile values = plan.values();
  Value base = valuesOffset(stage);
  // No thread looks where it has not copied: that may not be there yet.
  Value found = loopOwnChunks(
      values, base, b.truth(false),
      [&](Value place, ValueRange carried) -> Values {
        Value any = carried[0];
        for (Value word : b.loadFour(b.getI32Type(), place)) {
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
Value AttentionKernelBuilder::foundNonFinite(const KeyTile &tile) {
  Value any = b.truth(false), found = b.add(tile.begin, 1);
  for (int64_t w = 0; w < plan.warps; ++w) {
    int64_t place = plan.warpInfoOffset() + GPUTilePlan::kWarpInfoBytes * w;
    Value finding = b.load(b.getI32Type(), sharedAt(b.i32(place + kFinding)));
    any = b.bor(any, b.equal(found, finding));
  }
  return any;
}

Values AttentionKernelBuilder::valueOperandsAt(Value offset, int64_t step,
                                               Value pair) {
  SharedTile values = plan.values();
  auto place = [&](const LanePlace &lane, int64_t row, Value chunk) {
    Value address = b.add(offset, chunkOffset(values, b.add(lane.row, row),
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

/// 1 or 0 for each key of the tile, whether a row sees it, as operands a of the
/// product with V: [step].
SmallVector<Values> AttentionKernelBuilder::seenKeys(const KeyTile &keys,
                                                     int64_t rowTile) {
  Values visible(4 * plan.rowTiles * plan.scoreTiles(), b.f32(1));
  auto masked = [&] {
    mask(visible, rowTile);
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
    seen.push_back(weightOperand(visible, rowTile, step));
  return seen;
}

/// Sums of the codes that the rows see in a pair of value tiles: [tile][4].
Values AttentionKernelBuilder::countCodes(ArrayRef<Values> seen, Value offset,
                                          Value pair) {
  Values codes(8, b.f32(0));
  for (int64_t step = 0; step < productSteps(); ++step) {
    Values code;
    for (Value bits : valueOperandsAt(offset, step, pair))
      code.push_back(nonFiniteCode(bits));
    for (int64_t which = 0; which < 2; ++which) {
      MutableArrayRef<Value> counts(&codes[4 * which], 4);
      // Small whole numbers: exact, in tf32 too.
      Values sum = b.mma(productKind(), seen[step],
                         ArrayRef(code).slice(2 * which, 2), Values(counts));
      llvm::copy(sum, counts.begin());
    }
  }
  return codes;
}

/// Adds to acc what the tile's infinities and NaNs do to the rows that see
/// them, and takes them out of the tile. All threads of the block take part.
Values AttentionKernelBuilder::takeOutNonFinite(Values acc, const KeyTile &keys,
                                                Value stage) {
  assert(plan.keyTile < kCodeOfNegative && "counts do not run into another");
  Value offset = valuesOffset(stage);
  // The rare path is kept small rather than fast: a loop over pairs of value
  // tiles, whose places in shared memory the registers do not know, and one row
  // tile after the other.
  for (int64_t rowTile = 0; rowTile < plan.rowTiles; ++rowTile) {
    SmallVector<Values> seen = seenKeys(keys, rowTile);
    auto addEffects = [&](Value pair, ValueRange carried) {
      Values codes = countCodes(seen, offset, pair);
      Values next(carried);
      for (Value &code : codes)
        code = effectOf(code);
      for (int64_t tile = 0; tile < plan.valueTiles(); ++tile)
        for (int64_t i = 0; i < 4; ++i) {
          Value &x = next[accIndex(rowTile, tile) + i];
          x = b.select(b.equal(pair, b.i32(tile / 2)),
                       b.fadd(x, codes[4 * (tile % 2) + i]), x);
        }
      return next;
    };
    acc = b.loop(b.i32(0), b.i32(plan.valueTiles() / 2), b.i32(1), acc,
                 addEffects);
  }
  b.barrier();
  loopOwnChunks(
      plan.values(), offset, {}, [&](Value place, ValueRange) -> Values {
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
Value AttentionKernelBuilder::effectOf(Value codes) {
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
