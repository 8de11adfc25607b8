//===- DriverMemoryTest.cpp - Memory of the virtual devices ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <cstring>

using namespace ring::test;

namespace {
class DriverMemory : public DriverTest {};
} // namespace

TEST_F(DriverMemory, AddressesFaultOnTheHost) {
  CUdeviceptr data = floats(4);
  EXPECT_DEATH(
      {
        volatile float value = *reinterpret_cast<volatile float *>(data);
        (void)value;
      },
      "");
}

TEST_F(DriverMemory, FreshMemoryIsNaNAndCannotBeReadByKernels) {
  CUstream s = stream();
  CUdeviceptr data = floats(4), copy = floats(4);
  EXPECT_OK(fill(data, 2, 1, s));
  // A copy takes along what was never written; the host sees NaN.
  EXPECT_OK(cuMemcpyDtoDAsync_v2(copy, data, 16, s));
  std::vector<float> values = read(copy, 4, s);
  EXPECT_EQ(values[1], 1);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_OK(launch("touch", {copy, 8, 0}, s));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(launch("touch", {copy + 4, 8, 0}, s));
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_REPORT("8 bytes at offset 4 of an allocation of 16 bytes on device 0, "
                "not all of which were ever written");
}

TEST_F(DriverMemory, AccessesBeyondTheEndAreReported) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  EXPECT_OK(launch("touch", {data + 12, 8, 1}, s));
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_REPORT("kernel 'touch': 8 bytes at offset 12 of an allocation of 16 "
                "bytes on device 0, beyond its end");
  // The context is lost, another one is not.
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_LAUNCH_FAILED);
  use(1);
  CUstream other = stream();
  EXPECT_OK(cuStreamSynchronize(other));
}

TEST_F(DriverMemory, CopiesBeyondTheEndAreRefused) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  float host[8] = {};
  float *pinned = pinnedFloats(4);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(data, host, 20, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_REPORT("cuMemcpyHtoDAsync given 20 bytes at offset 0 of an "
                "allocation of 16 bytes on device 0, beyond its end");
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(pinned + 2, data, 16, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(data, reinterpret_cast<void *>(data), 4, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(data, 0, 4, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(data + 15, 0, 2, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(data + 2, 0, 1, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemcpyHtoDAsync_v2(data, host, 0, s));
}

TEST_F(DriverMemory, FreedMemoryIsRemembered) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  EXPECT_OK(cuMemFree_v2(data));
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_REPORT("which was freed");
  EXPECT_NE(floats(4), data);
  EXPECT_OK(launch("touch", {data, 4, 1}, s));
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_REPORT("4 bytes at offset 0 of an allocation of 16 bytes on device 0, "
                "which was freed");
}

TEST_F(DriverMemory, FreeingWhatWorkUsesIsAnError) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  EXPECT_OK(fill(data, 4, 1, s));
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("an allocation of 16 bytes on device 0 freed before kernel "
                "'fill' on stream 1 of device 0, which uses it, was executed");
}

TEST_F(DriverMemory, FreeingWhatNobodyWaitedForIsAnError) {
  CUstream s = stream(), other = stream();
  CUdeviceptr data = floats(4), more = floats(4);
  CUevent e = event(), f = event();
  EXPECT_OK(fill(data, 4, 1, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(add(more, data, 4, s));
  EXPECT_OK(cuEventRecord(f, s));
  EXPECT_OK(cuStreamWaitEvent(other, f, 0));
  EXPECT_OK(cuEventSynchronize(e));
  EXPECT_OK(cuStreamSynchronize(other));
  // That the other stream waited tells the host as much.
  EXPECT_OK(cuMemFree_v2(data));
  EXPECT_OK(fill(more, 4, 2, s));
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuMemFree_v2(more), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(DriverMemory, PinnedMemoryIsWatchedAsWell) {
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  float *host = pinnedFloats(4);
  EXPECT_OK(cuMemcpyHtoDAsync_v2(data, host, 16, s));
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT(
      "of pinned host memory freed before copy from host on stream 1");
}

TEST_F(DriverMemory, StreamOrderedMemory) {
  CUstream s = stream(), other = stream();
  CUdeviceptr data = 0;
  ASSERT_OK(cuMemAllocAsync(&data, 16, s));
  EXPECT_OK(fill(data, 4, 1, s));
  EXPECT_EQ(read(data, 4, s)[3], 1);
  EXPECT_OK(cuMemFreeAsync(data, s));
  EXPECT_OK(cuStreamSynchronize(s));
  ASSERT_OK(cuMemAllocAsync(&data, 16, s));
  EXPECT_OK(fill(data, 4, 1, other)); // Without waiting for the allocation.
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("race between stream operations: kernel 'fill' on stream 2 of "
                "device 0 writes what allocation on stream 1 of device 0 "
                "writes");
}

TEST_F(DriverMemory, FreeingInAStreamIsAWrite) {
  CUstream s = stream(), other = stream();
  CUdeviceptr data = 0;
  CUevent e = event();
  ASSERT_OK(cuMemAllocAsync(&data, 16, s));
  EXPECT_OK(cuEventRecord(e, s));
  EXPECT_OK(cuStreamWaitEvent(other, e, 0));
  EXPECT_OK(fill(data, 4, 1, other));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(cuMemFreeAsync(data, s));
  // Executed after the kernel, which is no order.
  EXPECT_OK(cuEventRecord(e, other));
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_REPORT("free on stream 1 of device 0 writes what kernel 'fill'");
}

TEST_F(DriverMemory, RowsAreCopiedWithTheirPitches) {
  CUstream s = stream();
  float host[3][4], back[3][2] = {};
  for (int i = 0; i < 12; ++i)
    host[i / 4][i % 4] = static_cast<float>(i);
  CUdeviceptr data = floats(9); // Rows of three.
  CUDA_MEMCPY2D up = {};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = host;
  up.srcXInBytes = 4;
  up.srcPitch = 16;
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = data;
  up.dstPitch = 12;
  up.WidthInBytes = 8;
  up.Height = 3;
  EXPECT_OK(cuMemcpy2DAsync_v2(&up, s));
  CUDA_MEMCPY2D down = {};
  down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  down.srcDevice = data;
  down.srcPitch = 12;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = back;
  down.dstPitch = 8;
  down.WidthInBytes = 8;
  down.Height = 3;
  std::memset(host, 0, sizeof(host)); // It was staged.
  EXPECT_OK(cuMemcpy2DAsync_v2(&down, s));
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(back[row][0], 4 * row + 1);
    EXPECT_EQ(back[row][1], 4 * row + 2);
  }
  // The gaps were not written.
  EXPECT_TRUE(std::isnan(read(data, 9, s)[2]));
  down.srcPitch = 4;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&down, s), CUDA_ERROR_INVALID_VALUE);
  up.dstPitch = 16; // The last row ends beyond the allocation.
  up.Height = 4;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&up, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, MemsetsFillBytesAndWords) {
  CUstream s = stream();
  CUdeviceptr data = floats(3);
  EXPECT_OK(cuMemsetD8Async(data, 0, 12, s));
  EXPECT_OK(cuMemsetD32Async(data + 4, 0x3f800000, 2, s));
  EXPECT_EQ(read(data, 3, s), (std::vector<float>{0, 1, 1}));
}

TEST_F(DriverMemory, PointersTellWhatTheyAre) {
  use(2);
  CUdeviceptr data = floats(4);
  float *pinned = pinnedFloats(4);
  float pageable = 0;
  CUmemorytype type{};
  int device = -1;
  EXPECT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  data + 15));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  data));
  EXPECT_EQ(device, 2);
  EXPECT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  auto address = reinterpret_cast<CUdeviceptr>(&pageable);
  EXPECT_EQ(
      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
      CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[] = {&type, &device};
  EXPECT_OK(cuPointerGetAttributes(2, attributes, values, address));
  EXPECT_EQ(type, 0);
  EXPECT_EQ(device, -2);
}

