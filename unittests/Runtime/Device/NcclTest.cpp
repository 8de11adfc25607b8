//===- NcclTest.cpp - Rings of GPUs over NCCL -----------------------------===//
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

class NcclTest : public FakeGpus {
protected:
  /// The host's message.
  static std::string run(ring_host *host, DeviceProblem &problem) {
    ring_status status = ring_host_run(
        host, static_cast<int32_t>(problem.ranks),
        [](ring_context *context, void *environment) {
          return static_cast<DeviceProblem *>(environment)->run(context);
        },
        &problem);
    std::string message = ring_host_error(host);
    EXPECT_EQ(status == RING_OK, message.empty());
    if (status == RING_OK)
      EXPECT_LT(problem.error(), 1e-4);
    return message;
  }
  static std::string refusal(int32_t ranks, const char *devices) {
    ring_host_options options = FakeGpus::options(ranks, devices, 20, "nccl");
    char error[256] = "";
    ring_host *host = ring_host_create(&options, error, sizeof(error));
    EXPECT_EQ(host, nullptr);
    ring_host_destroy(host);
    return error;
  }
  static int64_t count(const std::string &name) {
    int64_t result = 0;
    for (const FakeCall &call : fakeState().calls)
      result += call.name == name;
    return result;
  }
};

} // namespace

TEST_F(NcclTest, Rings) {
  for (int64_t ranks : {1, 2, 3, 4})
    for (int32_t distance : {0, 1, 2, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, distance " +
                   std::to_string(distance));
      resetFake();
      DeviceProblem problem = DeviceProblem::causalZigzag(ranks);
      problem.distance = distance;
      Host host(options(static_cast<int32_t>(ranks), "vgpu", 20, "nccl"));
      EXPECT_EQ(run(host, problem), "");
      EXPECT_EQ(run(host, problem), "") << "with the same communicators";
      // K and V of a transfer are one group.
      EXPECT_EQ(count("ncclGroupEnd"), 2 * ranks * (ranks - 1));
      EXPECT_EQ(count("ncclSend"), 4 * ranks * (ranks - 1));
      EXPECT_EQ(count("cuMemcpyPeerAsync"), 0);
      EXPECT_EQ(host.counters().transfers, 2 * (ranks - 1));
      EXPECT_EQ(fakeState().ncclAborts, 0);
    }
}

/// As NcclSequence: the group of transfer t + 1 before kernel t, and no wait of
/// the host.
TEST_F(NcclTest, TransfersAreEnqueuedBeforeKernels) {
  DeviceProblem problem = DeviceProblem::causalZigzag(4);
  Host host(options(4, "vgpu", 20, "nccl"));
  ASSERT_EQ(run(host, problem), "");
  fakeState().calls.clear();
  ASSERT_EQ(run(host, problem), "");
  int64_t groups = 0, launches = 0;
  bool ended = false;
  for (const FakeCall &call : fakeState().calls) {
    if (call.device != 1)
      continue;
    groups += call.name == "ncclGroupEnd";
    if (call.name == "cuLaunchKernel") {
      EXPECT_EQ(groups, std::min<int64_t>(launches + 1, 3));
      ended = ++launches == 4;
    }
    if (groups && !ended) {
      EXPECT_EQ(call.name.find("Synchronize"), std::string::npos);
      EXPECT_NE(call.name, "cuStreamQuery");
    }
  }
  EXPECT_EQ(launches, 4);
}

/// The second run is captured, with transfer t + 1 before kernel t, and
/// launched; the third is launched only.
TEST_F(NcclTest, Graphs) {
  for (int64_t ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    resetFake();
    ring_host_options with =
        options(static_cast<int32_t>(ranks), "vgpu", 20, "nccl");
    with.graph = 1;
    Host host(with);
    DeviceProblem problem = DeviceProblem::causalZigzag(ranks);
    auto runs = [&](const std::string &note) {
      fakeState().calls.clear();
      for (float &value : problem.value)
        value += 1; // the graph has no values
      EXPECT_EQ(run(host, problem), "");
      EXPECT_EQ(ring_host_graph_note(host), note);
    };
    runs("the first run is not captured");
    EXPECT_EQ(count("cuStreamBeginCapture"), 0);
    EXPECT_EQ(count("cuLaunchKernel"), ranks * ranks);

    runs("");
    EXPECT_EQ(count("cuGraphLaunch"), ranks);
    int64_t groups = 0, launches = 0, waits = 0;
    for (const FakeCall &call : fakeState().calls) {
      if (call.device != 0 || !call.captured)
        continue;
      EXPECT_EQ(call.name.find("Synchronize"), std::string::npos);
      groups += call.name == "ncclGroupEnd";
      waits += call.name == "cuStreamWaitEvent";
      if (call.name == "cuLaunchKernel")
        EXPECT_EQ(groups, std::min(++launches, ranks - 1));
    }
    EXPECT_EQ(launches, ranks);
    EXPECT_EQ(groups, ranks - 1);
    EXPECT_EQ(waits, 2 * (ranks - 1)) << "for a slot, and for what arrives";

    runs("");
    EXPECT_EQ(count("cuGraphLaunch"), ranks);
    EXPECT_EQ(count("cuLaunchKernel"), 0);
    EXPECT_EQ(count("ncclGroupEnd"), 0);

    problem.mask.causal = false; // another program
    runs("addresses, shapes or numbers of items have changed");
    problem.mask.causal = true;
    runs("");
    EXPECT_EQ(count("cuLaunchKernel"), 0) << "still known";
  }
  Host threads(options(1, "vgpu"));
  EXPECT_STREQ(ring_host_graph_note(threads), "graphs were not asked for");
}

