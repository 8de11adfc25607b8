//===- LayoutTest.cpp - Tests of the four layouts -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace ring;
using namespace ring::test;

static LayoutView viewOf(const std::vector<LayoutEntry> &table) {
  return {table.data(), static_cast<int64_t>(table.size())};
}

namespace ring {
/// In the namespace of its argument, where comparing vectors finds it.
static bool operator==(const LayoutEntry &a, const LayoutEntry &b) {
  return a.owner == b.owner && a.begin == b.begin && a.block == b.block &&
         a.stride == b.stride && a.count == b.count;
}
} // namespace ring

static std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> values(end - begin);
  std::iota(values.begin(), values.end(), begin);
  return values;
}

TEST(Layout, EveryPositionHasOneOwner) {
  PositionalMask causal;
  causal.causal = true;
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t length : awkwardLengths(ranks))
      for (const NamedLayout &layout : layouts()) {
        SCOPED_TRACE(layout.name + " N=" + std::to_string(ranks) +
                     " S=" + std::to_string(length));
        LayoutPair pair = makeLayouts(layout.kind, layout.granularity, ranks,
                                      length, 2 * length + 1, causal);
        for (auto [view, size] : {std::pair(pair.queryView(), length),
                                  {pair.keyView(), 2 * length + 1}}) {
          std::vector<int64_t> positions = positionsOf(view);
          std::sort(positions.begin(), positions.end());
          EXPECT_EQ(positions, range(0, size));
        }
      }
}

TEST(Layout, TablesAreGroupedByOwnerAndAscendWithinAnEntry) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t length : awkwardLengths(ranks))
      for (const NamedLayout &layout : layouts()) {
        SCOPED_TRACE(layout.name + " N=" + std::to_string(ranks) +
                     " S=" + std::to_string(length));
        LayoutPair pair = makeLayouts(layout.kind, layout.granularity, ranks,
                                      length, length, PositionalMask{});
        LayoutView view = pair.queryView();
        int64_t seen = 0, total = 0, longest = 0;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          LayoutView own = view.of(rank);
          EXPECT_EQ(own.entries, view.entries + seen);
          seen += own.size;
          for (const LayoutEntry &entry : own) {
            EXPECT_EQ(entry.owner, rank);
            EXPECT_FALSE(entry.empty());
            EXPECT_GE(entry.stride, entry.block);
            if (entry.count == 1) {
              EXPECT_EQ(entry.stride, entry.block);
            }
          }
          total += view.localSize(rank);
          longest = std::max(longest, view.localSize(rank));
          EXPECT_EQ(view.localSize(rank),
                    static_cast<int64_t>(positionsOf(own).size()));
        }
        EXPECT_EQ(seen, view.size);
        EXPECT_EQ(total, length);
        EXPECT_EQ(view.paddedSize(ranks), longest);
      }
}

TEST(Layout, PositionAndCountBelowAreInverse) {
  for (LayoutEntry entry : {LayoutEntry{0, 4, 3, 10, 5},
                            {0, 0, 1, 4, 7},
                            {0, 9, 20, 20, 1},
                            {0, 2, 3, 3, 4}}) {
    std::vector<int64_t> positions = positionsOf({&entry, 1});
    EXPECT_EQ(entry.last(), positions.back());
    for (int64_t i = 0; i < entry.size(); ++i)
      EXPECT_EQ(entry.position(i), positions[i]);
    for (int64_t position = -3; position < entry.last() + 20; ++position)
      EXPECT_EQ(entry.countBelow(position),
                std::count_if(positions.begin(), positions.end(),
                              [&](int64_t p) { return p < position; }));
    EXPECT_EQ(entry.countBelow(INT64_MIN), 0);
    EXPECT_EQ(entry.countBelow(INT64_MAX), entry.size());
  }
  for (LayoutEntry empty : {LayoutEntry{0, 4, 0, 0, 1}, {0, 4, 2, 2, 0}})
    EXPECT_EQ(empty.countBelow(100), 0);
}

TEST(Layout, ZigzagPairsFirstAndLastChunks) {
  // Chunks of 10: 0,5 / 1,4 / 2,3; the last two touch.
  std::vector<LayoutEntry> table = zigzagLayout(3, 60);
  std::vector<LayoutEntry> expected = {{0, 0, 10, 10, 1},
                                       {0, 50, 10, 10, 1},
                                       {1, 10, 10, 10, 1},
                                       {1, 40, 10, 10, 1},
                                       {2, 20, 20, 20, 1}};
  EXPECT_EQ(table, expected);
}

TEST(Layout, ChunksAreCutEvenly) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t length : awkwardLengths(ranks)) {
      std::vector<LayoutEntry> contiguous = contiguousLayout(ranks, length);
      std::vector<LayoutEntry> zigzag = zigzagLayout(ranks, length);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(positionsOf(viewOf(contiguous).of(rank)),
                  range(rank * length / ranks, (rank + 1) * length / ranks));
        std::vector<int64_t> expected;
        for (int64_t chunk : {rank, 2 * ranks - 1 - rank})
          for (int64_t position : range(chunk * length / (2 * ranks),
                                        (chunk + 1) * length / (2 * ranks)))
            expected.push_back(position);
        EXPECT_EQ(positionsOf(viewOf(zigzag).of(rank)), expected);
      }
    }
}

