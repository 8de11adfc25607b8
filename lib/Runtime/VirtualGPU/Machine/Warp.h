//===- Warp.h - A warp and where its lanes are ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_WARP_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_WARP_H

#include "Lanes.h"

#include <string>
#include <vector>

namespace ring::vgpu {

class Block;

/// Lanes at the same place run together. Of several such groups the one with
/// the smallest place runs, which lets those that are behind catch up: blocks
/// are laid out so that loops are contiguous and joins come after their
/// branches.
class Warp : public WarpLanes {
public:
  enum class State { Ready, AtBarrier, Done, Faulted };

  Warp(Block &block, unsigned index) : block(block), index(index) {}

  /// Before the first instruction, with these lanes.
  void start(std::byte *registers, uint32_t lanes);
  /// Until the warp waits or ends, or for that many instructions; the number
  /// that it ran.
  uint64_t run(uint64_t most);

  void jump(uint32_t target) {
    pc = target;
    if (!others.empty())
      regroup();
  }
  void branch(uint32_t taken, uint32_t then, uint32_t otherwise);
  /// Sends each lane to a place of its own.
  void scatter(const uint32_t (&targets)[kLanes]);
  /// The active lanes return.
  void exit();

  /// True if the active lanes are at least `needed`, after those that wait here
  /// have joined. Otherwise they wait here until the missing lanes come, and
  /// the instruction is over.
  bool gather(const Inst &inst, uint32_t needed);
  /// The same for all of the warp's lanes: an instruction that is `aligned`.
  bool gatherAll(const Inst &inst);

  /// Ends the block. `lane`: -1 for none.
  void fault(const Inst &inst, int lane, std::string message);
  void waitAtBarrier() { state = State::AtBarrier; }
  void passBarrier() { state = State::Ready; }
  State current() const { return state; }

  int64_t thread(unsigned lane) const { return index * kLanes + lane; }
  /// "threads 32, 35" of this warp.
  std::string nameLanes(uint32_t lanes) const;
  const Inst &last() const;

  Block &block;
  const unsigned index;
  uint32_t initial = 0; ///< lanes that the block has
  uint32_t alive = 0;   ///< those that have not returned

private:
  struct Group {
    uint32_t pc, lanes;
    bool waits; ///< for other lanes
  };
  void regroup();
  void stuck();
  void park(uint32_t at, uint32_t lanes, bool waits);

  uint32_t pc = 0;
  State state = State::Done;
  std::vector<Group> others; ///< the groups that do not run
};

inline const WarpLanes &lanesOf(const Warp &warp) { return warp; }

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_WARP_H
