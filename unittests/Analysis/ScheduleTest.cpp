//===- ScheduleTest.cpp - Tests of rounds and counts ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include "ring/Analysis/Schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ring;
using namespace ring::test;

/// Of each position, the rank that owns it.
static std::vector<int64_t> ownersOf(LayoutView view, int64_t length) {
  std::vector<int64_t> owners(length);
  for (const LayoutEntry &entry : view)
    for (int64_t position : positionsOf({&entry, 1}))
      owners[position] = entry.owner;
  return owners;
}

TEST(RingOrder, IdentityAndNeighbours) {
  RingOrder order(4);
  EXPECT_EQ(order.size(), 4);
  EXPECT_EQ(order.owner(1, 0), 1);
  EXPECT_EQ(order.owner(1, 2), 3);
  EXPECT_EQ(order.owner(1, 7), 2);
  EXPECT_EQ(order.successor(3), 0);
  EXPECT_EQ(order.predecessor(0), 3);
  EXPECT_EQ(RingOrder(1).successor(0), 0);
  EXPECT_EQ(RingOrder(1).predecessor(0), 0);
}

TEST(RingOrder, FollowsAPermutation) {
  RingOrder order({2, 0, 3, 1});
  EXPECT_EQ(order.successor(2), 0);
  EXPECT_EQ(order.successor(1), 2);
  EXPECT_EQ(order.predecessor(3), 0);
  EXPECT_EQ(order.owner(3, 2), 2);
  // What a rank holds came from its predecessor, who held it one round ago.
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(order.owner(rank, 0), rank);
    EXPECT_EQ(order.predecessor(order.successor(rank)), rank);
    for (int64_t round = 1; round < 4; ++round)
      EXPECT_EQ(order.owner(rank, round),
                order.owner(order.predecessor(rank), round - 1));
  }
}

TEST(RingOrder, RecognisesPermutations) {
  EXPECT_TRUE(RingOrder::isPermutation({0}));
  EXPECT_TRUE(RingOrder::isPermutation({2, 0, 1}));
  EXPECT_FALSE(RingOrder::isPermutation({0, 0, 1}));
  EXPECT_FALSE(RingOrder::isPermutation({0, 3, 1}));
  EXPECT_FALSE(RingOrder::isPermutation({-1, 0, 1}));
}

TEST(Schedule, CountsMatchThePairs) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks) {
    std::vector<int64_t> permutation(ranks);
    for (int64_t x = 0; x < ranks; ++x) // reversed, then turned by two
      permutation[x] = (2 * ranks + 1 - x) % ranks;
    std::vector<RingOrder> orders = {RingOrder(ranks), RingOrder(permutation)};
    for (int64_t queryCount : awkwardLengths(ranks))
      for (int64_t keyCount : {queryCount, int64_t(40)})
        for (const NamedMask &named : masksFor(queryCount, keyCount))
          for (const NamedLayout &layout : layouts()) {
            SCOPED_TRACE(named.name + ", " + layout.name +
                         " N=" + std::to_string(ranks) +
                         " Sq=" + std::to_string(queryCount) +
                         " Sk=" + std::to_string(keyCount));
            LayoutPair pair =
                makeLayouts(layout.kind, layout.granularity, ranks, queryCount,
                            keyCount, named.mask);
            std::vector<int64_t> ofQuery =
                ownersOf(pair.queryView(), queryCount);
            std::vector<int64_t> ofKey = ownersOf(pair.keyView(), keyCount);
            std::vector<std::vector<int64_t>> ofBlock(
                ranks, std::vector<int64_t>(ranks, 0));
            for (int64_t query = 0; query < queryCount; ++query)
              for (int64_t key = 0; key < keyCount; ++key)
                ofBlock[ofQuery[query]][ofKey[key]] +=
                    visible(named.mask, query, key);
            for (const RingOrder &order : orders) {
              int64_t rounds = 1, total = 0, busiestPerRound = 0;
              std::vector<int64_t> ofRank(ranks, 0);
              for (int64_t round = 0; round < ranks; ++round) {
                int64_t busiest = 0;
                for (int64_t rank = 0; rank < ranks; ++rank) {
                  int64_t pairs = ofBlock[rank][order.owner(rank, round)];
                  busiest = std::max(busiest, pairs);
                  ofRank[rank] += pairs;
                  total += pairs;
                  if (pairs > 0)
                    rounds = round + 1;
                }
                busiestPerRound += busiest;
              }
              RingCounts counts = countRing(named.mask, pair.queryView(),
                                            pair.keyView(), keyCount, order);
              ASSERT_EQ(counts.rounds, rounds);
              ASSERT_EQ(counts.transfers, rounds - 1);
              ASSERT_EQ(counts.visiblePairs, total);
              ASSERT_EQ(counts.pairsOfRank, ofRank);
              double busiest = *std::max_element(ofRank.begin(), ofRank.end());
              ASSERT_DOUBLE_EQ(counts.balance,
                               total ? busiest * ranks / total : 1);
              ASSERT_DOUBLE_EQ(counts.roundBalance,
                               total ? double(busiestPerRound) * ranks / total
                                     : 1);
            }
          }
  }
}

TEST(Schedule, WindowOnContiguousStopsEarly) {
  PositionalMask mask;
  mask.causal = true;
  auto rounds = [&](int64_t left) {
    mask.left = left;
    LayoutPair pair = makeLayouts(LayoutKind::Contiguous, 1, 8, 800, 800, mask);
    return countRing(mask, pair.queryView(), pair.keyView(), 800, RingOrder(8))
        .rounds;
  };
  EXPECT_EQ(rounds(0), 1);
  EXPECT_EQ(rounds(1), 2);
  EXPECT_EQ(rounds(100), 2);
  EXPECT_EQ(rounds(101), 3);
  EXPECT_EQ(rounds(10000), 8);
}

TEST(Schedule, SlotsAreTheDistanceOrTheTransfers) {
  EXPECT_EQ(slotCount(1, 3), 2);
  EXPECT_EQ(slotCount(2, 3), 3);
  EXPECT_EQ(slotCount(3, 3), 3);
  EXPECT_EQ(slotCount(0, 3), 1);
  EXPECT_EQ(slotCount(1, 0), 0);
  EXPECT_EQ(slotCount(INT64_MAX, 7), 7);
}

TEST(Schedule, BytesOfTheTransfers) {
  EXPECT_EQ(bytesPerRank(3, 1, 2, 64, 64, 32, 2), 3 * 2 * 64 * 96 * 2);
  EXPECT_EQ(bytesPerRank(0, 1, 2, 64, 64, 32, 2), 0);
  // The types of a program may be larger than any memory.
  EXPECT_EQ(bytesPerRank(3, 1, INT64_MAX, 64, 64, 32, 2), std::nullopt);
  EXPECT_EQ(bytesPerRank(1, 1, 1, 1, INT64_MAX, 1, 1), std::nullopt);
}
