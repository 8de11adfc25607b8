//===- Address.h - Generic addresses of the virtual GPU ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pointers of address space 3 are offsets into shared memory plus kSharedBase,
// a multiple of 256 KiB below 4 GiB: so a pointer cut to 32 bits, and the
// 14-bit fields of matrix descriptors, keep their meaning. Generic pointers to
// what is not global memory carry a tag in their top 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_ADDRESS_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_ADDRESS_H

#include <cstdint>

namespace ring::vgpu {

inline constexpr uint64_t kSharedBase = 0x40000;
inline constexpr uint64_t kTagMask = 0xffff000000000000;
inline constexpr uint64_t kSharedTag = 0xfff1000000000000;
inline constexpr uint64_t kLocalTag = 0xfff2000000000000;
inline constexpr uint64_t kParameterTag = 0xfff3000000000000;
inline constexpr uint64_t kConstantTag = 0xfff4000000000000;

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_ADDRESS_H
