//===- SlicesTest.cpp - Tests of the work list of a round -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSlices.h"

#include <gtest/gtest.h>

using namespace ring;
using namespace ring::test;

namespace {
/// Visits every (rank, owner) block of a ring.
template <typename Visit>
void forEachBlock(int64_t ranks, int64_t queryCount, int64_t keyCount,
                  const PositionalMask &mask, const NamedLayout &layout,
                  Visit visit) {
  LayoutPair pair = makeLayouts(layout.kind, layout.granularity, ranks,
                                queryCount, keyCount, mask);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t owner = 0; owner < ranks; ++owner)
      visit(RingBlock{mask, pair.queryView().of(rank), pair.keyView().of(owner),
                      keyCount});
}

void checkRing(int64_t ranks, int64_t queryCount, int64_t keyCount,
               std::initializer_list<int64_t> tiles) {
  for (const NamedMask &named : masksFor(queryCount, keyCount))
    for (const NamedLayout &layout : layouts()) {
      SCOPED_TRACE(named.name + ", " + layout.name + " N=" +
                   std::to_string(ranks) + " Sq=" + std::to_string(queryCount) +
                   " Sk=" + std::to_string(keyCount));
      forEachBlock(ranks, queryCount, keyCount, named.mask, layout,
                   [&](const RingBlock &block) {
                     for (int64_t tile : tiles)
                       checkBlock(block, tile);
                   });
      if (testing::Test::HasFatalFailure())
        return;
    }
}
} // namespace

TEST(Slices, QueryRangesCoverTheBlockAndCrossNoEntry) {
  for (const NamedLayout &layout : layouts())
    for (int64_t tile : {1, 4, 7, 64, 1000}) {
      LayoutPair pair = makeLayouts(layout.kind, layout.granularity, 3, 301,
                                    301, PositionalMask{});
      for (int64_t rank = 0; rank < 3; ++rank) {
        LayoutView queries = pair.queryView().of(rank);
        int64_t next = 0, base = 0;
        const LayoutEntry *entry = queries.begin();
        for (int64_t i = 0; i < queryRangeCount(queries, tile); ++i) {
          Interval range = queryRange(queries, tile, i);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(1 <= range.size() && range.size() <= tile);
          if (range.begin == base + entry->size())
            base += entry++->size();
          EXPECT_LE(range.end, base + entry->size());
          next = range.end;
        }
        EXPECT_EQ(next, pair.queryView().localSize(rank)) << layout.name;
      }
    }
}

TEST(Slices, EveryVisiblePairOnceSameLengths) {
  for (int64_t ranks : {1, 2, 3, 5, 8, 16})
    for (int64_t length : awkwardLengths(ranks))
      checkRing(ranks, length, length, {1, 6, 64});
}

TEST(Slices, EveryVisiblePairOnceLongerAndShorterKeys) {
  for (int64_t ranks : {1, 2, 3, 4, 7}) {
    checkRing(ranks, 31, 83, {1, 5, 64});
    checkRing(ranks, 83, 31, {5, 16});
    checkRing(ranks, 1, 40, {64});
    checkRing(ranks, 5, 2, {64});
  }
}

TEST(Slices, EveryVisiblePairOnceLongSequences) {
  checkRing(2, 300, 300, {32});
  checkRing(4, 211, 211, {16});
}

TEST(Slices, FullMaskHasOnlyFullRanges) {
  for (const NamedLayout &layout : layouts())
    forEachBlock(4, 101, 57, {}, layout, [&](const RingBlock &block) {
      int64_t seen = 0;
      for (const KeyRange &range :
           keyRanges(block, queryRange(block.queries, 3, 0))) {
        EXPECT_TRUE(range.full) << layout.name;
        seen += range.end - range.begin;
      }
      EXPECT_EQ(seen, static_cast<int64_t>(positionsOf(block.keys).size()));
    });
}

TEST(Slices, CausalDiagonalSplitsIntoFullAndPartial) {
  PositionalMask mask;
  mask.causal = true;
  LayoutEntry entry{0, 0, 100, 100, 1};
  RingBlock block{mask, {&entry, 1}, {&entry, 1}, 100};
  std::vector<KeyRange> ranges = keyRanges(block, {32, 48});
  ASSERT_EQ(ranges.size(), 2u);
  // Query 32 sees keys 0..32, query 47 sees 0..47.
  EXPECT_TRUE(ranges[0].begin == 0 && ranges[0].end == 33 && ranges[0].full);
  EXPECT_TRUE(ranges[1].begin == 33 && ranges[1].end == 48 && !ranges[1].full);
}

