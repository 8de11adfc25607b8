//===- TablesTest.cpp - Layout tables at run time -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibilityCases.h"

#include <algorithm>
#include <random>

using namespace ring;
using namespace ring::test;

namespace {

struct Kind {
  int32_t layout;
  int64_t granularity;
};
const Kind kKinds[] = {{RING_LAYOUT_CONTIGUOUS, 1},
                       {RING_LAYOUT_ZIGZAG, 1},
                       {RING_LAYOUT_STRIPED, 1},
                       {RING_LAYOUT_STRIPED, 3},
                       {RING_LAYOUT_BALANCED, 1}};

/// Both tables with room for `rows` entries, in rows of `width` numbers.
struct Tables {
  std::vector<int64_t> memory[2];
  ring_tensor tensors[2];

  explicit Tables(int64_t rows, int64_t width = 5) {
    for (int i : {0, 1}) {
      memory[i].assign(rows * width, -7);
      tensors[i] = tensorOf(memory[i].data(), 8, {rows, 5});
      tensors[i].strides[0] = width;
    }
  }
  LayoutEntry entry(int which, int64_t row) const {
    const int64_t *at = &memory[which][row * tensors[which].strides[0]];
    return {at[0], at[1], at[2], at[3], at[4]};
  }
};

bool areEqual(const LayoutEntry &a, const LayoutEntry &b) {
  return a.owner == b.owner && a.begin == b.begin && a.block == b.block &&
         a.stride == b.stride && a.count == b.count;
}

ring_visibility fullVisibility() { return VisibilityCase{}.init(); }

/// Visible pairs over the batch, counted one by one.
class CountedPairs {
public:
  CountedPairs(const VisibilityCase &visibility, int64_t queryCount,
               int64_t keyCount)
      : before(queryCount + 1, std::vector<int64_t>(keyCount + 1, 0)) {
    for (int64_t query = 0; query < queryCount; ++query)
      for (int64_t key = 0; key < keyCount; ++key) {
        int64_t here = 0;
        for (int64_t batch = 0;
             batch < std::max<int64_t>(visibility.batches(), 1); ++batch)
          here += visibility.isVisible(batch, query, key, queryCount, keyCount);
        before[query + 1][key + 1] = here + before[query][key + 1] +
                                     before[query + 1][key] -
                                     before[query][key];
      }
  }
  int64_t operator()(Interval queries, Interval keys) const {
    return before[queries.end][keys.end] - before[queries.begin][keys.end] -
           before[queries.end][keys.begin] + before[queries.begin][keys.begin];
  }

private:
  std::vector<std::vector<int64_t>> before; ///< of the first queries and keys
};

} // namespace

TEST(TablesTest, AreThoseOfTheCompiler) {
  for (int32_t ranks : {1, 2, 3, 8}) {
    Host host(ranks);
    for (const Kind &kind : kKinds)
      for (auto [queryCount, keyCount] : {std::pair<int64_t, int64_t>(0, 0),
                                          {1, 1},
                                          {5, 40},
                                          {61, 61},
                                          {200, 77}})
        for (const VisibilityCase &visibility :
             visibilityCases(/*batches=*/3, queryCount, keyCount)) {
          auto layout = static_cast<LayoutKind>(kind.layout);
          if (layout != LayoutKind::Balanced && visibility.name != "causal")
            continue; // the others do not look at it
          LayoutPair expected =
              makeLayouts(layout, kind.granularity, ranks, queryCount, keyCount,
                          CountedPairs(visibility, queryCount, keyCount));
          Tables tables(maxEntries(layout, ranks), 7);
          ring_visibility init = visibility.init();
          ASSERT_EQ(ring_host_tables(host, kind.layout, kind.granularity, ranks,
                                     queryCount, keyCount, &init,
                                     tables.tensors),
                    RING_OK)
              << host.error();
          const std::vector<LayoutEntry> *wanted[] = {&expected.queries,
                                                      &expected.keys};
          for (int which : {0, 1}) {
            int64_t entries = wanted[which]->size();
            for (int64_t row = 0; row < tables.tensors[which].sizes[0]; ++row)
              ASSERT_TRUE(areEqual(tables.entry(which, row),
                                   row < entries
                                       ? (*wanted[which])[row]
                                       : LayoutEntry{ranks - 1, 0, 0, 0, 0}))
                  << visibility.name << " layout " << kind.layout
                  << " N=" << ranks << " Sq=" << queryCount << " row " << row;
            EXPECT_EQ(tables.memory[which][5], -7) << "between the rows";
          }
        }
  }
}