TEST(Layout, StripedIsBlockCyclic) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t granularity : {1, 2, 5, 16, 1000})
      for (int64_t length : awkwardLengths(ranks)) {
        std::vector<LayoutEntry> table =
            stripedLayout(ranks, length, granularity);
        EXPECT_LE(static_cast<int64_t>(table.size()), ranks + 1);
        for (int64_t rank = 0; rank < ranks; ++rank)
          for (int64_t position : positionsOf(viewOf(table).of(rank)))
            EXPECT_EQ(position / granularity % ranks, rank)
                << position << " of " << length << ", N=" << ranks;
      }
}

TEST(Layout, StripeLongerThanAnySequence) {
  std::vector<LayoutEntry> table = stripedLayout(4, 10, INT64_MAX);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0], (LayoutEntry{0, 0, 10, 10, 1}));
}

TEST(Layout, EmptySequenceHasNoEntries) {
  for (const NamedLayout &layout : layouts()) {
    LayoutPair pair =
        makeLayouts(layout.kind, layout.granularity, 3, 0, 0, PositionalMask{});
    EXPECT_EQ(pair.queryView().size, 0) << layout.name;
    EXPECT_EQ(pair.keyView().paddedSize(3), 0) << layout.name;
  }
}

TEST(Layout, ChunkedFollowsTheOwners) {
  std::vector<int64_t> owners(32, 0);
  std::fill(owners.begin() + 8, owners.begin() + 24, 1);
  std::vector<LayoutEntry> table = chunkedLayout(2, 64, owners);
  std::vector<LayoutEntry> expected = {
      {0, 0, 16, 16, 1}, {0, 48, 16, 16, 1}, {1, 16, 32, 32, 1}};
  EXPECT_EQ(table, expected);
}

TEST(Layout, MaxEntriesIsEnoughForEveryLength) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (const NamedLayout &layout : layouts()) {
      int64_t most = 0, enough = maxEntries(layout.kind, ranks);
      std::vector<int64_t> lengths = awkwardLengths(ranks);
      for (int64_t length = 30 * ranks; length < 34 * ranks; ++length)
        lengths.push_back(length);
      for (int64_t length : lengths)
        for (const NamedMask &named : masksFor(length, 2 * length)) {
          LayoutPair pair = makeLayouts(layout.kind, layout.granularity, ranks,
                                        length, 2 * length, named.mask);
          most = std::max({most, pair.queryView().size, pair.keyView().size});
        }
      EXPECT_LE(most, enough) << layout.name << " N=" << ranks;
      // And not far too many: they are looked through in every round. (All of
      // one rank's are one entry. Masks need a quarter of `balanced`'s.)
      if (ranks > 1) {
        int64_t factor = layout.kind == LayoutKind::Balanced ? 4 : 2;
        EXPECT_LE(enough, factor * most) << layout.name << " N=" << ranks;
      }
    }
}

TEST(Layout, OnlyBalancedCountsPairs) {
  for (const NamedLayout &layout : layouts()) {
    std::vector<Interval> asked, ofOwnKeys;
    LayoutPair pair = makeLayouts(
        layout.kind, layout.granularity, 3, 200, 90,
        [&](Interval queries, Interval keys) {
          (keys.size() == 90 ? asked : ofOwnKeys).push_back(queries);
          return queries.size();
        });
    EXPECT_EQ(pair.queryView().localSize(0) + pair.queryView().localSize(1) +
                  pair.queryView().localSize(2),
              200);
    if (layout.kind != LayoutKind::Balanced) {
      EXPECT_TRUE(asked.empty() && ofOwnKeys.empty()) << layout.name;
      continue;
    }
    // Each query once, a chunk at a time.
    ASSERT_EQ(asked.size(), 48u);
    int64_t next = 0;
    for (Interval queries : asked) {
      EXPECT_EQ(queries.begin, next);
      EXPECT_TRUE(queries.size() == 4 || queries.size() == 5);
      next = queries.end;
    }
    EXPECT_EQ(next, 200);
    EXPECT_EQ(ofOwnKeys.size(), 3u) << "a rank at a time";
  }
}

TEST(Layout, BalancedFollowsTheCounter) {
  // All work is that of the first sixteen chunks: each rank gets four.
  auto counter = [](Interval queries, Interval) -> int64_t {
    return queries.begin < 160 ? 1000 : 0;
  };
  std::vector<int64_t> owners = balancedOwners(4, 640, 640, counter);
  std::vector<int64_t> busy(owners.begin(), owners.begin() + 16);
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(std::count(busy.begin(), busy.end(), rank), 4);
}

TEST(Layout, PairsOfAMask) {
  for (const NamedMask &named : masksFor(50, 31)) {
    PairCounter pairs = pairsOf(named.mask, 31);
    for (Interval queries : {Interval{0, 50}, {7, 23}, {49, 50}, {5, 5}})
      for (Interval keys : {Interval{0, 31}, {3, 29}, {30, 31}, {8, 8}}) {
        int64_t expected = 0;
        for (int64_t query = queries.begin; query < queries.end; ++query)
          for (int64_t key = keys.begin; key < keys.end; ++key)
            expected += visible(named.mask, query, key);
        EXPECT_EQ(pairs(queries, keys), expected) << named.name;
      }
  }
}
