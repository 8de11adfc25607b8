//===- ProgramsTest.cpp - Several programs in one run ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A local function calls its attentions one after another: each begins and ends
// among all ranks, in one run.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace ring::test;
using testing::IsSubstring;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_PRED_FORMAT2(IsSubstring, part, text);
}

ring_status nothing(int32_t, const std::vector<ring_tensor> &) {
  return RING_OK;
}

/// One program: `value` goes around the ring.
ring_status passValue(
    ring_context *context, uint64_t fingerprint, int32_t &value,
    int32_t distance,
    const std::function<ring_status(int32_t, const std::vector<ring_tensor> &)>
        &visit = nothing) {
  RING_TRY(ring_begin(context, ring_size(context), distance + 1, fingerprint,
                      nullptr));
  return ring_end(context, passAround(context, {tensorOf(&value, 4, {1})},
                                      distance, visit));
}

} // namespace

// What a program lent is freed at its end, and written, while slower peers may
// not have left that end yet.
TEST(ProgramsTest, OneAfterAnother) {
  constexpr int32_t kRanks = 4, kPrograms = 50;
  Host host(kRanks);
  std::atomic<int32_t> wrong{0};
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    for (int32_t program = 0; program < kPrograms; ++program) {
      auto value = std::make_unique<int32_t>(program * kRanks + rank);
      RING_TRY(
          passValue(context, program, *value, program % 3,
                    [&](int32_t round, const std::vector<ring_tensor> &group) {
                      int32_t owner = (rank + kRanks - round) % kRanks;
                      wrong += *static_cast<int32_t *>(group[0].data) !=
                               program * kRanks + owner;
                      return RING_OK;
                    }));
      *value = -1;
    }
    return RING_OK;
  });
  EXPECT_EQ(status, RING_OK) << host.error();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(host.counters().runs, 1);
  EXPECT_EQ(host.counters().transfers, kPrograms * (kRanks - 1));
  EXPECT_EQ(host.counters().slots_in_flight, 2);
}

TEST(ProgramsTest, OthersInSecondPlace) {
  Host host(3);
  ring_status first[3], second[3];
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), value = 0;
    first[rank] = passValue(context, 1, value, 1);
    second[rank] = passValue(context, rank == 1 ? 0xbad : 2, value, 1);
    return second[rank];
  });
  EXPECT_EQ(status, RING_ERROR_MISMATCH);
  for (int32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(first[rank], RING_OK);
    EXPECT_EQ(second[rank], RING_ERROR_MISMATCH);
  }
  expectContains(host.error(), "rank 1");
  expectContains(host.error(), "run different programs");
  expectContains(host.error(), "0000000000000bad");
  expectContains(host.error(), "0000000000000002");
}

TEST(ProgramsTest, InAnotherOrder) {
  Host host(2);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t value = 0;
    bool swapped = ring_rank(context) == 1;
    RING_TRY(passValue(context, swapped ? 2 : 1, value, 1));
    return passValue(context, swapped ? 1 : 2, value, 1);
  });
  EXPECT_EQ(status, RING_ERROR_MISMATCH);
  expectContains(host.error(), "run different programs");
}

// Long before the deadline, whoever comes first.
TEST(ProgramsTest, RankWithFewerEndsTheOthers) {
  for (int32_t late : {0, 1}) {
    Host host(2, 2, /*deadline=*/5);
    ring_status seen[2] = {};
    Clock::time_point start = Clock::now();
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      int32_t rank = ring_rank(context), value = 0;
      seen[rank] = passValue(context, 1, value, 1);
      if (rank == late)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (rank == 0)
        seen[rank] = passValue(context, 2, value, 1);
      return seen[rank];
    });
    EXPECT_LT(secondsSince(start), 3);
    EXPECT_EQ(status, RING_ERROR_MISMATCH);
    EXPECT_EQ(seen[0], RING_ERROR_MISMATCH);
    EXPECT_EQ(seen[1], RING_OK);
    expectContains(host.error(),
                   "rank 1 has ended before program 2 of the run");
  }
}

TEST(ProgramsTest, DeadlineOfTheSecondBeginAndEnd) {
  for (bool atEnd : {false, true}) {
    Host host(3, 2, /*deadline=*/0.4);
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      int32_t value = 0;
      RING_TRY(passValue(context, 1, value, 1));
      if (ring_rank(context) == 1 && !atEnd)
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      RING_TRY(ring_begin(context, 3, 1, 2, nullptr));
      if (ring_rank(context) == 1 && atEnd)
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      return ring_end(context, RING_OK);
    });
    EXPECT_EQ(status, RING_ERROR_TIMEOUT);
    expectContains(host.error(),
                   atEnd ? "rank 1 did not pass the last round within 0.4 s"
                         : "rank 1 did not begin within 0.4 s");
  }
}

