//===- OnlineAttentionKernel.cpp - One block step on the CPU --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work item is one tile of queries of one head. The queries lie along the
// vector lanes, everything below is [key or column][query]:
//
//   scores[j]  = scale * sum_d K[j][d] * Qt[d]      6 keys a register tile
//   max'       = max(max, max_j scores[j])
//   P[j]       = exp(scores[j] - max')
//   acc[c]     = acc[c] * exp(max - max') + sum_j V[j][c] * P[j]
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

namespace {
class OnlineAttentionKernel {
public:
  OnlineAttentionKernel(OnlineAttentionOp op, KernelBuilder &b,
                        func::FuncOp kernel);
  void build();

private:
  void decodeItem();
  void loadTransposed(Value source, int64_t columns, Value target);
  void loadState();
  void storeState();
  void keyRange(Value begin, Value end, bool partial);
  void tile(Value firstKey, Value count, Value group, bool partial);
  SmallVector<Value> scoreRows(Value row, int64_t rows, Value firstKey,
                               Value group, Value max, bool partial);
  void softmax(Value count, Value group, Value max);
  void accumulate(Value count, Value firstKey, Value group, bool spare);
  void accumulateColumns(Value column, int64_t columns, Value count,
                         Value firstKey, Value group, bool spare);
  /// Which queries of the group see key `key`.
  Value visible(Value key, Value group);
  Value hasNonFiniteValues(Value count);

  OnlineAttentionOp op;
  KernelBuilder &b;
  const TilePlan &plan;
  Value item, query, key, value, slices, acc, max, sum;
  int64_t depth, valueDepth, lanes;
  Value batch, head, kvHead, queryBegin, queryCount;
  Value range, cursor;
  // Scratch: Q^T, K and V tiles in f32, scores and then P, acc^T, and per query
  // the running max, sum, the factor of the old acc, and the visible keys.
  Value queriesT, keys, values, weights, accT, maxOf, sumOf, decayOf, seenFrom,
      seenTo, stage;
};
} // namespace

OnlineAttentionKernel::OnlineAttentionKernel(OnlineAttentionOp op,
                                             KernelBuilder &b,
                                             func::FuncOp kernel)
    : op(op), b(b), plan(b.plan), item(kernel.getArgument(0)),
      query(kernel.getArgument(1)), key(kernel.getArgument(2)),
      value(kernel.getArgument(3)), slices(kernel.getArgument(4)),
      acc(kernel.getArgument(5)), max(kernel.getArgument(6)),
      sum(kernel.getArgument(7)) {
  depth = cast<MemRefType>(query.getType()).getDimSize(3);
  valueDepth = cast<MemRefType>(value.getType()).getDimSize(3);
  lanes = plan.lanes;
  int64_t wide = b.padded(depth), wideValue = b.padded(valueDepth);
  queriesT = b.scratch({wide, plan.queryTile});
  keys = b.scratch({plan.keyTile, wide});
  values = b.scratch({plan.keyTile, wideValue});
  weights = b.scratch({plan.keyTile, plan.queryTile});
  accT = b.scratch({wideValue, plan.queryTile});
  stage = b.scratch({plan.queryTile, std::max(wide, wideValue)});
  maxOf = b.scratch({plan.queryTile});
  sumOf = b.scratch({plan.queryTile});
  decayOf = b.scratch({plan.queryTile});
  seenFrom = b.scratch({plan.queryTile}, b.getI32Type());
  seenTo = b.scratch({plan.queryTile}, b.getI32Type());
  range = b.scratch({3}, b.getI64Type());
  cursor = b.scratch({40}, b.getI64Type());
}