TEST(TablesTest, BalancedIsEvenOverDocuments) {
  constexpr int64_t kLength = 512;
  constexpr int32_t kRanks = 4;
  Host host(kRanks);
  VisibilityCase visibility{"causal documents", true};
  visibility.lengths = {kLength, kLength};
  for (int64_t batch : {0, 1}) // one long document, then many short ones
    for (int64_t i = 0; i < kLength; ++i) {
      int32_t id = i < 200 + 100 * batch ? 0 : int32_t(i / 7);
      visibility.querySegments.insert(visibility.querySegments.end(), {id, 77});
    }
  visibility.keySegments = visibility.querySegments;
  CountedPairs pairs(visibility, kLength, kLength);
  auto balance = [&](const ring_visibility &init) {
    Tables tables(16 * kRanks);
    EXPECT_EQ(ring_host_tables(host, RING_LAYOUT_BALANCED, 1, kRanks, kLength,
                               kLength, &init, tables.tensors),
              RING_OK);
    std::vector<int64_t> load(kRanks, 0);
    for (int64_t row = 0; row < 16 * kRanks; ++row) {
      LayoutEntry entry = tables.entry(0, row);
      for (int64_t i = 0; i < entry.size(); ++i)
        load[entry.owner] +=
            pairs({entry.position(i), entry.position(i) + 1}, {0, kLength});
    }
    return *std::max_element(load.begin(), load.end()) * double(kRanks) /
           std::accumulate(load.begin(), load.end(), int64_t(0));
  };
  EXPECT_LE(balance(visibility.init()), 1.02);
  // Not by chance: who does not know of the documents does not even them out.
  VisibilityCase causal{"causal", true};
  EXPECT_GT(balance(causal.init()), 1.05);
}

TEST(TablesTest, RefusesTablesWithoutRoom) {
  Host host(3);
  ring_visibility visibility = fullVisibility();
  auto status = [&](int32_t layout, ring_tensor *tables) {
    return ring_host_tables(host, layout, 1, 3, 60, 60, &visibility, tables);
  };
  Tables small(4), enough(6);
  EXPECT_EQ(status(RING_LAYOUT_ZIGZAG, small.tensors), RING_ERROR_USAGE);
  EXPECT_EQ(host.error(), "a layout table with room for 4 entries, expected 5 "
                          "or more");
  EXPECT_EQ(small.memory[0][0], -7) << "nothing is written";
  EXPECT_EQ(status(RING_LAYOUT_CONTIGUOUS, small.tensors), RING_OK);
  EXPECT_EQ(host.error(), "");
  // The table of the keys is looked at too.
  ring_tensor mixed[2] = {enough.tensors[0], small.tensors[1]};
  EXPECT_EQ(status(RING_LAYOUT_ZIGZAG, mixed), RING_ERROR_USAGE);
  for (auto spoil : {+[](ring_tensor &table) { table.dims = 1; },
                     +[](ring_tensor &table) { table.element_bytes = 4; },
                     +[](ring_tensor &table) { table.sizes[1] = 4; }}) {
    Tables spoiled(6);
    spoil(spoiled.tensors[0]);
    EXPECT_EQ(status(RING_LAYOUT_ZIGZAG, spoiled.tensors), RING_ERROR_USAGE);
  }
}

TEST(TablesTest, PaddedSizeIsTheLongest) {
  std::vector<LayoutEntry> table = {
      {0, 0, 3, 3, 1}, {0, 5, 2, 4, 2}, {1, 3, 2, 2, 1}, {2, 0, 0, 0, 0}};
  auto padded = [&](int64_t entries, int32_t ranks) {
    return ring_padded_size(tableOf(table), entries, ranks);
  };
  EXPECT_EQ(padded(4, 3), 7);
  EXPECT_EQ(padded(1, 3), 3);
  EXPECT_EQ(padded(0, 3), 0);
  for (const Kind &kind : kKinds)
    for (int64_t length : {0, 1, 5, 61, 200}) {
      LayoutPair pair =
          makeLayouts(static_cast<LayoutKind>(kind.layout), kind.granularity, 4,
                      length, length, PositionalMask{});
      EXPECT_EQ(ring_padded_size(tableOf(pair.queries), pair.queries.size(), 4),
                pair.queryView().paddedSize(4));
    }
}

TEST(TablesTest, RequireEqualNamesTheSize) {
  Host host(1);
  EXPECT_EQ(ring_host_require_equal(host, 4, 4, "batch of key and query"),
            RING_OK);
  EXPECT_EQ(host.error(), "");
  EXPECT_EQ(ring_host_require_equal(host, 2, 3, "batch of key and query"),
            RING_ERROR_USAGE);
  EXPECT_EQ(host.error(),
            "batch of key and query: 2 and 3, expected equal sizes");
  EXPECT_EQ(ring_host_require_equal(host, -1, -1, ""), RING_OK);
  EXPECT_EQ(host.error(), "");
}
