//===- PoolTest.cpp - Parallel loops of many ranks on one pool ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

using namespace ring::test;

namespace {

using Item = std::function<void(int64_t)>;

ring_status parallelFor(ring_context *context, int64_t count,
                        const Item &item) {
  return ring_parallel_for(
      context, "test", 0, count,
      [](void *environment, int64_t index) {
        (*static_cast<const Item *>(environment))(index);
      },
      const_cast<Item *>(&item));
}

/// Runs `body` on every rank between ring_begin and ring_end.
ring_status runRanks(Host &host, const Host::Body &body) {
  return host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, ring_size(context), 0, 0, nullptr));
    return ring_end(context, body(context));
  });
}

} // namespace

TEST(PoolTest, EveryItemOnceWhateverTheRanksAndThreads) {
  for (int32_t ranks : {1, 2, 5})
    for (int32_t threads : {1, 2, 3}) {
      Host host(ranks, threads);
      constexpr int64_t kMost = 1000;
      std::vector<std::vector<std::atomic<int>>> hits(ranks);
      for (auto &each : hits)
        each = std::vector<std::atomic<int>>(kMost);
      int expected = 0;
      ring_status status =
          runRanks(host, [&](ring_context *context) -> ring_status {
            auto &mine = hits[ring_rank(context)];
            for (int64_t count : {int64_t(1), int64_t(2), int64_t(7), kMost}) {
              RING_TRY(parallelFor(context, count,
                                   [&](int64_t index) { ++mine[index]; }));
              // All have ended when the call returns.
              for (int64_t i = 0; i < count; ++i)
                EXPECT_GE(mine[i].load(), 1);
            }
            return RING_OK;
          });
      EXPECT_EQ(status, RING_OK) << host.error();
      EXPECT_EQ(host.counters().launches, 4);
      for (auto &each : hits)
        for (int64_t i = 0; i < kMost; ++i) {
          expected = i < 1 ? 4 : i < 2 ? 3 : i < 7 ? 2 : 1;
          ASSERT_EQ(each[i].load(), expected) << "item " << i;
        }
    }
}

TEST(PoolTest, NoItems) {
  Host host(2, 1);
  ring_status status =
      runRanks(host, [&](ring_context *context) -> ring_status {
        return parallelFor(context, 0, [](int64_t) { ADD_FAILURE(); });
      });
  EXPECT_EQ(status, RING_OK) << host.error();
  EXPECT_EQ(host.counters().launches, 1);
}

TEST(PoolTest, HostFunctionsUseIt) {
  Host host(1, 2);
  ASSERT_EQ(ring_host_begin(host, RING_ABI_VERSION, 0), RING_OK);
  struct Hits {
    std::atomic<int> of[100] = {};
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<void *> left{nullptr};
  } hits;
  ring_status status = ring_host_parallel_for(
      host, 100,
      [](void *environment, int64_t item) {
        auto *hits = static_cast<Hits *>(environment);
        EXPECT_NE(std::this_thread::get_id(), hits->caller);
        ++hits->of[item];
        if (item == 99)
          hits->left = _mlir_memref_to_llvm_alloc(64);
      },
      &hits);
  EXPECT_EQ(status, RING_OK) << host.error();
  for (std::atomic<int> &each : hits.of)
    EXPECT_EQ(each.load(), 1);
  EXPECT_EQ(ring_host_parallel_for(host, 0, nullptr, nullptr), RING_OK);
  EXPECT_EQ(ring_host_parallel_for(host, -1, nullptr, nullptr),
            RING_ERROR_USAGE);
  EXPECT_EQ(host.error(), "a parallel loop of -1 items");
  // What an item has allocated belongs to the function, which failed.
  ASSERT_NE(hits.left.load(), nullptr);
  EXPECT_EQ(ring_host_end(host, RING_ERROR_USAGE), RING_ERROR_USAGE);
}

