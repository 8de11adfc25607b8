//===- DriverTest.cpp - What the tests of the virtual driver share --------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <cstring>

using namespace ring::test;

/// A float of device memory; NULL, and why.
static float *at(DeviceMemory &memory, uint64_t address,
                 DeviceMemory::Access kind, std::string &why) {
  return reinterpret_cast<float *>(
      memory.access(address, sizeof(float), kind, why));
}

static std::string fillKernel(const std::vector<uint64_t> &values,
                              DeviceMemory &memory) {
  std::string why;
  auto bits = static_cast<uint32_t>(values[2]);
  for (uint64_t i = 0; i < values[1]; ++i) {
    float *target =
        at(memory, values[0] + 4 * i, DeviceMemory::Access::Write, why);
    if (!target)
      return why;
    std::memcpy(target, &bits, sizeof(bits));
  }
  return "";
}

static std::string addKernel(const std::vector<uint64_t> &values,
                             DeviceMemory &memory) {
  std::string why;
  for (uint64_t i = 0; i < values[2]; ++i) {
    float *source =
        at(memory, values[1] + 4 * i, DeviceMemory::Access::Read, why);
    float *target =
        source ? at(memory, values[0] + 4 * i, DeviceMemory::Access::Write, why)
               : nullptr;
    if (!target)
      return why;
    *target = *source + 1;
  }
  return "";
}

static std::string touchKernel(const std::vector<uint64_t> &values,
                               DeviceMemory &memory) {
  std::string why;
  auto kind =
      values[2] ? DeviceMemory::Access::Write : DeviceMemory::Access::Read;
  return memory.access(values[0], values[1], kind, why) ? "" : why;
}

void DriverTest::SetUp() {
  defineKernel("fill", 3, fillKernel);
  defineKernel("add", 3, addKernel);
  defineKernel("touch", 3, touchKernel);
  ASSERT_OK(cuInit(0));
  for (int device = 0; device < kDevices; ++device)
    ASSERT_OK(cuDevicePrimaryCtxRetain(&contexts[device], device));
  use(0);
}

void DriverTest::TearDown() {
  for (int device = 0; device < kDevices; ++device)
    EXPECT_OK(cuDevicePrimaryCtxRelease_v2(device));
}

CUstream DriverTest::stream(unsigned flags) {
  CUstream result = nullptr;
  EXPECT_OK(cuStreamCreate(&result, flags));
  return result;
}

CUevent DriverTest::event(unsigned flags) {
  CUevent result = nullptr;
  EXPECT_OK(cuEventCreate(&result, flags));
  return result;
}

CUdeviceptr DriverTest::floats(size_t count) {
  CUdeviceptr result = 0;
  EXPECT_OK(cuMemAlloc_v2(&result, count * sizeof(float)));
  return result;
}

float *DriverTest::pinnedFloats(size_t count) {
  void *result = nullptr;
  EXPECT_OK(cuMemHostAlloc(&result, count * sizeof(float), 0));
  return static_cast<float *>(result);
}

CUfunction DriverTest::function(const char *name) {
  CUmodule module = nullptr;
  CUfunction result = nullptr;
  EXPECT_OK(
      cuModuleLoadDataEx(&module, "fake: fill add touch", 0, nullptr, nullptr));
  EXPECT_OK(cuModuleGetFunction(&result, module, name));
  return result;
}

CUresult DriverTest::launch(const char *name, std::vector<uint64_t> values,
                            CUstream stream, unsigned dynamicShared) {
  std::vector<void *> parameters;
  for (uint64_t &value : values)
    parameters.push_back(&value);
  return cuLaunchKernel(function(name), 1, 1, 1, 32, 1, 1, dynamicShared,
                        stream, parameters.data(), nullptr);
}

CUresult DriverTest::fill(CUdeviceptr target, size_t count, float value,
                          CUstream stream) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return launch("fill", {target, count, bits}, stream);
}

std::vector<float> DriverTest::read(CUdeviceptr source, size_t count,
                                    CUstream stream) {
  std::vector<float> result(count);
  EXPECT_OK(cuMemcpyDtoHAsync_v2(result.data(), source, count * sizeof(float),
                                 stream));
  return result;
}
