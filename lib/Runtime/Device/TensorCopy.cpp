//===- TensorCopy.cpp - Tensors between host and devices ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is a loop of two-dimensional ones, as many dimensions as possible
// inside them: a tensor of ours, a transposed one and one with padded rows each
// need one copy, or one a head.
//
//===----------------------------------------------------------------------===//

#include "TensorCopy.h"

#include <algorithm>

using namespace ring::runtime;
using namespace ring::cuda;

int64_t ring::runtime::elementCount(const ring_tensor &tensor) {
  int64_t count = 1;
  for (int32_t dim = 0; dim < tensor.dims; ++dim)
    count *= tensor.sizes[dim];
  return count;
}

/// Bytes of a row that begins where the one before has ended.
static int64_t rowBytes(const ring_tensor &tensor, int64_t alignment) {
  int64_t last = tensor.dims ? tensor.sizes[tensor.dims - 1] : 1;
  int64_t bytes = last * tensor.element_bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

static ring_tensor layOut(const ring_tensor &tensor, int64_t rowElements) {
  ring_tensor result = tensor;
  result.data = nullptr;
  int64_t stride = 1;
  for (int32_t dim = tensor.dims; dim-- > 0;) {
    result.strides[dim] = stride;
    stride = dim == tensor.dims - 1 ? rowElements : stride * tensor.sizes[dim];
  }
  return result;
}

ring_tensor ring::runtime::denseLike(const ring_tensor &tensor) {
  return layOut(tensor, rowBytes(tensor, kRowAlignment) / tensor.element_bytes);
}

ring_tensor ring::runtime::packedLike(const ring_tensor &tensor) {
  return layOut(tensor, rowBytes(tensor, 1) / tensor.element_bytes);
}

int64_t ring::runtime::denseBytes(const ring_tensor &tensor) {
  int64_t rows = 1;
  for (int32_t dim = 0; dim + 1 < tensor.dims; ++dim)
    rows *= tensor.sizes[dim];
  return rows * rowBytes(tensor, kRowAlignment);
}

bool ring::runtime::isDense(const ring_tensor &tensor) {
  ring_tensor dense = denseLike(tensor);
  for (int32_t dim = 0; dim < tensor.dims; ++dim)
    if (tensor.sizes[dim] != 1 && tensor.strides[dim] != dense.strides[dim])
      return false;
  return addressOf(tensor) % kRowAlignment == 0;
}

bool ring::runtime::hasAlignedRows(const ring_tensor &tensor) {
  if (addressOf(tensor) % kRowAlignment != 0)
    return false;
  for (int32_t dim = 0; dim < tensor.dims; ++dim) {
    if (tensor.sizes[dim] == 1)
      continue;
    int64_t bytes = tensor.strides[dim] * tensor.element_bytes;
    bool fits = dim == tensor.dims - 1 ? tensor.strides[dim] == 1
                                       : bytes % kRowAlignment == 0;
    if (!fits)
      return false;
  }
  return true;
}

namespace {
/// One loop of a copy; strides in bytes.
struct Axis {
  int64_t size, to, from;
};
/// Bytes that are consecutive on both sides, and the loops around them, the
/// innermost last.
struct Plan {
  int64_t width;
  std::vector<Axis> axes;
};
} // namespace

static Plan planOf(const ring_tensor &to, const ring_tensor &from) {
  int64_t bytes = to.element_bytes;
  Plan plan{bytes, {}};
  for (int32_t dim = 0; dim < to.dims; ++dim) {
    if (to.sizes[dim] == 1)
      continue;
    Axis axis{to.sizes[dim], to.strides[dim] * bytes,
              from.strides[dim] * bytes};
    if (!plan.axes.empty()) {
      Axis &outer = plan.axes.back();
      if (outer.to == axis.to * axis.size &&
          outer.from == axis.from * axis.size) {
        outer = {outer.size * axis.size, axis.to, axis.from};
        continue;
      }
    }
    plan.axes.push_back(axis);
  }
  if (!plan.axes.empty() && plan.axes.back().to == bytes &&
      plan.axes.back().from == bytes) {
    plan.width *= plan.axes.back().size;
    plan.axes.pop_back();
  }
  return plan;
}

/// `rows` rows of `width` bytes.
static CUresult copyRows(const Driver &driver, CUstream stream, Copy direction,
                         CUdeviceptr to, CUdeviceptr from, int64_t width,
                         const Axis &rows) {
  if (rows.size == 1) {
    switch (direction) {
    case Copy::HostToDevice:
      return driver.memcpyHtoDAsync(to, reinterpret_cast<const void *>(from),
                                    width, stream);
    case Copy::DeviceToHost:
      return driver.memcpyDtoHAsync(reinterpret_cast<void *>(to), from, width,
                                    stream);
    case Copy::WithinDevice:
      return driver.memcpyDtoDAsync(to, from, width, stream);
    }
  }
  CUDA_MEMCPY2D copy = {};
  if (direction == Copy::HostToDevice) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = reinterpret_cast<const void *>(from);
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
  }
  if (direction == Copy::DeviceToHost) {
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = reinterpret_cast<void *>(to);
  } else {
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to;
  }
  copy.srcPitch = rows.from;
  copy.dstPitch = rows.to;
  copy.WidthInBytes = width;
  copy.Height = rows.size;
  return driver.memcpy2DAsync(&copy, stream);
}

/// What cuMemcpy2DAsync takes as rows.
static bool areRows(const Axis &axis, int64_t width) {
  auto fits = [&](int64_t pitch) {
    return pitch >= width && pitch < INT32_MAX;
  };
  return fits(axis.to) && fits(axis.from);
}

CUresult ring::runtime::copyTensor(const Driver &driver, CUstream stream,
                                   Copy direction, const ring_tensor &to,
                                   const ring_tensor &from) {
  if (elementCount(to) == 0)
    return CUDA_SUCCESS;
  Plan plan = planOf(to, from);
  Axis rows{1, 0, 0};
  if (!plan.axes.empty() && areRows(plan.axes.back(), plan.width)) {
    rows = plan.axes.back();
    plan.axes.pop_back();
  }
  int64_t count = 1;
  for (const Axis &axis : plan.axes)
    count *= axis.size;
  for (int64_t index = 0; index < count; ++index) {
    CUdeviceptr target = addressOf(to), source = addressOf(from);
    int64_t rest = index;
    for (size_t i = plan.axes.size(); i-- > 0;) {
      const Axis &axis = plan.axes[i];
      target += rest % axis.size * axis.to;
      source += rest % axis.size * axis.from;
      rest /= axis.size;
    }
    CUresult code =
        copyRows(driver, stream, direction, target, source, plan.width, rows);
    if (code != CUDA_SUCCESS)
      return code;
  }
  return CUDA_SUCCESS;
}

Result ring::runtime::allocateLike(Device &device, const ring_tensor &tensor,
                                   ring_tensor &on) {
  on = denseLike(tensor);
  int64_t bytes = denseBytes(tensor);
  CUdeviceptr address = 0;
  Result result = device.allocate(bytes, address);
  on.data = reinterpret_cast<void *>(address);
  bool padded = rowBytes(tensor, 1) != rowBytes(tensor, kRowAlignment);
  if (result.failed() || !padded || bytes == 0)
    return result;
  return device.check(
      device.driver.memsetD8Async(address, 0, bytes, device.compute),
      "cuMemsetD8Async");
}
