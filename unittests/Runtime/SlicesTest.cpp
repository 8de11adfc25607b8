//===- SlicesTest.cpp - The work list in C --------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibilityCases.h"

#include <set>

using namespace ring;
using namespace ring::test;

namespace {

constexpr int64_t kRanks = 3, kQueries = 19, kKeys = 23, kBatch = 3;

struct Layouts {
  std::vector<LayoutEntry> queries, keys;
};

/// A rank's work on one owner's keys, and what it should be.
class BlockCheck {
public:
  BlockCheck(const Layouts &layouts, int64_t rank, int64_t owner, bool classify,
             const VisibilityCase &visibility)
      : visibility(visibility), queries(positionsOf(layouts.queries, rank)),
        keys(positionsOf(layouts.keys, owner)) {
    ring_visibility init = visibility.init();
    ring_slices_init(&slices, tableOf(layouts.queries), layouts.queries.size(),
                     tableOf(layouts.keys), layouts.keys.size(), rank, owner,
                     classify, &init);
  }

  /// Walks the list as kernels do and compares every pair with the definition.
  void run(int64_t batch);

  ring_slices slices;

private:
  void walk(int64_t batch, Interval range);
  void checkPositions(const ring_key_cursor &cursor, Interval range,
                      Interval keyRange);

  static constexpr int64_t kTile = 4, kLanes = 6;
  const VisibilityCase &visibility;
  std::vector<int64_t> queries, keys;
  std::set<std::pair<int64_t, int64_t>> computed;
};

} // namespace

void BlockCheck::checkPositions(const ring_key_cursor &cursor, Interval range,
                                Interval keyRange) {
  int64_t ofQueries[kLanes];
  ring_slices_query_positions(&cursor, kLanes, ofQueries);
  for (int64_t lane = 0; lane < kLanes; ++lane)
    ASSERT_EQ(ofQueries[lane],
              queries[std::min(range.begin + lane, range.end - 1)]);
  std::vector<int64_t> ofKeys(keyRange.size());
  ring_slices_key_positions(&cursor, keyRange.begin, keyRange.end,
                            ofKeys.data());
  for (int64_t i = 0; i < keyRange.size(); ++i)
    ASSERT_EQ(ofKeys[i], keys[keyRange.begin + i]);
}

void BlockCheck::walk(int64_t batch, Interval range) {
  ring_key_cursor cursor;
  ring_slices_keys(&slices, batch, range.begin, range.end, &cursor);
  int64_t key[3];
  while (ring_slices_next_keys(&cursor, key)) {
    ASSERT_LT(key[0], key[1]);
    ASSERT_NO_FATAL_FAILURE(checkPositions(cursor, range, {key[0], key[1]}));
    for (int64_t begin = key[0]; begin < key[1]; begin += 3) {
      int64_t end = std::min(begin + 3, key[1]);
      std::vector<uint8_t> seen(3 * kLanes, 1);
      if (!key[2])
        ring_slices_visible(&cursor, begin, end, kLanes, seen.data());
      for (int64_t k = begin; k < end; ++k)
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          bool sees = seen[(k - begin) * kLanes + lane] != 0;
          if (lane < range.size() && sees) {
            ASSERT_TRUE(computed.insert({range.begin + lane, k}).second);
          } else if (lane >= range.size() && !key[2]) {
            ASSERT_FALSE(sees) << "lane " << lane;
          }
        }
    }
  }
}

void BlockCheck::run(int64_t batch) {
  computed.clear();
  int64_t nextQuery = 0;
  for (int64_t i = 0; i < ring_slices_query_ranges(&slices, kTile); ++i) {
    int64_t range[2];
    ring_slices_query_range(&slices, kTile, i, range);
    ASSERT_EQ(range[0], nextQuery);
    ASSERT_LE(range[1], range[0] + kTile);
    nextQuery = range[1];
    ASSERT_NO_FATAL_FAILURE(walk(batch, {range[0], range[1]}));
  }
  ASSERT_EQ(nextQuery, int64_t(queries.size()));
  for (int64_t q = 0; q < int64_t(queries.size()); ++q)
    for (int64_t k = 0; k < int64_t(keys.size()); ++k)
      ASSERT_EQ(
          computed.count({q, k}) == 1,
          visibility.isVisible(batch, queries[q], keys[k], kQueries, kKeys))
          << "query " << queries[q] << " key " << keys[k];
}

static std::vector<Layouts> layoutsToTest() {
  return {{zigzagLayout(kRanks, kQueries), zigzagLayout(kRanks, kKeys)},
          {stripedLayout(kRanks, kQueries, 2), stripedLayout(kRanks, kKeys, 2)},
          {contiguousLayout(kRanks, kQueries), zigzagLayout(kRanks, kKeys)}};
}

TEST(SlicesTest, EveryVisiblePairOnce) {
  for (const Layouts &layouts : layoutsToTest())
    for (const VisibilityCase &visibility :
         visibilityCases(kBatch, kQueries, kKeys))
      for (bool classify : {false, true})
        for (int64_t rank = 0; rank < kRanks; ++rank)
          for (int64_t owner = 0; owner < kRanks; ++owner) {
            BlockCheck check(layouts, rank, owner, classify, visibility);
            EXPECT_EQ(check.slices.query_count, kQueries);
            EXPECT_EQ(check.slices.key_count, kKeys);
            for (int64_t batch = 0; batch < kBatch; ++batch) {
              check.run(batch);
              ASSERT_FALSE(HasFatalFailure())
                  << visibility.name << ", batch entry " << batch;
            }
          }
}

