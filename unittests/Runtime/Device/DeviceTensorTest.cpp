//===- DeviceTensorTest.cpp - Tensors to and from a GPU -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include "../../../lib/Runtime/Device/CudaDriver.h"

#include <cstring>

using namespace ring;
using namespace ring::test;

extern "C" int cuMemAlloc_v2(cuda::CUdeviceptr *, size_t);
extern "C" int cuMemFree_v2(cuda::CUdeviceptr);
extern "C" int cuCtxSetCurrent(cuda::CUcontext);

namespace {

class DeviceTensorTest : public FakeGpus {
protected:
  using Body = std::function<ring_status(ring_context *)>;
  /// Runs `body` on a GPU, between ring_device_begin and ring_device_finish.
  static ring_status run(ring_host *host, const Body &body) {
    Body whole = [&](ring_context *context) -> ring_status {
      RING_TRY(ring_begin(context, 1, 1, 1, nullptr));
      ring_status status = ring_device_begin(context);
      if (status == RING_OK)
        status = body(context);
      return ring_end(context, ring_device_finish(context, status));
    };
    return ring_host_run(
        host, 1,
        [](ring_context *context, void *environment) {
          return (*static_cast<Body *>(environment))(context);
        },
        &whole);
  }
};

/// Memory of the user's on a GPU.
class UserMemory {
public:
  explicit UserMemory(size_t bytes, int device = 0) {
    cuCtxSetCurrent(
        reinterpret_cast<cuda::CUcontext>(static_cast<intptr_t>(device) + 1));
    cuMemAlloc_v2(&address, bytes);
    cuCtxSetCurrent(nullptr);
  }
  ~UserMemory() { cuMemFree_v2(address); }
  UserMemory(const UserMemory &) = delete;
  UserMemory &operator=(const UserMemory &) = delete;

  template <typename Element> Element *as() const {
    return reinterpret_cast<Element *>(address);
  }

private:
  cuda::CUdeviceptr address = 0;
};

/// Sizes, and strides in elements; some tensors have strange ones.
struct Shape {
  std::string name;
  std::vector<int64_t> sizes, strides;
  bool isAligned = false; ///< as kernels want it
};

} // namespace

static std::vector<Shape> shapes() {
  return {{"contiguous", {2, 3, 4, 8}, {96, 32, 8, 1}, true},
          {"odd rows", {2, 3, 4, 5}, {60, 20, 5, 1}},
          {"rows apart", {2, 3, 4, 5}, {84, 28, 7, 1}},
          {"heads inside", {2, 3, 4, 5}, {60, 5, 15, 1}},
          {"heads apart", {2, 3, 4, 5}, {200, 7, 31, 1}},
          {"broadcast", {2, 3, 4, 5}, {5, 0, 10, 1}},
          {"every second", {2, 3, 4, 5}, {120, 40, 10, 2}},
          {"one row", {1, 1, 1, 5}, {77, 77, 77, 1}, true},
          {"one element", {1}, {9}, true},
          {"vector", {7}, {1}, true},
          {"nothing", {2, 0, 4, 5}, {20, 20, 5, 1}},
          {"empty rows", {2, 3, 0}, {1, 1, 1}},
          {"scalar", {}, {}, true}};
}

static ring_tensor describe(const Shape &shape, void *data, int32_t bytes) {
  ring_tensor tensor = tensorOf(data, bytes, shape.sizes);
  std::copy(shape.strides.begin(), shape.strides.end(), tensor.strides);
  return tensor;
}

/// Applies `what(offset in a, offset in b)` to every element.
template <typename What>
static void forElements(const ring_tensor &a, const ring_tensor &b,
                        const What &what) {
  int64_t count = 1;
  for (int32_t dim = 0; dim < a.dims; ++dim)
    count *= a.sizes[dim];
  for (int64_t index = 0; index < count; ++index) {
    int64_t rest = index, inA = 0, inB = 0;
    for (int32_t dim = a.dims; dim-- > 0;) {
      inA += rest % a.sizes[dim] * a.strides[dim];
      inB += rest % a.sizes[dim] * b.strides[dim];
      rest /= a.sizes[dim];
    }
    what(inA, inB);
  }
}

