//===- PairCount.cpp - Exact number of visible pairs ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A mask without chunks shows query position p the keys from p - left to
// p + right (or to p, to the prefix). So every count is a sum of terms
// #{(q, k) : k < q + c}, and such a term has a closed form for two entries that
// have equal strides or of which one is a run of consecutive positions: which
// is every pair of entries of our layouts. Under chunks each chunk is such a
// count of its own, and most of them are equal.
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Slices.h"

#include "Arithmetic.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace ring;

//===----------------------------------------------------------------------===//
// Terms #{(q, k) : k < q + c}
//===----------------------------------------------------------------------===//

/// #{(i, j) : 0 <= i < m, 0 <= j < n, j < i + c}: the sum over i of i + c
/// clamped to [0, n].
static int64_t pairsBelow(int64_t m, int64_t n, int64_t c) {
  if (m + c <= 1)
    return 0;
  if (c >= n)
    return m * n;
  int64_t first = std::max<int64_t>(0, -c);
  int64_t last = std::min(m, n - c); // i + c >= n from here on
  int64_t terms = last - first, ends = first + last - 1 + 2 * c;
  // `terms` or `ends` is even.
  int64_t ramp = terms % 2 == 0 ? terms / 2 * ends : ends / 2 * terms;
  return ramp + (m - last) * n;
}

namespace {
/// `count` blocks of `block` positions whose stride is known from elsewhere.
struct Blocks {
  int64_t begin, block, count;
};
} // namespace

/// With q = i * stride + x and k = j * stride + y the condition k < q + c is
/// j < i + s + 1, s = floor((c + x - y - 1) / stride). As x and y are below
/// `stride`, s takes at most three values: for each, the number of (x, y) that
/// give it times the number of (i, j) that it admits.
static int64_t pairsBelow(const Blocks &queries, const Blocks &keys,
                          int64_t stride, int64_t c) {
  c += queries.begin - keys.begin;
  int64_t first = floorDiv(c - keys.block, stride);
  int64_t last = floorDiv(c + queries.block - 2, stride);
  int64_t pairs = 0;
  for (int64_t s = first; s <= last; ++s) {
    // x - y from s * stride - c + 1 up to the same of s + 1.
    int64_t low = s * stride - c + 1;
    int64_t offsets = pairsBelow(keys.block, queries.block, low + stride) -
                      pairsBelow(keys.block, queries.block, low);
    pairs += offsets * pairsBelow(queries.count, keys.count, s + 1);
  }
  return pairs;
}

static bool isRun(const LayoutEntry &entry) {
  return entry.count == 1 || entry.block == entry.stride;
}

/// `entry` as at most two `Blocks` of `stride`, which is the entry's own unless
/// it is a run.
static int asBlocks(const LayoutEntry &entry, int64_t stride, Blocks *pieces) {
  if (!isRun(entry)) {
    pieces[0] = {entry.begin, entry.block, entry.count};
    return 1;
  }
  int number = 0;
  int64_t whole = entry.size() / stride, rest = entry.size() % stride;
  if (whole > 0)
    pieces[number++] = {entry.begin, stride, whole};
  if (rest > 0)
    pieces[number++] = {entry.begin + whole * stride, rest, 1};
  return number;
}

static LayoutEntry blockOf(const LayoutEntry &entry, int64_t index) {
  return {entry.owner, entry.begin + index * entry.stride, entry.block,
          entry.block, 1};
}

/// #{(q, k) : k < q + c} of two entries.
static int64_t pairsBelow(const LayoutEntry &queries, const LayoutEntry &keys,
                          int64_t c) {
  if (queries.empty() || keys.empty() ||
      saturatingAdd(queries.last(), c) <= keys.begin)
    return 0;
  if (saturatingAdd(queries.begin, c) > keys.last())
    return queries.size() * keys.size();
  // From here on c is not larger than the positions.
  bool queryRun = isRun(queries), keyRun = isRun(keys);
  if (queryRun && keyRun)
    return pairsBelow(queries.size(), keys.size(),
                      queries.begin - keys.begin + c);
  int64_t pairs = 0;
  if (!queryRun && !keyRun && queries.stride != keys.stride) {
    // Not from one of our layouts: block by block of the shorter list.
    if (queries.count <= keys.count)
      for (int64_t i = 0; i < queries.count; ++i)
        pairs += pairsBelow(blockOf(queries, i), keys, c);
    else
      for (int64_t i = 0; i < keys.count; ++i)
        pairs += pairsBelow(queries, blockOf(keys, i), c);
    return pairs;
  }
  int64_t stride = queryRun ? keys.stride : queries.stride;
  Blocks queryPieces[2], keyPieces[2];
  int queryNumber = asBlocks(queries, stride, queryPieces);
  int keyNumber = asBlocks(keys, stride, keyPieces);
  for (int i = 0; i < queryNumber; ++i)
    for (int j = 0; j < keyNumber; ++j)
      pairs += pairsBelow(queryPieces[i], keyPieces[j], stride, c);
  return pairs;
}

