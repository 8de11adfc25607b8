//===- DeviceSequenceTest.cpp - What is enqueued when ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

using namespace ring;
using namespace ring::test;

namespace {

constexpr int kCompute = 0, kTransfers = 1;

class DeviceSequenceTest : public FakeGpus {
protected:
  /// Runs a ring of four, twice, as only the first run allocates; the second's
  /// calls of device `device` from its first transfer to its last launch.
  std::vector<FakeCall> run(int32_t distance, int device) {
    DeviceProblem problem;
    problem.ranks = 4;
    problem.distance = distance;
    problem.queryLayout = zigzagLayout(4, 19);
    problem.keyLayout = zigzagLayout(4, 23);
    problem.fill();
    Host host(options(4, "vgpu"));
    for (int run = 0; run < 2; ++run) {
      ring_host_reset_counters(host);
      fakeState().calls.clear();
      EXPECT_EQ(
          host.run([&](ring_context *context) { return problem.run(context); }),
          RING_OK)
          << host.error();
    }
    EXPECT_LT(problem.error(), 1e-4);
    counters = host.counters();
    std::vector<FakeCall> calls;
    size_t end = 0;
    bool begun = false;
    for (const FakeCall &call : fakeState().calls) {
      if (call.device != device)
        continue;
      begun |= call.name == "cuMemcpyPeerAsync" || isLaunch(call);
      if (begun)
        calls.push_back(call);
      if (isLaunch(call))
        end = calls.size();
    }
    calls.resize(end);
    return calls;
  }

  static bool isLaunch(const FakeCall &call) {
    return call.name == "cuLaunchKernel";
  }
  static std::vector<size_t> find(const std::vector<FakeCall> &calls,
                                  const std::string &name, int stream) {
    std::vector<size_t> places;
    for (size_t i = 0; i < calls.size(); ++i)
      if (calls[i].name == name && calls[i].stream == stream)
        places.push_back(i);
    return places;
  }

  ring_counters counters{};
};

} // namespace

/// Transfer t + 1 stands before the kernel of round t, R - 1 transfers of two
/// tensors, and the host waits for nothing.
TEST_F(DeviceSequenceTest, TransfersAreEnqueuedBeforeKernels) {
  for (int32_t distance : {1, 2, 3}) {
    resetFake();
    std::vector<FakeCall> calls = run(distance, 2);
    std::vector<size_t> copies = find(calls, "cuMemcpyPeerAsync", kTransfers);
    std::vector<size_t> launches = find(calls, "cuLaunchKernel", kCompute);
    ASSERT_EQ(copies.size(), 6u);
    ASSERT_EQ(launches.size(), 4u);
    for (size_t round = 0; round < 3; ++round)
      EXPECT_LT(copies[2 * round + 1], launches[round]) << "round " << round;
    for (const FakeCall &call : calls) {
      EXPECT_EQ(call.name.find("Synchronize"), std::string::npos) << call.name;
      EXPECT_NE(call.name, "cuStreamQuery");
      EXPECT_NE(call.name, "cuMemAlloc") << "within the rounds";
    }
    EXPECT_EQ(counters.transfers, 3);
    EXPECT_EQ(counters.launches, 4);
    EXPECT_EQ(counters.buffers_allocated, std::min(distance + 1, 3));
  }
}

