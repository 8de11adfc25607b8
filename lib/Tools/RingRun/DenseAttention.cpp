//===- DenseAttention.cpp - Dense float64 attention -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One key/value head at a time is converted to float64 and packed in tiles;
// then all threads work on blocks of the query rows that read it. A block holds
// its rows' scores over all keys, since the softmax and the score bound need
// the row's maximum first.
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/DenseAttention.h"

#include "AttentionShapes.h"
#include "TileProducts.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

using namespace ring;
using namespace ring::tools;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMaxRows = 32; ///< of a block
constexpr int64_t kMaxThreads = 256;
constexpr int64_t kValueChunk = 32; ///< keys whose value rows stay in L1

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Calls body(task, thread) for every task < count.
void parallelFor(int64_t count, int64_t threads,
                 llvm::function_ref<void(int64_t, int64_t)> body) {
  threads = std::min(threads, count);
  std::atomic<int64_t> next{0};
  auto work = [&](int64_t thread) {
    for (int64_t task; (task = next.fetch_add(1)) < count;)
      body(task, thread);
  };
  std::vector<std::thread> others;
  for (int64_t thread = 1; thread < threads; ++thread)
    others.emplace_back(work, thread);
  work(0);
  for (std::thread &other : others)
    other.join();
}

/// A head of K and V in float64.
struct PackedHead {
  std::vector<double> keys;   ///< [tiles][depth][kTileKeys], zeros beyond Sk
  std::vector<double> values; ///< [Sk][columns], 0 where not finite
  int64_t columns = 0;
  /// (key, column) of the values that are not finite, ascending.
  std::vector<std::pair<int64_t, int64_t>> nonFinite;
  /// What rows get that see nothing under EmptyRows::Uniform, [columns]: mean
  /// of V and of |V|, and the sum of (v / Sk)^2.
  std::vector<double> mean, meanMagnitude, meanSpread;

  void pack(const AttentionOperands &operands, const AttentionShapes &shapes,
            int64_t head, bool withMean);
};

void PackedHead::pack(const AttentionOperands &operands,
                      const AttentionShapes &shapes, int64_t head,
                      bool withMean) {
  int64_t depth = shapes.depth, sk = shapes.sk, dv = shapes.valueDepth;
  keys.assign(ceilDiv(sk, kTileKeys) * depth * kTileKeys, 0);
  std::vector<double> row(depth);
  for (int64_t j = 0; j < sk; ++j) {
    operands.key->toDouble((head * sk + j) * depth, depth, row.data());
    double *tile = keys.data() + j / kTileKeys * depth * kTileKeys;
    for (int64_t c = 0; c < depth; ++c)
      tile[c * kTileKeys + j % kTileKeys] = row[c];
  }

  columns = ceilDiv(dv, kTileColumns) * kTileColumns;
  values.assign(sk * columns, 0);
  nonFinite.clear();
  for (int64_t j = 0; j < sk; ++j) {
    double *v = values.data() + j * columns;
    operands.value->toDouble((head * sk + j) * dv, dv, v);
    for (int64_t c = 0; c < dv; ++c)
      if (!std::isfinite(v[c])) {
        nonFinite.emplace_back(j, c);
        v[c] = 0;
      }
  }

  if (!withMean)
    return;
  std::vector<double> weights(sk, 1.0 / static_cast<double>(sk));
  for (std::vector<double> *sum : {&mean, &meanMagnitude, &meanSpread})
    sum->assign(columns, sk == 0 ? kNaN : 0);
  tileProducts().accumulate(weights.data(), values.data(), sk, columns,
                            mean.data(), meanMagnitude.data(),
                            meanSpread.data());
  for (auto [key, column] : nonFinite)
    mean[column] = kNaN;
}