TEST(ProgramsTest, FailureInTheSecond) {
  Host host(4, 2, /*deadline=*/30);
  ring_status first[4], second[4] = {};
  Clock::time_point start = Clock::now();
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), value = 0;
    auto visit = [&](int32_t round, const auto &) -> ring_status {
      RING_TRY(ring_parallel_for(
          context, "attention", round, 1, [](void *, int64_t) {}, nullptr));
      return second[rank] == 1 && rank == 2 && round == 1 ? 77 : RING_OK;
    };
    first[rank] = passValue(context, 1, value, 1, visit);
    second[rank] = 1;
    return second[rank] = passValue(context, 2, value, 1, visit);
  });
  EXPECT_LT(secondsSince(start), 10);
  EXPECT_EQ(status, 77);
  EXPECT_EQ(host.error(),
            "rank 2 after round 1: the program failed with status 77");
  for (int32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(first[rank], RING_OK);
    EXPECT_EQ(second[rank], rank == 2 ? 77 : RING_ERROR_PEER);
  }
}

// A failure before the first round of a program names no round of another.
TEST(ProgramsTest, RoundsStartAgain) {
  Host host(1);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t value = 0;
    RING_TRY(passValue(context, 1, value, 1, [&](int32_t round, const auto &) {
      return ring_parallel_for(
          context, "attention", round, 1, [](void *, int64_t) {}, nullptr);
    }));
    RING_TRY(ring_begin(context, 1, 1, 2, nullptr));
    return ring_end(context, 77);
  });
  EXPECT_EQ(status, 77);
  EXPECT_EQ(host.error(), "rank 0: the program failed with status 77");
}

// Between two programs, where nobody waits for it yet.
TEST(ProgramsTest, FailureBetweenThem) {
  Host host(3, 2, /*deadline=*/30);
  ring_status second[3] = {};
  Clock::time_point start = Clock::now();
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), value = 0;
    RING_TRY(passValue(context, 1, value, 1));
    if (rank == 1)
      return 5;
    return second[rank] = passValue(context, 2, value, 1);
  });
  EXPECT_LT(secondsSince(start), 10);
  EXPECT_EQ(status, 5);
  expectContains(host.error(), "rank 1");
  EXPECT_EQ(second[0], RING_ERROR_PEER);
  EXPECT_EQ(second[2], RING_ERROR_PEER);
}

// What it lent in the second program: that its peer has ended the first does
// not count.
TEST(ProgramsTest, FailedRankStaysForItsReaders) {
  Host host(2, 2, /*deadline=*/10);
  std::atomic<bool> reading{false}, readerDone{false};
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), other = 1 - rank, value = 0;
    RING_TRY(passValue(context, 1, value, 1));
    ring_tensor own = tensorOf(&value, 4, {1}), received;
    ring_ticket ticket;
    RING_TRY(ring_begin(context, 2, 1, 2, nullptr));
    RING_TRY(ring_permute_start(context, other, other, 1, &own, &ticket));
    ring_status result = ring_permute_wait(context, ticket, 1, &received);
    if (rank == 0) {
      while (!reading)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      result = ring_end(context, 5);
      EXPECT_TRUE(readerDone);
      return result;
    }
    reading = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    readerDone = true;
    return ring_end(context, result);
  });
  EXPECT_EQ(status, 5);
}

TEST(ProgramsTest, MisuseOfBeginAndEnd) {
  Host host(1);
  auto expectUsage = [&](const std::string &message, auto body) {
    EXPECT_EQ(host.run(body), RING_ERROR_USAGE);
    EXPECT_EQ(host.error(), message);
  };
  auto begin = [](ring_context *context) {
    return ring_begin(context, 1, 1, 0, nullptr);
  };
  expectUsage("rank 0: ring_begin was called before, without ring_end",
              [&](ring_context *context) -> ring_status {
                RING_TRY(begin(context));
                return ring_end(context, begin(context));
              });
  expectUsage("rank 0: ring_end was called before",
              [&](ring_context *context) -> ring_status {
                RING_TRY(begin(context));
                RING_TRY(ring_end(context, RING_OK));
                return ring_end(context, RING_OK);
              });
  expectUsage("rank 0: the rank function returned before ring_end",
              [&](ring_context *context) -> ring_status {
                RING_TRY(begin(context));
                RING_TRY(ring_end(context, RING_OK));
                return begin(context);
              });
  expectUsage("rank 0: a transfer outside of ring_begin and ring_end",
              [&](ring_context *context) -> ring_status {
                RING_TRY(begin(context));
                RING_TRY(ring_end(context, RING_OK));
                int32_t value = 0;
                ring_tensor own = tensorOf(&value, 4, {1});
                ring_ticket ticket;
                return ring_permute_start(context, 0, 0, 1, &own, &ticket);
              });
}

//===----------------------------------------------------------------------===//
// Faults: the numbers of transfers go on
//===----------------------------------------------------------------------===//

