//===- SlicesTest.cpp - The work list in C --------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "ring/Analysis/Layout.h"

#include <set>

using namespace ring;
using namespace ring::test;

namespace {

struct MaskCase {
  bool causal;
  int64_t left, right, chunk, prefix;
  bool bottomRight;
};

constexpr int64_t kAny = INT64_MAX;
const MaskCase kMasks[] = {
    {false, kAny, kAny, 0, 0, false}, {true, kAny, kAny, 0, 0, false},
    {true, kAny, kAny, 0, 0, true},   {true, 5, 0, 0, 0, true},
    {false, 3, 2, 0, 0, false},       {true, kAny, kAny, 6, 0, false},
    {true, kAny, kAny, 0, 7, false},
};

/// Design, section 2, word for word.
bool isVisible(const MaskCase &mask, int64_t shift, int64_t query, int64_t key,
               int64_t length) {
  int64_t p = query + shift;
  bool order = !mask.causal || key <= p || key < mask.prefix;
  bool window = (mask.left == kAny || key >= p - mask.left) &&
                (mask.right == kAny || key <= p + mask.right);
  bool chunk = mask.chunk == 0 || key / mask.chunk == p / mask.chunk;
  return order && window && chunk && key < length;
}

std::vector<int64_t> positionsOf(const std::vector<LayoutEntry> &layout,
                                 int64_t rank) {
  std::vector<int64_t> positions;
  for (const LayoutEntry &entry : layout)
    for (int64_t i = 0; entry.owner == rank && i < entry.size(); ++i)
      positions.push_back(entry.position(i));
  return positions;
}

/// Walks the list as kernels do and compares every pair with the definition.
void checkBlock(const ring_slices &slices, const MaskCase &mask, int64_t shift,
                const std::vector<int64_t> &queries,
                const std::vector<int64_t> &keys, int64_t batch,
                int64_t length) {
  constexpr int64_t kTile = 4;
  std::set<std::pair<int64_t, int64_t>> computed;
  int64_t nextQuery = 0;
  for (int64_t i = 0; i < ring_slices_query_ranges(&slices, kTile); ++i) {
    int64_t range[2];
    ring_slices_query_range(&slices, kTile, i, range);
    ASSERT_EQ(range[0], nextQuery);
    ASSERT_LE(range[1], range[0] + kTile);
    nextQuery = range[1];
    ring_key_cursor cursor;
    ring_slices_keys(&slices, batch, range[0], range[1], &cursor);
    int64_t key[3];
    while (ring_slices_next_keys(&cursor, key)) {
      ASSERT_LT(key[0], key[1]);
      int32_t begin[6], end[6];
      ring_slices_bounds(&cursor, key[0], key[1], 6, begin, end);
      for (int64_t lane = 0; lane < 6; ++lane) {
        if (lane >= range[1] - range[0]) {
          ASSERT_EQ(begin[lane], end[lane]);
          continue;
        }
        ASSERT_GE(begin[lane], key[0]);
        ASSERT_LE(end[lane], key[1]);
        if (key[2]) {
          ASSERT_EQ(end[lane] - begin[lane], key[1] - key[0]);
        }
        for (int64_t k = begin[lane]; k < end[lane]; ++k)
          ASSERT_TRUE(computed.insert({range[0] + lane, k}).second);
      }
    }
  }
  ASSERT_EQ(nextQuery, int64_t(queries.size()));
  for (int64_t q = 0; q < int64_t(queries.size()); ++q)
    for (int64_t k = 0; k < int64_t(keys.size()); ++k)
      ASSERT_EQ(computed.count({q, k}) == 1,
                isVisible(mask, shift, queries[q], keys[k], length))
          << "query " << queries[q] << " key " << keys[k];
}

} // namespace

TEST(SlicesTest, EveryVisiblePairOnce) {
  constexpr int64_t kRanks = 3, kQueries = 19, kKeys = 23, kBatch = 3;
  const int32_t offsets[kBatch] = {0, 4, 30}, lengths[kBatch] = {23, 9, 0};
  std::vector<std::pair<std::vector<LayoutEntry>, std::vector<LayoutEntry>>>
      layouts{
          {zigzagLayout(kRanks, kQueries), zigzagLayout(kRanks, kKeys)},
          {stripedLayout(kRanks, kQueries, 2), stripedLayout(kRanks, kKeys, 2)},
          {contiguousLayout(kRanks, kQueries), zigzagLayout(kRanks, kKeys)}};
  for (const auto &[queryLayout, keyLayout] : layouts)
    for (MaskCase mask : kMasks)
      for (int classify : {0, 1})
        for (int64_t rank = 0; rank < kRanks; ++rank)
          for (int64_t owner = 0; owner < kRanks; ++owner) {
            ring_slices slices;
            ring_slices_init(
                &slices, reinterpret_cast<const int64_t *>(queryLayout.data()),
                queryLayout.size(),
                reinterpret_cast<const int64_t *>(keyLayout.data()),
                keyLayout.size(), rank, owner, classify, mask.causal, mask.left,
                mask.right, mask.chunk, mask.prefix, mask.bottomRight);
            std::vector<int64_t> queries = positionsOf(queryLayout, rank);
            std::vector<int64_t> keys = positionsOf(keyLayout, owner);
            EXPECT_EQ(slices.query_count, kQueries);
            EXPECT_EQ(slices.key_count, kKeys);
            checkBlock(slices, mask, mask.bottomRight ? kKeys - kQueries : 0,
                       queries, keys, 0, kKeys);
            slices.offsets = offsets;
            slices.lengths = lengths;
            for (int64_t batch = 0; batch < kBatch; ++batch)
              checkBlock(slices, mask, offsets[batch], queries, keys, batch,
                         lengths[batch]);
            if (HasFatalFailure())
              return;
          }
}

TEST(SlicesTest, ClassificationFindsFullRanges) {
  std::vector<LayoutEntry> layout = contiguousLayout(2, 16);
  auto *table = reinterpret_cast<const int64_t *>(layout.data());
  ring_slices slices;
  ring_slices_init(&slices, table, layout.size(), table, layout.size(),
                   /*rank=*/1, /*owner=*/0, /*classify=*/1,
                   /*causal=*/1, kAny, kAny, 0, 0, 0);
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

TEST(SlicesDeathTest, SegmentsAreRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::vector<LayoutEntry> layout = contiguousLayout(1, 4);
  auto *table = reinterpret_cast<const int64_t *>(layout.data());
  ring_slices slices;
  ring_slices_init(&slices, table, layout.size(), table, layout.size(), 0, 0, 1,
                   0, kAny, kAny, 0, 0, 0);
  int32_t ids[4] = {0, 0, 1, 1};
  slices.key_segments = ids;
  ring_key_cursor cursor;
  EXPECT_DEATH(ring_slices_keys(&slices, 0, 0, 4, &cursor),
               "ring_slices_keys does not support segments");
}
