//===- DriverModuleTest.cpp - Modules, launches and devices ---------------===//
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

class DriverModule : public DriverTest {
protected:
  CUresult launchShape(CUfunction f, unsigned gridX, unsigned gridY,
                       unsigned blockX, unsigned blockZ, unsigned shared = 0) {
    return cuLaunchKernel(f, gridX, gridY, 1, blockX, 1, blockZ, shared,
                          nullptr, nullptr, nullptr);
  }
};

int attribute(CUdevice_attribute what) {
  int value = -1;
  EXPECT_OK(cuDeviceGetAttribute(&value, what, 0));
  return value;
}

} // namespace

TEST_F(DriverModule, ImagesThatCannotBeLoadedSayWhy) {
  CUmodule module = nullptr;
  char log[64] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  EXPECT_EQ(cuModuleLoadDataEx(&module, "ELF", 2, options, values),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_STREQ(log, "not a fake image");
  EXPECT_OK(cuModuleLoadDataEx(&module, "fake: fill", 0, nullptr, nullptr));
  CUfunction f = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&f, module, "add"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(cuModuleUnload(module));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

/// The driver finds the end of bytecode by its sections. What follows here is
/// not part of the image.
TEST_F(DriverModule, BytecodeTellsItsSize) {
  auto image = [](const std::vector<int> &bytes) {
    std::string text = "ML\xEFR\x0DMLIR";
    text += '\0';
    for (int byte : bytes)
      text += static_cast<char>(byte);
    return text;
  };
  auto load = [](const std::string &text) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr),
              CUDA_ERROR_INVALID_IMAGE);
    return lastImage();
  };
  // Sections 1 (two bytes), 4 (of 130 bytes, so a size of two bytes; none of
  // them is looked at), 0 (empty) and 8 (one byte).
  std::vector<int> sections = {1, 5, 8, 8, 4, 0x0A, 0x02};
  sections.insert(sections.end(), 130, 9);
  for (int byte : {0, 1, 8, 3, 7})
    sections.push_back(byte);
  EXPECT_EQ(load(image(sections) + "more"), image(sections));
  // One that asks for alignment by 16 bytes: the data begins at byte 16.
  std::vector<int> aligned = {0x85, 5, 33, 0xCB, 0xCB, 0xCB, 0xCB, 1, 2, 8, 1};
  ASSERT_EQ(image({}).size(), 10u);
  aligned.erase(aligned.begin() + 3); // Three bytes of padding.
  EXPECT_EQ(load(image(aligned) + "more"), image(aligned));
  // An old version, without properties: a kind that comes again ends it.
  EXPECT_EQ(load(image({1, 3, 7, 0, 1})), image({1, 3, 7, 0, 1}));
  EXPECT_EQ(load("text"), "text");
}

TEST_F(DriverModule, AModuleStaysWhileItsKernelsArePending) {
  CUmodule module = nullptr;
  CUfunction f = nullptr;
  defineKernel("nothing", 0, [](const std::vector<uint64_t> &, DeviceMemory &) {
    return "";
  });
  EXPECT_OK(cuModuleLoadDataEx(&module, "fake: nothing", 0, nullptr, nullptr));
  EXPECT_OK(cuModuleGetFunction(&f, module, "nothing"));
  CUstream s = stream();
  EXPECT_OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("module unloaded before kernel 'nothing' on stream 1 of device "
                "0 has ended");
}