TEST_F(DriverMemory, DevicesHaveAnEnd) {
  size_t bytes = 0;
  CUdeviceptr data = 0;
  EXPECT_OK(cuDeviceTotalMem_v2(&bytes, 0));
  EXPECT_EQ(cuMemAlloc_v2(&data, bytes + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&data, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, PeersNeedAccess) {
  use(1);
  CUdeviceptr far = floats(4);
  CUstream s1 = stream();
  EXPECT_OK(fill(far, 4, 1, s1));
  EXPECT_OK(cuStreamSynchronize(s1));
  use(0);
  int can = 0;
  EXPECT_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  CUstream s = stream();
  CUdeviceptr near = floats(4);
  // Copies need none.
  EXPECT_OK(cuMemcpyPeerAsync(near, contexts[0], far, contexts[1], 16, s));
  EXPECT_EQ(read(near, 4, s)[3], 1);
  EXPECT_EQ(cuMemcpyPeerAsync(near, contexts[1], far, contexts[1], 16, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuCtxEnablePeerAccess(contexts[1], 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(contexts[1], 0),
            CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_OK(add(near, far, 4, s));
  EXPECT_EQ(read(near, 4, s)[3], 2);
  use(1);
  EXPECT_OK(add(near, far, 4, s1));
  EXPECT_EQ(cuStreamSynchronize(s1), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_REPORT("whose peer access is not enabled");
}

TEST_F(DriverMemory, LeaksAreReportedWhereAsked) {
  ASSERT_OK(cuDevicePrimaryCtxRetain(&contexts[0], 4));
  ASSERT_OK(cuCtxSetCurrent(contexts[0]));
  CUdeviceptr data = floats(5);
  CUstream s = stream();
  EXPECT_OK(fill(data, 5, 1, s));
  setenv("RING_VGPU_LEAKS", "1", 1);
  testing::internal::CaptureStderr();
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(4));
  std::string text = testing::internal::GetCapturedStderr();
  unsetenv("RING_VGPU_LEAKS");
  EXPECT_NE(text.find("leak: 1 operations of device 4 were never executed"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("leak: an allocation of 20 bytes on device 4"),
            std::string::npos)
      << text;
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
