//===- PermuteTest.cpp - Transfers that succeed ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <chrono>
#include <thread>

using namespace ring::test;

namespace {

/// K and V of one rank, told apart by value.
struct Block {
  std::vector<float> key, value;

  Block(int32_t rank, int64_t keys)
      : key(keys * 4, float(rank)), value(keys * 2, float(100 + rank)) {}
  std::vector<ring_tensor> tensors() {
    int64_t keys = static_cast<int64_t>(value.size()) / 2;
    return {tensorOf(key.data(), 4, {1, keys, 4}),
            tensorOf(value.data(), 4, {1, keys, 2})};
  }
};

std::vector<Block> makeBlocks(int32_t ranks, int64_t keys) {
  std::vector<Block> blocks;
  blocks.reserve(ranks);
  for (int32_t rank = 0; rank < ranks; ++rank)
    blocks.emplace_back(rank, keys);
  return blocks;
}

class Permute : public testing::TestWithParam<std::tuple<int, int>> {};

} // namespace

TEST_P(Permute, EveryRankSeesEveryOwnersOwnMemory) {
  auto [ranks, distance] = GetParam();
  Host host(ranks);
  std::vector<Block> blocks = makeBlocks(ranks, 3);
  std::vector<std::vector<int>> visited(ranks);
  ring_status status = host.run([&, ranks = ranks, distance = distance](
                                    ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    return runRing(
        context, blocks[rank].tensors(), distance,
        [&](int32_t round, const std::vector<ring_tensor> &group) {
          int32_t owner = (rank + ranks - round) % ranks;
          EXPECT_EQ(group[0].data, blocks[owner].key.data());
          EXPECT_EQ(group[1].data, blocks[owner].value.data());
          EXPECT_EQ(static_cast<float *>(group[0].data)[11], float(owner));
          EXPECT_EQ(static_cast<float *>(group[1].data)[5], float(100 + owner));
          EXPECT_EQ(group[0].sizes[2], 4);
          EXPECT_EQ(group[1].sizes[2], 2);
          EXPECT_EQ(group[1].strides[1], 2);
          visited[rank].push_back(owner);
          return RING_OK;
        });
  });
  EXPECT_EQ(status, RING_OK) << host.error();
  EXPECT_EQ(host.error(), "");
  for (const std::vector<int> &owners : visited)
    EXPECT_EQ(owners.size(), size_t(ranks));

  ring_counters counters = host.counters();
  EXPECT_EQ(counters.runs, 1);
  EXPECT_EQ(counters.transfers, ranks - 1);
  EXPECT_EQ(counters.bytes_sent, (ranks - 1) * 3 * (4 + 2) * 4);
  EXPECT_EQ(counters.buffers_allocated, 0);
  EXPECT_EQ(counters.slots_in_flight,
            std::min(std::max(distance, 1), ranks - 1));
}

INSTANTIATE_TEST_SUITE_P(Rings, Permute,
                         testing::Combine(testing::Range(1, 9),
                                          testing::Range(0, 5)));

TEST(PermuteTest, SmallAndLargeMessages) { // case R1
  for (int64_t bytes : {int64_t(16), int64_t(64) << 20}) {
    Host host(2);
    std::vector<std::vector<char>> data{std::vector<char>(bytes, 'a'),
                                        std::vector<char>(bytes, 'b')};
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      int32_t rank = ring_rank(context);
      return runRing(context, {tensorOf(data[rank].data(), 1, {bytes})}, 1,
                     [&](int32_t round, const std::vector<ring_tensor> &group) {
                       EXPECT_EQ(group[0].sizes[0], bytes);
                       EXPECT_EQ(static_cast<char *>(group[0].data)[bytes - 1],
                                 (rank + round) % 2 ? 'b' : 'a');
                       return RING_OK;
                     });
    });
    EXPECT_EQ(status, RING_OK) << host.error();
    EXPECT_EQ(host.counters().bytes_sent, bytes);
  }
}

TEST(PermuteTest, LateRankCompletes) { // case R8
  Host host(4);
  std::vector<Block> blocks = makeBlocks(4, 1);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    return runRing(context, blocks[rank].tensors(), 1,
                   [&](int32_t round, const std::vector<ring_tensor> &group) {
                     if (rank == 2 && round == 1)
                       std::this_thread::sleep_for(std::chrono::seconds(1));
                     EXPECT_EQ(group[0].data,
                               blocks[(rank + 4 - round) % 4].key.data());
                     return RING_OK;
                   });
  });
  EXPECT_EQ(status, RING_OK) << host.error();
}

