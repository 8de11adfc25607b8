//===- SharedMemory.h - The shared memory of a block, watched ---*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory with what is needed to see an access that a GPU would answer
// with luck. Time is counted for each warp in epochs; a warp's epoch ends when
// it arrives at a barrier or synchronises its lanes. `known[w][v]` is the last
// epoch of warp v that happened before what warp w does now. An access of
// another thread is ordered before this one iff its epoch is known; within a
// warp only barriers and bar.warp.sync order lanes, whatever lockstep would do.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_SHAREDMEMORY_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_SHAREDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ring::vgpu {

class SharedMemory {
public:
  /// Who accesses. A lane of kWholeWarp: all of them together, as ldmatrix
  /// does, so that a write by any one lane has to be ordered before.
  struct Who {
    unsigned warp, lane;
  };
  static constexpr unsigned kWholeWarp = 63;
  /// What a warp, or all that have arrived at a barrier, know.
  using Clock = std::vector<uint32_t>;

  /// Nothing written, nothing known.
  void reset(uint32_t bytes, unsigned warps, unsigned cellShift);
  uint32_t bytes() const { return size; }
  std::byte *data(uint32_t offset) { return memory.data() + offset; }

  /// Accesses [offset, offset + count), whole cells, which the caller knows to
  /// be inside. False, and why.
  bool read(Who who, uint32_t offset, uint32_t count, std::string &why,
            bool isAtomic = false);
  bool write(Who who, uint32_t offset, uint32_t count, const std::byte *value,
             std::string &why, bool isAtomic = false);
  bool atomic(Who who, uint32_t offset, uint32_t count, std::string &why);
  /// A cp.async: from its issue on the bytes are to be left alone, its thread
  /// writes them when it waits.
  bool startCopy(Who who, uint32_t offset, uint32_t count, std::string &why);
  void finishCopy(Who who, uint32_t offset, uint32_t count,
                  const std::byte *value, uint32_t valueBytes);

  /// All lanes of a warp: what came before is ordered for all of them.
  void syncWarp(unsigned warp);
  /// What the warp did so far becomes known to those that join `clock`.
  void arrive(unsigned warp, Clock &clock);
  void join(unsigned warp, const Clock &clock);

private:
  enum : uint8_t { Written = 1, Pending = 2, Atomic = 4 };

  uint32_t &stamp(unsigned warp, uint32_t cell) {
    return stamps[size_t(warp) * cells + cell];
  }
  bool isOrdered(Who who, uint32_t thread, uint32_t epoch) const;
  /// `isAllowed`: a write before is no race.
  bool checkWrite(Who who, uint32_t cell, const char *what, bool isAllowed,
                  std::string &why);
  void recordWrite(Who who, uint32_t cell, uint8_t newState);

  uint32_t size = 0, cells = 0;
  unsigned shift = 0, warps = 0;
  std::vector<std::byte> memory;
  std::vector<uint8_t> states;        ///< of each cell
  std::vector<uint32_t> writeEpochs;  ///< of the last write
  std::vector<uint16_t> writeThreads; ///< or of the copy that is to write
  std::vector<uint32_t> stamps; ///< [warp][cell]: last read, epoch << 6 | lane
  std::vector<uint32_t> epochs; ///< [warp]
  std::vector<Clock> known;     ///< [warp]
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_SHAREDMEMORY_H
