//===- SegmentsTest.cpp - Tests of document ids ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace ring;
using namespace ring::test;

static bool areSorted(const std::vector<int32_t> &ids, int64_t stride = 1) {
  return StridedIds(ids, stride).view().areSorted();
}

/// Ascending ids with gaps, then padding.
static std::vector<int32_t> sortedIds(std::mt19937 &random) {
  std::vector<int32_t> ids;
  int32_t id = random() % 3;
  for (size_t i = 0, count = random() % 40; i < count; ++i) {
    ids.push_back(id);
    id += random() % 4 == 0 ? 1 + random() % 3 : 0;
  }
  for (size_t i = 0, count = random() % 4; i < count; ++i)
    ids.push_back(-1 - int32_t(random() % 5));
  return ids;
}

TEST(Segments, SortedMeansThatDocumentsAreIntervals) {
  for (int64_t stride : {1, 3}) {
    EXPECT_TRUE(areSorted({}, stride));
    EXPECT_TRUE(areSorted({5}, stride));
    EXPECT_TRUE(areSorted({-5}, stride));
    EXPECT_TRUE(areSorted({0, 0, 1, 4, 4, 9}, stride));
    EXPECT_TRUE(areSorted({0, 2, 2, -1, -1}, stride));
    EXPECT_TRUE(areSorted({0, INT32_MAX, -1, INT32_MIN, -1}, stride));
    EXPECT_TRUE(areSorted({-1, -2, -1}, stride));
    EXPECT_FALSE(areSorted({1, 0}, stride));
    EXPECT_FALSE(areSorted({0, 1, 0}, stride));
    EXPECT_FALSE(areSorted({-1, 0, 0}, stride));
    EXPECT_FALSE(areSorted({0, -1, 0}, stride));
    EXPECT_FALSE(areSorted({0, 1, -1, 2}, stride));
  }
}

TEST(Segments, PositionsOfDocuments) {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<int32_t> ids = sortedIds(random);
    StridedIds strided(ids, 1 + i % 3);
    SegmentIds view = strided.view();
    ASSERT_TRUE(view.areSorted());
    for (int32_t first = 0; first < 25; ++first)
      for (int32_t last = first; last < first + 4; ++last) {
        Interval found = view.positionsOf(first, last);
        for (int64_t position = 0; position < view.count; ++position)
          ASSERT_EQ(found.begin <= position && position < found.end,
                    first <= ids[position] && ids[position] <= last)
              << "documents " << first << " to " << last << ", position "
              << position;
      }
  }
}

TEST(Segments, PositionsOfTheLargestId) {
  StridedIds ids({0, INT32_MAX - 1, INT32_MAX, INT32_MAX, -1, INT32_MIN}, 1);
  SegmentIds view = ids.view();
  Interval largest = view.positionsOf(INT32_MAX, INT32_MAX);
  EXPECT_EQ(largest.begin, 2);
  EXPECT_EQ(largest.end, 4);
  Interval all = view.positionsOf(0, INT32_MAX);
  EXPECT_EQ(all.begin, 0);
  EXPECT_EQ(all.end, 4);
}

TEST(Segments, IndexCountsInAnyOrder) {
  for (const NamedIds &ids : idsFor(61, 61))
    for (int64_t keyCount : {0, 1, 40, 61}) {
      SCOPED_TRACE(ids.name + ", keys " + std::to_string(keyCount));
      StridedIds strided(ids.keys, 2);
      DocumentIndex index(strided.view(), keyCount);
      std::vector<int32_t> wanted = ids.keys;
      wanted.insert(wanted.end(), {-1, 5, 500, INT32_MAX, INT32_MIN});
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      for (int32_t id : wanted)
        for (int64_t begin = 0; begin <= 61; begin += 3)
          for (int64_t end = begin; end <= 61; end += 4) {
            int64_t expected = 0;
            for (int64_t key = begin; key < std::min(end, keyCount); ++key)
              expected += id >= 0 && ids.keys[key] == id;
            ASSERT_EQ(index.count(id, {begin, end}), expected)
                << "document " << id << " in " << begin << " to " << end;
          }
      EXPECT_EQ(index.count(7, {9, 3}), 0) << "an empty interval";
    }
}
