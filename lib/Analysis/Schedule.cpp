//===- Schedule.cpp - Rounds, transfers, balance --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Schedule.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

using namespace ring;

RingOrder::RingOrder(int64_t ranks) : order(ranks), place(ranks) {
  std::iota(order.begin(), order.end(), 0);
  std::iota(place.begin(), place.end(), 0);
}

RingOrder::RingOrder(std::vector<int64_t> ranks)
    : order(std::move(ranks)), place(order.size()) {
  assert(isPermutation(order) && "a ring visits each rank once");
  for (int64_t x = 0; x < size(); ++x)
    place[order[x]] = x;
}

bool RingOrder::isPermutation(const std::vector<int64_t> &order) {
  std::vector<bool> seen(order.size(), false);
  for (int64_t rank : order) {
    if (rank < 0 || rank >= static_cast<int64_t>(order.size()) || seen[rank])
      return false;
    seen[rank] = true;
  }
  return true;
}

int64_t RingOrder::owner(int64_t rank, int64_t round) const {
  return order[(place[rank] - round % size() + size()) % size()];
}

int64_t RingOrder::successor(int64_t rank) const {
  return order[(place[rank] + 1) % size()];
}

int64_t RingOrder::predecessor(int64_t rank) const { return owner(rank, 1); }

std::vector<std::vector<int64_t>>
ring::visiblePairsByRound(const PositionalMask &mask, LayoutView queries,
                          LayoutView keys, int64_t keyCount,
                          const RingOrder &order) {
  int64_t ranks = order.size();
  std::vector<LayoutView> keysOf;
  for (int64_t owner = 0; owner < ranks; ++owner)
    keysOf.push_back(keys.of(owner));
  std::vector<std::vector<int64_t>> pairs(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t round = 0; round < ranks; ++round)
      pairs[rank].push_back(
          visiblePairs({mask, queries.of(rank),
                        keysOf[order.owner(rank, round)], keyCount}));
  return pairs;
}

RingCounts ring::countRing(const PositionalMask &mask, LayoutView queries,
                           LayoutView keys, int64_t keyCount,
                           const RingOrder &order) {
  std::vector<std::vector<int64_t>> pairs =
      visiblePairsByRound(mask, queries, keys, keyCount, order);
  RingCounts counts;
  int64_t busiestPerRound = 0;
  for (int64_t round = 0; round < order.size(); ++round) {
    int64_t busiest = 0;
    for (const std::vector<int64_t> &ofRank : pairs)
      busiest = std::max(busiest, ofRank[round]);
    busiestPerRound += busiest;
    if (busiest > 0)
      counts.rounds = round + 1;
  }
  counts.transfers = counts.rounds - 1;
  for (const std::vector<int64_t> &ofRank : pairs)
    counts.pairsOfRank.push_back(
        std::accumulate(ofRank.begin(), ofRank.end(), int64_t(0)));
  counts.visiblePairs = std::accumulate(counts.pairsOfRank.begin(),
                                        counts.pairsOfRank.end(), int64_t(0));
  if (counts.visiblePairs == 0)
    return counts;
  double mean = static_cast<double>(counts.visiblePairs) / order.size();
  counts.balance =
      *std::max_element(counts.pairsOfRank.begin(), counts.pairsOfRank.end()) /
      mean;
  counts.roundBalance = busiestPerRound / mean;
  return counts;
}

int64_t ring::slotCount(int64_t prefetchDistance, int64_t transfers) {
  // Not prefetchDistance + 1: a huge distance is only a long way of saying all.
  return prefetchDistance < transfers ? prefetchDistance + 1 : transfers;
}

std::optional<int64_t> ring::bytesPerRank(int64_t transfers, int64_t batch,
                                          int64_t kvHeads, int64_t paddedKeys,
                                          int64_t depth, int64_t valueDepth,
                                          int64_t elementBytes) {
  int64_t bytes = 0;
  if (__builtin_add_overflow(depth, valueDepth, &bytes))
    return std::nullopt;
  for (int64_t factor : {transfers, batch, kvHeads, paddedKeys, elementBytes})
    if (__builtin_mul_overflow(bytes, factor, &bytes))
      return std::nullopt;
  return bytes;
}
