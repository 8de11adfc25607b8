//===- Race.cpp - Programs that leave a wait out --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// What ThreadSanitizer has to report: without it these programs succeed. The
// ranks meet at a flag that orders nothing, so the race happens in every run.

#include "RuntimeTest.h"

#include <atomic>
#include <cstdio>
#include <cstring>

using namespace ring::test;

namespace {
/// Lets the other rank go first without ordering any memory.
class Turn {
public:
  void pass() { passed.store(true, std::memory_order_relaxed); }
  void await() const {
    while (!passed.load(std::memory_order_relaxed))
      ;
  }

private:
  std::atomic<bool> passed{false};
};

constexpr int32_t kValues = 1000;

/// Rank 0 reads what rank 1 sends, before or after its wait.
ring_status receive(bool waits) {
  Host host(2);
  std::vector<int32_t> blocks[2] = {std::vector<int32_t>(kValues),
                                    std::vector<int32_t>(kValues)};
  Turn filled, read;
  return host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    std::vector<int32_t> &own = blocks[rank];
    ring_tensor sent = tensorOf(own.data(), 4, {kValues}), received = sent;
    ring_ticket ticket;
    RING_TRY(ring_begin(context, 2, 1, 0, nullptr));
    std::fill(own.begin(), own.end(), 1 + rank);
    auto sumOfPeer = [&] {
      const std::vector<int32_t> &peer = blocks[1 - rank];
      return std::accumulate(peer.begin(), peer.end(), 0);
    };
    volatile int32_t sum = 0; // read also where nobody asks
    if (!waits && rank == 0) {
      filled.await();
      sum = sumOfPeer();
      read.pass();
    } else if (!waits) {
      filled.pass();
      read.await();
    }
    RING_TRY(
        ring_permute_start(context, 1 - rank, 1 - rank, 1, &sent, &ticket));
    RING_TRY(ring_permute_wait(context, ticket, 1, &received));
    if (waits)
      sum = sumOfPeer();
    bool wrong = waits && sum != kValues * (2 - rank);
    return ring_end(context, wrong ? RING_ERROR_USAGE : RING_OK);
  });
}

/// Rank 0 overwrites what it sent, before or after the end of the rounds.
ring_status overwrite(bool waits) {
  Host host(2);
  std::vector<int32_t> blocks[2] = {std::vector<int32_t>(kValues, 1),
                                    std::vector<int32_t>(kValues, 2)};
  Turn read;
  return host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    std::vector<int32_t> &own = blocks[rank];
    ring_tensor sent = tensorOf(own.data(), 4, {kValues}), received;
    ring_ticket ticket;
    RING_TRY(ring_begin(context, 2, 1, 0, nullptr));
    RING_TRY(
        ring_permute_start(context, 1 - rank, 1 - rank, 1, &sent, &ticket));
    if (rank == 0 && !waits) {
      std::fill(own.begin(), own.end(), 0);
      read.await();
    }
    RING_TRY(ring_permute_wait(context, ticket, 1, &received));
    auto *values = static_cast<const int32_t *>(received.data);
    volatile int32_t sum = std::accumulate(values, values + kValues, 0);
    if (rank == 1)
      read.pass();
    bool wrong = waits && sum != kValues * (2 - rank);
    RING_TRY(ring_end(context, wrong ? RING_ERROR_USAGE : RING_OK));
    if (rank == 0)
      std::fill(own.begin(), own.end(), 0);
    return RING_OK;
  });
}
} // namespace

int main(int argc, char **argv) {
  const char *what = argc == 2 ? argv[1] : "";
  if (!std::strcmp(what, "receive"))
    return receive(/*waits=*/true);
  if (!std::strcmp(what, "receive-without-wait"))
    return receive(/*waits=*/false);
  if (!std::strcmp(what, "overwrite"))
    return overwrite(/*waits=*/true);
  if (!std::strcmp(what, "overwrite-without-wait"))
    return overwrite(/*waits=*/false);
  std::fprintf(stderr, "usage: %s receive|overwrite[-without-wait]\n", argv[0]);
  return 2;
}
