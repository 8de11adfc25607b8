//===- AsyncCopies.h - Copies that have not been waited for -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_ASYNCCOPIES_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_ASYNCCOPIES_H

#include "SharedMemory.h"

#include <deque>

namespace ring::vgpu {

/// The cp.async of each thread of a block. The bytes arrive when the thread
/// waits for the group, and not before: what a program may not rely on, it does
/// not get.
class AsyncCopies {
public:
  void reset(unsigned threads);

  /// `sourceBytes` bytes of `source`, then zeros up to `bytes`.
  void add(int64_t thread, uint32_t offset, uint32_t bytes,
           const std::byte *source, uint32_t sourceBytes);
  void commit(int64_t thread);
  /// Until at most `left` groups are outstanding.
  void wait(SharedMemory::Who who, int64_t thread, uint32_t left,
            SharedMemory &shared);

private:
  struct Copy {
    uint32_t offset, bytes;
    const std::byte *source;
    uint32_t sourceBytes;
  };
  struct Queue {
    std::deque<Copy> copies;
    std::deque<size_t> groups; ///< copies in each
    size_t open = 0;           ///< copies that are in no group yet
  };
  std::vector<Queue> queues;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_ASYNCCOPIES_H
