//===- Lanes.h - Registers of a warp ----------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_LANES_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_LANES_H

#include "Program.h"

namespace ring::vgpu {

/// What a computing instruction needs of its warp: registers, and the lanes
/// that execute it.
struct WarpLanes {
  std::byte *registers = nullptr;
  uint32_t mask = 0;
  /// All bits set in the active lanes.
  alignas(64) uint32_t active[kLanes] = {};

  bool all() const { return mask == ~0u; }
  bool has(unsigned lane) const { return mask >> lane & 1; }
  void setMask(uint32_t lanes) {
    mask = lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      active[lane] = lanes >> lane & 1 ? ~0u : 0;
  }

  template <class T> T *at(uint32_t offset) const {
    return reinterpret_cast<T *>(registers + size_t(offset) * 4);
  }
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_LANES_H
