//===- FailureTest.cpp - Rings that fail, and say why ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

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

/// Runs a one-rank body that misuses a begun context, and expects
/// RING_ERROR_USAGE with this message.
void expectUsage(
    const std::string &message,
    const std::function<ring_status(ring_context *, ring_tensor *)> &misuse) {
  Host host(1);
  float value = 0;
  ring_tensor tensor = tensorOf(&value, 4, {1});
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 1, 0, nullptr));
    ring_status result = misuse(context, &tensor);
    return ring_end(context, result);
  });
  EXPECT_EQ(status, RING_ERROR_USAGE);
  EXPECT_EQ(host.error(), message);
}

} // namespace

TEST(FailureTest, WrongNumberOfRanks) { // case S7
  for (auto [compiled, started] : {std::pair{2, 4}, std::pair{4, 2}}) {
    Host host(started);
    bool called = false;
    EXPECT_EQ(host.run(compiled,
                       [&](ring_context *) -> ring_status {
                         called = true;
                         return RING_OK;
                       }),
              RING_ERROR_MISMATCH);
    EXPECT_FALSE(called);
    EXPECT_EQ(host.counters().runs, 0);
    std::string message = "program compiled for " + std::to_string(compiled) +
                          " ranks started on " + std::to_string(started);
    EXPECT_EQ(host.error(), message);

    // The rank function finds out by itself, too.
    EXPECT_EQ(host.run([&, compiled =
                               compiled](ring_context *context) -> ring_status {
      return ring_end(context, ring_begin(context, compiled, 1, 0, nullptr));
    }),
              RING_ERROR_MISMATCH);
    expectContains(host.error(), message);
  }
}

TEST(FailureTest, DifferentPrograms) { // case R5
  Host host(4);
  ring_status seen[4];
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    seen[rank] =
        rank == 2 ? ring_begin(context, 4, 1, 0xbad, "4 ranks; 10 keys; full")
                  : ring_begin(context, 4, 1, 0x900d, "4 ranks; 8 keys; full");
    return ring_end(context, seen[rank]);
  });
  EXPECT_EQ(status, RING_ERROR_MISMATCH);
  for (ring_status each : seen)
    EXPECT_EQ(each, RING_ERROR_MISMATCH);
  expectContains(host.error(), "rank 2");
  expectContains(host.error(), "run different programs");
  expectContains(host.error(), "0000000000000bad");
  expectContains(host.error(), "000000000000900d");
  // Which of the two comes first depends on who began first.
  expectContains(host.error(), "'10 keys'");
  expectContains(host.error(), "'8 keys'");
}

// Without descriptions, or where they agree, there are the fingerprints.
TEST(FailureTest, DifferentProgramsOfOneDescription) {
  for (const char *program : {static_cast<const char *>(nullptr), "2 ranks"}) {
    Host host(2);
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      return ring_end(context,
                      ring_begin(context, 2, 1, ring_rank(context), program));
    });
    EXPECT_EQ(status, RING_ERROR_MISMATCH);
    expectContains(host.error(), "run different programs (fingerprints ");
  }
}

TEST(FailureTest, DifferentShapes) {
  Host host(2);
  float data[10] = {};
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int64_t keys = ring_rank(context) == 0 ? 8 : 10;
    return runRing(context, {tensorOf(data, 4, {1, keys})}, 1,
                   [](int32_t, const auto &) { return RING_OK; });
  });
  EXPECT_EQ(status, RING_ERROR_MISMATCH);
  expectContains(host.error(), "[1, 8] of 4-byte elements");
  expectContains(host.error(), "[1, 10] of 4-byte elements");
}

TEST(FailureTest, DeadlineOfATransfer) {
  Host host(2, 2, /*deadline=*/0.2);
  float value = 0;
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    return runRing(
        context, {tensorOf(&value, 4, {1})}, 0,
        [&](int32_t round, const auto &) -> ring_status {
          if (ring_rank(context) == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(600));
          return ring_parallel_for(
              context, "attention", round, 1, [](void *, int64_t) {}, nullptr);
        });
  });
  EXPECT_EQ(status, RING_ERROR_TIMEOUT);
  EXPECT_EQ(host.error(), "rank 0 after round 0: transfer 1 from rank 1 did "
                          "not arrive within 0.2 s: rank 1 has not sent to "
                          "rank 0");
}

TEST(FailureTest, DeadlineNamesTheRankAtFault) {
  Host host(4, 2, /*deadline=*/0.3);
  float value = 0;
  ring_status seen[4] = {};
  Clock::time_point start = Clock::now();
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    seen[rank] = runRing(
        context, {tensorOf(&value, 4, {1})}, 1,
        [&](int32_t round, const auto &) -> ring_status {
          RING_TRY(ring_parallel_for(
              context, "attention", round, 1, [](void *, int64_t) {}, nullptr));
          if (rank == 1 && round == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(900));
          return RING_OK;
        });
    return seen[rank];
  });
  EXPECT_EQ(status, RING_ERROR_TIMEOUT);
  EXPECT_LT(secondsSince(start), 5);
  EXPECT_EQ(seen[1], RING_ERROR_PEER);
  // Whoever noticed first, and wherever it waited.
  expectContains(host.error(), "within 0.3 s: rank 1 has not sent to rank 2");
}

