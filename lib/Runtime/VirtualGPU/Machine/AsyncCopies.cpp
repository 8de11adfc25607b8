//===- AsyncCopies.cpp - Copies that have not been waited for -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncCopies.h"

using namespace ring::vgpu;

void AsyncCopies::reset(unsigned threads) {
  queues.resize(threads);
  for (Queue &queue : queues) {
    queue.copies.clear();
    queue.groups.clear();
    queue.open = 0;
  }
}

void AsyncCopies::add(int64_t thread, uint32_t offset, uint32_t bytes,
                      const std::byte *source, uint32_t sourceBytes) {
  queues[thread].copies.push_back({offset, bytes, source, sourceBytes});
  ++queues[thread].open;
}

void AsyncCopies::commit(int64_t thread) {
  Queue &queue = queues[thread];
  queue.groups.push_back(queue.open);
  queue.open = 0;
}

void AsyncCopies::wait(SharedMemory::Who who, int64_t thread, uint32_t left,
                       SharedMemory &shared) {
  Queue &queue = queues[thread];
  while (queue.groups.size() > left) {
    for (size_t count = queue.groups.front(); count; --count) {
      const Copy &copy = queue.copies.front();
      shared.finishCopy(who, copy.offset, copy.bytes, copy.source,
                        copy.sourceBytes);
      queue.copies.pop_front();
    }
    queue.groups.pop_front();
  }
}