TEST_F(DriverModule, ShapesHaveLimits) {
  defineKernel("nothing", 0, [](const std::vector<uint64_t> &, DeviceMemory &) {
    return "";
  });
  CUmodule module = nullptr;
  CUfunction f = nullptr;
  EXPECT_OK(cuModuleLoadDataEx(&module, "fake: nothing", 0, nullptr, nullptr));
  EXPECT_OK(cuModuleGetFunction(&f, module, "nothing"));
  EXPECT_OK(launchShape(f, 1 << 20, 65535, 1024, 1));
  EXPECT_EQ(launchShape(f, 0, 1, 32, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(f, 1, 65536, 32, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(f, 1, 1, 1025, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(f, 1, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(f, 1, 1, 1, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(f, 1, 1, 512, 3), CUDA_ERROR_INVALID_VALUE);
  // Parameters that are missing.
  EXPECT_EQ(launchShape(function("fill"), 1, 1, 32, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(nullptr, 1, 1, 32, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModule, SharedMemoryBeyondTheDefaultIsAskedFor) {
  CUfunction f = function("fill");
  CUdeviceptr data = floats(1);
  uint64_t values[] = {data, 1, 0};
  void *parameters[] = {&values[0], &values[1], &values[2]};
  auto launch = [&](unsigned shared) {
    return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, shared, nullptr, parameters,
                          nullptr);
  };
  constexpr unsigned kMost = 163 << 10;
  EXPECT_OK(launch(48 << 10));
  EXPECT_EQ(launch((48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
  auto set = [&](int bytes) {
    return cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  };
  EXPECT_EQ(set(kMost + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(set(kMost));
  EXPECT_OK(launch(kMost));
  EXPECT_EQ(launch(kMost + 1), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_OK(cuFuncGetAttribute(
      &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
  EXPECT_EQ(value, int(kMost));
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(DriverModule, KernelsMayAskForTheirBlockAndSharedMemory) {
  auto nothing = [](const std::vector<uint64_t> &, DeviceMemory &) {
    return "";
  };
  defineKernel("fixed", 0, nothing, {{128, 1, 1}, 128, 40 << 10});
  defineKernel("bounded", 0, nothing, {{}, 256, 0});
  CUmodule module = nullptr;
  CUfunction fixed = nullptr, bounded = nullptr;
  EXPECT_OK(
      cuModuleLoadDataEx(&module, "fake: fixed bounded", 0, nullptr, nullptr));
  EXPECT_OK(cuModuleGetFunction(&fixed, module, "fixed"));
  EXPECT_OK(cuModuleGetFunction(&bounded, module, "bounded"));
  EXPECT_OK(launchShape(fixed, 1, 1, 128, 1, 8 << 10));
  EXPECT_EQ(launchShape(fixed, 1, 1, 64, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchShape(fixed, 1, 1, 64, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_REPORT("launch of kernel 'fixed' refused: grid 1x1x1, block 64x1x2, 0 "
                "bytes of dynamic shared memory");
  EXPECT_OK(launchShape(bounded, 1, 1, 256, 1));
  EXPECT_EQ(launchShape(bounded, 1, 1, 257, 1),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  // Static shared memory counts.
  EXPECT_EQ(launchShape(fixed, 1, 1, 128, 1, (8 << 10) + 1),
            CUDA_ERROR_INVALID_VALUE);
  constexpr int kMost = (163 - 40) << 10;
  auto set = [&](int bytes) {
    return cuFuncSetAttribute(
        fixed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  };
  EXPECT_EQ(set(kMost + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(set(kMost));
  EXPECT_OK(launchShape(fixed, 1, 1, 128, 1, kMost));
  int value = 0, blocks = 0;
  EXPECT_OK(
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fixed));
  EXPECT_EQ(value, 40 << 10);
  EXPECT_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                               bounded));
  EXPECT_EQ(value, 256);
  EXPECT_OK(
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fixed, 128, 0));
  EXPECT_EQ(blocks, 4);
}

TEST_F(DriverModule, FunctionsBelongToTheirContext) {
  CUfunction f = function("fill");
  use(1);
  CUstream s = stream();
  CUdeviceptr data = floats(1);
  uint64_t values[] = {data, 1, 0};
  void *parameters[] = {&values[0], &values[1], &values[2]};
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModule, OccupancyFollowsThreadsAndSharedMemory) {
  CUfunction f = function("fill");
  auto blocks = [&](int threads, size_t shared) {
    int result = -1;
    EXPECT_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&result, f, threads,
                                                          shared));
    return result;
  };
  EXPECT_EQ(blocks(128, 0), 16);
  EXPECT_EQ(blocks(1, 0), 32);
  EXPECT_EQ(blocks(128, 81 << 10), 2);
  EXPECT_EQ(blocks(128, 163 << 10), 1);
  EXPECT_EQ(blocks(128, 164 << 10), 0);
}

TEST_F(DriverModule, TheDefaultChipIsAnA100) {
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 108);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            166912);
  int count = 0, unknown = 0;
  EXPECT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 16);
  EXPECT_EQ(cuDeviceGetAttribute(&unknown, CUdevice_attribute(9999), 0),
            CUDA_ERROR_INVALID_VALUE);
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGet(&device, 16), CUDA_ERROR_INVALID_DEVICE);
  char name[64];
  EXPECT_OK(cuDeviceGetName(name, sizeof(name), 0));
  EXPECT_STREQ(name, "Ring virtual GPU (sm_80)");
}

TEST_F(DriverModule, AFaultIsReportedOnceAndStays) {
  defineKernel("broken", 0, [](const std::vector<uint64_t> &, DeviceMemory &) {
    return "divergent barrier";
  });
  CUmodule module = nullptr;
  CUfunction f = nullptr;
  EXPECT_OK(cuModuleLoadDataEx(&module, "fake: broken", 0, nullptr, nullptr));
  EXPECT_OK(cuModuleGetFunction(&f, module, "broken"));
  CUstream s = stream();
  for (int i = 0; i < 2; ++i)
    EXPECT_OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "virtual GPU: kernel 'broken': divergent barrier (kernel 'broken' "
            "on stream 1 of device 0)\n");
  // The context's own report, whatever another one says later.
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(contexts[1]));
    EXPECT_EQ(cuMemFree_v2(1), CUDA_ERROR_INVALID_VALUE);
  }).join();
  EXPECT_REPORT("divergent barrier");
  const char *name = nullptr, *text = nullptr;
  EXPECT_OK(cuGetErrorName(CUDA_ERROR_LAUNCH_FAILED, &name));
  EXPECT_OK(cuGetErrorString(CUDA_ERROR_LAUNCH_FAILED, &text));
  EXPECT_STREQ(name, "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_STREQ(text, "unspecified launch failure");
  EXPECT_EQ(cuGetErrorName(CUresult(12345), &name), CUDA_ERROR_INVALID_VALUE);
}