// Each rank promises the other what it will get from it: nobody sends.
TEST(FailureTest, CircleOfForwardsTimesOut) {
  Host host(2, 2, /*deadline=*/0.1);
  float value = 0;
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context), other = 1 - rank;
    ring_tensor own = tensorOf(&value, 4, {1});
    ring_ticket fromOther, fromSelf;
    RING_TRY(ring_begin(context, 2, 2, 0, nullptr));
    RING_TRY(ring_permute_start(context, rank, other, 1, &own, &fromOther));
    RING_TRY(ring_permute_forward(context, other, rank, fromOther, &fromSelf));
    return ring_end(context, ring_permute_wait(context, fromOther, 1, &own));
  });
  EXPECT_EQ(status, RING_ERROR_TIMEOUT);
  expectContains(host.error(), "did not arrive within 0.1 s");
}

TEST(FailureTest, DeadlineOfBeginAndEnd) {
  Host host(3, 2, /*deadline=*/0.4);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    if (ring_rank(context) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    return ring_end(context, ring_begin(context, 3, 1, 0, nullptr));
  });
  EXPECT_EQ(status, RING_ERROR_TIMEOUT);
  expectContains(host.error(), "rank 1 did not begin within 0.4 s");

  status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 3, 1, 0, nullptr));
    if (ring_rank(context) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    return ring_end(context, RING_OK);
  });
  EXPECT_EQ(status, RING_ERROR_TIMEOUT);
  expectContains(host.error(),
                 "rank 1 did not pass the last round within 0.4 s");
}

// All the ways in which a rank can fail end the others long before the
// deadline.
TEST(FailureTest, FailingRankEndsTheOthers) {
  enum Way { EndWithStatus, ReturnStatus, ReturnEarly, Misuse };
  for (Way way : {EndWithStatus, ReturnStatus, ReturnEarly, Misuse}) {
    Host host(4, 2, /*deadline=*/30);
    float value = 0;
    ring_status seen[4] = {};
    Clock::time_point start = Clock::now();
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      int32_t rank = ring_rank(context);
      ring_tensor own = tensorOf(&value, 4, {1});
      auto visit = [&](int32_t round, const auto &) -> ring_status {
        if (rank != 2 || round != 1)
          return RING_OK;
        if (way == Misuse)
          return ring_permute_wait(context, 1000, 1, &own);
        return way == ReturnEarly ? -1 : 77;
      };
      if (way == EndWithStatus || way == Misuse || rank != 2)
        return seen[rank] = runRing(context, {own}, 1, visit);
      RING_TRY(ring_begin(context, 4, 1, 42, nullptr));
      ring_status result = passAround(context, {own}, 1, visit);
      return seen[rank] = way == ReturnEarly ? RING_OK : result;
    });
    EXPECT_LT(secondsSince(start), 10);
    EXPECT_EQ(status,
              way == Misuse || way == ReturnEarly ? RING_ERROR_USAGE : 77);
    expectContains(host.error(), "rank 2: ");
    for (int32_t rank : {0, 1, 3})
      EXPECT_EQ(seen[rank], RING_ERROR_PEER) << "rank " << rank;

    // Nothing of it is left in the next run.
    EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
      return runRing(context, {tensorOf(&value, 4, {1})}, 1,
                     [](int32_t, const auto &) { return RING_OK; });
    }),
              RING_OK)
        << host.error();
  }
}

// A rank that fails keeps what it lent until its peers have stopped.
TEST(FailureTest, FailedRankStaysForItsReaders) {
  Host host(2, 2, /*deadline=*/10);
  std::atomic<bool> reading{false}, readerDone{false};
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    float value = 0;
    ring_tensor own = tensorOf(&value, 4, {1}), received;
    ring_ticket ticket;
    int32_t rank = ring_rank(context), other = 1 - rank;
    RING_TRY(ring_begin(context, 2, 1, 0, nullptr));
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

TEST(FailureTest, LaterCallsReturnTheFirstStatus) {
  Host host(1);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    float value = 0;
    ring_tensor own = tensorOf(&value, 4, {1});
    ring_ticket ticket;
    EXPECT_EQ(ring_permute_start(context, 0, 0, 1, &own, &ticket),
              RING_ERROR_USAGE);
    EXPECT_EQ(ring_begin(context, 1, 1, 0, nullptr), RING_ERROR_USAGE);
    EXPECT_EQ(ring_parallel_for(
                  context, "x", 0, 1, [](void *, int64_t) {}, nullptr),
              RING_ERROR_USAGE);
    EXPECT_EQ(ring_end(context, RING_OK), RING_ERROR_USAGE);
    return RING_OK;
  });
  EXPECT_EQ(status, RING_ERROR_USAGE);
  EXPECT_EQ(host.error(),
            "rank 0: a transfer outside of ring_begin and ring_end");
}

