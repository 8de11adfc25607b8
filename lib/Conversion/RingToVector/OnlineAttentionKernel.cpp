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
//                then softcap, bias, `score` and, in partial ranges, the mask
//   max'       = max(max, max_j scores[j])
//   P[j]       = exp(scores[j] - max')
//   acc[c]     = acc[c] * exp(max - max') + sum_j V[j][c] * P[j]
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "ScoreVectorizer.h"

#include "ring/Runtime/Runtime.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

namespace {
class OnlineAttentionKernel {
public:
  OnlineAttentionKernel(OnlineAttentionOp op, KernelBuilder &b,
                        func::FuncOp kernel, ValueRange captures);
  void build();

private:
  void decodeItem();
  void loadTransposed(Value source, int64_t columns, Value target);
  void loadState();
  void storeState();
  void keyRange(Value begin, Value end, bool partial);
  void loadPositions(Value firstKey, Value count);
  void loadBias(Value count);
  Value scoreOf(Value dot, Value row, Value group, bool partial);
  void tile(Value count, Value group, bool partial);
  SmallVector<Value> scoreRows(Value row, int64_t rows, Value group, Value max,
                               bool partial);
  void softmax(Value count, Value group, Value max);
  void accumulate(Value count, Value group, bool spare);
  void accumulateColumns(Value column, int64_t columns, Value count,
                         Value group, bool spare);
  /// Which queries of the group see the key in row `row` of the tile.
  Value visible(Value row, Value group);
  Value hasNonFiniteValues(Value count);
  /// An index that the runtime wrote.
  Value storedIndex(Value memref, Value place);

  OnlineAttentionOp op;
  KernelBuilder &b;
  const TilePlan &plan;
  ScoreVectorizer score;
  Value item, query, key, value, slices, bias, acc, max, sum;
  int64_t depth, valueDepth, lanes;
  Value batch, head, kvHead, queryBegin, queryCount;
  Value range, cursor;
  // Scratch: Q^T, K and V tiles in f32, scores and then P, acc^T, per query the
  // running max, sum and the factor of the old acc; which pairs are visible.
  Value queriesT, keys, values, weights, accT, maxOf, sumOf, decayOf, seen,
      stage;
  // Only where they are used: the tile's bias and the positions.
  Value biasT, queryPositions, keyPositions;
};
} // namespace

OnlineAttentionKernel::OnlineAttentionKernel(OnlineAttentionOp op,
                                             KernelBuilder &b,
                                             func::FuncOp kernel,
                                             ValueRange captures)
    : op(op), b(b), plan(b.plan),
      score(op.getScore(), b, captures,
            ValueRange(kernel.getArguments().take_back(captures.size()))),
      item(kernel.getArgument(0)) {
  // Argument 0 is the item, then the op's operands follow.
  auto argument = [&](OpOperand &operand) -> Value {
    return kernel.getArgument(operand.getOperandNumber() + 1);
  };
  query = argument(op.getQueryMutable());
  key = argument(op.getKeyMutable());
  value = argument(op.getValueMutable());
  slices = argument(op.getSlicesMutable());
  if (op.getBias())
    bias = argument(op.getBiasMutable()[0]);
  acc = argument(op.getAccMutable());
  max = argument(op.getMaxMutable());
  sum = argument(op.getSumMutable());
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
  seen = b.scratch({plan.keyTile, plan.queryTile}, b.getI8Type());
  range = b.scratch({3}, b.getI64Type());
  cursor = b.scratchForStruct(sizeof(ring_key_cursor));
  if (bias)
    biasT = b.scratch({plan.keyTile, plan.queryTile});
  if (bias || score)
    keyPositions = b.scratch({plan.keyTile}, b.getI64Type());
  if (score)
    queryPositions = b.scratch({plan.queryTile}, b.getI64Type());
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

Value OnlineAttentionKernel::visible(Value row, Value group) {
  VectorType type = b.vectorOf(lanes, b.getI8Type());
  Value flags = vector::LoadOp::create(b, type, seen, ValueRange{row, group});
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, flags, zero);
}

