//===- CheckSlices.cpp - Work lists against their definition --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSlices.h"

#include <algorithm>

using namespace ring;
using namespace ring::test;

std::vector<KeyRange> test::keyRanges(const RingBlock &block, Interval queries,
                                      bool classify) {
  KeyRangeCursor cursor(block, queries, classify);
  std::vector<KeyRange> ranges;
  for (KeyRange range; cursor.next(range);)
    ranges.push_back(range);
  return ranges;
}

namespace {
/// One query range of a block, with everything written out.
class Check {
public:
  Check(const RingBlock &block, Interval queries);
  void run();

private:
  void checkKey(int64_t key, bool full);
  void checkTiles(const KeyRange &range);
  int32_t idOfQuery(int64_t query) const {
    return block.querySegments.at(queryAt[query]);
  }

  const RingBlock &block;
  Interval queries;
  std::vector<int64_t> queryAt, keyAt; ///< position of each local index
  bool consecutive;
  bool oneDocument = true; ///< all queries are of one, or there are no ids
  int32_t firstId = INT32_MAX, lastId = -1; ///< of the queries, but padding
};
} // namespace

Check::Check(const RingBlock &block, Interval queries)
    : block(block), queries(queries), queryAt(positionsOf(block.queries)),
      keyAt(positionsOf(block.keys)),
      consecutive(queryAt[queries.end - 1] - queryAt[queries.begin] ==
                  queries.size() - 1) {
  for (int64_t query = queries.begin; block.keySegments && query < queries.end;
       ++query) {
    int32_t id = idOfQuery(query);
    oneDocument &= id >= 0 && id == idOfQuery(queries.begin);
    if (id >= 0) {
      firstId = std::min(firstId, id);
      lastId = std::max(lastId, id);
    }
  }
}

/// A key of a range.
void Check::checkKey(int64_t key, bool full) {
  bool some = false, every = true;
  for (int64_t query = queries.begin; query < queries.end; ++query) {
    bool isSeen = sees(block, queryAt[query], keyAt[key]);
    some |= isSeen;
    every &= isSeen;
  }
  if (full) {
    ASSERT_TRUE(every) << "full range with a hidden key " << keyAt[key];
  }
  if (block.keySegments && !block.keySegments.sorted)
    return;
  if (consecutive && oneDocument) {
    ASSERT_TRUE(some) << "range with an unseen key " << keyAt[key];
    ASSERT_EQ(every, full) << "key " << keyAt[key];
  }
  if (block.keySegments) {
    int32_t id = block.keySegments.at(keyAt[key]);
    ASSERT_TRUE(firstId <= id && id <= lastId)
        << "range with key " << keyAt[key] << " of document " << id;
  }
}

/// Asks for the range in tiles of 5 keys, as kernels do in larger ones.
void Check::checkTiles(const KeyRange &range) {
  int64_t lanes = std::min(queries.size() + 3, kMaxTileQueries);
  for (int64_t begin = range.begin; begin < range.end; begin += 5) {
    int64_t end = std::min(begin + 5, range.end);
    std::vector<uint8_t> seen((end - begin) * lanes + 1, 0xAA);
    int64_t pairs =
        visibleTile(block, queries, {begin, end}, lanes, seen.data());
    for (int64_t key = begin; key < end; ++key)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        bool expected = lane < queries.size() &&
                        sees(block, queryAt[queries.begin + lane], keyAt[key]);
        ASSERT_EQ(seen[(key - begin) * lanes + lane], expected ? 1 : 0)
            << "lane " << lane << " key " << keyAt[key];
        pairs -= expected;
      }
    ASSERT_EQ(pairs, 0);
    ASSERT_EQ(seen.back(), 0xAA) << "written beyond the tile";
  }
}

void Check::run() {
  std::vector<int> covered(keyAt.size(), 0);
  int64_t previousEnd = 0;
  for (const KeyRange &range : keyRanges(block, queries)) {
    ASSERT_LT(range.begin, range.end);
    ASSERT_LE(previousEnd, range.begin);
    ASSERT_LE(range.end, static_cast<int64_t>(keyAt.size()));
    previousEnd = range.end;
    for (int64_t key = range.begin; key < range.end; ++key) {
      ++covered[key];
      ASSERT_NO_FATAL_FAILURE(checkKey(key, range.full));
    }
    ASSERT_NO_FATAL_FAILURE(checkTiles(range));
  }
  for (size_t key = 0; key < keyAt.size(); ++key) {
    ASSERT_LE(covered[key], 1);
    for (int64_t query = queries.begin; query < queries.end; ++query)
      if (sees(block, queryAt[query], keyAt[key])) {
        ASSERT_EQ(covered[key], 1) << "visible key " << keyAt[key];
      }
  }
}

void test::checkRanges(const RingBlock &block, Interval queries) {
  Check(block, queries).run();
}

void test::checkBlock(const RingBlock &block, int64_t tile) {
  for (int64_t i = 0; i < queryRangeCount(block.queries, tile); ++i)
    ASSERT_NO_FATAL_FAILURE(
        checkRanges(block, queryRange(block.queries, tile, i)));
}