namespace {
struct Outcome {
  ring_status status;
  std::string error;
  /// What rank 0 saw in the second program, whose values are 10 to 13.
  std::vector<int32_t> seen;
  double seconds;
};

Outcome runTwoWithFault(const std::string &fault, int32_t distance,
                        double deadline = 20) {
  ScopedVariable variable("RING_FAULT", fault);
  Host host(4, 2, deadline);
  Outcome outcome;
  Clock::time_point start = Clock::now();
  outcome.status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), first = rank, second = 10 + rank;
    RING_TRY(
        passValue(context, 1, first, distance,
                  [&](int32_t round, const std::vector<ring_tensor> &group) {
                    EXPECT_EQ(*static_cast<int32_t *>(group[0].data),
                              (rank + 4 - round) % 4);
                    return RING_OK;
                  }));
    return passValue(context, 2, second, distance,
                     [&](int32_t, const std::vector<ring_tensor> &group) {
                       if (rank == 0)
                         outcome.seen.push_back(
                             *static_cast<int32_t *>(group[0].data));
                       return RING_OK;
                     });
  });
  outcome.seconds = secondsSince(start);
  outcome.error = host.error();
  return outcome;
}

const std::vector<int32_t> kRight{10, 13, 12, 11};
} // namespace

TEST(ProgramsTest, DelayInTheSecond) {
  for (int32_t distance : {0, 1, 3}) {
    Outcome outcome =
        runTwoWithFault("delay:rank=3,transfer=5,ms=300", distance);
    EXPECT_EQ(outcome.status, RING_OK) << outcome.error;
    EXPECT_EQ(outcome.seen, kRight);
    EXPECT_GE(outcome.seconds, 0.3);
  }
}

TEST(ProgramsTest, DropInTheSecond) {
  for (int32_t distance : {0, 1, 3})
    for (int transfer : {4, 5, 6}) {
      Outcome outcome =
          runTwoWithFault("drop:rank=3,transfer=" + std::to_string(transfer),
                          distance, /*deadline=*/0.3);
      EXPECT_EQ(outcome.status, RING_ERROR_TIMEOUT);
      expectContains(outcome.error, "rank 3 has not sent to rank 0");
    }
}

// What is swapped in is of the second program too: its receiver's own block.
TEST(ProgramsTest, SwapInTheSecond) {
  for (int32_t distance : {0, 1, 3})
    for (int transfer : {4, 5, 6}) {
      Outcome outcome = runTwoWithFault(
          "swap:rank=3,transfer=" + std::to_string(transfer), distance);
      EXPECT_EQ(outcome.status, RING_OK) << outcome.error;
      ASSERT_EQ(outcome.seen.size(), 4u);
      EXPECT_EQ(outcome.seen[transfer - 3], 10);
    }
}

//===----------------------------------------------------------------------===//
// Balance
//===----------------------------------------------------------------------===//

// Two programs that load one rank each are no even run.
TEST(ProgramsTest, BalanceIsOfEach) {
  Host host(2);
  const int64_t table[2][5] = {{0, 0, 3, 3, 1}, {1, 3, 3, 3, 1}};
  ring_visibility all;
  ring_visibility_init(&all, 0, INT64_MAX, INT64_MAX, 0, 0, 0, nullptr, nullptr,
                       nullptr, nullptr);
  // Rank `busy` computes its 3 queries with 6 keys, the other one nothing.
  auto compute = [&](ring_context *context, int32_t busy) -> ring_status {
    RING_TRY(ring_begin(context, 2, 0, 0, nullptr));
    for (int32_t round = 0; round < 2; ++round) {
      ring_slices slices;
      ring_slices_init(&slices, &table[0][0], 2, &table[0][0], 2, busy, round,
                       1, &all);
      bool works = ring_rank(context) == busy;
      RING_TRY(ring_parallel_for(
          context, "attention", round,
          works ? ring_slices_query_ranges(&slices, 4) : 0,
          [](void *environment, int64_t item) {
            auto *list = static_cast<const ring_slices *>(environment);
            int64_t range[2], key[3];
            ring_slices_query_range(list, 4, item, range);
            ring_key_cursor cursor;
            ring_slices_keys(list, 0, range[0], range[1], &cursor);
            while (ring_slices_next_keys(&cursor, key)) {
            }
          },
          &slices));
    }
    return ring_end(context, RING_OK);
  };
  auto even = [&](ring_context *context) {
    return compute(context, ring_rank(context));
  };
  auto balanceOf = [&](const Host::Body &body) {
    ring_host_reset_counters(host);
    EXPECT_EQ(host.run(body), RING_OK) << host.error();
    EXPECT_DOUBLE_EQ(host.counters().balance, host.counters().round_balance);
    return host.counters().balance;
  };
  EXPECT_DOUBLE_EQ(balanceOf([&](ring_context *context) -> ring_status {
                     RING_TRY(even(context));
                     return even(context);
                   }),
                   1);
  EXPECT_DOUBLE_EQ(balanceOf([&](ring_context *context) -> ring_status {
                     RING_TRY(compute(context, 0));
                     return compute(context, 1);
                   }),
                   2);
  // The largest counts, whichever comes first.
  EXPECT_DOUBLE_EQ(balanceOf([&](ring_context *context) -> ring_status {
                     RING_TRY(compute(context, 1));
                     return even(context);
                   }),
                   2);
  EXPECT_DOUBLE_EQ(balanceOf([&](ring_context *context) -> ring_status {
                     RING_TRY(even(context));
                     return compute(context, 1);
                   }),
                   2);
}
