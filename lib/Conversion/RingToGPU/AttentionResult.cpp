//===- AttentionResult.cpp - The attention of finished rows ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the last state to the result: sinks, lse, rows that saw nothing.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernelBuilder.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

/// One row's columns, two of each value tile, and its lse.
void AttentionKernelBuilder::writeRow(ArrayRef<Value> values, Value row,
                                      Value lse) {
  b.branch(hasQuery(row), [&] {
    Value head = headOf(row), query = queryOf(row);
    int64_t bytes = spec.out.getIntOrFloatBitWidth() / 8;
    Value column = laneColumn();
    Value place =
        elementPointer(pointerParameter(PARAMETER(out)), PARAMETER(out_strides),
                       {batch, head, query}, bytes);
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
    Value asked = b.bnot(b.isNull(lsePointer));
    Value writes = b.band(asked, b.equal(b.band(lane, 3), b.i32(0)));
    b.branch(writes, [&] {
      b.store(lse, elementPointer(lsePointer, PARAMETER(lse_strides),
                                  {batch, head, query}, sizeof(float)));
    });
  });
}

AttentionKernelBuilder::RowTotal
AttentionKernelBuilder::addSink(Value sum, Value max, Value row, Value sinks) {
  Values total = b.choose(
      b.isNull(sinks), [&]() -> Values { return {sum, max, b.f32(1)}; },
      [&]() -> Values {
        // Rows without a query read the last one's.
        Value head = headOf(b.smin(row, b.sub(rowCount, 1)));
        Value sink = b.load(b.getF32Type(),
                            elementPointer(sinks, PARAMETER(sinks_stride),
                                           {head}, sizeof(float)));
        Value raised = b.fmax(sink, max), base = baseOf(raised);
        auto weight = [&](Value x) {
          return b.exp2(b.fmul(b.fsub(x, base), b.f32(llvm::numbers::log2e)));
        };
        Value decay = weight(max);
        Value ofSink = b.fmul(weight(sink), b.f32(std::exp2(weightExponent())));
        return {b.fma(sum, decay, ofSink), raised, decay};
      });
  return {total[0], total[1], total[2]};
}

/// This lane's columns of it, two of each value tile.
Values AttentionKernelBuilder::meanOfValues(Value mean) {
  Values means;
  Value first = laneColumn();
  for (int64_t i = 0; i < 2 * plan.valueTiles(); ++i) {
    Value column = b.smin(b.add(first, 8 * (i / 2) + i % 2),
                          b.i32(plan.shape.valueDepth - 1));
    means.push_back(
        b.load(b.getF32Type(),
               elementPointer(mean, PARAMETER(mean_strides),
                              {batch, kvHead, column}, sizeof(float))));
  }
  return means;
}

void AttentionKernelBuilder::writeResult(const AttentionState &state) {
  Value sinks = pointerParameter(PARAMETER(sinks));
  Value mean = pointerParameter(PARAMETER(mean));
  Value hasMean = b.bnot(b.isNull(mean));
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t half = 0; half < 2; ++half) {
      Value row = threadRow(tile, half);
      Value sum = acrossRow(state.sum[2 * tile + half],
                            [&](Value x, Value y) { return b.fadd(x, y); });
      Value empty = b.compare(arith::CmpFPredicate::OEQ, sum, b.f32(0));
      Value max = state.max[2 * tile + half];
      if (!spec.transformsScores())
        max = b.fmul(max, b.f32(spec.scale));
      RowTotal total = addSink(sum, max, row, sinks);
      Value unit = b.f32(std::exp2(-weightExponent()));
      Value logarithm =
          b.fmul(b.log2(b.fmul(total.sum, unit)), b.f32(llvm::numbers::ln2));
      Value lse = b.fadd(total.max, logarithm);
      // Where nothing was seen acc is 0.
      Value factor = b.fmul(total.decay, b.reciprocal(total.sum));
      bool nan = spec.emptyRows == EmptyRows::NaN;
      factor = b.select(empty, b.f32(nan ? std::nanf("") : 0.0f), factor);
      Values values;
      for (int64_t column = 0; column < plan.valueTiles(); ++column)
        for (int64_t i = 0; i < 2; ++i)
          values.push_back(
              b.fmul(state.acc[accIndex(tile, column, half, i)], factor));
      if (spec.emptyRows == EmptyRows::Uniform)
        values = b.choose(
            b.band(hasMean, empty), [&] { return meanOfValues(mean); },
            [&] { return values; });
      writeRow(values, row, lse);
    }
}
