//===- Block.h - One thread block at work -----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_BLOCK_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_BLOCK_H

#include "../Machine.h"
#include "AsyncCopies.h"
#include "SharedMemory.h"
#include "Warp.h"

#include <deque>

namespace ring::vgpu {

/// What all blocks of a launch share.
struct Launch {
  const Program &program;
  LaunchShape shape;
  DeviceMemory &memory;
  std::vector<std::byte> parameters; ///< parameter memory
  std::vector<std::byte> constants;  ///< first words of a warp's registers
  uint64_t maxSteps;                 ///< warp instructions of a block
};

/// Runs blocks of a launch, one after another.
class Block {
public:
  explicit Block(const Launch &launch);

  std::optional<Fault> run(std::array<uint32_t, 3> id);

  /// All threads of the block, or `threads` of them; the warp waits there, or
  /// only arrives.
  void barrier(Warp &warp, const Inst &inst, uint32_t id, uint32_t threads,
               bool waits);
  /// A warp whose lanes have all returned.
  void onExit();
  void fault(const Warp &warp, const Inst &inst, int lane, std::string message);
  std::string describe(const Inst &inst) const;

  const Launch &launch;
  const Program &program;
  std::array<uint32_t, 3> id = {};
  const unsigned threads;
  SharedMemory shared;
  AsyncCopies copies;
  std::byte *local(int64_t thread) {
    return localMemory.data() + thread * program.localBytes;
  }

private:
  struct Barrier {
    uint32_t expected = 0; ///< threads, 0: all
    uint32_t arrived = 0;  ///< threads
    uint32_t arrivedWarps = 0, waiting = 0;
    SharedMemory::Clock clock;
  };
  void complete(Barrier &barrier);
  void deadlock();
  uint32_t liveWarps() const;

  std::deque<Warp> warps;
  std::array<Barrier, 16> barriers;
  std::vector<std::byte> registers, localMemory;
  std::optional<Fault> found;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_BLOCK_H
