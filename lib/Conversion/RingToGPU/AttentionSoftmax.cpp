//===- AttentionSoftmax.cpp - Scores to weights ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is done to the scores, and the online softmax: new maxima, the state's
// decay to them, and the weights.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

using namespace mlir;
using namespace mlir::ring;

/// scale, softcap, bias, `score`: the order of the contract.
Values AttentionKernelBuilder::transformScores(Values s) {
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
        row.bias =
            elementPointer(bias, PARAMETER(bias_strides),
                           {batch, row.head, queryOf(number)}, biasBytes);
      if (spec.score)
        row.position = rowInfo(tile, half).position;
      rows.push_back(row);
    }
  for (int64_t tile = 0; tile < plan.scoreTiles(); ++tile) {
    std::array<KeyInfo, 2> keys;
    if (usesPositions())
      keys = keyInfo(tile);
    for (int64_t column = 0; column < 2; ++column) {
      // Hidden keys are masked later; until then they are the first key.
      Value position =
          usesPositions() ? b.smax(keys[column].position, b.i32(0)) : Value();
      Value biasOffset =
          bias ? b.mul(b.mul(b.extend(position), keyStride), biasBytes)
               : Value();
      for (auto [index, row] : llvm::enumerate(rows)) {
        Value &x = s[scoreIndex(index / 2, tile, index % 2, column)];
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

/// Where a maximum is -inf nothing was seen, and 0 is subtracted instead.
Value AttentionKernelBuilder::baseOf(Value max) {
  Value empty = b.compare(arith::CmpFPredicate::OEQ, max, b.negativeInfinity());
  return b.select(empty, b.f32(0), max);
}

/// Of the scores of the four threads of a row.
Value AttentionKernelBuilder::rowMaximum(const Values &s, int64_t tile,
                                         int64_t half) {
  Value max = s[scoreIndex(tile, 0, half)];
  for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
    for (int64_t column = 0; column < 2; ++column)
      if (keys + column > 0)
        max = b.fmax(max, s[scoreIndex(tile, keys, half, column)]);
  return acrossRow(max, [&](Value x, Value y) { return b.fmax(x, y); });
}

/// Rescales a row's sum and accumulators.
void AttentionKernelBuilder::decay(AttentionState &state, int64_t tile,
                                   int64_t half, Value factor) {
  Value &sum = state.sum[2 * tile + half];
  sum = b.fmul(sum, factor);
  for (int64_t column = 0; column < plan.valueTiles(); ++column)
    for (int64_t i = 0; i < 2; ++i) {
      Value &x = state.acc[accIndex(tile, column, half, i)];
      x = b.fmul(x, factor);
    }
}

/// P = exp2((S - base) * c), by one fma for each score where all bases
/// `areSmall`: s * c - base * c in one rounding leaves an error of base * c *
/// 2^-24.
Values AttentionKernelBuilder::weigh(const Values &s, ArrayRef<Value> bases,
                                     Value areSmall) {
  Value c = b.f32(toBase2()), exponent = b.f32(weightExponent());
  auto apply = [&](const std::function<Value(Value x, size_t row)> &power) {
    Values p(s);
    for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
      for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
        for (int64_t i = 0; i < 4; ++i) {
          Value &x = p[scoreIndex(tile, keys) + i];
          x = b.exp2(power(x, 2 * tile + i / 2));
        }
    return p;
  };
  return b.choose(
      b.voteAll(areSmall),
      [&] {
        Values offsets;
        for (Value base : bases)
          offsets.push_back(b.fma(base, b.f32(-toBase2()), exponent));
        return apply(
            [&](Value x, size_t row) { return b.fma(x, c, offsets[row]); });
      },
      [&] {
        return apply([&](Value x, size_t row) {
          return b.fma(b.fsub(x, bases[row]), c, exponent);
        });
      });
}

/// Scores to weights; rescales the state to the new maxima.
Values AttentionKernelBuilder::onlineSoftmax(const Values &s,
                                             AttentionState &state) {
  constexpr double kLargestFused = 1 << 16;
  Value c = b.f32(toBase2());
  Values bases;
  Value areSmall = b.truth(true);
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t half = 0; half < 2; ++half) {
      Value &max = state.max[2 * tile + half];
      Value raised = b.fmax(max, rowMaximum(s, tile, half));
      Value base = baseOf(raised);
      Value factor = b.exp2(b.fmul(b.fsub(max, base), c));
      max = raised;
      decay(state, tile, half, factor);
      bases.push_back(base);
      Value isSmall = b.compare(arith::CmpFPredicate::OLT,
                                b.fabs(b.fmul(base, c)), b.f32(kLargestFused));
      areSmall = b.band(areSmall, isSmall);
    }
  Values p = weigh(s, bases, areSmall);
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t keys = 0; keys < plan.scoreTiles(); ++keys)
      for (int64_t i = 0; i < 4; ++i) {
        Value &sum = state.sum[2 * tile + i / 2];
        sum = b.fadd(sum, p[scoreIndex(tile, keys) + i]);
      }
  return p;
}
