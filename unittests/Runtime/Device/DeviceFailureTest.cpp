//===- DeviceFailureTest.cpp - What goes wrong with GPUs ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include "../JsonChecker.h"

#include <fstream>
#include <sstream>

using namespace ring;
using namespace ring::test;

namespace {

class DeviceFailureTest : public FakeGpus {
protected:
  /// Why there is no host with these devices.
  static std::string refusal(int32_t ranks, const char *devices,
                             const char *transport = nullptr) {
    ring_host_options options = FakeGpus::options(ranks, devices);
    options.transport = transport;
    char error[256] = "";
    ring_host *host = ring_host_create(&options, error, sizeof(error));
    EXPECT_EQ(host, nullptr);
    ring_host_destroy(host);
    return error;
  }

  /// Runs a causal problem on three ranks; the host's message.
  static std::string run(ring_host *host) {
    DeviceProblem problem = DeviceProblem::causalZigzag(3);
    ring_status status = ring_host_run(
        host, 3,
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
};

} // namespace

TEST_F(DeviceFailureTest, DevicesThatThereAreNot) {
  EXPECT_EQ(refusal(2, "gpu"), "'gpu' is no device, expected cpu, "
                               "cuda[:INDEX] or vgpu[:INDEX]");
  for (const char *text :
       {"vgpu:", "vgpu:x", "cpu:0", "vgpu:-1", "vgpu,", "vgpu:99999", ""})
    EXPECT_NE(refusal(2, text), "") << text;
  EXPECT_EQ(refusal(3, "vgpu,cpu"),
            "2 devices for 3 ranks, expected 1 or as many as ranks");
  EXPECT_EQ(refusal(2, "cpu,vgpu:4"), "rank 1 is to use GPU 4, there are 4");
  EXPECT_EQ(refusal(1, "cpu", "mpi"),
            "'mpi' is no transport, expected threads or nccl");
  fakeState().devices = 0;
  EXPECT_NE(refusal(1, "cuda"), "");
}

TEST_F(DeviceFailureTest, LibrariesThatThereAreNot) { // case C11
  {
    ScopedVariable none("RING_VGPU_LIBRARY", "/nowhere/libring_vgpu.so");
    std::string message = refusal(1, "vgpu");
    EXPECT_EQ(message.rfind("no virtual GPU: /nowhere/libring_vgpu.so: ", 0),
              0u)
        << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    Host cpu(options(1, "cpu")); // needs none
  }
  {
    // A library that is there, and no driver.
    ScopedVariable other("RING_VGPU_LIBRARY", "libpthread.so.0");
    EXPECT_EQ(refusal(1, "vgpu"),
              "virtual GPU libpthread.so.0 of unknown version "
              "has no function cuInit");
  }
}

TEST_F(DeviceFailureTest, ProgramsOfAnotherTarget) {
  Host cpu(options(3, "cpu"));
  ring_status status = cpu.run([&](ring_context *context) -> ring_status {
    EXPECT_EQ(ring_device(context), RING_DEVICE_CPU);
    RING_TRY(ring_begin(context, 3, 1, 1, nullptr));
    return ring_end(context, ring_device_begin(context));
  });
  EXPECT_EQ(status, RING_ERROR_USAGE);
  EXPECT_NE(cpu.error().find("the program is compiled for a GPU, the rank has "
                             "none: its device is cpu"),
            std::string::npos);
  // The other way round is fine: tensors are on the host, and not copied.
  Host gpu(options(2, "vgpu"));
  float own[2] = {};
  EXPECT_EQ(gpu.run([&](ring_context *context) {
    ring_tensor tensor = tensorOf(&own[ring_rank(context)], 4, {1});
    return runRing(context, {tensor}, 1,
                   [&](int32_t round, const std::vector<ring_tensor> &block) {
                     int32_t owner = (ring_rank(context) + round) % 2;
                     EXPECT_EQ(block[0].data, &own[owner]);
                     return RING_OK;
                   });
  }),
            RING_OK)
      << gpu.error();
  EXPECT_EQ(gpu.counters().buffers_allocated, 0);
}

TEST_F(DeviceFailureTest, ImagesThatDoNotRun) {
  fakeState().capability = 75;
  Host host(options(3, "vgpu"));
  EXPECT_NE(run(host).find(" (fake) of sm_75 runs none of the kernel's "
                           "images: vgpu for sm_80"),
            std::string::npos);
  fakeState().capability = 90;
  Host newer(options(3, "vgpu"));
  EXPECT_EQ(run(newer), "");
}

/// Every call that fails ends all ranks with a message that names it.
TEST_F(DeviceFailureTest, CallsThatFail) {
  for (const char *call :
       {"cuLaunchKernel", "cuModuleLoadDataEx", "cuMemcpyPeerAsync",
        "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize",
        "cuMemAlloc"}) {
    SCOPED_TRACE(call);
    resetFake();
    Host host(options(3, "vgpu", /*deadline=*/5));
    fakeState().failing = call;
    std::string message = run(host);
    EXPECT_NE(message.find("CUDA_ERROR_LAUNCH_FAILED (as the test wants)"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("GPU "), std::string::npos) << message;
    fakeState().failing.clear();
    // As a context is lost with the first error, so is the device.
    if (call != std::string("cuModuleLoadDataEx"))
      EXPECT_NE(run(host).find("failed in an earlier run, GPU "),
                std::string::npos);
  }
}

TEST_F(DeviceFailureTest, NoMemory) {
  Host host(options(3, "vgpu"));
  fakeState().failing = "cuMemAlloc";
  fakeState().failure = 2;
  EXPECT_NE(run(host).find(" bytes: CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos)
      << host.error();
  fakeState().failing.clear();
  EXPECT_EQ(run(host), "") << "there is memory again";
}

TEST_F(DeviceFailureTest, WorkThatNeverEnds) {
  Host host(options(3, "vgpu", /*deadline=*/0.3));
  fakeState().failing = "cuStreamQuery";
  fakeState().failure = 600;
  std::string message = run(host);
  EXPECT_NE(message.find("(fake) was not done within 0.3 s"), std::string::npos)
      << message;
}

TEST_F(DeviceFailureTest, Faults) {
  Host host(options(3, "vgpu", /*deadline=*/0.5));
  {
    ScopedVariable fault("RING_FAULT", "drop:rank=1,transfer=2");
    std::string message = run(host);
    // Rank 2, or one that meanwhile waits for it to end.
    EXPECT_NE(message.find(" within 0.5 s: rank 1 has not sent to rank 2"),
              std::string::npos)
        << message;
  }
  {
    ScopedVariable fault("RING_FAULT", "delay:rank=1,transfer=1,ms=50");
    EXPECT_EQ(run(host), "");
  }
  {
    ScopedVariable fault("RING_FAULT", "swap:rank=1,transfer=1");
    DeviceProblem problem;
    problem.queryLayout = zigzagLayout(3, 19);
    problem.keyLayout = zigzagLayout(3, 23);
    problem.fill();
    EXPECT_EQ(
        host.run([&](ring_context *context) { return problem.run(context); }),
        RING_OK)
        << host.error();
    EXPECT_GT(problem.error(), 1e-2) << "the block of another rank";
  }
  EXPECT_EQ(run(host), "");
}

/// A rank function that returns too early has its GPU waited for all the same.
TEST_F(DeviceFailureTest, EndedTooEarly) {
  Host host(options(1, "vgpu"));
  auto waits = [] {
    int64_t count = 0;
    for (const FakeCall &call : fakeState().calls)
      count += call.name == "cuStreamSynchronize";
    return count;
  };
  EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 1, 1, nullptr));
    RING_TRY(ring_device_begin(context));
    return ring_end(context, RING_OK);
  }),
            RING_ERROR_USAGE);
  EXPECT_EQ(host.error(),
            "rank 0: ring_end was called before ring_device_finish");
  EXPECT_EQ(waits(), 2);
  EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 1, 1, nullptr));
    return ring_device_begin(context);
  }),
            RING_ERROR_USAGE);
  EXPECT_EQ(waits(), 4);
  EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 1, 1, nullptr));
    RING_TRY(ring_device_begin(context));
    return ring_end(context,
                    ring_device_finish(context, ring_device_begin(context)));
  }),
            RING_ERROR_USAGE);
  EXPECT_EQ(host.error(), "rank 0: ring_device_begin was called before");
}

TEST_F(DeviceFailureTest, TraceHasTheTimesOfTheDevice) {
  ring_host_options traced = options(3, "vgpu");
  traced.trace = 1;
  Host host(traced);
  EXPECT_EQ(run(host), "");
  std::string path = testing::TempDir() + "device-trace.json";
  ASSERT_EQ(ring_host_write_trace(host, path.c_str()), 1);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_TRUE(isJson(text.str()));
  for (const char *event :
       {"round 0 attention", "round 2 attention", "transfer 1 from rank 2",
        "transfer 2 from rank 0", "wait for GPU 1 (fake)"})
    EXPECT_NE(text.str().find(event), std::string::npos) << event;
}
