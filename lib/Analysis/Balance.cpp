//===- Balance.cpp - Dealing chunks by visible area -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Layout.h"
#include "ring/Analysis/Slices.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

using namespace ring;

namespace {
/// One chunk of the balanced layout.
struct Chunk {
  int64_t index;
  int64_t queries, keys; ///< positions
  int64_t weight;        ///< visible pairs of its queries
  int sizeClass;         ///< see sizeClass()
  int64_t owner = 0;
};
} // namespace

/// A chunk of queries (and so of keys) has one of two sizes, which differ by
/// one. The classes stand in Gray code order: in a list sorted by class the
/// longer chunks of the queries come first, those of the keys first and last.
/// Dealing such a list in groups of one chunk a rank gives ranks whose queries
/// differ by at most one and whose keys, if they are not as many, by at most
/// two.
static int sizeClass(bool longQueries, bool longKeys) {
  return longQueries ? (longKeys ? 0 : 1) : (longKeys ? 3 : 2);
}

static std::vector<Chunk> weighChunks(int64_t count, int64_t queryCount,
                                      int64_t keyCount,
                                      const PairCounter &pairs) {
  // As many ranks as chunks: the cuts are those of the balanced layout.
  std::vector<LayoutEntry> table = contiguousLayout(count, queryCount);
  LayoutView queries{table.data(), static_cast<int64_t>(table.size())};
  std::vector<LayoutEntry> keyTable = contiguousLayout(count, keyCount);
  LayoutView keys{keyTable.data(), static_cast<int64_t>(keyTable.size())};
  std::vector<Chunk> chunks;
  for (int64_t index = 0; index < count; ++index) {
    LayoutView chunk = queries.of(index);
    int64_t weight = 0;
    for (const LayoutEntry &entry : chunk)
      weight += pairs({entry.begin, entry.begin + entry.size()}, {0, keyCount});
    int64_t querySize = queries.localSize(index);
    int64_t keySize = keys.localSize(index);
    chunks.push_back({index, querySize, keySize, weight,
                      sizeClass(querySize > queryCount / count,
                                keySize > keyCount / count)});
  }
  return chunks;
}

/// Swaps two chunks of one class between `busy` and `idle` such that the
/// busier of the two gets as little work as possible; false if no swap helps.
static bool swapChunks(std::vector<Chunk> &chunks, std::vector<int64_t> &load,
                       int64_t busy, int64_t idle) {
  int64_t gap = load[busy] - load[idle];
  // Moving `difference` leaves a gap of |gap - 2 * difference|.
  int64_t bestGap = gap;
  Chunk *give = nullptr, *take = nullptr;
  for (Chunk &a : chunks) {
    if (a.owner != busy)
      continue;
    for (Chunk &b : chunks) {
      if (b.owner != idle || b.sizeClass != a.sizeClass)
        continue;
      int64_t left = std::abs(gap - 2 * (a.weight - b.weight));
      if (left < bestGap)
        bestGap = left, give = &a, take = &b;
    }
  }
  if (!give)
    return false;
  int64_t difference = give->weight - take->weight;
  load[busy] -= difference;
  load[idle] += difference;
  std::swap(give->owner, take->owner);
  return true;
}

/// Relieves the busiest rank until it is within a thousandth of the mean or no
/// swap with any rank helps. Ends: each swap lowers the sum of squared loads.
static void levelLoads(int64_t ranks, std::vector<Chunk> &chunks) {
  std::vector<int64_t> load(ranks, 0);
  for (const Chunk &chunk : chunks)
    load[chunk.owner] += chunk.weight;
  int64_t mean = std::accumulate(load.begin(), load.end(), int64_t(0)) / ranks;
  std::vector<int64_t> idlest(ranks);
  std::iota(idlest.begin(), idlest.end(), 0);
  for (bool swapped = true; swapped;) {
    std::sort(idlest.begin(), idlest.end(), [&](int64_t a, int64_t b) {
      return std::tie(load[a], a) < std::tie(load[b], b);
    });
    int64_t busy = idlest.back();
    swapped = false;
    if (load[busy] <= mean + mean / 1000)
      return;
    for (int64_t i = 0; i + 1 < ranks && !swapped; ++i)
      swapped = swapChunks(chunks, load, busy, idlest[i]);
  }
}

/// How much the busiest rank exceeds the mean.
static double ratio(int64_t ranks, const std::vector<Chunk> &chunks,
                    int64_t Chunk::*quantity) {
  std::vector<int64_t> load(ranks, 0);
  for (const Chunk &chunk : chunks)
    load[chunk.owner] += chunk.*quantity;
  double total = std::accumulate(load.begin(), load.end(), 0.0);
  if (total == 0)
    return 1;
  return *std::max_element(load.begin(), load.end()) / (total / ranks);
}

/// The same of the visible pairs and of the positions, whichever is worse.
static double worstRatio(int64_t ranks, const std::vector<Chunk> &chunks) {
  return std::max({ratio(ranks, chunks, &Chunk::weight),
                   ratio(ranks, chunks, &Chunk::queries),
                   ratio(ranks, chunks, &Chunk::keys)});
}