/// Computes row blocks with the scratch memory of one thread.
class RowWorker {
public:
  RowWorker(const AttentionOperands &operands, const AttentionSpec &spec,
            const AttentionShapes &shapes, int64_t maxRows)
      : operands(operands), spec(spec), shapes(shapes),
        scale(spec.scale.value_or(
            1 / std::sqrt(static_cast<double>(shapes.depth)))),
        scoreStride(ceilDiv(shapes.sk, kTileKeys) * kTileKeys),
        query(maxRows * shapes.depth), scores(maxRows * scoreStride),
        sizes(maxRows * scoreStride), bias(operands.bias ? shapes.sk : 0),
        visible(maxRows), lse(maxRows), scoreBound(maxRows) {}

  void compute(const PackedHead &packed, int64_t batch, int64_t head,
               int64_t firstRow, int64_t rows,
               llvm::function_ref<void(const RowBlock &)> visit);

private:
  enum class RowKind { Normal, Empty, NonFinite };

  bool hiddenBySegments(int64_t batch, int64_t row, int64_t key) const {
    if (!operands.querySegments)
      return false;
    int32_t id =
        operands.querySegments->dataAs<int32_t>()[batch * shapes.sq + row];
    return id < 0 ||
           id !=
               operands.keySegments->dataAs<int32_t>()[batch * shapes.sk + key];
  }
  Interval visibleKeys(int64_t batch, int64_t row) const;
  void loadBias(int64_t batch, int64_t head, int64_t row);
  RowKind softmax(int64_t batch, int64_t head, int64_t row, int64_t local);
  void fillSpecialRow(const PackedHead &packed, RowKind kind, int64_t local);

  const AttentionOperands &operands;
  const AttentionSpec &spec;
  const AttentionShapes &shapes;
  double scale;
  int64_t scoreStride;
  std::vector<double> query;         ///< [rows][depth]
  std::vector<double> scores, sizes; ///< [rows][scoreStride]; the scores become
                                     ///< weights
  std::vector<double> bias;          ///< of the current row
  std::vector<Interval> visible;     ///< by mask and lengths, per row
  std::vector<double> lse, scoreBound;
  std::vector<double> out, magnitude, spread; ///< [rows][columns]
};

Interval RowWorker::visibleKeys(int64_t batch, int64_t row) const {
  PositionalMask mask = spec.mask;
  if (operands.offsets)
    mask.shift = operands.offsets->dataAs<int32_t>()[batch];
  Interval keys = mask.visibleKeys(row, shapes.sk);
  if (operands.lengths)
    keys.end =
        std::min<int64_t>(keys.end, operands.lengths->dataAs<int32_t>()[batch]);
  return keys.empty() ? Interval{0, 0} : keys;
}

void RowWorker::loadBias(int64_t batch, int64_t head, int64_t row) {
  const Array &array = *operands.bias;
  int64_t b = array.dim(0) == 1 ? 0 : batch;
  int64_t h = array.dim(1) == 1 ? 0 : head;
  int64_t i = array.dim(2) == 1 ? 0 : row;
  int64_t line = (b * array.dim(1) + h) * array.dim(2) + i;
  array.toDouble(line * shapes.sk, shapes.sk, bias.data());
}

/// Turns a row's products into softmax weights; sets its lse and score bound.
RowWorker::RowKind RowWorker::softmax(int64_t batch, int64_t head, int64_t row,
                                      int64_t local) {
  double *s = scores.data() + local * scoreStride;
  const double *size = sizes.data() + local * scoreStride;
  Interval keys = visible[local];
  if (operands.bias)
    loadBias(batch, head, row);

  double top = -kInfinity;
  bool finite = true;
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    if (hiddenBySegments(batch, row, j)) {
      s[j] = -kInfinity; // a select: what a hidden key holds is never used
      continue;
    }
    double x = scale * s[j];
    if (spec.softcap)
      x = *spec.softcap * std::tanh(x / *spec.softcap);
    if (operands.bias)
      x += bias[j];
    if (spec.score)
      x = spec.score(x, batch, head, row, j);
    s[j] = x;
    top = x > top ? x : top;
    finite &= x < kInfinity; // false for NaN too
  }
  double sink = operands.sinks ? operands.sinks->at(head) : -kInfinity;
  scoreBound[local] = 0;
  if (!finite || !(sink < kInfinity)) {
    lse[local] = kNaN;
    return RowKind::NonFinite;
  }
  if (top == -kInfinity) {
    lse[local] = sink;
    return RowKind::Empty;
  }

  double base = std::max(top, sink);
  double total = std::exp(sink - base);
  double bound = 0;
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    if (s[j] >= top - 32)
      bound = std::max(bound, std::fabs(scale) * size[j] + std::fabs(s[j]));
    s[j] = std::exp(s[j] - base);
    total += s[j];
  }
  for (int64_t j = keys.begin; j < keys.end; ++j)
    s[j] /= total;
  lse[local] = base + std::log(total);
  scoreBound[local] = bound;
  return RowKind::Normal;
}