/// Both waits between the streams, by the events' numbers: the kernel of round
/// t for the arrival of transfer t, and a transfer that overwrites a slot for
/// the kernels before.
TEST_F(DeviceSequenceTest, StreamsWaitForEachOther) {
  std::vector<FakeCall> calls = run(1, 1);
  std::vector<size_t> copies = find(calls, "cuMemcpyPeerAsync", kTransfers);
  std::vector<size_t> launches = find(calls, "cuLaunchKernel", kCompute);
  ASSERT_EQ(copies.size(), 6u);
  ASSERT_EQ(launches.size(), 4u);
  for (size_t transfer = 1; transfer <= 3; ++transfer) {
    // The first record of its stream after a copy tells of its arrival.
    size_t record = copies[2 * transfer - 1] + 1;
    ASSERT_EQ(calls[record].name, "cuEventRecord");
    ASSERT_EQ(calls[record].stream, kTransfers);
    bool waited = false;
    for (size_t i = record; i < launches[transfer]; ++i)
      waited |= calls[i].name == "cuStreamWaitEvent" &&
                calls[i].stream == kCompute &&
                calls[i].event == calls[record].event;
    EXPECT_TRUE(waited) << "for transfer " << transfer;
  }
  // Transfer 3 has the slot of transfer 1, which the kernel of round 1 read.
  int recorded = -1;
  bool free = false;
  for (size_t i = launches[1]; i < copies[4]; ++i) {
    if (calls[i].name == "cuEventRecord" && calls[i].stream == kCompute)
      recorded = calls[i].event;
    free |= calls[i].name == "cuStreamWaitEvent" &&
            calls[i].stream == kTransfers && recorded >= 0 &&
            calls[i].event == recorded;
  }
  EXPECT_TRUE(free);
}

/// Without prefetching a block that was received is sent on: it is copied from
/// its owner, not from the slot that is overwritten.
TEST_F(DeviceSequenceTest, WithoutPrefetching) {
  std::vector<FakeCall> calls = run(0, 3);
  EXPECT_EQ(find(calls, "cuMemcpyPeerAsync", kTransfers).size(), 6u);
  EXPECT_EQ(counters.buffers_allocated, 1);
}

TEST_F(DeviceSequenceTest, MoreTransfersThanSlots) {
  Host host(options(2, "vgpu"));
  float own[4] = {};
  EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 2, /*slots=*/1, 42, nullptr));
    auto starts = [&]() -> ring_status {
      RING_TRY(ring_device_begin(context));
      int32_t peer = 1 - ring_rank(context);
      ring_tensor tensor = tensorOf(own, 4, {4}), on;
      RING_TRY(ring_device_import(context, &tensor, &on));
      ring_ticket ticket;
      RING_TRY(ring_permute_start(context, peer, peer, 1, &on, &ticket));
      return ring_permute_start(context, peer, peer, 1, &on, &ticket);
    };
    return ring_end(context, ring_device_finish(context, starts()));
  }),
            RING_ERROR_USAGE);
  EXPECT_NE(host.error().find("transfer 2 needs a slot, and all 1 have "
                              "transfers that were not waited for"),
            std::string::npos)
      << host.error();
}

/// Ranks on CPUs and GPUs in one ring see the same blocks.
TEST_F(DeviceSequenceTest, MixedRings) {
  for (const char *devices :
       {"cpu,vgpu,cpu,vgpu", "vgpu,cpu,cpu,cpu", "vgpu,vgpu,vgpu,cpu"})
    for (int32_t distance : {0, 1, 3}) {
      SCOPED_TRACE(std::string(devices) + " " + std::to_string(distance));
      resetFake();
      DeviceProblem problem;
      problem.ranks = 4;
      problem.distance = distance;
      problem.queryLayout = zigzagLayout(4, 19);
      problem.keyLayout = zigzagLayout(4, 23);
      problem.fill();
      Host host(options(4, devices));
      ASSERT_EQ(
          host.run([&](ring_context *context) { return problem.run(context); }),
          RING_OK)
          << host.error();
      float sum = std::accumulate(problem.key.begin(), problem.key.end(), 0.0f);
      for (int32_t rank = 0; rank < 4; ++rank)
        if (problem.sumOfKeys[rank] != 0)
          EXPECT_NEAR(problem.sumOfKeys[rank], sum, 1e-3) << "rank " << rank;
      // Rows of ranks on CPUs are not computed here: those of the others are.
      for (size_t i = 0; i < problem.lse.size(); ++i)
        if (std::isnan(problem.lse[i]))
          problem.skipped.insert(static_cast<int64_t>(i));
      EXPECT_FALSE(problem.skipped.empty());
      EXPECT_LT(problem.error(), 1e-4);
    }
}
