//===- DeviceChoice.h - What each rank computes on --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_DEVICECHOICE_H
#define RING_RUNTIME_DEVICE_DEVICECHOICE_H

#include "../Transport.h"

#include <vector>

namespace ring::runtime {

/// Of one rank.
struct DeviceChoice {
  enum class Kind { Cpu, Cuda, Virtual };
  Kind kind = Kind::Cpu;
  int index = -1; ///< of the device; -1: by the rank's number

  bool isGpu() const { return kind != Kind::Cpu; }
};

/// Reads ring_host_options.devices.
Result parseDevices(const char *text, int32_t ranks,
                    std::vector<DeviceChoice> &choices);

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_DEVICECHOICE_H
