//===- Access.h - Where the addresses of a warp lead ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_ACCESS_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_ACCESS_H

#include "../Machine.h"
#include "Warp.h"

namespace ring::vgpu {

/// No access of one op is wider.
inline constexpr uint32_t kMostAccessBytes = 256;

/// Of a generic address.
Space spaceOf(uint64_t address);

// Each of these ends with a fault of that lane where the access is wrong.

/// The offset of an address in shared memory, if the bytes are inside.
bool sharedOffset(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
                  uint32_t bytes, DeviceMemory::Access kind, uint32_t &offset);
std::byte *globalMemory(Warp &warp, const Inst &inst, unsigned lane,
                        uint64_t address, uint32_t bytes,
                        DeviceMemory::Access kind);
/// The same for several lanes.
void globalMemory(Warp &warp, const Inst &inst, uint32_t lanes,
                  const uint64_t *addresses, uint32_t bytes,
                  DeviceMemory::Access kind, std::byte *(&host)[kLanes]);
bool checkAlignment(Warp &warp, const Inst &inst, unsigned lane,
                    uint64_t address, uint32_t align, const char *verb);

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_ACCESS_H
