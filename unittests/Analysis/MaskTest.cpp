//===- MaskTest.cpp - Tests of the interval of visible keys ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include <gtest/gtest.h>

using namespace ring;
using namespace ring::test;

TEST(Mask, IntervalHoldsExactlyTheVisibleKeys) {
  for (auto [queryCount, keyCount] :
       {std::pair(1, 1), {1, 40}, {23, 23}, {17, 40}, {40, 17}, {60, 9}})
    for (const NamedMask &named : masksFor(queryCount, keyCount)) {
      SCOPED_TRACE(named.name);
      for (int64_t query = 0; query < queryCount; ++query) {
        Interval keys = named.mask.visibleKeys(query, keyCount);
        for (int64_t key = 0; key < keyCount; ++key)
          ASSERT_EQ(keys.begin <= key && key < keys.end,
                    visible(named.mask, query, key))
              << "query " << query << " key " << key;
      }
    }
}

TEST(Mask, BothEndsStayInBoundsAndNeverDecrease) {
  for (const NamedMask &named : masksFor(50, 31)) {
    SCOPED_TRACE(named.name);
    Interval previous = named.mask.visibleKeys(0, 31);
    for (int64_t query = 0; query < 50; ++query) {
      Interval keys = named.mask.visibleKeys(query, 31);
      EXPECT_LE(previous.begin, keys.begin);
      EXPECT_LE(previous.end, keys.end);
      EXPECT_TRUE(0 <= keys.begin && keys.begin <= 31);
      EXPECT_TRUE(0 <= keys.end && keys.end <= 31);
      previous = keys;
    }
  }
}

TEST(Mask, WindowOfZeroIsOnlyItself) {
  PositionalMask mask;
  mask.left = mask.right = 0;
  Interval keys = mask.visibleKeys(5, 10);
  EXPECT_EQ(keys.begin, 5);
  EXPECT_EQ(keys.end, 6);
  EXPECT_FALSE(mask.isFull());
  EXPECT_TRUE(PositionalMask().isFull());
}

TEST(Mask, ChunksOfNegativePositionsRoundDown) {
  // Positions -4..-1 are chunk -1, which has no keys; 0 is in chunk 0.
  PositionalMask mask;
  mask.chunk = 4;
  mask.shift = -4;
  EXPECT_TRUE(mask.visibleKeys(0, 8).empty());
  EXPECT_TRUE(mask.visibleKeys(3, 8).empty());
  EXPECT_EQ(mask.visibleKeys(4, 8).size(), 4);
}

TEST(Mask, BoundsNearTheLimitsDoNotWrap) {
  PositionalMask wide;
  wide.left = wide.right = INT64_MAX - 1;
  wide.chunk = INT64_MAX;
  for (int64_t shift : {int64_t(0), int64_t(1) << 62, INT64_MAX - 2}) {
    wide.shift = shift;
    EXPECT_EQ(wide.visibleKeys(1, 10).size(), 10) << shift;
  }
  PositionalMask before;
  before.causal = true;
  before.left = INT64_MAX - 1;
  before.chunk = INT64_MAX;
  before.shift = INT64_MIN;
  EXPECT_TRUE(before.visibleKeys(3, 10).empty());
  before.chunk = 0;
  EXPECT_TRUE(before.visibleKeys(3, 10).empty());
}
