//===- FaultTest.cpp - Faults injected into transfers ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <chrono>

using namespace ring::test;

namespace {

/// Runs a ring of 4 and returns the owners that each rank saw.
struct Outcome {
  ring_status status;
  std::string error;
  std::vector<std::vector<int32_t>> owners;
};

Outcome runWithFault(const std::string &fault, int32_t distance,
                     double deadline = 20) {
  ScopedVariable variable("RING_FAULT", fault);
  Host host(4, 2, deadline);
  std::vector<int32_t> data{0, 1, 2, 3};
  Outcome outcome;
  outcome.owners.resize(4);
  outcome.status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    return runRing(context, {tensorOf(&data[rank], 4, {1})}, distance,
                   [&](int32_t, const std::vector<ring_tensor> &group) {
                     outcome.owners[rank].push_back(
                         *static_cast<int32_t *>(group[0].data));
                     return RING_OK;
                   });
  });
  outcome.error = host.error();
  return outcome;
}

const std::vector<std::vector<int32_t>> kRight{
    {0, 3, 2, 1}, {1, 0, 3, 2}, {2, 1, 0, 3}, {3, 2, 1, 0}};

} // namespace

TEST(FaultTest, DelayChangesNothing) {
  for (int32_t distance : {0, 1, 3}) {
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = runWithFault("delay:rank=1,transfer=2,ms=300", distance);
    EXPECT_EQ(outcome.status, RING_OK) << outcome.error;
    EXPECT_EQ(outcome.owners, kRight);
    EXPECT_GE(std::chrono::steady_clock::now() - start,
              std::chrono::milliseconds(300));
  }
}

TEST(FaultTest, DropEndsTheRing) {
  for (int32_t distance : {0, 1, 3})
    for (int transfer : {1, 2, 3}) {
      Outcome outcome =
          runWithFault("drop:rank=3,transfer=" + std::to_string(transfer),
                       distance, /*deadline=*/0.3);
      EXPECT_EQ(outcome.status, RING_ERROR_TIMEOUT);
      EXPECT_NE(outcome.error.find("rank 3 has not sent to rank 0"),
                std::string::npos)
          << outcome.error;
    }
}

TEST(FaultTest, SwapDeliversAnotherBlock) {
  for (int32_t distance : {0, 1, 3})
    for (int transfer : {1, 2, 3})
      for (int rank : {0, 3}) {
        Outcome outcome =
            runWithFault("swap:rank=" + std::to_string(rank) +
                             ",transfer=" + std::to_string(transfer),
                         distance);
        EXPECT_EQ(outcome.status, RING_OK) << outcome.error;
        int32_t receiver = (rank + 1) % 4;
        EXPECT_NE(outcome.owners[receiver][transfer],
                  kRight[receiver][transfer]);
      }
}

TEST(FaultTest, OtherRanksAndTransfersAreUntouched) {
  Outcome outcome = runWithFault("drop:rank=3,transfer=4", 1);
  EXPECT_EQ(outcome.status, RING_OK) << outcome.error;
  EXPECT_EQ(outcome.owners, kRight);
}

TEST(FaultTest, MalformedTextIsRefused) {
  for (const char *text :
       {"lose:rank=1,transfer=1", "drop", "drop:rank=1", "drop:transfer=1",
        "drop:rank=x,transfer=1", "drop:rank=1,transfer=1,speed=3",
        "drop:rank=1,transfer=1 2", "drop:rank=-1,transfer=1",
        "drop:rank=1,,transfer=1"}) {
    Outcome outcome = runWithFault(text, 1);
    EXPECT_EQ(outcome.status, RING_ERROR_USAGE) << text;
    EXPECT_EQ(outcome.error,
              std::string("RING_FAULT is '") + text +
                  "', expected drop|swap|delay:rank=R,transfer=T[,ms=M]");
  }
}
