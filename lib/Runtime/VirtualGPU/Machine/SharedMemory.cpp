//===- SharedMemory.cpp - The shared memory of a block, watched -----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Program.h"

#include <algorithm>
#include <cstring>

using namespace ring::vgpu;

void SharedMemory::reset(uint32_t bytes, unsigned warpCount,
                         unsigned cellShift) {
  size = bytes;
  shift = cellShift;
  warps = warpCount;
  cells = (bytes + (1u << shift) - 1) >> shift;
  // NaN in every type, should it ever be read.
  memory.assign(size_t(cells) << shift, std::byte(0xff));
  states.assign(cells, 0);
  writeEpochs.assign(cells, 0);
  writeThreads.assign(cells, 0);
  stamps.assign(size_t(warps) * cells, 0);
  epochs.assign(warps, 1);
  known.assign(warps, Clock(warps, 0));
}

bool SharedMemory::isOrdered(Who who, uint32_t thread, uint32_t epoch) const {
  unsigned warp = thread / kLanes;
  if (warp == who.warp && thread % kLanes == who.lane)
    return true;
  return epoch <= known[who.warp][warp];
}

static std::string at(uint32_t cell, unsigned shift) {
  return "shared memory at offset " + std::to_string(cell << shift);
}
static std::string byThread(uint32_t thread) {
  return "thread " + std::to_string(thread);
}

bool SharedMemory::read(Who who, uint32_t offset, uint32_t count,
                        std::string &why, bool isAtomic) {
  const uint32_t begin = offset >> shift, end = (offset + count) >> shift;
  const uint32_t ordered = known[who.warp][who.warp];
  uint32_t *reads = &stamp(who.warp, 0);
  for (uint32_t cell = begin; cell < end; ++cell) {
    uint8_t state = states[cell];
    uint32_t writer = writeThreads[cell];
    if (state & Pending) {
      why = "reads " + at(cell, shift) + ", which a cp.async of " +
            byThread(writer) + " has yet to write: it has not been waited for";
      return false;
    }
    if (!(state & Written)) {
      why = "reads " + at(cell, shift) +
            ", which no thread of the block has written";
      return false;
    }
    if (isAtomic && state & Atomic)
      continue;
    if (!isOrdered(who, writer, writeEpochs[cell])) {
      why = "race: reads " + at(cell, shift) + ", which " + byThread(writer) +
            " wrote with no barrier between";
      return false;
    }
    uint32_t old = reads[cell];
    bool isSeveral = old >> 6 > ordered && (old & 63) != who.lane;
    reads[cell] = epochs[who.warp] << 6 | (isSeveral ? kWholeWarp : who.lane);
  }
  return true;
}

bool SharedMemory::checkWrite(Who who, uint32_t cell, const char *what,
                              bool isAllowed, std::string &why) {
  uint8_t state = states[cell];
  if (state & Pending) {
    why = std::string(what) + " " + at(cell, shift) + ", which a cp.async of " +
          byThread(writeThreads[cell]) +
          " has yet to write: it has not been waited for";
    return false;
  }
  if (state & Written && !isAllowed &&
      !isOrdered(who, writeThreads[cell], writeEpochs[cell])) {
    why = "race: " + std::string(what) + " " + at(cell, shift) + ", which " +
          byThread(writeThreads[cell]) + " wrote with no barrier between";
    return false;
  }
  for (unsigned warp = 0; warp < warps; ++warp) {
    uint32_t read = stamp(warp, cell), epoch = read >> 6, lane = read & 63;
    if (epoch <= known[who.warp][warp] ||
        (warp == who.warp && lane == who.lane))
      continue;
    why = "race: " + std::string(what) + " " + at(cell, shift) + ", which " +
          (lane == kWholeWarp ? "warp " + std::to_string(warp)
                              : byThread(warp * kLanes + lane)) +
          " read with no barrier between";
    return false;
  }
  return true;
}

void SharedMemory::recordWrite(Who who, uint32_t cell, uint8_t newState) {
  states[cell] = newState;
  writeEpochs[cell] = epochs[who.warp];
  writeThreads[cell] = who.warp * kLanes + who.lane;
}

bool SharedMemory::write(Who who, uint32_t offset, uint32_t count,
                         const std::byte *value, std::string &why,
                         bool isAtomic) {
  for (uint32_t cell = offset >> shift; cell < (offset + count) >> shift;
       ++cell) {
    const std::byte *part = value + ((cell << shift) - offset);
    // Lanes of one instruction may write the same value to one place.
    bool isSame = states[cell] & Written &&
                  writeThreads[cell] / kLanes == who.warp &&
                  !std::memcmp(data(cell << shift), part, size_t(1) << shift);
    bool bothAtomic = isAtomic && states[cell] & Atomic;
    if (!checkWrite(who, cell, "writes", isSame || bothAtomic, why))
      return false;
    recordWrite(who, cell, isAtomic ? Written | Atomic : Written);
  }
  std::memcpy(data(offset), value, count);
  return true;
}

bool SharedMemory::atomic(Who who, uint32_t offset, uint32_t count,
                          std::string &why) {
  for (uint32_t cell = offset >> shift; cell < (offset + count) >> shift;
       ++cell) {
    if (!(states[cell] & (Written | Pending))) {
      why = "reads " + at(cell, shift) +
            ", which no thread of the block has written";
      return false;
    }
    if (!checkWrite(who, cell, "updates", states[cell] & Atomic, why))
      return false;
    recordWrite(who, cell, Written | Atomic);
  }
  return true;
}

bool SharedMemory::startCopy(Who who, uint32_t offset, uint32_t count,
                             std::string &why) {
  for (uint32_t cell = offset >> shift; cell < (offset + count) >> shift;
       ++cell) {
    if (!checkWrite(who, cell, "overwrites", /*isAllowed=*/false, why))
      return false;
    recordWrite(who, cell, Pending);
  }
  return true;
}

void SharedMemory::finishCopy(Who who, uint32_t offset, uint32_t count,
                              const std::byte *value, uint32_t valueBytes) {
  for (uint32_t cell = offset >> shift; cell < (offset + count) >> shift;
       ++cell)
    recordWrite(who, cell, Written);
  if (valueBytes)
    std::memcpy(data(offset), value, valueBytes);
  std::memset(data(offset) + valueBytes, 0, count - valueBytes);
}

void SharedMemory::syncWarp(unsigned warp) {
  known[warp][warp] = epochs[warp]++;
}

void SharedMemory::arrive(unsigned warp, Clock &clock) {
  clock.resize(warps, 0);
  for (unsigned other = 0; other < warps; ++other)
    clock[other] = std::max(clock[other], known[warp][other]);
  clock[warp] = epochs[warp]++;
}

void SharedMemory::join(unsigned warp, const Clock &clock) {
  for (unsigned other = 0; other < warps; ++other)
    known[warp][other] = std::max(known[warp][other], clock[other]);
}