// A rank may be done with its transfers long before its peers look at them.
TEST(PermuteTest, OwnersStayUntilAllHavePassedTheLastRound) {
  Host host(3);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    std::vector<int32_t> own(1000, rank);
    ring_status result =
        runRing(context, {tensorOf(own.data(), 4, {1000})}, 2,
                [&](int32_t round, const std::vector<ring_tensor> &group) {
                  if (rank == 1)
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                  auto *data = static_cast<const int32_t *>(group[0].data);
                  EXPECT_EQ(std::accumulate(data, data + 1000, 0),
                            1000 * ((rank + 3 - round) % 3));
                  return RING_OK;
                });
    std::fill(own.begin(), own.end(), -1);
    return result;
  });
  EXPECT_EQ(status, RING_OK) << host.error();
}

TEST(PermuteTest, SelfTransfer) {
  Host host(1);
  int32_t value = 7;
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 2, 0, nullptr));
    ring_tensor own = tensorOf(&value, 4, {}), received;
    ring_ticket first, second;
    RING_TRY(ring_permute_start(context, 0, 0, 1, &own, &first));
    RING_TRY(ring_permute_forward(context, 0, 0, first, &second));
    RING_TRY(ring_permute_wait(context, second, 1, &received));
    EXPECT_EQ(received.data, &value);
    RING_TRY(ring_permute_wait(context, first, 1, &received));
    EXPECT_EQ(received.data, &value);
    return ring_end(context, RING_OK);
  });
  EXPECT_EQ(status, RING_OK) << host.error();
}

// Any ring order: neighbours are what the program says, not rank + 1.
TEST(PermuteTest, OtherRingOrder) {
  const std::vector<int32_t> order{2, 0, 3, 1};
  Host host(4);
  std::vector<Block> blocks = makeBlocks(4, 1);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    int32_t place = 0;
    while (order[place] != rank)
      ++place;
    int32_t to = order[(place + 1) % 4], from = order[(place + 3) % 4];
    RING_TRY(ring_begin(context, 4, 3, 1, nullptr));
    std::vector<ring_tensor> own = blocks[rank].tensors();
    ring_ticket tickets[3];
    RING_TRY(ring_permute_start(context, to, from, 2, own.data(), &tickets[0]));
    for (int i = 1; i < 3; ++i)
      RING_TRY(
          ring_permute_forward(context, to, from, tickets[i - 1], &tickets[i]));
    for (int i = 0; i < 3; ++i) {
      std::vector<ring_tensor> received(2);
      RING_TRY(ring_permute_wait(context, tickets[i], 2, received.data()));
      EXPECT_EQ(received[0].data,
                blocks[order[(place + 3 - i) % 4]].key.data());
    }
    return ring_end(context, RING_OK);
  });
  EXPECT_EQ(status, RING_OK) << host.error();
}

// Two exchanges with different peers at once: each pair has an order of its
// own.
TEST(PermuteTest, PairsAreIndependent) {
  Host host(3);
  int32_t values[3][2];
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    int32_t rank = ring_rank(context);
    int32_t next = (rank + 1) % 3, previous = (rank + 2) % 3;
    values[rank][0] = rank;
    values[rank][1] = 10 + rank;
    ring_tensor up = tensorOf(&values[rank][0], 4, {}), down = up;
    down.data = &values[rank][1];
    RING_TRY(ring_begin(context, 3, 2, 1, nullptr));
    ring_ticket upTicket, downTicket;
    if (rank == 0) { // in another order than the peers
      RING_TRY(
          ring_permute_start(context, previous, next, 1, &down, &downTicket));
      RING_TRY(ring_permute_start(context, next, previous, 1, &up, &upTicket));
    } else {
      RING_TRY(ring_permute_start(context, next, previous, 1, &up, &upTicket));
      RING_TRY(
          ring_permute_start(context, previous, next, 1, &down, &downTicket));
    }
    ring_tensor received;
    RING_TRY(ring_permute_wait(context, downTicket, 1, &received));
    EXPECT_EQ(received.data, &values[next][1]);
    RING_TRY(ring_permute_wait(context, upTicket, 1, &received));
    EXPECT_EQ(received.data, &values[previous][0]);
    return ring_end(context, RING_OK);
  });
  EXPECT_EQ(status, RING_OK) << host.error();
}