// N ranks do not use more threads than one, and one rank uses all of them.
TEST(PoolTest, BusyThreadsAreTheOnesOfThePool) {
  for (int32_t ranks : {1, 4}) {
    Host host(ranks, 3);
    std::atomic<int> busy{0}, most{0};
    std::mutex mutex;
    std::set<std::thread::id> workers;
    ring_status status =
        runRanks(host, [&](ring_context *context) -> ring_status {
          for (int repeat = 0; repeat < 3; ++repeat)
            RING_TRY(parallelFor(context, 12, [&](int64_t) {
              int now = ++busy, seen = most;
              while (seen < now && !most.compare_exchange_weak(seen, now))
                ;
              {
                std::lock_guard<std::mutex> lock(mutex);
                workers.insert(std::this_thread::get_id());
              }
              std::this_thread::sleep_for(std::chrono::milliseconds(2));
              --busy;
            }));
          return RING_OK;
        });
    EXPECT_EQ(status, RING_OK) << host.error();
    EXPECT_EQ(most, 3);
    EXPECT_EQ(workers.size(), 3u);
  }
}

// Items of two ranks run side by side: each waits for one of the other.
TEST(PoolTest, ItemsOfSeveralRanksRunTogether) {
  Host host(2, 2);
  std::atomic<bool> arrived[2] = {};
  std::atomic<bool> met{true};
  ring_status status =
      runRanks(host, [&](ring_context *context) -> ring_status {
        int32_t rank = ring_rank(context);
        return parallelFor(context, 1, [&](int64_t) {
          arrived[rank] = true;
          for (int i = 0; i < 10000 && !arrived[1 - rank]; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (!arrived[1 - rank])
            met = false;
        });
      });
  EXPECT_EQ(status, RING_OK) << host.error();
  EXPECT_TRUE(met);
}

TEST(PoolTest, NestedLoops) {
  Host host(3, 2);
  std::atomic<int64_t> sum{0};
  ring_status status =
      runRanks(host, [&](ring_context *context) -> ring_status {
        return parallelFor(context, 10, [&](int64_t outer) {
          EXPECT_EQ(
              parallelFor(context, 10,
                          [&](int64_t inner) { sum += 10 * outer + inner; }),
              RING_OK);
        });
      });
  EXPECT_EQ(status, RING_OK) << host.error();
  EXPECT_EQ(sum, 3 * 4950);
  EXPECT_EQ(host.counters().launches, 11);
}

TEST(PoolTest, StacksHoldKernelScratch) { // case G8
  Host host(1, 2);
  auto useStack = [](int64_t index) {
    volatile char scratch[12 << 20];
    scratch[0] = scratch[sizeof(scratch) - 1] = static_cast<char>(index);
    EXPECT_EQ(scratch[0], static_cast<char>(index));
  };
  ring_status status =
      runRanks(host, [&](ring_context *context) -> ring_status {
        useStack(1);
        return parallelFor(context, 4, useStack);
      });
  EXPECT_EQ(status, RING_OK) << host.error();
}

// A rank whose peer has failed does not begin another round.
TEST(PoolTest, NoNewRoundAfterAPeerFailed) {
  Host host(2, 2);
  std::atomic<bool> begun{false}, failed{false};
  auto await = [](const std::atomic<bool> &flag) {
    while (!flag)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ring_status late = RING_OK;
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 2, 0, 0, nullptr));
    if (ring_rank(context) == 0) {
      await(begun);
      ring_ticket ticket;
      ring_status bad = ring_permute_forward(context, 1, 1, 9, &ticket);
      failed = true;
      return ring_end(context, bad);
    }
    begun = true;
    await(failed);
    late = parallelFor(context, 1, [](int64_t) { ADD_FAILURE(); });
    return ring_end(context, late);
  });
  EXPECT_EQ(status, RING_ERROR_USAGE);
  EXPECT_EQ(late, RING_ERROR_PEER);
}
