//===- PairCountTest.cpp - Tests of the exact pair count ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

using namespace ring;
using namespace ring::test;

TEST(PairCount, MatchesEveryLayoutPairByPair) {
  for (int64_t ranks = 1; ranks <= 16; ++ranks)
    for (int64_t queryCount : awkwardLengths(ranks))
      for (int64_t keyCount : {queryCount, 2 * queryCount + 3, int64_t(29)})
        for (const NamedMask &named : masksFor(queryCount, keyCount))
          for (const NamedLayout &layout : layouts()) {
            LayoutPair pair =
                makeLayouts(layout.kind, layout.granularity, ranks, queryCount,
                            keyCount, named.mask);
            for (int64_t rank = 0; rank < ranks; ++rank) {
              RingBlock block{named.mask, pair.queryView().of(rank),
                              pair.keyView().of((rank * 5 + 1) % ranks),
                              keyCount};
              ASSERT_EQ(visiblePairs(block), countPairs(block))
                  << named.name << ", " << layout.name << " N=" << ranks
                  << " Sq=" << queryCount << " Sk=" << keyCount << " rank "
                  << rank;
            }
          }
}

/// Tables of no layout: unequal strides, long runs beside blocks, adjoining
/// blocks, empty entries, keys beyond the count.
TEST(PairCount, MatchesArbitraryTables) {
  std::mt19937 random(7);
  auto upTo = [&](int64_t last) {
    return static_cast<int64_t>(random() % (last + 1));
  };
  auto table = [&] {
    std::vector<LayoutEntry> entries;
    for (int64_t begin = upTo(5); entries.size() < 3;) {
      int64_t block = upTo(6), count = upTo(5);
      int64_t stride = count == 1 ? block : block + upTo(2) * upTo(9);
      if (upTo(3) == 0)
        block = stride = 40, count = 1;
      entries.push_back({0, begin, block, stride, count});
      begin += stride * count + upTo(3);
    }
    return entries;
  };
  for (int i = 0; i < 4000; ++i) {
    std::vector<LayoutEntry> queries = table(), keys = table();
    PositionalMask mask = masksFor(60, 80)[i % 21].mask;
    mask.shift += upTo(60) - 30;
    RingBlock block{mask,
                    {queries.data(), static_cast<int64_t>(queries.size())},
                    {keys.data(), static_cast<int64_t>(keys.size())},
                    20 + upTo(200)};
    ASSERT_EQ(visiblePairs(block), countPairs(block)) << "table " << i;
  }
}

TEST(PairCount, ChunksOfLongBlocks) {
  // Long enough that chunks are counted as windows, not row by row.
  for (int64_t shift : {0, 777, -777})
    for (int64_t prefix : {0, 1000}) {
      PositionalMask mask;
      mask.causal = true;
      mask.chunk = 300;
      mask.left = 170;
      mask.prefix = prefix;
      mask.shift = shift;
      for (const NamedLayout &layout : layouts()) {
        LayoutPair pair =
            makeLayouts(layout.kind, layout.granularity, 2, 4001, 3001, mask);
        for (int64_t owner : {0, 1}) {
          RingBlock block{mask, pair.queryView().of(1),
                          pair.keyView().of(owner), 3001};
          EXPECT_EQ(visiblePairs(block), countPairs(block))
              << layout.name << " shift " << shift << " prefix " << prefix;
        }
      }
    }
}

/// Periods of chunks, blocks and rows all count the same: short strides and
/// many chunks, few blocks, chunks and strides without a common factor.
TEST(PairCount, ChunksOfBlocks) {
  for (int64_t chunk : {1, 2, 3, 7, 12, 64, 100})
    for (auto [block, stride, count] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 2, 900},
          {1, 3, 700},
          {3, 12, 200},
          {3, 13, 150},
          {40, 64, 20},
          {1, 97, 15}})
      for (auto [keyBlock, keyStride, keyCount] :
           {std::tuple<int64_t, int64_t, int64_t>{block, stride, count},
            {900, 900, 1},
            {1, 5, 300},
            {50, 77, 12}})
        for (int64_t shift : {0, 41, -200})
          for (int64_t prefix : {0, 333}) {
            LayoutEntry queries{0, 5, block, stride, count};
            LayoutEntry keys{0, 17, keyBlock, keyStride, keyCount};
            PositionalMask mask;
            mask.chunk = chunk;
            mask.causal = prefix > 0;
            mask.prefix = prefix;
            mask.left = chunk > 10 ? 9 : PositionalMask::kUnbounded;
            mask.shift = shift;
            RingBlock pair{mask, {&queries, 1}, {&keys, 1}, 1500};
            ASSERT_EQ(visiblePairs(pair), countPairs(pair))
                << "chunk " << chunk << ", blocks of " << block << " and "
                << keyBlock << ", strides " << stride << " and " << keyStride
                << ", shift " << shift << ", prefix " << prefix;
          }
}