TEST(Slices, WindowSplitsIntoThree) {
  PositionalMask mask;
  mask.left = mask.right = 20;
  LayoutEntry entry{0, 0, 100, 100, 1};
  RingBlock block{mask, {&entry, 1}, {&entry, 1}, 100};
  std::vector<KeyRange> ranges = keyRanges(block, {40, 44});
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_TRUE(ranges[0].begin == 20 && ranges[0].end == 23 && !ranges[0].full);
  EXPECT_TRUE(ranges[1].begin == 23 && ranges[1].end == 61 && ranges[1].full);
  EXPECT_TRUE(ranges[2].begin == 61 && ranges[2].end == 64 && !ranges[2].full);
}

TEST(Slices, WithoutClassificationEveryKeyIsPartial) {
  PositionalMask mask;
  mask.causal = true;
  mask.left = 3;
  for (const NamedLayout &layout : layouts())
    forEachBlock(3, 60, 60, mask, layout, [&](const RingBlock &block) {
      std::vector<KeyRange> ranges =
          keyRanges(block, queryRange(block.queries, 3, 0), false);
      ASSERT_EQ(static_cast<int64_t>(ranges.size()), block.keys.size);
      int64_t next = 0;
      for (const KeyRange &range : ranges) {
        EXPECT_FALSE(range.full);
        EXPECT_EQ(range.begin, next);
        next = range.end;
      }
      EXPECT_EQ(next, static_cast<int64_t>(positionsOf(block.keys).size()));
    });
}

TEST(Slices, EmptyEntriesAndEmptyRangesAreSkipped) {
  LayoutEntry queries[] = {{0, 0, 0, 0, 1}, {0, 4, 3, 3, 1}, {0, 9, 2, 2, 0}};
  LayoutEntry keys[] = {{1, 0, 2, 2, 0}, {1, 0, 4, 4, 1}, {1, 8, 0, 0, 1}};
  RingBlock block{{}, {queries, 3}, {keys, 3}, 10};
  EXPECT_EQ(queryRangeCount(block.queries, 2), 2);
  EXPECT_EQ(queryRange(block.queries, 2, 1).begin, 2);
  for (bool classify : {false, true}) {
    std::vector<KeyRange> ranges = keyRanges(block, {0, 2}, classify);
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_EQ(ranges[0].end, 4);
    EXPECT_TRUE(keyRanges(block, {1, 1}, classify).empty());
  }
}

TEST(Slices, KeysBeyondTheCountAreCut) {
  LayoutEntry entry{0, 0, 16, 16, 1};
  RingBlock block{{}, {&entry, 1}, {&entry, 1}, 11};
  std::vector<KeyRange> ranges = keyRanges(block, {0, 16});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_TRUE(ranges[0].end == 11 && ranges[0].full);
}

TEST(Slices, PositionOfFollowsTheTable) {
  for (const NamedLayout &layout : layouts())
    forEachBlock(3, 101, 57, {}, layout, [&](const RingBlock &block) {
      for (LayoutView view : {block.queries, block.keys}) {
        std::vector<int64_t> expected = positionsOf(view);
        for (size_t local = 0; local < expected.size(); ++local)
          ASSERT_EQ(positionOf(view, local), expected[local]) << layout.name;
      }
    });
}

TEST(Slices, TileOfTheMostQueries) {
  PositionalMask mask;
  mask.causal = true;
  LayoutEntry entry{0, 0, 300, 300, 1};
  RingBlock block{mask, {&entry, 1}, {&entry, 1}, 300};
  std::vector<uint8_t> seen(2 * kMaxTileQueries, 7);
  // Of queries 10 to 265, those from 200 and from 201 on.
  EXPECT_EQ(visibleTile(block, {10, 10 + kMaxTileQueries}, {200, 202},
                        kMaxTileQueries, seen.data()),
            66 + 65);
  EXPECT_EQ(seen[189], 0);
  EXPECT_EQ(seen[190], 1);
  EXPECT_EQ(seen[kMaxTileQueries + 190], 0);
  EXPECT_EQ(seen[2 * kMaxTileQueries - 1], 1);
}

TEST(Slices, TileWithoutQueriesOrKeys) {
  LayoutEntry entry{0, 0, 8, 8, 1};
  RingBlock block{{}, {&entry, 1}, {&entry, 1}, 8};
  std::vector<uint8_t> seen(8, 7);
  EXPECT_EQ(visibleTile(block, {3, 3}, {0, 2}, 3, seen.data()), 0);
  EXPECT_EQ(seen, (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 7, 7}));
  EXPECT_EQ(visibleTile(block, {0, 3}, {2, 2}, 3, seen.data()), 0);
}