TEST(FailureTest, MisuseOfTickets) { // case P4
  expectUsage("rank 0: ticket 1 was waited for already",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                RING_TRY(ring_permute_start(context, 0, 0, 1, tensor, &ticket));
                RING_TRY(ring_permute_wait(context, ticket, 1, tensor));
                return ring_permute_wait(context, ticket, 1, tensor);
              });
  expectUsage("rank 0: ticket 1 was waited for already",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                RING_TRY(ring_permute_start(context, 0, 0, 1, tensor, &ticket));
                RING_TRY(ring_permute_wait(context, ticket, 1, tensor));
                return ring_permute_forward(context, 0, 0, ticket, &ticket);
              });
  for (ring_ticket unknown : {-1, 0, 2})
    expectUsage("rank 0: ticket " + std::to_string(unknown) + " is unknown",
                [&](ring_context *context, ring_tensor *tensor) -> ring_status {
                  return ring_permute_wait(context, unknown, 1, tensor);
                });
  expectUsage("rank 0: transfer 1 was started and never waited for",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                return ring_permute_start(context, 0, 0, 1, tensor, &ticket);
              });
  expectUsage("rank 0: transfer 1 is of 1 tensors, waited for 2",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                RING_TRY(ring_permute_start(context, 0, 0, 1, tensor, &ticket));
                ring_tensor received[2];
                return ring_permute_wait(context, ticket, 2, received);
              });
}

TEST(FailureTest, BadArguments) {
  for (int32_t peer : {-1, 1})
    expectUsage("rank 0: a transfer with rank " + std::to_string(peer) +
                    ", expected 0 to 0",
                [&](ring_context *context, ring_tensor *tensor) -> ring_status {
                  ring_ticket ticket;
                  return ring_permute_start(context, peer, 0, 1, tensor,
                                            &ticket);
                });
  expectUsage("rank 0: a transfer of 0 tensors, expected at least 1",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                return ring_permute_start(context, 0, 0, 0, tensor, &ticket);
              });
  expectUsage("rank 0: tensor 0 of a transfer has 7 dimensions, expected at "
              "most 6",
              [](ring_context *context, ring_tensor *tensor) -> ring_status {
                ring_ticket ticket;
                tensor->dims = 7;
                return ring_permute_start(context, 0, 0, 1, tensor, &ticket);
              });
  expectUsage("rank 0: a parallel loop of -1 items",
              [](ring_context *context, ring_tensor *) -> ring_status {
                return ring_parallel_for(
                    context, "x", -1, -1, [](void *, int64_t) {}, nullptr);
              });
  expectUsage("rank 0: ring_begin was called before, without ring_end",
              [](ring_context *context, ring_tensor *) -> ring_status {
                return ring_begin(context, 1, 1, 0, nullptr);
              });
  expectUsage("rank 0: ring_end was called before",
              [](ring_context *context, ring_tensor *) -> ring_status {
                RING_TRY(ring_end(context, RING_OK));
                return RING_OK;
              });
}

TEST(FailureTest, HostOptions) {
  char error[128];
  auto create = [&](int32_t ranks, int32_t threads, double deadline) {
    ring_host_options options{};
    options.ranks = ranks;
    options.threads = threads;
    options.deadline = deadline;
    return ring_host_create(&options, error, sizeof(error));
  };
  EXPECT_EQ(create(0, 1, 0), nullptr);
  EXPECT_STREQ(error, "a ring of 0 ranks, expected at least 1");
  EXPECT_EQ(create(1, -1, 0), nullptr);
  EXPECT_STREQ(error,
               "a pool of -1 threads, expected 0 (one per core) or more");
  EXPECT_EQ(create(1, 1, -2), nullptr);
  EXPECT_STREQ(error, "a deadline of -2 s, expected 0 s (the default) or more");
  ring_host *host = create(3, 0, 0);
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(ring_host_ranks(host), 3);
  EXPECT_EQ(ring_host_local_ranks(host), 3);
  ring_host_destroy(host);
  ring_host_destroy(nullptr);
}

TEST(FailureTest, ForkedProcess) { // case R10
  Host host(2);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ring_status status =
        host.run([](ring_context *) -> ring_status { return RING_OK; });
    bool clear = host.error().find("a forked process has to create its own") !=
                 std::string::npos;
    // Without its threads a loop would never end.
    clear &= ring_host_parallel_for(
                 host, 1, [](void *, int64_t) {}, nullptr) == RING_ERROR_USAGE;
    ring_host_destroy(host);
    _exit(status == RING_ERROR_USAGE && clear ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}