/// item = (tile from the last one, (batch, head)): under a causal mask the last
/// queries see most, and the pool should start with the longest items.
void OnlineAttentionKernel::decodeItem() {
  auto divide = [&](Value a, Value d) -> Value {
    return arith::DivUIOp::create(b, a, d);
  };
  auto modulo = [&](Value a, Value d) -> Value {
    return arith::RemUIOp::create(b, a, d);
  };
  auto type = cast<MemRefType>(query.getType());
  int64_t heads = type.getDimSize(1);
  int64_t kvHeads = cast<MemRefType>(key.getType()).getDimSize(1);
  Value rows = b.mul(b.dim(query, 0), b.index(heads));
  Value batchHead = modulo(item, rows);
  batch = divide(batchHead, b.index(heads));
  head = modulo(batchHead, b.index(heads));
  kvHead = divide(head, b.index(heads / kvHeads));

  Value tile = b.index(plan.queryTile);
  Value tiles =
      arith::IndexCastOp::create(b, b.getIndexType(),
                                 b.callRuntime("ring_slices_query_ranges",
                                               b.getI64Type(), {slices, tile}));
  Value index = b.sub(b.sub(tiles, b.index(1)), divide(item, rows));
  b.callRuntime("ring_slices_query_range", {},
                {slices, tile, index, b.pointer(range)});
  auto bound = [&](int64_t i) -> Value {
    Value v = memref::LoadOp::create(b, range, ValueRange{b.index(i)});
    return arith::IndexCastOp::create(b, b.getIndexType(), v);
  };
  queryBegin = bound(0);
  Value end = bound(1);
  queryCount = b.sub(end, queryBegin);
  b.callRuntime("ring_slices_keys", {},
                {slices, batch, queryBegin, end, b.pointer(cursor)});
}

/// Rows of the tile's queries, transposed. Those beyond its last query are
/// zero: they are computed on and never stored.
void OnlineAttentionKernel::loadTransposed(Value source, int64_t columns,
                                           Value target) {
  int64_t wide = b.padded(columns);
  b.loop(queryCount, b.index(plan.queryTile), 1, [&](Value r) {
    b.loop(b.index(0), b.index(wide), plan.registerLanes, [&](Value c) {
      b.store(b.splat(0.0f, plan.registerLanes), stage, {r, c});
    });
  });
  b.unpackRows(source, batch, head, queryBegin, queryCount, columns, stage);
  b.transpose(stage, target, plan.queryTile, wide);
}

void OnlineAttentionKernel::loadState() {
  loadTransposed(acc, valueDepth, accT);
  b.loop(b.index(0), b.index(plan.queryTile), plan.registerLanes, [&](Value r) {
    b.store(
        b.splat(-std::numeric_limits<float>::infinity(), plan.registerLanes),
        maxOf, r);
    b.store(b.splat(0.0f, plan.registerLanes), sumOf, r);
  });
  b.loop(b.index(0), queryCount, 1, [&](Value r) {
    SmallVector<Value> indices = {batch, head, b.add(queryBegin, r)};
    for (auto [from, to] : {std::pair(max, maxOf), std::pair(sum, sumOf)}) {
      Value scalar = memref::LoadOp::create(b, from, indices);
      memref::StoreOp::create(b, scalar, to, r);
    }
  });
}

void OnlineAttentionKernel::storeState() {
  b.transpose(accT, stage, b.padded(valueDepth), plan.queryTile);
  b.packRows(stage, acc, batch, head, queryBegin, queryCount, valueDepth);
  b.loop(b.index(0), queryCount, 1, [&](Value r) {
    SmallVector<Value> indices = {batch, head, b.add(queryBegin, r)};
    for (auto [from, to] : {std::pair(maxOf, max), std::pair(sumOf, sum)}) {
      Value scalar = memref::LoadOp::create(b, from, r);
      memref::StoreOp::create(b, scalar, to, indices);
    }
  });
}

Value OnlineAttentionKernel::visible(Value key, Value group) {
  VectorType ints = b.vectorOf(lanes, b.getI32Type());
  Value j = arith::IndexCastOp::create(b, b.getI32Type(), key);
  Value all = vector::BroadcastOp::create(b, ints, j);
  Value from = b.load(seenFrom, group, lanes);
  Value to = b.load(seenTo, group, lanes);
  // One unsigned comparison: from <= j < to iff j - from < to - from.
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, b.sub(all, from),
                               b.sub(to, from));
}

