//===- DriverStreamTest.cpp - When streams do their work ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace ring::test;

namespace {
class DriverStream : public DriverTest {};
} // namespace

TEST_F(DriverStream, NothingRunsBeforeTheHostWaits) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  float *host = pinnedFloats(4);
  host[0] = -1;
  EXPECT_OK(fill(data, 4, 7, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host, data, 16, s));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(host[0], -1);
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_EQ(host[0], 7);
}

TEST_F(DriverStream, AnEventForcesWhatComesBeforeItAndNoMore) {
  CUstream s = stream(), other = stream();
  float *host = pinnedFloats(3);
  CUdeviceptr data = floats(3);
  host[0] = host[1] = host[2] = -1;
  CUevent e = event();
  EXPECT_OK(fill(data, 3, 1, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host, data, 4, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host + 1, data + 4, 4, s));
  EXPECT_OK(cuStreamWaitEvent(other, e, 0));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host + 2, data + 8, 4, other));
  EXPECT_OK(cuEventSynchronize(e));
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[1], -1);
  EXPECT_EQ(host[2], -1);
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_EQ(host[1], -1);
  EXPECT_EQ(host[2], 1);
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(host[1], 1);
}

TEST_F(DriverStream, AWaitIsForTheRecordAtItsCall) {
  CUstream s = stream(), other = stream();
  float *host = pinnedFloats(2);
  CUdeviceptr data = floats(2);
  host[1] = -1;
  CUevent e = event();
  EXPECT_OK(cuStreamWaitEvent(other, e, 0)); // Never recorded: no wait.
  EXPECT_OK(fill(data, 2, 1, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(cuStreamWaitEvent(other, e, 0));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host + 1, data, 4, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host, data, 4, other));
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[1], -1);
}

TEST_F(DriverStream, PinnedMemoryIsReadWhenTheCopyRuns) {
  CUstream s = stream();
  CUdeviceptr data = floats(2);
  float *pinned = pinnedFloats(1);
  float pageable = 1;
  pinned[0] = 1;
  EXPECT_OK(cuMemcpyHtoDAsync_v2(data, pinned, 4, s));
  EXPECT_OK(cuMemcpyHtoDAsync_v2(data + 4, &pageable, 4, s));
  pinned[0] = 2;
  pageable = 2;
  EXPECT_EQ(read(data, 2, s), (std::vector<float>{2, 1}));
}

TEST_F(DriverStream, ACopyToPageableMemoryBlocks) {
  CUstream s = stream();
  CUdeviceptr data = floats(1);
  float host = 0;
  EXPECT_OK(fill(data, 1, 3, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(&host, data, 4, s));
  EXPECT_EQ(host, 3);
}

TEST_F(DriverStream, PollingFindsNothingDoneAtFirst) {
  CUstream s = stream();
  CUdeviceptr data = floats(1);
  EXPECT_OK(cuStreamQuery(s));
  EXPECT_OK(fill(data, 1, 3, s));
  CUevent e = event();
  EXPECT_OK(cuEventQuery(e));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuEventQuery(e));
  EXPECT_OK(cuStreamQuery(s));
  EXPECT_OK(cuMemFree_v2(data)); // The host knows that the kernel has ended.
}

TEST_F(DriverStream, TheDefaultStreamIsOrderedWithBlockingOnes) {
  CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream();
  CUdeviceptr data = floats(2);
  float *host = pinnedFloats(1);
  host[0] = -1;
  EXPECT_OK(fill(data, 1, 1, blocking));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host, data, 4, free)); // Unordered: not run.
  EXPECT_OK(add(data + 4, data, 1, nullptr));
  EXPECT_OK(add(data, data + 4, 1, blocking));
  EXPECT_EQ(read(data, 2, blocking), (std::vector<float>{3, 2}));
  EXPECT_EQ(host[0], -1);
}

TEST_F(DriverStream, AHostFunctionRunsWithoutBeingWaitedFor) {
  CUstream s = stream();
  CUdeviceptr data = floats(1);
  struct State {
    std::atomic<bool> called{false};
    CUresult inside = CUDA_SUCCESS;
  } state;
  EXPECT_OK(fill(data, 1, 1, s));
  EXPECT_OK(cuLaunchHostFunc(
      s,
      [](void *pointer) {
        auto *state = static_cast<State *>(pointer);
        state->inside = cuCtxSynchronize();
        state->called = true;
      },
      &state));
  while (!state.called)
    std::this_thread::yield();
  EXPECT_EQ(state.inside, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_OK(cuMemFree_v2(data)); // Its end was told to the host.
}

TEST_F(DriverStream, ElapsedTimeNeedsEventsThatWereReached) {
  CUstream s = stream();
  CUevent begin = event(CU_EVENT_DEFAULT), end = event(CU_EVENT_DEFAULT);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuEventRecord(begin, s));
  EXPECT_OK(cuEventRecord(end, s));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end),
            CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event(), end),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverStream, DestroyedStreamsFinishTheirWork) {
  CUstream s = stream();
  CUdeviceptr data = floats(1);
  CUevent e = event();
  EXPECT_OK(fill(data, 1, 5, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(cuStreamDestroy_v2(s));
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
  CUstream other = stream();
  EXPECT_OK(cuStreamWaitEvent(other, e, 0));
  EXPECT_EQ(read(data, 1, other), (std::vector<float>{5}));
}

TEST_F(DriverStream, HandlesOfOtherContextsAreRefused) {
  CUstream s = stream();
  CUevent e = event();
  use(1);
  CUstream foreign = stream();
  EXPECT_EQ(cuEventRecord(e, foreign), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr data = floats(1);
  EXPECT_EQ(fill(data, 1, 1, s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuStreamSynchronize(foreign), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverStream, DevicesWorkAtTheSameTime) {
  // Each kernel waits for the other one, so they end only where both run.
  static std::atomic<int> running;
  running = 0;
  defineKernel("meet", 0, [](const std::vector<uint64_t> &, DeviceMemory &) {
    ++running;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (running < 2)
      if (std::chrono::steady_clock::now() > end)
        return "the other kernel does not run";
    return "";
  });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int device = 0; device < 2; ++device)
    threads.emplace_back([&, device] {
      cuCtxSetCurrent(contexts[device]);
      CUstream s = nullptr;
      CUmodule module = nullptr;
      CUfunction f = nullptr;
      cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
      cuModuleLoadDataEx(&module, "fake: meet", 0, nullptr, nullptr);
      cuModuleGetFunction(&f, module, "meet");
      cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr);
      right += cuStreamSynchronize(s) == CUDA_SUCCESS;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 2);
}