void RowWorker::fillSpecialRow(const PackedHead &packed, RowKind kind,
                               int64_t local) {
  int64_t begin = local * packed.columns, end = begin + packed.columns;
  if (kind == RowKind::Empty && spec.emptyRows == EmptyRows::Uniform) {
    llvm::copy(packed.mean, out.begin() + begin);
    llvm::copy(packed.meanMagnitude, magnitude.begin() + begin);
    llvm::copy(packed.meanSpread, spread.begin() + begin);
  } else if (kind == RowKind::NonFinite || spec.emptyRows == EmptyRows::NaN) {
    std::fill(out.begin() + begin, out.begin() + end, kNaN);
  }
}

void RowWorker::compute(const PackedHead &packed, int64_t batch, int64_t head,
                        int64_t firstRow, int64_t rows,
                        llvm::function_ref<void(const RowBlock &)> visit) {
  const TileProducts &products = tileProducts();
  int64_t depth = shapes.depth;
  operands.query->toDouble(
      ((batch * shapes.heads + head) * shapes.sq + firstRow) * depth,
      rows * depth, query.data());
  Interval all{shapes.sk, 0}; // what any of the rows sees
  for (int64_t r = 0; r < rows; ++r) {
    visible[r] = visibleKeys(batch, firstRow + r);
    if (visible[r].empty())
      continue;
    all.begin = std::min(all.begin, visible[r].begin);
    all.end = std::max(all.end, visible[r].end);
  }

  for (int64_t tile = all.begin / kTileKeys; tile * kTileKeys < all.end; ++tile)
    for (int64_t r = 0; r < rows; ++r) {
      int64_t first = tile * kTileKeys, at = r * scoreStride + first;
      if (visible[r].begin < first + kTileKeys && first < visible[r].end)
        products.scores(query.data() + r * depth,
                        packed.keys.data() + first * depth, depth,
                        scores.data() + at, sizes.data() + at);
    }

  int64_t columns = packed.columns;
  for (std::vector<double> *sum : {&out, &magnitude, &spread})
    sum->assign(rows * columns, 0);
  std::vector<Interval> weighted = visible;
  for (int64_t r = 0; r < rows; ++r) {
    RowKind kind = softmax(batch, head, firstRow + r, r);
    if (kind == RowKind::Normal)
      continue;
    fillSpecialRow(packed, kind, r);
    weighted[r] = Interval{};
  }

  for (int64_t chunk = all.begin; chunk < all.end; chunk += kValueChunk)
    for (int64_t r = 0; r < rows; ++r) {
      int64_t begin = std::max(chunk, weighted[r].begin);
      int64_t end = std::min(chunk + kValueChunk, weighted[r].end);
      if (begin < end)
        products.accumulate(scores.data() + r * scoreStride + begin,
                            packed.values.data() + begin * columns, end - begin,
                            columns, out.data() + r * columns,
                            magnitude.data() + r * columns,
                            spread.data() + r * columns);
    }
  for (int64_t r = 0; r < rows; ++r)
    for (auto [key, column] : packed.nonFinite)
      if (visible[r].begin <= key && key < visible[r].end &&
          !hiddenBySegments(batch, firstRow + r, key))
        out[r * columns + column] = kNaN;

  RowBlock block;
  block.batch = batch;
  block.head = head;
  block.firstRow = firstRow;
  block.rows = rows;
  block.valueStride = columns;
  block.out = out.data();
  block.magnitude = magnitude.data();
  block.spread = spread.data();
  block.lse = lse.data();
  block.scoreBound = scoreBound.data();
  visit(block);
}

} // namespace

