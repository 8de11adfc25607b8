//===- BalanceTest.cpp - Tests of what the layouts promise ----------------===//
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
#include <random>

using namespace ring;
using namespace ring::test;

static RingCounts count(LayoutKind kind, int64_t ranks, int64_t queryCount,
                        int64_t keyCount, const PositionalMask &mask) {
  LayoutPair pair = makeLayouts(kind, 1, ranks, queryCount, keyCount, mask);
  return countRing(mask, pair.queryView(), pair.keyView(), keyCount,
                   RingOrder(ranks));
}

TEST(Balance, CausalZigzagIsEven) {
  PositionalMask causal;
  causal.causal = true;
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t length : {64 * ranks, 66 * ranks, 1000 * ranks}) {
      RingCounts counts =
          count(LayoutKind::Zigzag, ranks, length, length, causal);
      EXPECT_LE(counts.balance, 1.01) << "N=" << ranks << " S=" << length;
      EXPECT_LE(counts.roundBalance, 1.01 + 1.0 / 64) << "N=" << ranks;
    }
}

TEST(Balance, CausalContiguousIsTwoMinusOneOverN) {
  PositionalMask causal;
  causal.causal = true;
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t block : {64, 1000}) {
      int64_t length = ranks * block;
      RingCounts counts =
          count(LayoutKind::Contiguous, ranks, length, length, causal);
      // Row i has i + 1 pairs; the last rank has the last `block` rows.
      int64_t busiest = block * (2 * length - block + 1) / 2;
      EXPECT_EQ(counts.pairsOfRank.back(), busiest);
      EXPECT_EQ(counts.visiblePairs, length * (length + 1) / 2);
      EXPECT_NEAR(counts.balance, 2 - 1.0 / ranks, 1.0 / block);
    }
}

TEST(Balance, BalancedIsEvenUnderEveryWindow) {
  constexpr int64_t any = PositionalMask::kUnbounded;
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t length :
         {64 * ranks, 64 * ranks + 1, 64 * ranks + 8, 64 * ranks + 16,
          65 * ranks - 1, 71 * ranks, 100 * ranks + 7, 1009 * ranks}) {
      std::vector<PositionalMask> masks = {{}};
      for (bool causal : {false, true})
        for (int64_t left : {any, int64_t(0), int64_t(7), length / 16,
                             length / 7, length / 2, 2 * length})
          for (int64_t right : {any, int64_t(0), length / 11})
            masks.push_back({causal, left, right, 0, 0, 0});
      for (const PositionalMask &mask : masks) {
        RingCounts counts =
            count(LayoutKind::Balanced, ranks, length, length, mask);
        EXPECT_LE(counts.balance, 1.05)
            << "N=" << ranks << " S=" << length << " causal " << mask.causal
            << " window " << mask.left << ", " << mask.right;
      }
    }
}

TEST(Balance, BalancedIsEvenWhereQueriesAndKeysDiffer) {
  PositionalMask causal;
  causal.causal = true;
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (auto [queryCount, keyCount] : {std::pair(64 * ranks + 3, 200 * ranks),
                                        {200 * ranks, 64 * ranks + 3},
                                        {100 * ranks, 50 * ranks + 1}})
      for (int64_t shift : {int64_t(0), keyCount - queryCount}) {
        causal.shift = shift;
        RingCounts counts =
            count(LayoutKind::Balanced, ranks, queryCount, keyCount, causal);
        EXPECT_LE(counts.balance, 1.05)
            << "N=" << ranks << " Sq=" << queryCount << " Sk=" << keyCount
            << " shift " << shift;
      }
}

TEST(Balance, BalancedDealsAsManyChunksToEachRankOfEvenSizes) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (auto [queryCount, keyCount] :
         {std::pair(64 * ranks + 16, 64 * ranks + 16),
          {57, 57},
          {1, 300},
          {301, 77},
          {1009 * ranks, 1009 * ranks},
          {16 * ranks, 19 * ranks}})
      for (const NamedMask &named : masksFor(queryCount, keyCount)) {
        SCOPED_TRACE(named.name + " N=" + std::to_string(ranks) +
                     " Sq=" + std::to_string(queryCount));
        std::vector<int64_t> owners = balancedOwners(
            ranks, queryCount, keyCount, pairsOf(named.mask, keyCount));
        int64_t perRank = static_cast<int64_t>(owners.size()) / ranks;
        ASSERT_TRUE(perRank == 16 || perRank == 32 || perRank == 64) << perRank;
        for (int64_t rank = 0; rank < ranks; ++rank)
          ASSERT_EQ(std::count(owners.begin(), owners.end(), rank), perRank);
        for (int64_t length : {queryCount, keyCount}) {
          std::vector<LayoutEntry> table = chunkedLayout(ranks, length, owners);
          int64_t padded =
              LayoutView{table.data(), static_cast<int64_t>(table.size())}
                  .paddedSize(ranks);
          int64_t even = (length + ranks - 1) / ranks;
          if (queryCount != keyCount && length == keyCount)
            ++even; // see sizeClass()
          EXPECT_LE(padded, std::max(even, length * 102 / (100 * ranks)));
        }
      }
}

TEST(Balance, BalancedWindowsNeedFewRounds) {
  // Chunks of 64, a window over one: the keys of two chunks at most.
  PositionalMask mask;
  mask.causal = true;
  mask.left = 64;
  RingCounts counts = count(LayoutKind::Balanced, 8, 8192, 8192, mask);
  EXPECT_EQ(counts.rounds, 2);
  EXPECT_LE(counts.roundBalance, 1.05);
}