/// A failure takes the communicators, and the graphs with them.
TEST_F(NcclTest, GraphsEndWithTheirCommunicators) {
  ring_host_options with = options(3, "vgpu", /*deadline=*/0.5, "nccl");
  with.graph = 1;
  Host host(with);
  DeviceProblem problem = DeviceProblem::causalZigzag(3);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(run(host, problem), "");
  EXPECT_STREQ(ring_host_graph_note(host), "");
  fakeState().failing = "cuGraphLaunch";
  fakeState().failure = 2;
  EXPECT_NE(run(host, problem), "");
  EXPECT_GT(fakeState().ncclAborts, 0);
  EXPECT_EQ(count("cuGraphExecDestroy"), fakeState().ncclAborts)
      << "before NCCL would wait for them";
  fakeState().failing.clear();
  EXPECT_EQ(run(host, problem), "");
  EXPECT_STREQ(ring_host_graph_note(host), "the first run is not captured");
  EXPECT_EQ(count("cuGraphExecDestroy"), 3);
}

TEST_F(NcclTest, RanksThatShareAGpu) { // case R11
  EXPECT_EQ(refusal(3, "vgpu:0,vgpu:1,vgpu:0"),
            "ranks 0 and 2 both have GPU 0 (fake), nccl needs a GPU for each "
            "rank");
  EXPECT_EQ(refusal(6, "vgpu"), // there are four
            "ranks 0 and 4 both have GPU 0 (fake), nccl needs a GPU for each "
            "rank");
  EXPECT_EQ(refusal(2, "vgpu,cpu"),
            "rank 1 has no GPU, nccl needs one for each rank");
  // Threads hand over addresses.
  DeviceProblem problem = DeviceProblem::causalZigzag(3);
  Host host(options(3, "vgpu:0"));
  EXPECT_EQ(run(host, problem), "");
}

TEST_F(NcclTest, OldLibraries) {
  // Under another name, as a library is opened and looked at once.
  std::string path = RING_FAKE_DRIVER;
  path.insert(path.rfind('/'), "/.");
  ScopedVariable other("RING_VGPU_LIBRARY", path);
  fakeState().ncclVersion = 21701;
  std::string message = refusal(2, "vgpu");
  EXPECT_NE(message.find(" of version 2.17.1 is too old, expected 2.18.0 or "
                         "later"),
            std::string::npos)
      << message;
}

TEST_F(NcclTest, Failures) {
  Host host(options(3, "vgpu", /*deadline=*/0.5, "nccl"));
  DeviceProblem problem = DeviceProblem::causalZigzag(3);
  {
    ScopedVariable fault("RING_FAULT", "drop:rank=1,transfer=2");
    std::string message = run(host, problem);
    // Rank 2, or one that meanwhile waits for it to end.
    EXPECT_TRUE(
        message.find("transfer 2 with ranks 0 and 1 was not started within "
                     "0.5 s") != std::string::npos ||
        message.find("rank 2 did not pass the last round within 0.5 s") !=
            std::string::npos)
        << message;
    EXPECT_GE(fakeState().ncclAborts, 1);
  }
  EXPECT_EQ(run(host, problem), "") << "connected again";
  EXPECT_EQ(fakeState().ncclAborts, 3) << "all of them";
  {
    ScopedVariable fault("RING_FAULT", "delay:rank=1,transfer=2,ms=50");
    EXPECT_EQ(run(host, problem), "");
  }
  {
    ScopedVariable fault("RING_FAULT", "swap:rank=1,transfer=2");
    EXPECT_EQ(run(host, problem),
              "RING_FAULT asks for swap, which nccl cannot do");
  }
  {
    // A rank that never begins on its GPU: the others do not connect.
    EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
      if (ring_rank(context) != 1)
        return problem.run(context);
      RING_TRY(ring_begin(context, 3, 2, 42, nullptr));
      return ring_end(context, RING_ERROR_USAGE);
    }),
              RING_ERROR_USAGE);
    EXPECT_EQ(host.error(), "rank 1: the program failed with status 4");
  }
  EXPECT_EQ(run(host, problem), "");
}

TEST_F(NcclTest, HostMemoryIsRefused) {
  Host host(options(2, "vgpu", 20, "nccl"));
  float own[2] = {};
  EXPECT_EQ(host.run([&](ring_context *context) {
    ring_tensor tensor = tensorOf(&own[ring_rank(context)], 4, {1});
    return runRing(
        context, {tensor}, 1,
        [&](int32_t, const std::vector<ring_tensor> &) { return RING_OK; });
  }),
            RING_ERROR_USAGE);
  EXPECT_NE(host.error().find("a transfer of host memory, nccl is for programs "
                              "on GPUs"),
            std::string::npos);
}
