//===- TensorCopy.h - Tensors between host and devices ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_TENSORCOPY_H
#define RING_RUNTIME_DEVICE_TENSORCOPY_H

#include "Device.h"

namespace ring::runtime {

inline cuda::CUdeviceptr addressOf(const ring_tensor &tensor) {
  return reinterpret_cast<cuda::CUdeviceptr>(tensor.data);
}

int64_t elementCount(const ring_tensor &tensor);

/// Where rows begin in device memory, as kernels need it.
constexpr int64_t kRowAlignment = 16;

/// The same sizes, one element after the other, rows padded to kRowAlignment:
/// how device memory of ours is laid out. The result has no data.
ring_tensor denseLike(const ring_tensor &tensor);
/// The same without padding: how host memory of ours is laid out.
ring_tensor packedLike(const ring_tensor &tensor);
/// Bytes of a tensor laid out as denseLike does.
int64_t denseBytes(const ring_tensor &tensor);
/// True iff a tensor of device memory is laid out so.
bool isDense(const ring_tensor &tensor);
/// True iff kernels can read and write it where it is.
bool hasAlignedRows(const ring_tensor &tensor);

enum class Copy { HostToDevice, DeviceToHost, WithinDevice };

/// Enqueues a copy between tensors of equal sizes and any strides.
cuda::CUresult copyTensor(const cuda::Driver &driver, cuda::CUstream stream,
                          Copy direction, const ring_tensor &to,
                          const ring_tensor &from);

/// Device memory laid out densely; `on` is denseLike with data. Bytes between
/// rows are zero: kernels may load them, though nothing comes of it.
Result allocateLike(Device &device, const ring_tensor &tensor, ring_tensor &on);

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_TENSORCOPY_H