/// Deals the chunks in their order, a group of one chunk a rank at a time. With
/// `turning` every other group goes from the last rank to the first.
static void dealInOrder(int64_t ranks, std::vector<Chunk> &chunks,
                        bool turning) {
  for (size_t i = 0; i < chunks.size(); ++i) {
    int64_t group = i / ranks, rank = i % ranks;
    bool backward = turning && group % 2 == 1;
    chunks[i].owner = backward ? ranks - 1 - rank : rank;
  }
}

/// Deals by size class and weight, for even sizes and nearly even work, then
/// levels the work.
static void dealByWeight(int64_t ranks, std::vector<Chunk> &chunks) {
  std::sort(chunks.begin(), chunks.end(), [](const Chunk &a, const Chunk &b) {
    return std::tie(a.sizeClass, b.weight, a.index) <
           std::tie(b.sizeClass, a.weight, b.index);
  });
  dealInOrder(ranks, chunks, /*turning=*/true);
  levelLoads(ranks, chunks);
}

/// Deals neighbours together, as the contiguous layout does.
static void dealNeighbours(int64_t ranks, std::vector<Chunk> &chunks) {
  int64_t perRank = static_cast<int64_t>(chunks.size()) / ranks;
  for (size_t i = 0; i < chunks.size(); ++i)
    chunks[i].owner = static_cast<int64_t>(i) / perRank;
}

/// After dealNeighbours: how much the busiest rank exceeds the mean in the
/// first round, where each rank meets its own keys.
static double firstRoundRatio(int64_t ranks, const std::vector<Chunk> &chunks,
                              const PairCounter &pairs) {
  Interval queries, keys; // of one rank
  int64_t all = 0, most = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    queries.end += chunks[i].queries;
    keys.end += chunks[i].keys;
    if (i + 1 < chunks.size() && chunks[i + 1].owner == chunks[i].owner)
      continue;
    int64_t own = pairs(queries, keys);
    all += own;
    most = std::max(most, own);
    queries.begin = queries.end;
    keys.begin = keys.end;
  }
  return all == 0 ? 1 : most * static_cast<double>(ranks) / all;
}

/// Deals in the first of four ways that is even enough; the last one is by
/// weight.
static void deal(int64_t ranks, std::vector<Chunk> &chunks,
                 const PairCounter &pairs) {
  constexpr double kEvenEnough = 1.02;
  // Where neighbours are together, a document or a window meets keys of few
  // ranks: few rounds, and long ranges of keys in each. But work must be even
  // within a round too, and then as a rule it is if it is in the first.
  dealNeighbours(ranks, chunks);
  if (worstRatio(ranks, chunks) <= kEvenEnough &&
      firstRoundRatio(ranks, chunks, pairs) <= kEvenEnough)
    return;
  // In a deal in order the keys just before a chunk are those of the rank just
  // before, which keeps each round even. The straight one is tried before the
  // turning one, which evens out causal masks.
  dealInOrder(ranks, chunks, /*turning=*/false);
  if (worstRatio(ranks, chunks) > kEvenEnough)
    dealInOrder(ranks, chunks, /*turning=*/true);
  if (worstRatio(ranks, chunks) > kEvenEnough)
    dealByWeight(ranks, chunks);
}

PairCounter ring::pairsOf(const PositionalMask &mask, int64_t keyCount) {
  return [mask, keyCount](Interval queries, Interval keys) {
    LayoutEntry ofQueries{0, queries.begin, queries.size(), queries.size(), 1};
    LayoutEntry ofKeys{0, keys.begin, keys.size(), keys.size(), 1};
    return visiblePairs({mask, {&ofQueries, 1}, {&ofKeys, 1}, keyCount});
  };
}

std::vector<int64_t> ring::balancedOwners(int64_t ranks, int64_t queryCount,
                                          int64_t keyCount,
                                          const PairCounter &pairs) {
  // Where chunks have about the same work, as those of one long document do, a
  // rank with one more than the mean is noticed. Then shorter chunks help,
  // which cost the kernels more; those of one position are the shortest.
  constexpr double kEvenEnough = 1.04;
  std::vector<Chunk> best;
  double bestRatio = 0;
  for (int64_t perRank = kBalancedChunksPerRank;
       perRank <= kMostBalancedChunksPerRank; perRank *= 2) {
    int64_t count = perRank * ranks;
    if (!best.empty() && count > std::max(queryCount, keyCount))
      break;
    std::vector<Chunk> chunks = weighChunks(count, queryCount, keyCount, pairs);
    deal(ranks, chunks, pairs);
    double ofWork = ratio(ranks, chunks, &Chunk::weight);
    if (best.empty() || ofWork < bestRatio) {
      best = std::move(chunks);
      bestRatio = ofWork;
    }
    if (bestRatio <= kEvenEnough)
      break;
  }
  std::vector<int64_t> owners(best.size());
  for (const Chunk &chunk : best)
    owners[chunk.index] = chunk.owner;
  return owners;
}