llvm::Error
ring::tools::forEachRowBlock(const AttentionOperands &operands,
                             const AttentionSpec &spec, unsigned threads,
                             llvm::function_ref<void(const RowBlock &)> visit) {
  llvm::Expected<AttentionShapes> shapes = attentionShapes(operands, spec);
  if (!shapes)
    return shapes.takeError();

  // The scores of a block: a few MiB, but a few rows at least.
  int64_t rowBytes = std::max<int64_t>(shapes->sk, 1) * 16;
  int64_t maxRows =
      std::clamp<int64_t>((int64_t(4) << 20) / rowBytes, 4, kMaxRows);
  int64_t blocks = ceilDiv(shapes->sq, maxRows);
  int64_t group = shapes->heads / shapes->kvHeads;
  int64_t tasks = group * blocks;
  int64_t workers = threads ? threads : std::thread::hardware_concurrency();
  workers = std::clamp<int64_t>(workers, 1, kMaxThreads);
  workers = std::min(workers, tasks);
  std::vector<RowWorker> pool;
  pool.reserve(workers);
  for (int64_t i = 0; i < workers; ++i)
    pool.emplace_back(operands, spec, *shapes, maxRows);

  PackedHead packed;
  for (int64_t batch = 0; batch < shapes->batch && tasks > 0; ++batch)
    for (int64_t kvHead = 0; kvHead < shapes->kvHeads; ++kvHead) {
      packed.pack(operands, *shapes, batch * shapes->kvHeads + kvHead,
                  spec.emptyRows == EmptyRows::Uniform);
      parallelFor(tasks, workers, [&](int64_t task, int64_t worker) {
        int64_t firstRow = task % blocks * maxRows;
        int64_t rows = std::min(maxRows, shapes->sq - firstRow);
        pool[worker].compute(packed, batch, kvHead * group + task / blocks,
                             firstRow, rows, visit);
      });
    }
  return llvm::Error::success();
}

llvm::Expected<DenseResult>
ring::tools::denseAttention(const AttentionOperands &operands,
                            const AttentionSpec &spec, unsigned threads) {
  llvm::Expected<AttentionShapes> shapes = attentionShapes(operands, spec);
  if (!shapes)
    return shapes.takeError();
  int64_t lseShape[] = {shapes->batch, shapes->heads, shapes->sq};
  int64_t outShape[] = {shapes->batch, shapes->heads, shapes->sq,
                        shapes->valueDepth};
  DenseResult result;
  for (Array *array : {&result.out, &result.magnitude, &result.spread,
                       &result.lse, &result.scoreBound}) {
    bool perRow = array == &result.lse || array == &result.scoreBound;
    llvm::ArrayRef<int64_t> shape = outShape;
    if (perRow)
      shape = lseShape;
    llvm::Expected<Array> zeros = Array::allocate(ElementType::F64, shape);
    if (!zeros)
      return zeros.takeError();
    *array = std::move(*zeros);
  }

  int64_t dv = shapes->valueDepth;
  auto store = [&](const RowBlock &block) {
    int64_t row = (block.batch * shapes->heads + block.head) * shapes->sq +
                  block.firstRow;
    auto copy = [](Array &array, int64_t begin, const double *source,
                   int64_t count) {
      std::copy_n(source, count, array.dataAs<double>() + begin);
    };
    copy(result.lse, row, block.lse, block.rows);
    copy(result.scoreBound, row, block.scoreBound, block.rows);
    for (int64_t r = 0; r < block.rows; ++r) {
      int64_t from = r * block.valueStride, to = (row + r) * dv;
      copy(result.out, to, block.out + from, dv);
      copy(result.magnitude, to, block.magnitude + from, dv);
      copy(result.spread, to, block.spread + from, dv);
    }
  };
  if (llvm::Error error = forEachRowBlock(operands, spec, threads, store))
    return error;
  return result;
}
