//===- DeviceAttentionTest.cpp - What kernels are given to do -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include <set>

using namespace ring;
using namespace ring::test;

namespace {

class DeviceAttentionTest : public FakeGpus {
protected:
  /// Runs the problem, checks numbers and counters, and that every visible pair
  /// was visited once.
  void check(DeviceProblem &problem);
};

} // namespace

static void checkPairs(const DeviceProblem &problem) {
  std::set<std::vector<int64_t>> visited;
  for (const FakePair &pair : fakeState().pairs) {
    // Devices are ranks here. Keys are local to the round's owner, which the
    // launch does not tell: the numbers say whether they are the right ones.
    ASSERT_TRUE(visited
                    .insert({pair.device, pair.launch, pair.batch, pair.query,
                             pair.key})
                    .second);
  }
  int64_t expected = 0;
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    for (int64_t round = 0; round < problem.ranks; ++round)
      expected += problem.pairs(rank, round);
  EXPECT_EQ(int64_t(visited.size()), expected);
}

void DeviceAttentionTest::check(DeviceProblem &problem) {
  SCOPED_TRACE(problem.mask.name);
  FakeState fresh;
  fresh.processors = fakeState().processors;
  fresh.kernel = fakeState().kernel;
  resetFake();
  fakeState() = fresh;
  problem.fill();
  Host host(options(static_cast<int32_t>(problem.ranks), "vgpu"));
  ring_status status =
      host.run([&](ring_context *context) { return problem.run(context); });
  ASSERT_EQ(status, RING_OK) << host.error();
  EXPECT_LT(problem.error(), 1e-4);
  checkPairs(problem);
  EXPECT_EQ(host.counters().transfers, problem.ranks - 1);
  int64_t all = 0, busiest = 0;
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    int64_t ofRank = 0;
    for (int64_t round = 0; round < problem.ranks; ++round)
      ofRank += problem.pairs(rank, round);
    all += ofRank;
    busiest = std::max(busiest, ofRank);
  }
  if (all)
    EXPECT_DOUBLE_EQ(host.counters().balance,
                     busiest / (double(all) / problem.ranks));
}

TEST_F(DeviceAttentionTest, EveryVisiblePairOnce) {
  for (int processors : {1, 40})
    for (int layout = 0; layout < 3; ++layout)
      for (bool classify : {false, true})
        for (const VisibilityCase &mask : visibilityCases(3, 19, 23)) {
          DeviceProblem problem;
          problem.mask = mask;
          problem.classify = classify;
          problem.queryLayout = layout == 0   ? zigzagLayout(3, 19)
                                : layout == 1 ? stripedLayout(3, 19, 2)
                                              : contiguousLayout(3, 19);
          problem.keyLayout =
              layout == 1 ? stripedLayout(3, 23, 2) : zigzagLayout(3, 23);
          fakeState().processors = processors;
          check(problem);
          ASSERT_FALSE(HasFailure()) << processors << " processors, layout "
                                     << layout << ", classify " << classify;
        }
}

/// One query and many keys, as in decoding: without splitting one block works.
TEST_F(DeviceAttentionTest, FewTilesAreSplitAndMerged) {
  for (int64_t ranks : {1, 2}) {
    DeviceProblem problem;
    problem.ranks = ranks;
    problem.batch = 1;
    problem.queries = 2;
    problem.keys = 61;
    problem.queryLayout = contiguousLayout(ranks, 2);
    problem.keyLayout = contiguousLayout(ranks, 61);
    fakeState().processors = 12;
    check(problem);
    int64_t merges = 0, parts = 0;
    for (const FakeItem &each : fakeState().items) {
      const ring_attention_item &item = each.item;
      merges += item.merge_begin < item.merge_end;
      parts += item.target >= 0;
      EXPECT_TRUE(item.target < 0 || item.fresh) << "a part has no state";
    }
    EXPECT_EQ(merges, ranks * ranks);
    // 21 key tiles over 12 processors and 2 head blocks: 4 tiles a part. On two
    // ranks 10 or 11 a round: 2 a part.
    EXPECT_EQ(parts, ranks == 1 ? 6 : 22);
  }
}

TEST_F(DeviceAttentionTest, TheLongestComeFirst) {
  DeviceProblem problem;
  problem.ranks = 1;
  problem.queryLayout = contiguousLayout(1, 19);
  problem.keyLayout = contiguousLayout(1, 23);
  problem.mask.causal = true;
  fakeState().kernel.keyTile = 1;
  check(problem);
  const std::vector<FakeItem> &items = fakeState().items;
  ASSERT_EQ(items.size(), 15u);
  for (size_t i = 1; i < items.size(); ++i)
    EXPECT_GE(items[i - 1].keys, items[i].keys);
  EXPECT_GT(items.front().keys, items.back().keys);
}

/// A window on a contiguous layout: most blocks see nothing in most rounds.
TEST_F(DeviceAttentionTest, TilesThatSeeNothingAreLaunchedAtTheEndOnly) {
  DeviceProblem problem;
  problem.batch = 1;
  problem.queryLayout = contiguousLayout(3, 19);
  problem.keyLayout = contiguousLayout(3, 23);
  problem.mask.left = problem.mask.right = 1;
  check(problem);
  for (const FakeItem &item : fakeState().items) {
    bool last = item.item.target == RING_TARGET_RESULT;
    EXPECT_TRUE(last || item.keys > 0);
    EXPECT_EQ(last, item.launch == fakeState().lastLaunch.at(item.device));
  }
}

/// Positions from 2^30 on do not fit the arithmetic of kernels.
TEST_F(DeviceAttentionTest, PositionsTooFarAwayAreRefused) {
  auto run = [&](VisibilityCase mask) {
    DeviceProblem problem;
    problem.ranks = problem.batch = 1;
    problem.mask = mask;
    problem.queryLayout = contiguousLayout(1, 19);
    problem.keyLayout = contiguousLayout(1, 23);
    problem.fill();
    Host host(options(1, "vgpu"));
    ring_status status =
        host.run([&](ring_context *context) { return problem.run(context); });
    EXPECT_EQ(status == RING_OK, host.error().empty());
    if (status == RING_OK)
      EXPECT_LT(problem.error(), 1e-4);
    return host.error();
  };
  const int32_t limit = 1 << 30;
  VisibilityCase mask{"offsets", true};
  mask.offsets = {limit - 20};
  EXPECT_EQ(run(mask), "");
  mask.offsets = {limit - 19};
  EXPECT_EQ(run(mask), "rank 0: 19 queries shifted by 1073741805, expected "
                       "less than 1073741824 on a GPU");
  mask.offsets = {20 - limit};
  EXPECT_EQ(run(mask), "");
  mask.offsets = {19 - limit};
  EXPECT_NE(run(mask), "");
  // What hides nothing may be as large as it wants.
  VisibilityCase window{"window", false, INT64_MAX / 2, INT64_MAX / 2};
  EXPECT_EQ(run(window), "");
  window.left = window.right = limit;
  EXPECT_EQ(run(window), "");
  window.offsets = {-4};
  EXPECT_EQ(run(window), "rank 0: a window of 1073741824 keys to the right, "
                         "expected less than 1073741824 on a GPU");
  window.right = 3;
  window.chunk = INT64_MAX / 2;
  window.prefix = INT64_MAX;
  EXPECT_EQ(run(window), "");
}