/// Rows that begin at multiples of 16 bytes, and nothing between them that was
/// never written.
static void checkLayout(const ring_tensor &tensor) {
  ASSERT_NE(tensor.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 16, 0u);
  for (int32_t dim = 0; dim < tensor.dims; ++dim) {
    if (dim == tensor.dims - 1)
      EXPECT_EQ(tensor.strides[dim], 1);
    else if (tensor.sizes[dim] > 1)
      EXPECT_EQ(tensor.strides[dim] * tensor.element_bytes % 16, 0);
  }
}

TEST_F(DeviceTensorTest, ImportKeepsTheValues) {
  ring_host_options one = options(1, "vgpu");
  Host host(one);
  for (bool onDevice : {false, true})
    for (const Shape &shape : shapes()) {
      SCOPED_TRACE(shape.name + (onDevice ? " on the device" : ""));
      std::vector<uint16_t> values(1000);
      std::iota(values.begin(), values.end(), 0);
      UserMemory memory(values.size() * 2);
      std::memcpy(memory.as<void>(), values.data(), values.size() * 2);
      ring_tensor tensor =
          describe(shape, onDevice ? memory.as<void>() : values.data(), 2);
      ring_status status = run(host, [&](ring_context *context) -> ring_status {
        ring_tensor on;
        RING_TRY(ring_device_import(context, &tensor, &on));
        EXPECT_EQ(on.dims, tensor.dims);
        bool taken = onDevice && shape.isAligned;
        EXPECT_EQ(on.data == tensor.data, taken);
        if (!taken)
          checkLayout(on);
        forElements(tensor, on, [&](int64_t from, int64_t to) {
          EXPECT_EQ(static_cast<const uint16_t *>(on.data)[to], values[from]);
        });
        return RING_OK;
      });
      EXPECT_EQ(status, RING_OK) << host.error();
    }
}

TEST_F(DeviceTensorTest, PaddedRowsAreDefined) {
  Host host(options(1, "vgpu"));
  std::vector<uint16_t> values(15, 1);
  ring_tensor tensor = tensorOf(values.data(), 2, {3, 5});
  EXPECT_EQ(run(host,
                [&](ring_context *context) -> ring_status {
                  ring_tensor on;
                  RING_TRY(ring_device_import(context, &tensor, &on));
                  EXPECT_EQ(on.strides[0], 8);
                  for (int64_t i = 0; i < 24; ++i)
                    EXPECT_EQ(static_cast<uint16_t *>(on.data)[i],
                              i % 8 < 5 ? 1 : 0);
                  return RING_OK;
                }),
            RING_OK);
}

TEST_F(DeviceTensorTest, ExportWritesTheValuesAndNothingElse) {
  Host host(options(1, "vgpu"));
  for (bool onDevice : {false, true})
    for (const Shape &shape : shapes()) {
      if (shape.name == "broadcast") // nothing to write to
        continue;
      SCOPED_TRACE(shape.name + (onDevice ? " on the device" : ""));
      std::vector<uint16_t> values(1000, 9);
      UserMemory memory(values.size() * 2);
      std::memcpy(memory.as<void>(), values.data(), values.size() * 2);
      auto *data = onDevice ? memory.as<uint16_t>() : values.data();
      ring_tensor tensor = describe(shape, data, 2);
      std::vector<uint16_t> expected = values;
      ring_status status = run(host, [&](ring_context *context) -> ring_status {
        ring_tensor on;
        RING_TRY(ring_device_export(context, &tensor, &on));
        forElements(tensor, on, [&](int64_t outside, int64_t inside) {
          static_cast<uint16_t *>(on.data)[inside] =
              static_cast<uint16_t>(outside + 100);
          expected[outside] = static_cast<uint16_t>(outside + 100);
        });
        return RING_OK;
      });
      EXPECT_EQ(status, RING_OK) << host.error();
      EXPECT_EQ(std::memcmp(data, expected.data(), values.size() * 2), 0);
    }
}