TEST(Balance, BalancedCausalKeepsEachRoundEven) {
  PositionalMask causal;
  causal.causal = true;
  for (int64_t ranks : {2, 3, 8, 16})
    EXPECT_LE(
        count(LayoutKind::Balanced, ranks, 1024 * ranks, 1024 * ranks, causal)
            .roundBalance,
        1.005)
        << "N=" << ranks;
}

/// Documents with random borders; `padding`: the last quarter at most is none.
static std::vector<int32_t> randomDocuments(int64_t length, int64_t documents,
                                            bool padding,
                                            std::mt19937 &random) {
  std::vector<int64_t> borders;
  for (int64_t i = 1; i < documents; ++i)
    borders.push_back(random() % length);
  std::sort(borders.begin(), borders.end());
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(std::upper_bound(borders.begin(), borders.end(), i) -
                  borders.begin());
  if (padding)
    std::fill(ids.end() - random() % (length / 4), ids.end(), -1);
  return ids;
}

/// Visible pairs of the busiest rank / mean, counted from `pairsOfRow`.
static double balanceOver(int64_t ranks,
                          const std::vector<int64_t> &pairsOfRow) {
  int64_t length = pairsOfRow.size();
  std::vector<int64_t> below(length + 1, 0);
  for (int64_t row = 0; row < length; ++row)
    below[row + 1] = below[row] + pairsOfRow[row];
  LayoutPair pair =
      makeLayouts(LayoutKind::Balanced, 1, ranks, length, length,
                  [&](Interval queries, Interval) {
                    return below[queries.end] - below[queries.begin];
                  });
  std::vector<int64_t> load(ranks, 0);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t row : positionsOf(pair.queryView().of(rank)))
      load[rank] += pairsOfRow[row];
  return *std::max_element(load.begin(), load.end()) * double(ranks) /
         below[length];
}

TEST(Balance, BalancedIsEvenOverRandomDocuments) {
  for (int64_t ranks = 2; ranks <= 16; ++ranks)
    for (int64_t length :
         {64 * ranks, 64 * ranks + 9, 100 * ranks, 257 * ranks, 1000 * ranks})
      for (bool causal : {false, true})
        for (int64_t documents : {1, 2, 3, 5, 8, 16, 64})
          for (bool padding : {false, true})
            for (int64_t batch : {1, 2}) {
              std::mt19937 random(ranks * 1000 + length + documents);
              PositionalMask mask;
              mask.causal = causal;
              std::vector<int64_t> pairsOfRow(length, 0);
              for (int64_t entry = 0; entry < batch; ++entry) {
                std::vector<int32_t> ids =
                    randomDocuments(length, documents, padding, random);
                DocumentIndex index({ids.data(), length}, length);
                for (int64_t row = 0; row < length; ++row)
                  pairsOfRow[row] +=
                      index.count(ids[row], mask.visibleKeys(row, length));
              }
              EXPECT_LE(balanceOver(ranks, pairsOfRow), 1.05)
                  << "N=" << ranks << " S=" << length << " causal " << causal
                  << " documents " << documents << " padding " << padding
                  << " batch " << batch;
            }
}

// Chunks of one long document have the same work each: a rank with one more
// than others is noticed where it has 16.
TEST(Balance, BalancedCutsShorterChunksWhereSixteenCannotBeEven) {
  for (int64_t ranks : {5, 8, 16}) {
    int64_t length = 1000 * ranks;
    for (auto [visible, perRank] :
         {std::pair(1.0, 16), std::pair(0.65, 32), std::pair(0.51, 64)}) {
      int64_t rows = visible * length;
      auto pairs = [rows = rows](Interval queries, Interval) {
        return std::max<int64_t>(0,
                                 std::min(queries.end, rows) - queries.begin);
      };
      std::vector<int64_t> owners =
          balancedOwners(ranks, length, length, pairs);
      EXPECT_EQ(static_cast<int64_t>(owners.size()), perRank * ranks)
          << "N=" << ranks << " visible " << visible;
    }
    // No chunk is shorter than a position.
    EXPECT_EQ(static_cast<int64_t>(
                  balancedOwners(ranks, 20 * ranks, 20 * ranks,
                                 [](Interval queries, Interval) -> int64_t {
                                   return queries.begin == 0;
                                 })
                      .size()),
              16 * ranks);
  }
}

/// Of documents with these borders, each of which sees itself.
static PairCounter pairsOfDocuments(std::vector<int64_t> borders) {
  return [borders = std::move(borders)](Interval queries, Interval keys) {
    int64_t pairs = 0;
    for (size_t i = 0; i + 1 < borders.size(); ++i) {
      Interval document{borders[i], borders[i + 1]};
      pairs += intersect(queries, document).size() *
               intersect(keys, document).size();
    }
    return pairs;
  };
}

TEST(Balance, BalancedKeepsNeighboursTogetherWhereTheRoundsStayEven) {
  auto ownersOf = [](const std::vector<int64_t> &borders) {
    return balancedOwners(4, borders.back(), borders.back(),
                          pairsOfDocuments(borders));
  };
  auto neighbours = [](int64_t perRank) {
    std::vector<int64_t> owners(4 * perRank);
    for (size_t i = 0; i < owners.size(); ++i)
      owners[i] = static_cast<int64_t>(i) / perRank;
    return owners;
  };
  // Two documents a rank, and one for all: no other deal has fewer rounds, or
  // longer ranges.
  EXPECT_EQ(ownersOf({0, 80, 160, 240, 320, 400, 480, 560, 640}),
            neighbours(16));
  EXPECT_EQ(ownersOf({0, 640}), neighbours(16));
  // The same work for each rank, but the second and the third would do more of
  // it in later rounds.
  EXPECT_NE(ownersOf({0, 213, 426, 640}), neighbours(16));
}
