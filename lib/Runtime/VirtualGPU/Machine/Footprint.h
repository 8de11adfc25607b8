//===- Footprint.h - What a block did to global memory ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing orders the blocks of a launch: bytes that one of them writes, no
// other may touch, but for atomic operations of both. Each block notes the
// bytes that it reads, writes and updates; at its end they are compared with
// those of the blocks before it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_FOOTPRINT_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_FOOTPRINT_H

#include "../Machine.h"
#include "Program.h"

#include <unordered_map>

namespace ring::vgpu {

/// Of one block.
class Footprint {
public:
  void note(uint64_t address, uint64_t bytes, DeviceMemory::Access kind,
            const Inst &inst);
  void clear();

  static constexpr uint64_t kPage = 4096;
  static constexpr unsigned kWords = kPage / 64;
  /// A bit for each byte of a page.
  using Bits = std::array<uint64_t, kWords>;
  static constexpr unsigned kKinds = 3;
  struct Page {
    std::array<Bits, kKinds> touched{}; ///< by DeviceMemory::Access
    /// Who touched each 64 bytes last.
    std::array<std::array<const Inst *, kWords>, kKinds> last{};
  };
  const std::unordered_map<uint64_t, Page> &all() const { return pages; }

private:
  Page &page(uint64_t number);

  std::unordered_map<uint64_t, Page> pages;
  struct Recent {
    uint64_t number = ~uint64_t(0);
    Page *page = nullptr;
  };
  std::array<Recent, 16> recent;
};

/// Of all blocks up to some.
class LaunchFootprint {
public:
  struct Conflict {
    uint64_t address;
    DeviceMemory::Access mine, theirs;
    uint64_t block; ///< the number of the other one
    const Inst *inst;
  };
  /// Adds a block; the first byte in conflict with a block before, if any.
  std::optional<Conflict> add(uint64_t block, const Footprint &footprint);

private:
  struct Page {
    std::array<Footprint::Bits, Footprint::kKinds> touched{};
    /// The last block that touched each 64 bytes.
    std::array<std::array<uint64_t, Footprint::kWords>, Footprint::kKinds>
        last{};
  };
  std::unordered_map<uint64_t, Page> pages;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_FOOTPRINT_H
