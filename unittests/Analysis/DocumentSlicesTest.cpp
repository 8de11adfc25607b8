//===- DocumentSlicesTest.cpp - Work lists of packed documents ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSlices.h"

using namespace ring;
using namespace ring::test;

namespace {
struct Sizes {
  int64_t ranks, queryCount, keyCount, tile;
};

/// Every block of a ring under one mask, with all kinds of ids. `cut`: how many
/// keys fewer the batch entry has.
void checkRing(const Sizes &sizes, const NamedMask &named,
               const NamedLayout &layout, int64_t cut, int64_t stride) {
  LayoutPair pair = makeLayouts(layout.kind, layout.granularity, sizes.ranks,
                                sizes.queryCount, sizes.keyCount, named.mask);
  for (const NamedIds &ids : idsFor(sizes.queryCount, sizes.keyCount)) {
    StridedIds queries(ids.queries, stride), keys(ids.keys, stride);
    // What is sorted may be taken for unsorted: no more than slow.
    bool areSorted = keys.view().areSorted();
    for (bool sorted : {false, true}) {
      if (sorted && !areSorted)
        continue;
      SCOPED_TRACE(
          named.name + ", " + layout.name + ", " + ids.name +
          (sorted ? ", sorted" : "") + " N=" + std::to_string(sizes.ranks) +
          " Sq=" + std::to_string(sizes.queryCount) +
          " Sk=" + std::to_string(sizes.keyCount) + "-" + std::to_string(cut));
      for (int64_t rank = 0; rank < sizes.ranks; ++rank)
        for (int64_t owner = 0; owner < sizes.ranks; ++owner) {
          RingBlock block{named.mask,
                          pair.queryView().of(rank),
                          pair.keyView().of(owner),
                          sizes.keyCount - cut,
                          queries.view(),
                          keys.view()};
          block.keySegments.sorted = sorted;
          ASSERT_NO_FATAL_FAILURE(checkBlock(block, sizes.tile))
              << "rank " << rank << " owner " << owner;
        }
    }
  }
}

/// One block that holds a whole sequence.
struct Whole {
  LayoutEntry queryEntry, keyEntry;
  StridedIds queryIds, keyIds;
  RingBlock block;

  Whole(const std::vector<int32_t> &ids, PositionalMask mask = {})
      : queryEntry{0, 0, int64_t(ids.size()), int64_t(ids.size()), 1},
        keyEntry(queryEntry), queryIds(ids, 1), keyIds(ids, 1),
        block{mask,
              {&queryEntry, 1},
              {&keyEntry, 1},
              int64_t(ids.size()),
              queryIds.view(),
              keyIds.view()} {
    block.keySegments.sorted = keyIds.view().areSorted();
  }
};

void expectRanges(const RingBlock &block, Interval queries,
                  const std::vector<KeyRange> &expected) {
  std::vector<KeyRange> ranges = keyRanges(block, queries);
  ASSERT_EQ(ranges.size(), expected.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].begin, expected[i].begin) << "range " << i;
    EXPECT_EQ(ranges[i].end, expected[i].end) << "range " << i;
    EXPECT_EQ(ranges[i].full, expected[i].full) << "range " << i;
  }
}

/// Documents of these lengths, with the ids in this order.
std::vector<int32_t>
documents(std::initializer_list<std::pair<int32_t, int64_t>> lengths) {
  std::vector<int32_t> ids;
  for (auto [id, length] : lengths)
    ids.insert(ids.end(), length, id);
  return ids;
}
} // namespace

TEST(DocumentSlices, EveryVisiblePairOnce) {
  for (Sizes sizes : {Sizes{1, 37, 37, 6}, {3, 37, 37, 6}, {4, 19, 45, 64}})
    for (const NamedMask &named : masksFor(sizes.queryCount, sizes.keyCount))
      for (const NamedLayout &layout : layouts()) {
        checkRing(sizes, named, layout, /*cut=*/0, /*stride=*/1);
        if (HasFatalFailure())
          return;
      }
}

