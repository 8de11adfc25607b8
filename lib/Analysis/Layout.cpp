//===- Layout.cpp - Who owns which positions ------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Layout.h"

#include <algorithm>
#include <cassert>

using namespace ring;

//===----------------------------------------------------------------------===//
// Reading a table
//===----------------------------------------------------------------------===//

int64_t LayoutEntry::countBelow(int64_t position) const {
  if (empty() || position <= begin)
    return 0;
  int64_t offset = position - begin;
  if (count == 1)
    return std::min(offset, block);
  int64_t blocks = offset / stride;
  if (blocks >= count)
    return size();
  return blocks * block + std::min(offset % stride, block);
}

LayoutView LayoutView::of(int64_t rank) const {
  const LayoutEntry *first = std::lower_bound(
      begin(), end(), rank, [](const LayoutEntry &entry, int64_t rank) {
        return entry.owner < rank;
      });
  const LayoutEntry *last = std::upper_bound(
      first, end(), rank, [](int64_t rank, const LayoutEntry &entry) {
        return rank < entry.owner;
      });
  return {first, last - first};
}

int64_t LayoutView::localSize(int64_t rank) const {
  return of(rank).sequenceLength();
}

int64_t LayoutView::sequenceLength() const {
  int64_t length = 0;
  for (const LayoutEntry &entry : *this)
    length += entry.size();
  return length;
}

int64_t LayoutView::paddedSize(int64_t ranks) const {
  int64_t longest = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    longest = std::max(longest, localSize(rank));
  return longest;
}

LayoutView LayoutPair::queryView() const {
  return {queries.data(), static_cast<int64_t>(queries.size())};
}

LayoutView LayoutPair::keyView() const {
  return {keys.data(), static_cast<int64_t>(keys.size())};
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// floor(chunk * length / chunks), without forming the product.
static int64_t chunkBegin(int64_t chunk, int64_t chunks, int64_t length) {
  return chunk * (length / chunks) + chunk * (length % chunks) / chunks;
}

/// Appends positions [begin, end), owned by `owner`, whose earlier entries are
/// runs at the end of the table. Runs that touch become one: a query range
/// never crosses an entry, so fewer entries make fewer short ranges.
static void appendRun(std::vector<LayoutEntry> &table, int64_t owner,
                      int64_t begin, int64_t end) {
  if (begin == end)
    return;
  if (!table.empty() && table.back().owner == owner &&
      table.back().begin + table.back().block == begin)
    begin = table.back().begin, table.pop_back();
  table.push_back({owner, begin, end - begin, end - begin, 1});
}

static void appendChunk(std::vector<LayoutEntry> &table, int64_t owner,
                        int64_t chunk, int64_t chunks, int64_t length) {
  appendRun(table, owner, chunkBegin(chunk, chunks, length),
            chunkBegin(chunk + 1, chunks, length));
}

std::vector<LayoutEntry> ring::contiguousLayout(int64_t ranks, int64_t length) {
  std::vector<LayoutEntry> table;
  for (int64_t rank = 0; rank < ranks; ++rank)
    appendChunk(table, rank, rank, ranks, length);
  return table;
}

std::vector<LayoutEntry> ring::zigzagLayout(int64_t ranks, int64_t length) {
  std::vector<LayoutEntry> table;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    appendChunk(table, rank, rank, 2 * ranks, length);
    appendChunk(table, rank, 2 * ranks - 1 - rank, 2 * ranks, length);
  }
  return table;
}

std::vector<LayoutEntry> ring::stripedLayout(int64_t ranks, int64_t length,
                                             int64_t granularity) {
  assert(granularity >= 1 && "a stripe has at least one position");
  if (ranks == 1)
    return contiguousLayout(1, length);
  // A stripe longer than the sequence is cut to it, so that the cycle below
  // does not overflow.
  int64_t block = std::min(granularity, std::max<int64_t>(length, 1));
  int64_t cycle = ranks * block;
  int64_t cycles = length / cycle, rest = length % cycle;
  std::vector<LayoutEntry> table;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    // What the last, incomplete cycle holds for this rank: a whole block joins
    // the others, a shorter one needs an entry of its own.
    int64_t tail = std::clamp<int64_t>(rest - rank * block, 0, block);
    int64_t count = cycles + (tail == block);
    if (count > 0)
      table.push_back(
          {rank, rank * block, block, count == 1 ? block : cycle, count});
    if (tail > 0 && tail < block)
      table.push_back({rank, cycles * cycle + rank * block, tail, tail, 1});
  }
  return table;
}

std::vector<LayoutEntry>
ring::chunkedLayout(int64_t ranks, int64_t length,
                    const std::vector<int64_t> &owners) {
  int64_t chunks = static_cast<int64_t>(owners.size());
  assert(chunks % ranks == 0 && "as many chunks for each rank");
  std::vector<std::vector<int64_t>> chunksOf(ranks);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    chunksOf[owners[chunk]].push_back(chunk);
  std::vector<LayoutEntry> table;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t chunk : chunksOf[rank])
      appendChunk(table, rank, chunk, chunks, length);
  return table;
}

LayoutPair ring::makeLayouts(LayoutKind kind, int64_t granularity,
                             int64_t ranks, int64_t queryCount,
                             int64_t keyCount, const PairCounter &pairs) {
  switch (kind) {
  case LayoutKind::Contiguous:
    return {contiguousLayout(ranks, queryCount),
            contiguousLayout(ranks, keyCount)};
  case LayoutKind::Zigzag:
    return {zigzagLayout(ranks, queryCount), zigzagLayout(ranks, keyCount)};
  case LayoutKind::Striped:
    return {stripedLayout(ranks, queryCount, granularity),
            stripedLayout(ranks, keyCount, granularity)};
  case LayoutKind::Balanced: {
    std::vector<int64_t> owners =
        balancedOwners(ranks, queryCount, keyCount, pairs);
    return {chunkedLayout(ranks, queryCount, owners),
            chunkedLayout(ranks, keyCount, owners)};
  }
  }
  assert(false && "not a layout kind");
  return {};
}

LayoutPair ring::makeLayouts(LayoutKind kind, int64_t granularity,
                             int64_t ranks, int64_t queryCount,
                             int64_t keyCount, const PositionalMask &mask) {
  return makeLayouts(kind, granularity, ranks, queryCount, keyCount,
                     pairsOf(mask, keyCount));
}

int64_t ring::maxEntries(LayoutKind kind, int64_t ranks) {
  switch (kind) {
  case LayoutKind::Contiguous:
    return ranks;
  case LayoutKind::Zigzag:
  case LayoutKind::Striped:
    return 2 * ranks;
  case LayoutKind::Balanced:
    return kMostBalancedChunksPerRank * ranks;
  }
  assert(false && "not a layout kind");
  return 0;
}
