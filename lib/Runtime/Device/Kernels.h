//===- Kernels.h - Kernels of compiled programs on a device -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_KERNELS_H
#define RING_RUNTIME_DEVICE_KERNELS_H

#include "Device.h"
#include "ring/Runtime/Device.h"

#include <list>

namespace ring::runtime {

/// True iff a device of this compute capability (80 for sm_80) runs an image.
/// A cubin runs on later minor versions, PTX on all later ones; what is made
/// for "sm_90a" runs on nothing else.
bool runsOn(const ring_device_image &image, int capability, bool isVirtual);

/// The kernels that a device has loaded. Images are compared by content: the
/// program that they were part of may be gone, and another in its place.
class Kernels {
public:
  explicit Kernels(Device &device) : device(device) {}
  ~Kernels() { clear(); }

  /// The kernel, ready for its shared memory. RING_ERROR_USAGE where no image
  /// runs here.
  Result find(const ring_attention_kernel &kernel, cuda::CUfunction &function);
  /// Unloads all, where no program runs.
  void clear();

private:
  struct Loaded {
    std::string image;
    cuda::CUmodule module;
  };
  Result load(const ring_device_image &image, cuda::CUmodule &module);

  Device &device;
  std::list<Loaded> loaded;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_KERNELS_H
