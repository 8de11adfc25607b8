//===- DeviceProgram.h - A rank function on its GPU -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_DEVICEPROGRAM_H
#define RING_RUNTIME_DEVICE_DEVICEPROGRAM_H

#include "Attention.h"
#include "Kernels.h"
#include "Timeline.h"

namespace ring::runtime {

/// What a rank keeps of its GPU: lives as long as the host.
struct RankDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<Kernels> kernels;
  int32_t margin = 0; ///< multiprocessors left to the transport
};

/// What lives from ring_device_begin to ring_device_finish.
struct DeviceProgram {
  DeviceProgram(Device &device, RankTrace &trace) : timeline(device, trace) {}
  ~DeviceProgram();

  struct Export {
    ring_tensor to;   ///< of the caller
    ring_tensor from; ///< ours
    bool toDevice;    ///< the caller's is device memory too
  };
  Timeline timeline;
  std::vector<Export> exports;
  std::vector<std::unique_ptr<ring_device_attention>> attentions;
  std::vector<void *> hostCopies;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_DEVICEPROGRAM_H
