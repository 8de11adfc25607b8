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
// is every pair of entries of our layouts.
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Slices.h"

#include "Arithmetic.h"

#include <algorithm>
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

/// Counts under `mask` without its chunks. No end of the window is negative.
static int64_t countWindow(const PositionalMask &mask, LayoutView queries,
                           LayoutView keys) {
  int64_t right = saturatingAdd(mask.right, 1);
  int64_t pairs = pairsWithin(mask, queries, keys, mask.causal ? 1 : right);
  if (mask.left != PositionalMask::kUnbounded)
    pairs -= pairsWithin(mask, queries, keys, -mask.left);
  if (mask.causal && mask.prefix > 0) {
    // Keys of the prefix after the query, as far as the window lets them.
    std::vector<LayoutEntry> prefix = within(keys, 0, mask.prefix);
    pairs += pairsWithin(mask, queries, viewOf(prefix), right) -
             pairsWithin(mask, queries, viewOf(prefix), 1);
  }
  return pairs;
}

/// Counts row by row, for any mask.
static int64_t countRows(const RingBlock &block, const LayoutEntry &queries) {
  int64_t pairs = 0;
  Interval hull{block.mask.visibleKeys(queries.begin, block.keyCount).begin,
                block.mask.visibleKeys(queries.last(), block.keyCount).end};
  for (const LayoutEntry &keys : block.keys) {
    if (keys.countBelow(hull.begin) >= keys.countBelow(hull.end))
      continue;
    for (int64_t i = 0; i < queries.size(); ++i) {
      Interval visible =
          block.mask.visibleKeys(queries.position(i), block.keyCount);
      if (!visible.empty())
        pairs += keys.countBelow(visible.end) - keys.countBelow(visible.begin);
    }
  }
  return pairs;
}

/// Counts chunk by chunk, each a window of its own queries and keys, or row by
/// row where that is less work.
static int64_t countChunks(const RingBlock &block, const LayoutEntry &queries) {
  const PositionalMask &mask = block.mask;
  int64_t first =
      floorDiv(saturatingAdd(queries.begin, mask.shift), mask.chunk);
  int64_t last =
      floorDiv(saturatingAdd(queries.last(), mask.shift), mask.chunk);
  // Cutting entries costs about as much as 16 rows.
  if (last - first >= queries.size() / 16)
    return countRows(block, queries);
  int64_t pairs = 0;
  LayoutView all{&queries, 1};
  for (int64_t chunk = std::max<int64_t>(first, 0);
       chunk <= std::min(last, floorDiv(block.keyCount - 1, mask.chunk));
       ++chunk) {
    int64_t begin = chunk * mask.chunk;
    int64_t end = std::min(block.keyCount, saturatingAdd(begin, mask.chunk));
    std::vector<LayoutEntry> keys = within(block.keys, begin, end);
    if (keys.empty())
      continue;
    // `end` as a bound of queries would cut those that stand behind the keys.
    std::vector<LayoutEntry> rows =
        within(all, saturatingSub(begin, mask.shift),
               saturatingSub(saturatingAdd(begin, mask.chunk), mask.shift));
    pairs += countWindow(mask, viewOf(rows), viewOf(keys));
  }
  return pairs;
}

int64_t ring::visiblePairs(const RingBlock &block) {
  const PositionalMask &mask = block.mask;
  std::vector<LayoutEntry> visibleKeys;
  RingBlock cut = block;
  if (std::any_of(block.keys.begin(), block.keys.end(),
                  [&](const LayoutEntry &keys) {
                    return !keys.empty() && keys.last() >= block.keyCount;
                  })) {
    visibleKeys = within(block.keys, 0, block.keyCount);
    cut.keys = viewOf(visibleKeys);
  }
  bool emptyRows = mask.left < 0 || mask.right < 0;
  if (!emptyRows && mask.chunk == 0)
    return countWindow(mask, cut.queries, cut.keys);
  int64_t pairs = 0;
  for (const LayoutEntry &queries : cut.queries)
    if (!queries.empty())
      pairs += emptyRows ? countRows(cut, queries) : countChunks(cut, queries);
  return pairs;
}