TEST(PairCount, NegativeWindowEnds) {
  // Keys strictly before or strictly after the query; rows may be empty.
  LayoutEntry run{0, 0, 40, 40, 1}, blocks{0, 1, 2, 6, 9};
  for (auto [left, right] :
       {std::pair(6, -2), {-3, 7}, {-5, 2}, {-2, 2}, {2, -2}, {-1, -1}})
    for (bool causal : {false, true})
      for (int64_t prefix : {0, 25})
        for (int64_t chunk : {0, 9})
          for (const LayoutEntry &keys : {run, blocks}) {
            PositionalMask mask;
            mask.left = left;
            mask.right = right;
            mask.causal = causal;
            mask.prefix = causal ? prefix : 0;
            mask.chunk = chunk;
            RingBlock block{mask, {&blocks, 1}, {&keys, 1}, 40};
            EXPECT_EQ(visiblePairs(block), countPairs(block))
                << left << ", " << right << " causal " << causal << " prefix "
                << prefix << " chunk " << chunk;
          }
}

TEST(PairCount, LongSequences) {
  // Where pairs cannot be enumerated the sum over the ranks is known.
  int64_t length = (int64_t(1) << 30) + 7;
  PositionalMask causal, window;
  causal.causal = window.causal = true;
  window.left = 4095;
  for (const NamedLayout &layout : layouts())
    for (auto [mask, expected] :
         {std::pair(causal, length * (length + 1) / 2),
          {window, 4096 * length - int64_t(4096) * 4095 / 2}}) {
      LayoutPair pair =
          makeLayouts(layout.kind, layout.granularity, 4, length, length, mask);
      int64_t pairs = 0;
      for (int64_t rank = 0; rank < 4; ++rank)
        pairs += visiblePairs(
            {mask, pair.queryView().of(rank), pair.keyView(), length});
      EXPECT_EQ(pairs, expected) << layout.name;
    }
}

TEST(PairCount, BoundsNearTheLimits) {
  LayoutEntry run{0, 0, 40, 40, 1}, blocks{0, 1, 2, 6, 9};
  for (const LayoutEntry &keys : {run, blocks}) {
    PositionalMask mask;
    mask.left = mask.right = INT64_MAX - 1;
    RingBlock block{mask, {&run, 1}, {&keys, 1}, 1000};
    EXPECT_EQ(visiblePairs(block), run.size() * keys.size());
    block.mask.chunk = INT64_MAX;
    EXPECT_EQ(visiblePairs(block), run.size() * keys.size());
    block.mask.shift = -100;
    EXPECT_EQ(visiblePairs(block), 0);
  }
}

TEST(PairCount, LongSequencesWithChunks) {
  // No time grows with the sequence.
  int64_t length = int64_t(1) << 40;
  for (int64_t chunk : {1, 4, 1000, 65537}) {
    PositionalMask mask;
    mask.causal = true;
    mask.chunk = chunk;
    int64_t whole = length / chunk, rest = length % chunk;
    int64_t expected =
        whole * (chunk * (chunk + 1) / 2) + rest * (rest + 1) / 2;
    for (const NamedLayout &layout : layouts()) {
      LayoutPair pair =
          makeLayouts(layout.kind, layout.granularity, 4, length, length, mask);
      int64_t pairs = 0;
      for (int64_t rank = 0; rank < 4; ++rank) {
        RingBlock block{mask, pair.queryView().of(rank), pair.keyView(),
                        length};
        pairs += visiblePairs(block);
        EXPECT_EQ(countingSteps(block), 0);
      }
      EXPECT_EQ(pairs, expected) << layout.name << " chunk " << chunk;
    }
  }
  PositionalMask before;
  before.right = -1;
  EXPECT_EQ(pairsOf(before, length)({0, length / 1024}, {0, length}),
            length / 1024 * (length / 1024 - 1) / 2);
}

TEST(PairCount, SaysWhatCannotBeCounted) {
  int64_t many = int64_t(1) << 40;
  LayoutEntry twos{0, 0, 1, 2, many}, threes{0, 0, 1, 3, many};
  RingBlock block{{}, {&twos, 1}, {&threes, 1}, 3 * many};
  EXPECT_EQ(countingSteps(block), many);
  block.keys = {&twos, 1};
  EXPECT_EQ(countingSteps(block), 0);
  block.mask.chunk = 5;
  EXPECT_EQ(countingSteps(block), 0);
  // As many phases as blocks.
  LayoutEntry far{0, 0, 1, (int64_t(1) << 31) + 1, (int64_t(1) << 30)};
  block.queries = block.keys = {&far, 1};
  block.keyCount = INT64_MAX;
  EXPECT_GT(countingSteps(block), int64_t(1) << 24);
}
