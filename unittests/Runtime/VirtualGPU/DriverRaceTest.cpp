//===- DriverRaceTest.cpp - Work that no event orders ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host program's pattern: a communication stream fills slots that the
// computation stream reads, with an event each way.
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

using namespace ring::test;

namespace {

class DriverRace : public DriverTest {
protected:
  /// Three rounds over one slot. Without `arrival` the computation does not
  /// wait for the copy, without `free` the copy does not wait for the
  /// computation of the round before.
  CUresult rounds(bool arrival, bool free) {
    CUstream compute = stream(), transfer = stream();
    CUdeviceptr slot = floats(8), result = floats(8);
    float *source = pinnedFloats(8);
    for (int i = 0; i < 8; ++i)
      source[i] = 1;
    CUevent arrived = event(), isFree = event();
    for (int round = 0; round < 3; ++round) {
      if (free)
        EXPECT_OK(cuStreamWaitEvent(transfer, isFree, 0));
      EXPECT_OK(cuMemcpyHtoDAsync_v2(slot, source, 32, transfer));
      EXPECT_OK(cuEventRecord(arrived, transfer));
      if (arrival)
        EXPECT_OK(cuStreamWaitEvent(compute, arrived, 0));
      EXPECT_OK(add(result, slot, 8, compute));
      EXPECT_OK(cuEventRecord(isFree, compute));
    }
    if (CUresult status = cuStreamSynchronize(compute))
      return status;
    return cuStreamSynchronize(transfer);
  }
};

} // namespace

TEST_F(DriverRace, WithBothEventsThereIsNone) { EXPECT_OK(rounds(true, true)); }

TEST_F(DriverRace, AMissingWaitForArrivalReadsWhatIsNotThere) {
  EXPECT_EQ(rounds(false, true), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_REPORT("not all of which were ever written");
}

TEST_F(DriverRace, AMissingWaitForArrivalOfLaterDataIsARace) {
  CUstream compute = stream(), transfer = stream();
  CUdeviceptr slot = floats(8), result = floats(8);
  float *source = pinnedFloats(8);
  EXPECT_OK(fill(slot, 8, 1, compute));
  CUevent ready = event();
  EXPECT_OK(cuEventRecord(ready, compute));
  EXPECT_OK(cuStreamWaitEvent(transfer, ready, 0));
  EXPECT_OK(cuMemcpyHtoDAsync_v2(slot, source, 32, transfer));
  EXPECT_OK(add(result, slot, 8, compute));
  EXPECT_OK(cuStreamSynchronize(compute));
  EXPECT_EQ(cuStreamSynchronize(transfer), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("race between stream operations: copy from host on stream 2 of "
                "device 0 writes what kernel 'add' on stream 1 of device 0 "
                "reads, with no event between (offset 0 of an allocation of 32 "
                "bytes on device 0)");
  // The error stays.
  EXPECT_EQ(cuStreamSynchronize(compute), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(DriverRace, AMissingWaitForTheSlotIsARace) {
  EXPECT_EQ(rounds(true, false), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("race between stream operations: ");
}

TEST_F(DriverRace, OtherBytesDoNotConflict) {
  CUstream a = stream(), b = stream();
  CUdeviceptr data = floats(8);
  EXPECT_OK(fill(data, 3, 1, a));
  EXPECT_OK(fill(data + 12, 5, 2, b));
  EXPECT_OK(cuStreamSynchronize(b));
  EXPECT_OK(cuStreamSynchronize(a));
  EXPECT_OK(launch("touch", {data + 8, 4, 1}, a));
  EXPECT_OK(launch("touch", {data + 11, 2, 0}, b));
  EXPECT_OK(cuStreamSynchronize(b));
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("(offset 11 of an allocation of 32 bytes");
}

TEST_F(DriverRace, ReadersDoNotConflict) {
  CUstream a = stream(), b = stream();
  CUdeviceptr data = floats(4), one = floats(4), two = floats(4);
  EXPECT_OK(fill(data, 4, 1, a));
  EXPECT_OK(cuStreamSynchronize(a));
  EXPECT_OK(add(one, data, 4, a));
  EXPECT_OK(add(two, data, 4, b));
  EXPECT_OK(cuStreamSynchronize(b));
  EXPECT_OK(cuStreamSynchronize(a));
}

TEST_F(DriverRace, WhatTheHostWaitedForIsOrdered) {
  CUstream a = stream(), b = stream();
  CUdeviceptr data = floats(4);
  EXPECT_OK(fill(data, 4, 1, a));
  EXPECT_OK(cuStreamSynchronize(a));
  EXPECT_OK(fill(data, 4, 2, b));
  EXPECT_OK(cuStreamSynchronize(b));
  // Enqueued before the host knew, so executed late is not enough.
  EXPECT_OK(fill(data, 4, 3, a));
  EXPECT_OK(fill(data, 4, 4, b));
  EXPECT_OK(cuStreamSynchronize(a));
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(DriverRace, OrderGoesThroughOtherStreams) {
  CUstream a = stream(), b = stream(), c = stream();
  CUdeviceptr data = floats(4);
  CUevent e = event(), f = event();
  EXPECT_OK(fill(data, 4, 1, a));
  EXPECT_OK(cuEventRecord(e, a));
  EXPECT_OK(cuStreamWaitEvent(b, e, 0));
  EXPECT_OK(cuEventRecord(f, b));
  EXPECT_OK(cuStreamWaitEvent(c, f, 0));
  EXPECT_OK(add(data, data, 4, c));
  EXPECT_EQ(read(data, 4, c), (std::vector<float>{2, 2, 2, 2}));
}

TEST_F(DriverRace, EveryReaderSinceTheWriteCounts) {
  CUstream a = stream(), b = stream(), c = stream();
  CUdeviceptr data = floats(4), one = floats(4), two = floats(4);
  EXPECT_OK(fill(data, 4, 1, a));
  EXPECT_OK(cuStreamSynchronize(a));
  EXPECT_OK(add(one, data, 4, a));
  EXPECT_OK(add(two, data, 4, b));
  CUevent e = event();
  EXPECT_OK(cuEventRecord(e, b));
  EXPECT_OK(cuStreamWaitEvent(c, e, 0)); // For one of the readers only.
  EXPECT_OK(fill(data, 4, 2, c));
  EXPECT_OK(cuStreamQuery(stream()));
  EXPECT_EQ(cuEventSynchronize(e), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i)
    (void)cuStreamQuery(a);
  EXPECT_EQ(cuStreamSynchronize(c), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT(
      "kernel 'fill' on stream 3 of device 0 writes what kernel 'add' "
      "on stream 1 of device 0 reads");
}