TEST(DocumentSlices, EveryVisiblePairOnceOfShorterEntriesAndStridedIds) {
  for (const NamedMask &named : masksFor(33, 41))
    for (const NamedLayout &layout : layouts())
      for (int64_t cut : {7, 41}) {
        checkRing({2, 33, 41, 5}, named, layout, cut, /*stride=*/3);
        if (HasFatalFailure())
          return;
      }
}

// Blocks of more than the 64 keys whose ids are compared at once.
TEST(DocumentSlices, EveryVisiblePairOnceLongSequences) {
  std::vector<NamedMask> masks = masksFor(300, 300);
  for (size_t i : {0, 1, 8, 20})
    for (const NamedLayout &layout : layouts()) {
      checkRing({2, 300, 300, 32}, masks[i], layout, /*cut=*/0, /*stride=*/1);
      if (HasFatalFailure())
        return;
    }
}

TEST(DocumentSlices, SortedDocumentIsOneFullRange) {
  Whole whole(documents({{0, 100}, {3, 50}, {4, 150}, {-1, 20}}));
  expectRanges(whole.block, {110, 120}, {{100, 150, true}});
  // Queries of two documents: partial, and nothing but those.
  expectRanges(whole.block, {90, 110}, {{0, 150, false}});
  // With padding among the queries no range is full.
  expectRanges(whole.block, {290, 310}, {{150, 300, false}});
  expectRanges(whole.block, {300, 320}, {});
}

TEST(DocumentSlices, SortedCausalDocumentSplitsIntoFullAndPartial) {
  PositionalMask causal;
  causal.causal = true;
  Whole whole(documents({{0, 100}, {3, 50}, {4, 150}}), causal);
  expectRanges(whole.block, {110, 120}, {{100, 111, true}, {111, 120, false}});
  whole.block.keyCount = 105; // a shorter batch entry
  expectRanges(whole.block, {110, 120}, {{100, 105, true}});
  whole.block.keyCount = 100;
  expectRanges(whole.block, {110, 120}, {});
}

TEST(DocumentSlices, UnsortedDocumentsAreFoundInTiles) {
  // Tiles of 64 keys: of document 9 all of the third and part of the fourth.
  Whole whole(documents({{9, 1}, {12, 127}, {9, 70}, {2, 122}, {-1, 64}}));
  ASSERT_FALSE(whole.block.keySegments.sorted);
  expectRanges(whole.block, {150, 160},
               {{0, 64, false}, {128, 192, true}, {192, 256, false}});
  // Ids between the smallest and the largest of the queries may be listed.
  expectRanges(whole.block, {190, 200}, {{0, 64, false}, {128, 320, false}});
  expectRanges(whole.block, {330, 340}, {});
}

TEST(DocumentSlices, NeighboursOfOneKindAreOneRange) {
  Whole whole(documents({{5, 200}, {4, 200}}));
  ASSERT_FALSE(whole.block.keySegments.sorted);
  expectRanges(whole.block, {0, 10}, {{0, 192, true}, {192, 256, false}});
  expectRanges(whole.block, {250, 260}, {{192, 256, false}, {256, 400, true}});
  // But what positions leave partial stays apart from what they leave full.
  whole.block.mask.causal = true;
  expectRanges(whole.block, {150, 160}, {{0, 151, true}, {151, 160, false}});
}

TEST(DocumentSlices, WithoutClassificationEveryKeyIsPartial) {
  Whole whole(documents({{0, 100}, {-1, 20}}));
  for (Interval queries : {Interval{0, 10}, {100, 110}}) {
    std::vector<KeyRange> ranges = keyRanges(whole.block, queries, false);
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_TRUE(ranges[0].begin == 0 && ranges[0].end == 120 &&
                !ranges[0].full);
  }
}
