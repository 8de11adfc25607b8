//===- DriverGraphTest.cpp - Captures and graph launches ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <thread>

using namespace ring::test;

namespace {

class DriverGraph : public DriverTest {
protected:
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_OK(cuGraphDestroy(graph));
    return exec;
  }

  /// A round trip through another stream: slot <- source there, result <- slot
  /// + 1 here. Without `join` this stream does not wait for the other one.
  CUresult capture(CUstream s, CUstream other, CUdeviceptr result,
                   CUdeviceptr slot, float *source, bool join, CUgraph *graph) {
    CUevent fork = event(), joined = event();
    function("add"); // Loading is not allowed during the capture.
    EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_OK(cuEventRecord(fork, s));
    EXPECT_OK(cuStreamWaitEvent(other, fork, 0));
    EXPECT_OK(cuMemcpyHtoDAsync_v2(slot, source, 16, other));
    EXPECT_OK(cuEventRecord(joined, other));
    if (join)
      EXPECT_OK(cuStreamWaitEvent(s, joined, 0));
    EXPECT_OK(add(result, slot, 4, s));
    return cuStreamEndCapture(s, graph);
  }
};

CUstreamCaptureStatus statusOf(CUstream stream) {
  CUstreamCaptureStatus status{};
  EXPECT_OK(cuStreamIsCapturing(stream, &status));
  return status;
}

} // namespace