TEST(SlicesTest, SortedOnlyIfEveryBatchEntryIs) {
  std::vector<LayoutEntry> layout = contiguousLayout(1, 4);
  auto isSorted = [&](std::vector<int32_t> ids, bool withIds = true) {
    ring_tensor segments = tensorOf(ids.data(), 4, {2, 4});
    const ring_tensor *given = withIds ? &segments : nullptr;
    ring_visibility visibility;
    ring_visibility_init(&visibility, 0, INT64_MAX, INT64_MAX, 0, 0, 0, given,
                         given, nullptr, nullptr);
    ring_slices slices;
    ring_slices_init(&slices, tableOf(layout), layout.size(), tableOf(layout),
                     layout.size(), 0, 0, 1, &visibility);
    return slices.visibility.sorted != 0;
  };
  EXPECT_TRUE(isSorted({0, 0, 1, 1, 3, 3, 3, -1}));
  EXPECT_FALSE(isSorted({0, 1, 0, 1, 3, 3, 3, -1}));
  EXPECT_FALSE(isSorted({0, 0, 1, 1, -1, 3, 3, 3}));
  EXPECT_TRUE(isSorted({0, 1, 0, 1, 0, 0, 0, 0}, /*withIds=*/false));
}

TEST(SlicesTest, VisibilityCopiesTheDescriptors) {
  int32_t ids[3][6] = {
      {0, 9, 1, 9, 1, 9}, {2, 9, 2, 9, 5, 9}, {3, 9, 3, 9, 4, 9}};
  int32_t lengths[2] = {3, 1}, offsets[2] = {-4, 4};
  ring_tensor query = tensorOf(ids, 4, {2, 3}), key = query;
  query.strides[0] = key.strides[0] = 6;
  query.strides[1] = key.strides[1] = 2;
  key.data = &ids[1];
  ring_tensor length = tensorOf(lengths, 4, {2}), offset = length;
  offset.data = offsets;
  ring_visibility visibility;
  ring_visibility_init(&visibility, 1, 5, 6, 7, 8, 1, &query, &key, &length,
                       &offset);
  ring_tensor expected[] = {query, key, length, offset};
  query = key = length = offset = ring_tensor{};
  EXPECT_EQ(visibility.causal, 1);
  EXPECT_EQ(visibility.left, 5);
  EXPECT_EQ(visibility.right, 6);
  EXPECT_EQ(visibility.chunk, 7);
  EXPECT_EQ(visibility.prefix, 8);
  EXPECT_EQ(visibility.bottom_right, 1);
  const ring_tensor *copied[] = {&visibility.query_segments,
                                 &visibility.key_segments, &visibility.lengths,
                                 &visibility.offsets};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(copied[i]->data, expected[i].data);
    EXPECT_EQ(copied[i]->dims, expected[i].dims);
    EXPECT_EQ(copied[i]->sizes[0], expected[i].sizes[0]);
    EXPECT_EQ(copied[i]->strides[0], expected[i].strides[0]);
  }
  ring_visibility_init(&visibility, 0, INT64_MAX, INT64_MAX, 0, 0, 0, nullptr,
                       nullptr, nullptr, nullptr);
  for (const ring_tensor *each : copied)
    EXPECT_EQ(each->data, nullptr) << "nothing of what was there";
}

TEST(SlicesTest, ClassificationFindsFullRanges) {
  std::vector<LayoutEntry> layout = contiguousLayout(2, 16);
  auto *table = tableOf(layout);
  ring_visibility visibility;
  ring_visibility_init(&visibility, /*causal=*/1, INT64_MAX, INT64_MAX, 0, 0, 0,
                       nullptr, nullptr, nullptr, nullptr);
  ring_slices slices;
  ring_slices_init(&slices, table, layout.size(), table, layout.size(),
                   /*rank=*/1, /*owner=*/0, /*classify=*/1, &visibility);
  ring_key_cursor cursor;
  int64_t range[3];
  ring_slices_keys(&slices, 0, 0, 8, &cursor);
  ASSERT_EQ(ring_slices_next_keys(&cursor, range), 1);
  EXPECT_EQ(range[0], 0);
  EXPECT_EQ(range[1], 8);
  EXPECT_EQ(range[2], 1);
  EXPECT_EQ(ring_slices_next_keys(&cursor, range), 0);

  slices.classify = 0;
  ring_slices_keys(&slices, 0, 0, 8, &cursor);
  ASSERT_EQ(ring_slices_next_keys(&cursor, range), 1);
  EXPECT_EQ(range[2], 0);
}

TEST(SlicesTest, OtherDocumentsAreNotListed) {
  std::vector<LayoutEntry> layout = contiguousLayout(1, 12);
  std::vector<int32_t> ids = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, -1, -1};
  ring_tensor segments = tensorOf(ids.data(), 4, {1, 12});
  ring_visibility visibility;
  ring_visibility_init(&visibility, 0, INT64_MAX, INT64_MAX, 0, 0, 0, &segments,
                       &segments, nullptr, nullptr);
  ring_slices slices;
  ring_slices_init(&slices, tableOf(layout), layout.size(), tableOf(layout),
                   layout.size(), 0, 0, /*classify=*/1, &visibility);
  ring_key_cursor cursor;
  int64_t range[3];
  ring_slices_keys(&slices, 0, 5, 7, &cursor);
  ASSERT_EQ(ring_slices_next_keys(&cursor, range), 1);
  EXPECT_EQ(range[0], 4);
  EXPECT_EQ(range[1], 8);
  EXPECT_EQ(range[2], 1);
  EXPECT_EQ(ring_slices_next_keys(&cursor, range), 0);
  ring_slices_keys(&slices, 0, 10, 12, &cursor);
  EXPECT_EQ(ring_slices_next_keys(&cursor, range), 0) << "padding sees nothing";
}
