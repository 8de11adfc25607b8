//===- DriverTest.h - What the tests of the virtual driver share -*- C++
//-*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_VIRTUALGPU_DRIVERTEST_H
#define RING_UNITTESTS_RUNTIME_VIRTUALGPU_DRIVERTEST_H

#include "DriverApi.h"
#include "FakeMachine.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace ring::test {

using namespace ring::vgpu;

/// A few devices, the first one current, and kernels:
///   fill(target, count, value): every float of target is value
///   add(target, source, count): target[i] = source[i] + 1
///   touch(address, bytes, write): accesses bytes at once
class DriverTest : public testing::Test {
protected:
  static constexpr int kDevices = 4;

  void SetUp() override;
  void TearDown() override;

  void use(int device) {
    ASSERT_EQ(cuCtxSetCurrent(contexts[device]), CUDA_SUCCESS);
  }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING);
  CUdeviceptr floats(size_t count);
  float *pinnedFloats(size_t count);
  CUfunction function(const char *name);

  CUresult launch(const char *name, std::vector<uint64_t> values,
                  CUstream stream, unsigned dynamicShared = 0);
  CUresult fill(CUdeviceptr target, size_t count, float value, CUstream stream);
  CUresult add(CUdeviceptr target, CUdeviceptr source, size_t count,
               CUstream stream) {
    return launch("add", {target, source, count}, stream);
  }
  /// The values, after all that the stream holds.
  std::vector<float> read(CUdeviceptr source, size_t count, CUstream stream);
  std::string report() const { return ring_vgpu_last_report(); }

  CUcontext contexts[kDevices] = {};
};

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_REPORT(text)                                                    \
  EXPECT_NE(report().find(text), std::string::npos) << report()

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_VIRTUALGPU_DRIVERTEST_H
