//===- RuntimeTest.cpp - What the tests of the runtime share --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <deque>

using namespace ring::test;

ring_status ring::test::passAround(
    ring_context *context, const std::vector<ring_tensor> &own,
    int32_t distance,
    const std::function<ring_status(int32_t, const std::vector<ring_tensor> &)>
        &visit) {
  int32_t rank = ring_rank(context), size = ring_size(context);
  int32_t to = (rank + 1) % size, from = (rank + size - 1) % size;
  int32_t count = static_cast<int32_t>(own.size());
  std::vector<ring_tensor> block = own;
  std::deque<ring_ticket> flying;
  int32_t started = 0;
  for (int32_t round = 0; round < size; ++round) {
    while (started < size - 1 && started < round + distance) {
      ring_ticket ticket;
      if (started == round) // nothing in flight: send the block at hand
        RING_TRY(ring_permute_start(context, to, from, count, block.data(),
                                    &ticket));
      else
        RING_TRY(
            ring_permute_forward(context, to, from, flying.back(), &ticket));
      flying.push_back(ticket);
      ++started;
    }
    RING_TRY(visit(round, block));
    if (round == size - 1)
      break;
    if (flying.empty()) { // no prefetch: start and wait stand together
      ring_ticket ticket;
      RING_TRY(
          ring_permute_start(context, to, from, count, block.data(), &ticket));
      flying.push_back(ticket);
      ++started;
    }
    RING_TRY(ring_permute_wait(context, flying.front(), count, block.data()));
    flying.pop_front();
  }
  return RING_OK;
}

ring_status ring::test::runRing(
    ring_context *context, const std::vector<ring_tensor> &own,
    int32_t distance,
    const std::function<ring_status(int32_t, const std::vector<ring_tensor> &)>
        &visit) {
  RING_TRY(ring_begin(context, ring_size(context), distance + 1, 42, nullptr));
  return ring_end(context, passAround(context, own, distance, visit));
}

int main(int argc, char **argv) {
  // Before the first allocation, which reads it.
  setenv("RING_POISON", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