/// Rows that no kernel writes are those that pad a rank's block.
TEST_F(DeviceTensorTest, WhatNoKernelWritesIsZero) {
  Host host(options(1, "vgpu"));
  std::vector<float> values(12, 5);
  ring_tensor tensor = tensorOf(values.data(), 4, {3, 4});
  EXPECT_EQ(run(host,
                [&](ring_context *context) {
                  ring_tensor on;
                  return ring_device_export(context, &tensor, &on);
                }),
            RING_OK);
  EXPECT_EQ(values, std::vector<float>(12, 0));
}

TEST_F(DeviceTensorTest, HostCopies) {
  Host host(options(1, "vgpu"));
  std::vector<int32_t> values(12);
  std::iota(values.begin(), values.end(), 0);
  UserMemory memory(48);
  std::memcpy(memory.as<void>(), values.data(), 48);
  ring_tensor tensor = tensorOf(values.data(), 4, {2, 3});
  tensor.strides[0] = 6;
  tensor.strides[1] = 2;
  ring_tensor ofDevice = tensor;
  ofDevice.data = memory.as<void>();
  EXPECT_EQ(run(host,
                [&](ring_context *context) -> ring_status {
                  ring_tensor on;
                  RING_TRY(ring_device_host_copy(context, &tensor, &on));
                  EXPECT_EQ(on.data, tensor.data);
                  RING_TRY(ring_device_host_copy(context, &ofDevice, &on));
                  EXPECT_NE(on.data, ofDevice.data);
                  auto *copied = static_cast<int32_t *>(on.data);
                  EXPECT_EQ(std::vector<int32_t>(copied, copied + 6),
                            (std::vector<int32_t>{0, 2, 4, 6, 8, 10}));
                  EXPECT_EQ(fakeState().calls.back().name,
                            "cuStreamSynchronize");
                  return RING_OK;
                }),
            RING_OK);
}

TEST_F(DeviceTensorTest, MemoryOfAnotherDeviceIsRefused) {
  Host host(options(1, "vgpu:1"));
  UserMemory memory(64, /*device=*/3);
  ring_tensor tensor = tensorOf(memory.as<void>(), 4, {16});
  EXPECT_EQ(run(host,
                [&](ring_context *context) {
                  ring_tensor on;
                  return ring_device_import(context, &tensor, &on);
                }),
            RING_ERROR_USAGE);
  EXPECT_EQ(host.error(), "rank 0: a tensor is in memory of GPU 3, the rank's "
                          "is GPU 1 (fake)");
}

/// Only the first run of a program allocates, and what two runs in a row have
/// not used is freed.
TEST_F(DeviceTensorTest, MemoryIsKept) {
  {
    Host host(options(1, "vgpu"));
    auto import = [&](int64_t count) {
      std::vector<float> values(count);
      ring_tensor tensor = tensorOf(values.data(), 4, {count});
      EXPECT_EQ(run(host,
                    [&](ring_context *context) {
                      ring_tensor on;
                      return ring_device_import(context, &tensor, &on);
                    }),
                RING_OK);
    };
    import(1000);
    EXPECT_EQ(host.counters().peak_bytes, 4000);
    int64_t allocations = fakeState().allocations;
    import(1000);
    import(1000);
    EXPECT_EQ(fakeState().allocations, allocations);
    EXPECT_EQ(host.counters().peak_bytes, 4000);
    import(5000);
    import(5000);
    int64_t blocks = fakeState().blocks;
    import(5000);
    EXPECT_EQ(fakeState().blocks, blocks - 1) << "of the smaller tensor";
    ring_host_trim(host);
    EXPECT_EQ(fakeState().blocks, 0);
    import(1000);
  }
  EXPECT_EQ(fakeState().blocks, 0) << "freed with the host";
}