Value OnlineAttentionKernel::storedIndex(Value memref, Value place) {
  Value number = memref::LoadOp::create(b, memref, place);
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

/// scale, softcap, bias, `score`, mask: the order of the contract.
Value OnlineAttentionKernel::scoreOf(Value dot, Value row, Value group,
                                     bool partial) {
  Value x = b.vmul(dot, b.splat(op.getScale().convertToFloat(), lanes));
  if (std::optional<APFloat> softcap = op.getSoftcap()) {
    Value cap = b.splat(softcap->convertToFloat(), lanes);
    x = b.vmul(cap, b.tanh(arith::DivFOp::create(b, x, cap)));
  }
  if (bias)
    x = b.vadd(x, b.load(biasT, {row, group}, lanes));
  if (score) {
    Value positions = vector::LoadOp::create(
        b, b.vectorOf(lanes, b.getI64Type()), queryPositions, group);
    Value queryIndex = arith::IndexCastOp::create(
        b, b.vectorOf(lanes, b.getIndexType()), positions);
    x = score.apply(x, batch, head, queryIndex, storedIndex(keyPositions, row));
  }
  // By select, so that a hidden key's NaN does not get through.
  return partial ? arith::SelectOp::create(
                       b, visible(row, group), x,
                       b.splat(-std::numeric_limits<float>::infinity(), lanes))
                 : x;
}

/// Scores of `rows` keys from tile row `row` on, stored; returns the maximum.
SmallVector<Value> OnlineAttentionKernel::scoreRows(Value row, int64_t rows,
                                                    Value group, Value maxScore,
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
  for (int64_t r = 0; r < rows; ++r) {
    Value tileRow = b.add(row, r);
    Value x = scoreOf(dots[r], tileRow, group, partial);
    b.store(x, weights, {tileRow, group});
    maxScore = b.vmax(x, maxScore);
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
                                              Value count, Value group,
                                              bool spare) {
  Value decay = b.load(decayOf, group, lanes);
  SmallVector<Value> start;
  for (int64_t c = 0; c < columns; ++c)
    start.push_back(
        b.vmul(b.load(accT, {b.add(column, c), group}, lanes), decay));
  SmallVector<Value> sums =
      b.loop(b.index(0), count, 1, start, [&](Value j, ValueRange carried) {
        Value weight = b.load(weights, {j, group}, lanes);
        Value sees = spare ? visible(j, group) : Value();
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

void OnlineAttentionKernel::accumulate(Value count, Value group, bool spare) {
  // The rare path is kept small rather than fast.
  int64_t rows = spare ? 1 : plan.registerRows;
  int64_t whole = valueDepth / rows * rows;
  if (whole > 0)
    b.loop(b.index(0), b.index(whole), rows,
           [&](Value c) { accumulateColumns(c, rows, count, group, spare); });
  if (whole < valueDepth)
    accumulateColumns(b.index(whole), valueDepth - whole, count, group, spare);
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

void OnlineAttentionKernel::tile(Value count, Value group, bool partial) {
  int64_t rows = plan.registerRows;
  Value whole = b.mul(Value(arith::DivUIOp::create(b, count, b.index(rows))),
                      b.index(rows));
  Value newMax = b.load(maxOf, group, lanes);
  newMax = b.loop(b.index(0), whole, rows, newMax,
                  [&](Value row, ValueRange carried) {
                    return scoreRows(row, rows, group, carried[0], partial);
                  })[0];
  newMax = b.loop(whole, count, 1, newMax, [&](Value row, ValueRange carried) {
    return scoreRows(row, 1, group, carried[0], partial);
  })[0];
  softmax(count, group, newMax);
}

/// Where the keys of the tile stand in the whole sequence.
void OnlineAttentionKernel::loadPositions(Value firstKey, Value count) {
  if (keyPositions)
    b.callRuntime("ring_slices_key_positions", {},
                  {b.pointer(cursor), firstKey, b.add(firstKey, count),
                   b.pointer(keyPositions)});
}

/// The tile's bias, [key][query]; its columns are in the order of the whole
/// sequence.
void OnlineAttentionKernel::loadBias(Value count) {
  if (!bias)
    return;
  auto type = cast<MemRefType>(bias.getType());
  auto unlessBroadcast = [&](int64_t dim, Value place) -> Value {
    return type.getDimSize(dim) == 1 ? b.index(0) : place;
  };
  Value biasBatch = unlessBroadcast(0, batch),
        biasHead = unlessBroadcast(1, head);
  bool oneRow = type.getDimSize(2) == 1;
  b.loop(b.index(0), count, 1, [&](Value j) {
    Value column = storedIndex(keyPositions, j);
    auto element = [&](Value row) -> Value {
      return b.widen(memref::LoadOp::create(
          b, bias, ValueRange{biasBatch, biasHead, row, column}));
    };
    if (oneRow) {
      Value all = vector::BroadcastOp::create(b, b.vectorOf(plan.queryTile),
                                              element(b.index(0)));
      return b.store(all, biasT, {j, b.index(0)});
    }
    b.loop(b.index(0), queryCount, 1, [&](Value r) {
      memref::StoreOp::create(b, element(b.add(queryBegin, r)), biasT,
                              ValueRange{j, r});
    });
  });
}

/// Local keys [begin, end) of one entry.
void OnlineAttentionKernel::keyRange(Value begin, Value end, bool partial) {
  b.loop(begin, end, plan.keyTile, [&](Value first) {
    Value count = b.min(b.sub(end, first), b.index(plan.keyTile));
    if (partial)
      b.callRuntime("ring_slices_visible", {},
                    {b.pointer(cursor), first, b.add(first, count),
                     b.index(plan.queryTile), b.pointer(seen)});
    b.unpackRows(key, batch, kvHead, first, count, depth, keys);
    b.unpackRows(value, batch, kvHead, first, count, valueDepth, values);
    loadPositions(first, count);
    loadBias(count);
    auto groups = [&](bool spare) {
      b.loop(b.index(0), b.index(plan.queryTile), lanes, [&](Value group) {
        tile(count, group, partial);
        accumulate(count, group, spare);
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
    if (queryPositions)
      b.callRuntime("ring_slices_query_positions", {},
                    {b.pointer(cursor), b.index(plan.queryTile),
                     b.pointer(queryPositions)});
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
                                            func::FuncOp kernel,
                                            ValueRange captures) {
  OnlineAttentionKernel(op, b, kernel, captures).build();
}
