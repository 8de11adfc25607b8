//===- Memory.h - The memory of the virtual devices -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device addresses are not addresses of the host: following one there faults on
// every machine. They are never used twice, so an access after the memory was
// freed is always seen. Fresh memory holds NaN, and each byte knows whether it
// was ever written.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MEMORY_H
#define RING_RUNTIME_VIRTUALGPU_MEMORY_H

#include "Machine.h"
#include "MemoryHistory.h"

#include <atomic>
#include <mutex>

namespace ring::vgpu {

class Context;

/// Device memory, or host memory that devices reach (pinned).
class Allocation {
public:
  Allocation(Context *context, int device, bool pinned, uint64_t base,
             size_t bytes, std::byte *data);
  ~Allocation();
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;

  Context *const context;
  const int device;
  const bool pinned;
  const uint64_t base; ///< device address; of pinned memory the host's
  const size_t bytes;

  /// The bytes behind an offset.
  std::byte *at(uint64_t offset) { return data + offset; }

  /// Which bytes were written; always all of them in pinned memory, which the
  /// host writes unseen.
  bool isWritten(Interval range) const;
  void setWritten(Interval range);
  /// As of `source`'s bytes from `from` on.
  void copyWritten(Interval range, const Allocation &source, uint64_t from);

  /// "an allocation of 64 bytes on device 0"
  std::string text() const;

  std::mutex historyMutex;
  MemoryHistory history; ///< guarded by historyMutex
  std::atomic<bool> freed{false};

private:
  uint64_t writtenBits(uint64_t offset, unsigned count) const;
  void setWrittenBits(uint64_t offset, unsigned count, uint64_t bits);

  std::byte *data;
  std::unique_ptr<std::atomic<uint64_t>[]> written; ///< a bit for each byte
};
using AllocationRef = std::shared_ptr<Allocation>;

/// All memory of the process that devices reach. Thread safe.
class AddressSpace {
public:
  /// NULL where a device has less than this left.
  AllocationRef allocateDevice(Context *context, int device, size_t bytes);
  AllocationRef allocatePinned(Context *context, int device, size_t bytes);
  /// The allocation is found no more, and what refers to it later is told so.
  void free(const AllocationRef &allocation);

  /// The allocation in which `address` lies; NULL: none.
  AllocationRef find(uint64_t address) const;
  /// The allocation with all of [address, address + bytes); NULL, and why.
  AllocationRef find(uint64_t address, size_t bytes, std::string &why) const;
  /// Why an access to bytes that are in no allocation is wrong.
  std::string explain(uint64_t address, size_t bytes) const;
  /// All allocations, by address.
  std::vector<AllocationRef> all() const;
  static bool isDeviceAddress(uint64_t address);
  static size_t deviceBytes();

private:
  struct Freed {
    uint64_t end;
    std::string text;
  };
  mutable std::mutex mutex;
  std::map<uint64_t, AllocationRef> allocations;
  std::map<uint64_t, Freed> freed;
  std::vector<uint64_t> next; ///< free address, by device
  std::vector<size_t> used;   ///< bytes, by device
};

/// What one operation touched, added to the allocations' history at its end.
class Footprint {
public:
  void read(const AllocationRef &allocation, Interval range) {
    touches.push_back({allocation, range, false});
  }
  void write(const AllocationRef &allocation, Interval range) {
    touches.push_back({allocation, range, true});
  }
  /// The first race, as a line of text.
  std::optional<std::string> commit(const Accessor &by, const Clock &clock);

private:
  struct Touch {
    AllocationRef allocation;
    Interval range;
    bool writes;
  };
  std::vector<Touch> touches;
};

/// The memory that one launch sees.
class KernelMemory : public DeviceMemory {
public:
  /// `reachable` by address.
  explicit KernelMemory(std::vector<AllocationRef> reachable,
                        const AddressSpace &space);
  ~KernelMemory() override;

  std::byte *access(uint64_t address, size_t bytes, Access kind,
                    std::string &why) override;
  /// After the launch: what it touched.
  void collect(Footprint &footprint) const;

private:
  /// Bytes touched, a bit each, of a part of an allocation.
  struct Part {
    static constexpr size_t kBytes = 4096;
    std::atomic<uint64_t> read[kBytes / 64] = {}, written[kBytes / 64] = {};
  };
  struct Region {
    AllocationRef allocation;
    std::unique_ptr<std::atomic<Part *>[]> parts;
    size_t partCount = 0;
  };
  Region *find(uint64_t address);
  static Part &partAt(Region &region, size_t index);

  const uint64_t serial; ///< tells this launch's regions from another's
  const AddressSpace &space;
  std::vector<Region> regions;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MEMORY_H