/// Scores of `rows` keys from tile row `row` on, stored; returns the maximum.
SmallVector<Value> OnlineAttentionKernel::scoreRows(Value row, int64_t rows,
                                                    Value firstKey, Value group,
                                                    Value maxScore,
                                                    bool partial) {
  SmallVector<Value> zeros(rows, b.splat(0.0f, lanes));
  SmallVector<Value> dots = b.loop(
      b.index(0), b.index(depth), 1, zeros, [&](Value d, ValueRange carried) {
        Value queries = b.load(queriesT, {d, group}, lanes);
        SmallVector<Value> next;
        for (int64_t r = 0; r < rows; ++r)
          next.push_back(b.fma(b.broadcast(keys, {b.add(row, r), d}, lanes),
                               queries, carried[r]));
        return next;
      });
  float scale = op.getScale().convertToFloat();
  for (int64_t r = 0; r < rows; ++r) {
    Value tileRow = b.add(row, r);
    Value score = b.vmul(dots[r], b.splat(scale, lanes));
    if (partial)
      // By select, so that a hidden key's NaN does not get through.
      score = arith::SelectOp::create(
          b, visible(b.add(firstKey, tileRow), group), score,
          b.splat(-std::numeric_limits<float>::infinity(), lanes));
    b.store(score, weights, {tileRow, group});
    maxScore = b.vmax(score, maxScore);
  }
  return {maxScore};
}

/// Turns the scores into weights relative to the new maximum.
void OnlineAttentionKernel::softmax(Value count, Value group, Value newMax) {
  Value oldMax = b.load(maxOf, group, lanes);
  Value base = b.guardEmpty(newMax);
  Value decay = b.exp(b.vsub(oldMax, base));
  Value total = b.loop(b.index(0), count, 1, b.splat(0.0f, lanes),
                       [&](Value j, ValueRange carried) -> SmallVector<Value> {
                         Value score = b.load(weights, {j, group}, lanes);
                         Value weight = b.exp(b.vsub(score, base));
                         b.store(weight, weights, {j, group});
                         return {b.vadd(carried[0], weight)};
                       })[0];
  Value oldSum = b.load(sumOf, group, lanes);
  b.store(b.fma(oldSum, decay, total), sumOf, group);
  b.store(newMax, maxOf, group);
  b.store(decay, decayOf, group);
}

/// acc^T rows `column` .. `column + columns`. `spare`: hidden keys are left out
/// by select, because 0 * NaN is NaN.
void OnlineAttentionKernel::accumulateColumns(Value column, int64_t columns,
                                              Value count, Value firstKey,
                                              Value group, bool spare) {
  Value decay = b.load(decayOf, group, lanes);
  SmallVector<Value> start;
  for (int64_t c = 0; c < columns; ++c)
    start.push_back(
        b.vmul(b.load(accT, {b.add(column, c), group}, lanes), decay));
  SmallVector<Value> sums =
      b.loop(b.index(0), count, 1, start, [&](Value j, ValueRange carried) {
        Value weight = b.load(weights, {j, group}, lanes);
        Value sees = spare ? visible(b.add(firstKey, j), group) : Value();
        SmallVector<Value> next;
        for (int64_t c = 0; c < columns; ++c) {
          Value sum = b.fma(b.broadcast(values, {j, b.add(column, c)}, lanes),
                            weight, carried[c]);
          if (spare)
            sum = arith::SelectOp::create(b, sees, sum, carried[c]);
          next.push_back(sum);
        }
        return next;
      });
  for (int64_t c = 0; c < columns; ++c)
    b.store(sums[c], accT, {b.add(column, c), group});
}

void OnlineAttentionKernel::accumulate(Value count, Value firstKey, Value group,
                                       bool spare) {
  // The rare path is kept small rather than fast.
  int64_t rows = spare ? 1 : plan.registerRows;
  int64_t whole = valueDepth / rows * rows;
  if (whole > 0)
    b.loop(b.index(0), b.index(whole), rows, [&](Value c) {
      accumulateColumns(c, rows, count, firstKey, group, spare);
    });
  if (whole < valueDepth)
    accumulateColumns(b.index(whole), valueDepth - whole, count, firstKey,
                      group, spare);
}