TEST_F(DriverGraph, ALaunchRepeatsWhatTwoStreamsDid) {
  CUstream s = stream(), other = stream();
  CUdeviceptr slot = floats(4), result = floats(4);
  float *source = pinnedFloats(4);
  CUgraph graph = nullptr;
  std::fill(source, source + 4, 1.0f);
  ASSERT_OK(capture(s, other, result, slot, source, true, &graph));
  EXPECT_EQ(statusOf(s), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(statusOf(other), CU_STREAM_CAPTURE_STATUS_NONE);
  // Nothing was executed.
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_TRUE(std::isnan(read(slot, 4, s)[0]));
  CUgraphExec exec = instantiate(graph);
  for (float value : {2.0f, 5.0f}) {
    std::fill(source, source + 4, value);
    EXPECT_OK(cuGraphLaunch(exec, s));
    EXPECT_EQ(read(result, 4, s)[3], value + 1);
  }
  EXPECT_OK(cuGraphLaunch(exec, s));
  EXPECT_OK(cuGraphLaunch(exec, other)); // After the launch before.
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverGraph, ALaunchIsLazyAndWatched) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  float *host = pinnedFloats(4);
  host[0] = -1;
  EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(fill(data, 4, 3, s));
  EXPECT_OK(cuMemsetD32Async(data, 0, 1, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(host, data, 16, s));
  CUgraph graph = nullptr;
  ASSERT_OK(cuStreamEndCapture(s, &graph));
  CUgraphExec exec = instantiate(graph);
  EXPECT_OK(cuGraphLaunch(exec, s));
  EXPECT_EQ(host[0], -1);
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(host[1], 3);
  // Another stream, which waits for nothing.
  CUstream other = stream();
  EXPECT_OK(cuGraphLaunch(exec, s));
  EXPECT_OK(add(data, data, 4, other));
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("kernel 'fill' on stream 1 of device 0");
}

TEST_F(DriverGraph, AnUnjoinedStreamEndsTheCaptureWithAnError) {
  CUstream s = stream(), other = stream();
  CUgraph graph = nullptr;
  EXPECT_EQ(
      capture(s, other, floats(4), floats(4), pinnedFloats(4), false, &graph),
      CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(statusOf(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(DriverGraph, WaitingForACapturingStreamInvalidates) {
  CUstream s = stream();
  CUevent e = event();
  CUgraph graph = nullptr;
  auto begin = [&] {
    EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_OK(cuEventRecord(e, s));
    EXPECT_EQ(statusOf(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  };
  auto expectInvalid = [&] {
    EXPECT_EQ(statusOf(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(cuEventRecord(e, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuStreamEndCapture(s, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
  };
  begin();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
  begin();
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
  begin();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
  begin();
  EXPECT_EQ(cuEventSynchronize(e), CUDA_ERROR_CAPTURED_EVENT);
  expectInvalid();
  begin();
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
  expectInvalid();
  begin();
  CUdeviceptr data = 0;
  EXPECT_EQ(cuMemAllocAsync(&data, 4, s), CUDA_ERROR_NOT_SUPPORTED);
  expectInvalid();
}

TEST_F(DriverGraph, ModesDecideWhoMayAllocate) {
  CUstream s = stream();
  CUgraph graph = nullptr;
  CUdeviceptr data = 0;
  CUresult elsewhere = CUDA_SUCCESS;
  auto allocateElsewhere = [&] {
    std::thread([&] {
      EXPECT_OK(cuCtxSetCurrent(contexts[0]));
      CUdeviceptr other = 0;
      elsewhere = cuMemAlloc_v2(&other, 4);
    }).join();
    return elsewhere;
  };
  EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuMemAlloc_v2(&data, 4));
  EXPECT_OK(cuStreamEndCapture(s, &graph));
  EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_OK(allocateElsewhere());
  EXPECT_EQ(cuMemAlloc_v2(&data, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(s, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(allocateElsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(s, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(allocateElsewhere());
}

TEST_F(DriverGraph, CapturesDoNotMixWithOtherWork) {
  CUstream a = stream(), b = stream();
  CUevent before = event(), inA = event();
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_OK(cuEventRecord(before, b));
  EXPECT_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamWaitEvent(a, before, 0),
            CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(cuStreamEndCapture(a, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  EXPECT_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuEventRecord(inA, a));
  EXPECT_EQ(cuStreamWaitEvent(b, inA, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(cuStreamEndCapture(a, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(b, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // An event of a capture stands for nothing outside of it.
  EXPECT_EQ(cuStreamWaitEvent(b, inA, 0), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_OK(cuEventRecord(inA, a));
  EXPECT_OK(cuStreamWaitEvent(b, inA, 0));

  EXPECT_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuEventRecord(inA, a));
  EXPECT_OK(cuStreamWaitEvent(b, inA, 0));
  EXPECT_EQ(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  (void)cuStreamEndCapture(a, &graph);

  EXPECT_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(contexts[0]));
    EXPECT_EQ(cuStreamEndCapture(a, &graph),
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_OK(cuStreamEndCapture(a, &graph));
}

TEST_F(DriverGraph, ARingIsReplayed) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  auto rank = [&](int rank) {
    EXPECT_OK(cuCtxSetCurrent(contexts[rank]));
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess);
    CUstream compute = stream(), transfer = stream();
    CUdeviceptr own = floats(1), other = floats(1), result = floats(1);
    float *value = pinnedFloats(1);
    CUevent fork = event(), arrived = event();
    CUgraph graph = nullptr;
    function("add");
    EXPECT_OK(
        cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_OK(cuMemcpyHtoDAsync_v2(own, value, 4, compute));
    EXPECT_OK(cuEventRecord(fork, compute));
    EXPECT_OK(cuStreamWaitEvent(transfer, fork, 0));
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(reinterpret_cast<void *>(own), 1, ncclFloat32,
                       (rank + 1) % 3, comm, transfer),
              ncclSuccess);
    EXPECT_EQ(ncclRecv(reinterpret_cast<void *>(other), 1, ncclFloat32,
                       (rank + 2) % 3, comm, transfer),
              ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_OK(cuEventRecord(arrived, transfer));
    EXPECT_OK(cuStreamWaitEvent(compute, arrived, 0));
    EXPECT_OK(add(result, other, 1, compute));
    EXPECT_OK(cuStreamEndCapture(compute, &graph));
    CUgraphExec exec = instantiate(graph);
    for (int run = 0; run < 3; ++run) {
      value[0] = static_cast<float>(10 * run + rank);
      EXPECT_OK(cuGraphLaunch(exec, compute));
      EXPECT_EQ(read(result, 1, compute)[0], 10 * run + (rank + 2) % 3 + 1);
    }
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  };
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(rank, i);
  for (std::thread &thread : threads)
    thread.join();
}
