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
Values AttentionKernelBuilder::transform(Values s) {
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

/// Where a maximum is -inf nothing was seen, and 0 is subtracted instead.
Value AttentionKernelBuilder::guarded(Value max) {
  Value empty = b.compare(arith::CmpFPredicate::OEQ, max, b.negativeInfinity());
  return b.select(empty, b.f32(0), max);
}

/// Scores to weights; rescales the state to the new maxima.
Values AttentionKernelBuilder::softmax(Values s, AttentionState &state) {
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