/// True iff the tile of V holds a NaN or an infinity: x - x is 0 otherwise.
Value OnlineAttentionKernel::hasNonFiniteValues(Value count) {
  int64_t width = plan.registerLanes;
  Value total = b.loop(
      b.index(0), count, 1, b.splat(0.0f, width),
      [&](Value j, ValueRange carried) {
        return b.loop(b.index(0), b.index(b.padded(valueDepth)), width, carried,
                      [&](Value c, ValueRange inner) -> SmallVector<Value> {
                        Value x = b.load(values, {j, c}, width);
                        return {b.vadd(inner[0], b.vsub(x, x))};
                      });
      })[0];
  Value folded =
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, total);
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, folded, folded);
}

void OnlineAttentionKernel::tile(Value firstKey, Value count, Value group,
                                 bool partial) {
  int64_t rows = plan.registerRows;
  Value whole = b.mul(Value(arith::DivUIOp::create(b, count, b.index(rows))),
                      b.index(rows));
  Value newMax = b.load(maxOf, group, lanes);
  newMax = b.loop(
      b.index(0), whole, rows, newMax, [&](Value row, ValueRange carried) {
        return scoreRows(row, rows, firstKey, group, carried[0], partial);
      })[0];
  newMax = b.loop(whole, count, 1, newMax, [&](Value row, ValueRange carried) {
    return scoreRows(row, 1, firstKey, group, carried[0], partial);
  })[0];
  softmax(count, group, newMax);
}

/// Local keys [begin, end) of one entry.
void OnlineAttentionKernel::keyRange(Value begin, Value end, bool partial) {
  if (partial)
    b.callRuntime("ring_slices_bounds", {},
                  {b.pointer(cursor), begin, end, b.index(plan.queryTile),
                   b.pointer(seenFrom), b.pointer(seenTo)});
  b.loop(begin, end, plan.keyTile, [&](Value first) {
    Value count = b.min(b.sub(end, first), b.index(plan.keyTile));
    b.unpackRows(key, batch, kvHead, first, count, depth, keys);
    b.unpackRows(value, batch, kvHead, first, count, valueDepth, values);
    auto groups = [&](bool spare) {
      b.loop(b.index(0), b.index(plan.queryTile), lanes, [&](Value group) {
        tile(first, count, group, partial);
        accumulate(count, first, group, spare);
      });
    };
    if (!partial)
      return groups(/*spare=*/false);
    b.branch(
        hasNonFiniteValues(count), [&] { groups(/*spare=*/true); },
        [&] { groups(/*spare=*/false); });
  });
}

void OnlineAttentionKernel::build() {
  decodeItem();
  auto next = [&]() -> Value {
    Value more = b.callRuntime("ring_slices_next_keys", b.getI32Type(),
                               {b.pointer(cursor), b.pointer(range)});
    Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, more, zero);
  };
  auto rangeField = [&](int64_t i) -> Value {
    return memref::LoadOp::create(b, range, ValueRange{b.index(i)});
  };
  auto visit = [&] {
    Value begin =
        arith::IndexCastOp::create(b, b.getIndexType(), rangeField(0));
    Value end = arith::IndexCastOp::create(b, b.getIndexType(), rangeField(1));
    Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    Value full =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rangeField(2), zero);
    b.branch(
        full, [&] { keyRange(begin, end, /*partial=*/false); },
        [&] { keyRange(begin, end, /*partial=*/true); });
  };
  // Queries that see nothing of this block cost nothing.
  b.branch(next(), [&] {
    loadTransposed(query, depth, queriesT);
    loadState();
    Value first = arith::ConstantOp::create(b, b.getBoolAttr(true));
    auto loop = scf::WhileOp::create(
        b, TypeRange(b.getI1Type()), ValueRange(first),
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          scf::ConditionOp::create(nested, loc, args[0], args);
        },
        [&](OpBuilder &, Location, ValueRange) {});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getAfterBody());
      visit();
      scf::YieldOp::create(b, next());
    }
    storeState();
  });
  func::ReturnOp::create(b);
}

void mlir::ring::buildOnlineAttentionKernel(OnlineAttentionOp op,
                                            KernelBuilder &b,
                                            func::FuncOp kernel) {
  OnlineAttentionKernel(op, b, kernel).build();
}
