//===- DriverLibraryTest.cpp - The library, with real kernels -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the runtime uses it: loaded, each function found by name.
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "gtest/gtest.h"

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <vector>

using namespace ring::vgpu;

namespace {

const char *const kKernels = R"(
module attributes {gpu.container_module} {
  gpu.module @kernels {
    // target[i] = source[i] + 1 for every thread i of the grid
    llvm.func @add_one(%target: !llvm.ptr<1>, %source: !llvm.ptr<1>)
        attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
      %one = llvm.mlir.constant(1.0 : f32) : f32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %threads = nvvm.read.ptx.sreg.ntid.x : i32
      %first = llvm.mul %block, %threads : i32
      %i = llvm.add %first, %thread : i32
      %from = llvm.getelementptr %source[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %to = llvm.getelementptr %target[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %value = llvm.load %from : !llvm.ptr<1> -> f32
      %sum = llvm.fadd %value, %one : f32
      llvm.store %sum, %to : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
)";

class DriverLibrary : public testing::Test {
protected:
  static constexpr int kCount = 64;

  void SetUp() override {
    library = dlopen(RING_VGPU_FILE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
#define RING_VGPU_FIND(symbol, parameters)                                     \
  symbol = reinterpret_cast<decltype(symbol)>(dlsym(library, #symbol));        \
  ASSERT_NE(symbol, nullptr) << #symbol;
    RING_VGPU_DRIVER_API(RING_VGPU_FIND)
    RING_VGPU_NCCL_API(RING_VGPU_FIND)
    report = reinterpret_cast<decltype(report)>(
        dlsym(library, "ring_vgpu_last_report"));
    ASSERT_NE(report, nullptr);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadDataEx(&module, kKernels, 0, nullptr, nullptr),
              CUDA_SUCCESS)
        << report();
    ASSERT_EQ(cuModuleGetFunction(&function, module, "add_one"), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&source, kCount * 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&target, kCount * 4), CUDA_SUCCESS);
    for (int i = 0; i < kCount; ++i)
      values.push_back(static_cast<float>(i));
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(source, values.data(), kCount * 4, stream),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  CUresult launch(unsigned blocks, unsigned threads) {
    void *parameters[] = {&target, &source};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream,
                          parameters, nullptr);
  }

#define RING_VGPU_MEMBER(symbol, parameters)                                   \
  decltype(&ring::vgpu::symbol) symbol = nullptr;
  RING_VGPU_DRIVER_API(RING_VGPU_MEMBER)
  RING_VGPU_NCCL_API(RING_VGPU_MEMBER)
  const char *(*report)() = nullptr;

  void *library = nullptr;
  CUstream stream = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr source = 0, target = 0;
  std::vector<float> values;
};

} // namespace

TEST_F(DriverLibrary, ExportsNothingElse) {
  EXPECT_EQ(dlsym(library, "_ZN4ring4vgpu6Driver3getEv"), nullptr);
}

TEST_F(DriverLibrary, RunsAKernel) {
  EXPECT_EQ(launch(kCount / 32, 32), CUDA_SUCCESS);
  std::vector<float> result(kCount);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(result.data(), target, kCount * 4, stream),
            CUDA_SUCCESS)
      << report();
  for (int i = 0; i < kCount; ++i)
    EXPECT_EQ(result[i], values[i] + 1);
}

TEST_F(DriverLibrary, ReportsWhatAKernelDidWrong) {
  EXPECT_EQ(launch(kCount / 32, 64), CUDA_ERROR_INVALID_VALUE); // reqntid
  EXPECT_EQ(launch(kCount / 32 + 1, 32), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  std::string text = report();
  EXPECT_NE(text.find("kernel 'add_one', block (2, 0, 0), thread 0: "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("4 bytes at offset 256 of an allocation of 256 bytes on "
                      "device 0, beyond its end"),
            std::string::npos)
      << text;
}