static int64_t pairsBelow(LayoutView queries, LayoutView keys, int64_t c) {
  int64_t pairs = 0;
  for (const LayoutEntry &query : queries)
    for (const LayoutEntry &key : keys)
      pairs += pairsBelow(query, key, c);
  return pairs;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static LayoutView viewOf(const std::vector<LayoutEntry> &entries) {
  return {entries.data(), static_cast<int64_t>(entries.size())};
}

/// Appends the part of `entry` at positions [begin, end): a cut block, whole
/// blocks, a cut block.
static void appendWithin(std::vector<LayoutEntry> &table,
                         const LayoutEntry &entry, int64_t begin, int64_t end) {
  int64_t first = entry.countBelow(begin), last = entry.countBelow(end);
  while (first < last) {
    int64_t toBlockEnd = entry.block - first % entry.block;
    int64_t block = std::min(toBlockEnd, last - first);
    int64_t count = block == entry.block ? (last - first) / block : 1;
    table.push_back({entry.owner, entry.position(first), block,
                     count == 1 ? block : entry.stride, count});
    first += block * count;
  }
}

static std::vector<LayoutEntry> within(LayoutView view, int64_t begin,
                                       int64_t end) {
  std::vector<LayoutEntry> table;
  for (const LayoutEntry &entry : view)
    appendWithin(table, entry, begin, end);
  return table;
}

/// Pairs with j < p + reach of the mask's positions p, where `reach` may be
/// unbounded.
static int64_t pairsWithin(const PositionalMask &mask, LayoutView queries,
                           LayoutView keys, int64_t reach) {
  return pairsBelow(queries, keys,
                    reach == PositionalMask::kUnbounded
                        ? reach
                        : saturatingAdd(mask.shift, reach));
}

/// Counts under `mask` without its chunks.
static int64_t countWindow(const PositionalMask &mask, LayoutView queries,
                           LayoutView keys) {
  // Keys from p + begin up to p + end, as far as they are not after p.
  int64_t begin = mask.left == PositionalMask::kUnbounded
                      ? INT64_MIN
                      : saturatingSub(0, mask.left);
  int64_t end = saturatingAdd(mask.right, 1);
  auto between = [&](LayoutView someKeys, int64_t from, int64_t to) {
    if (from >= to)
      return int64_t(0);
    int64_t pairs = pairsWithin(mask, queries, someKeys, to);
    return from == INT64_MIN
               ? pairs
               : pairs - pairsWithin(mask, queries, someKeys, from);
  };
  if (!mask.causal)
    return between(keys, begin, end);
  int64_t pairs = between(keys, begin, std::min<int64_t>(end, 1));
  if (mask.prefix > 0) {
    // Keys of the prefix after the query, as far as the window lets them.
    std::vector<LayoutEntry> prefix = within(keys, 0, mask.prefix);
    pairs += between(viewOf(prefix), std::max<int64_t>(begin, 1), end);
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

namespace {
/// Counts the pairs of two entries under a mask with chunks. A chunk is a
/// window of its own queries and keys. Which of its positions are in an entry
/// repeats after as many chunks as are as long as some strides, so where an
/// entry and the prefix neither begin nor end, a few chunks speak for all.
class ChunkCounter {
public:
  ChunkCounter(const PositionalMask &mask, const LayoutEntry &queries,
               const LayoutEntry &keys);

  int64_t count() const;
  /// Chunks that count() looks at, more or less.
  int64_t steps() const {
    return std::min({byPeriod, byQueries, byKeys, byRows});
  }

private:
  int64_t chunkOf(int64_t position) const {
    return floorDiv(position, mask.chunk);
  }
  int64_t placeOf(int64_t query) const {
    return saturatingAdd(query, mask.shift);
  }
  int64_t periodOf(int64_t positions) const {
    return positions == INT64_MAX ? positions
                                  : positions / std::gcd(positions, mask.chunk);
  }
  int64_t countRows() const;
  int64_t countChunk(int64_t chunk) const;
  int64_t countPeriods() const;

  const PositionalMask &mask;
  const LayoutEntry &queries, &keys;
  int64_t first, last; ///< chunks in which there may be both
  int64_t period;      ///< in chunks
  // Steps of the ways to count: a period of chunks, block by block of the
  // queries or of the keys, row by row.
  int64_t byPeriod = 0, byQueries = 0, byKeys = 0, byRows = 0;
};
} // namespace

static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t strideOf(const LayoutEntry &entry) {
  return isRun(entry) ? 1 : entry.stride;
}

ChunkCounter::ChunkCounter(const PositionalMask &mask,
                           const LayoutEntry &queries, const LayoutEntry &keys)
    : mask(mask), queries(queries), keys(keys) {
  first = std::max(chunkOf(placeOf(queries.begin)), chunkOf(keys.begin));
  last = std::min(chunkOf(placeOf(queries.last())), chunkOf(keys.last()));
  int64_t ofQueries = strideOf(queries), ofKeys = strideOf(keys);
  period =
      periodOf(saturatingMul(ofQueries / std::gcd(ofQueries, ofKeys), ofKeys));
  if (first > last)
    return;
  byPeriod = std::min(last - first + 1, period);
  auto byBlocks = [&](const LayoutEntry &entry, int64_t otherStride) {
    return isRun(entry) ? INT64_MAX
                        : saturatingMul(entry.count,
                                        std::min(entry.block / mask.chunk + 2,
                                                 periodOf(otherStride)));
  };
  byQueries = byBlocks(queries, ofKeys);
  byKeys = byBlocks(keys, ofQueries);
  // Cutting entries costs about as much as 16 rows.
  byRows = queries.size() / 16;
}

int64_t ChunkCounter::countRows() const {
  int64_t pairs = 0;
  int64_t end = keys.last() + 1;
  for (int64_t i = 0; i < queries.size(); ++i) {
    Interval visible = mask.visibleKeys(queries.position(i), end);
    if (!visible.empty())
      pairs += keys.countBelow(visible.end) - keys.countBelow(visible.begin);
  }
  return pairs;
}

int64_t ChunkCounter::countChunk(int64_t chunk) const {
  int64_t begin = chunk * mask.chunk;
  int64_t end = saturatingAdd(begin, mask.chunk);
  std::vector<LayoutEntry> columns, rows;
  appendWithin(columns, keys, begin, end);
  if (columns.empty())
    return 0;
  appendWithin(rows, queries, saturatingSub(begin, mask.shift),
               saturatingSub(end, mask.shift));
  return countWindow(mask, viewOf(rows), viewOf(columns));
}

int64_t ChunkCounter::countPeriods() const {
  int64_t pairs = 0;
  // Chunks in which something begins or ends stand alone.
  std::vector<int64_t> cuts = {first, last + 1};
  for (int64_t position : {placeOf(queries.begin), placeOf(queries.last()),
                           keys.begin, keys.last(), mask.prefix}) {
    int64_t chunk = chunkOf(position);
    for (int64_t cut : {chunk, saturatingAdd(chunk, 1)})
      if (cut > first && cut <= last)
        cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    int64_t number = cuts[i + 1] - cuts[i];
    if (number <= period) {
      for (int64_t chunk = 0; chunk < number; ++chunk)
        pairs += countChunk(cuts[i] + chunk);
      continue;
    }
    int64_t rounds = number / period, rest = number % period;
    for (int64_t chunk = 0; chunk < period; ++chunk)
      pairs += countChunk(cuts[i] + chunk) * (rounds + (chunk < rest));
  }
  return pairs;
}

int64_t ChunkCounter::count() const {
  if (first > last)
    return 0;
  if (byRows == steps())
    return countRows();
  if (byPeriod == steps())
    return countPeriods();
  bool split = byQueries == steps();
  int64_t pairs = 0;
  for (int64_t i = 0; i < (split ? queries : keys).count; ++i) {
    LayoutEntry block = blockOf(split ? queries : keys, i);
    pairs += split ? ChunkCounter(mask, block, keys).count()
                   : ChunkCounter(mask, queries, block).count();
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Applies `what` to the pairs of entries that are not empty, the keys as far
/// as they are below the block's count.
template <typename What>
static void forEntries(const RingBlock &block, const What &what) {
  std::vector<LayoutEntry> keys = within(block.keys, 0, block.keyCount);
  for (const LayoutEntry &query : block.queries)
    for (const LayoutEntry &key : keys)
      if (!query.empty())
        what(query, key);
}

int64_t ring::visiblePairs(const RingBlock &block) {
  int64_t pairs = 0;
  forEntries(block, [&](const LayoutEntry &query, const LayoutEntry &key) {
    pairs += block.mask.chunk > 0
                 ? ChunkCounter(block.mask, query, key).count()
                 : countWindow(block.mask, {&query, 1}, {&key, 1});
  });
  return pairs;
}

int64_t ring::countingSteps(const RingBlock &block) {
  constexpr int64_t kFew = 4096;
  int64_t steps = 0;
  forEntries(block, [&](const LayoutEntry &query, const LayoutEntry &key) {
    int64_t ofPair = 1;
    if (block.mask.chunk > 0)
      ofPair = ChunkCounter(block.mask, query, key).steps();
    if (!isRun(query) && !isRun(key) && query.stride != key.stride)
      ofPair = saturatingMul(ofPair, std::min(query.count, key.count));
    if (ofPair > kFew)
      steps = saturatingAdd(steps, ofPair);
  });
  return steps;
}
