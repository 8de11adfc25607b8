//===- Memory.cpp - The memory of the virtual devices ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace ring::vgpu;

/// Bits 53 and 55 make addresses that no machine of 48 or 57 address bits, with
/// or without ignored upper bytes, takes.
static constexpr uint64_t kDeviceBase = uint64_t(0xA0) << 48;
static constexpr unsigned kDeviceShift = 40;
static constexpr uint64_t kAlignment = 512;
/// No small overrun reaches the next allocation.
static constexpr uint64_t kGap = 4096;
/// NaN in every floating-point type.
static constexpr int kPoison = 0xff;

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

static uint64_t lowBits(unsigned count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

/// Calls `visit(offset, count)` for parts of a range that each lie in one word
/// of a bit map.
template <typename Visit>
static void forEachWord(Interval range, const Visit &visit) {
  for (uint64_t at = range.begin; at < range.end;) {
    uint64_t end = std::min(range.end, (at / 64 + 1) * 64);
    visit(at, static_cast<unsigned>(end - at));
    at = end;
  }
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

Allocation::Allocation(Context *context, int device, bool pinned, uint64_t base,
                       size_t bytes, std::byte *data)
    : context(context), device(device), pinned(pinned), base(base),
      bytes(bytes), data(data) {
  if (!pinned)
    written = std::make_unique<std::atomic<uint64_t>[]>(bytes / 64 + 1);
}

Allocation::~Allocation() { std::free(data); }

uint64_t Allocation::writtenBits(uint64_t offset, unsigned count) const {
  if (pinned)
    return lowBits(count);
  uint64_t result = 0;
  unsigned have = 0;
  forEachWord({offset, offset + count}, [&](uint64_t at, unsigned bits) {
    uint64_t word = written[at / 64].load(std::memory_order_relaxed);
    result |= (word >> (at % 64) & lowBits(bits)) << have;
    have += bits;
  });
  return result;
}

void Allocation::setWrittenBits(uint64_t offset, unsigned count,
                                uint64_t bits) {
  if (pinned)
    return;
  unsigned had = 0;
  forEachWord({offset, offset + count}, [&](uint64_t at, unsigned some) {
    uint64_t mask = lowBits(some) << (at % 64);
    uint64_t set = bits >> had << (at % 64) & mask;
    std::atomic<uint64_t> &word = written[at / 64];
    word.fetch_and(~mask | set, std::memory_order_relaxed);
    word.fetch_or(set, std::memory_order_relaxed);
    had += some;
  });
}

bool Allocation::isWritten(Interval range) const {
  if (pinned)
    return true;
  bool all = true;
  forEachWord(range, [&](uint64_t at, unsigned count) {
    uint64_t mask = lowBits(count) << (at % 64);
    all &= (written[at / 64].load(std::memory_order_relaxed) & mask) == mask;
  });
  return all;
}

void Allocation::setWritten(Interval range) {
  if (pinned)
    return;
  forEachWord(range, [&](uint64_t at, unsigned count) {
    uint64_t mask = lowBits(count) << (at % 64);
    std::atomic<uint64_t> &word = written[at / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
  });
}

void Allocation::copyWritten(Interval range, const Allocation &source,
                             uint64_t from) {
  for (uint64_t at = range.begin; at < range.end; at += 64) {
    auto count = static_cast<unsigned>(std::min<uint64_t>(64, range.end - at));
    setWrittenBits(at, count,
                   source.writtenBits(from + (at - range.begin), count));
  }
}

std::string Allocation::text() const {
  return "an allocation of " + std::to_string(bytes) + " bytes " +
         (pinned ? std::string("of pinned host memory")
                 : "on device " + std::to_string(device));
}

//===----------------------------------------------------------------------===//
// AddressSpace
//===----------------------------------------------------------------------===//

bool AddressSpace::isDeviceAddress(uint64_t address) {
  return address >> 48 == kDeviceBase >> 48;
}

size_t AddressSpace::deviceBytes() {
  const char *text = std::getenv("RING_VGPU_MEMORY");
  unsigned long long bytes = text ? std::strtoull(text, nullptr, 10) : 0;
  return bytes ? bytes : size_t(4) << 30;
}

AllocationRef AddressSpace::allocateDevice(Context *context, int device,
                                           size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (next.size() <= static_cast<size_t>(device)) {
    for (size_t i = next.size(); i <= static_cast<size_t>(device); ++i)
      next.push_back(kDeviceBase + (uint64_t(i) << kDeviceShift) + kAlignment);
    used.resize(next.size());
  }
  if (bytes > deviceBytes() - std::min(used[device], deviceBytes()))
    return nullptr;
  auto *data = static_cast<std::byte *>(std::malloc(bytes));
  if (!data)
    return nullptr;
  std::memset(data, kPoison, bytes);
  uint64_t base = next[device];
  next[device] = alignTo(base + bytes + kGap, kAlignment);
  used[device] += bytes;
  auto result = std::make_shared<Allocation>(context, device, /*pinned=*/false,
                                             base, bytes, data);
  allocations.emplace(base, result);
  return result;
}

AllocationRef AddressSpace::allocatePinned(Context *context, int device,
                                           size_t bytes) {
  auto *data =
      static_cast<std::byte *>(std::aligned_alloc(4096, alignTo(bytes, 4096)));
  if (!data)
    return nullptr;
  auto base = reinterpret_cast<uint64_t>(data);
  auto result = std::make_shared<Allocation>(context, device, /*pinned=*/true,
                                             base, bytes, data);
  std::lock_guard<std::mutex> lock(mutex);
  allocations.emplace(base, result);
  return result;
}

void AddressSpace::free(const AllocationRef &allocation) {
  std::lock_guard<std::mutex> lock(mutex);
  if (allocation->freed.exchange(true))
    return;
  allocations.erase(allocation->base);
  // Host addresses come back, so pinned memory leaves no trace.
  if (allocation->pinned)
    return;
  used[allocation->device] -= allocation->bytes;
  freed[allocation->base] = {allocation->base + allocation->bytes,
                             allocation->text()};
}

AllocationRef AddressSpace::find(uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  --it;
  return address - it->first < it->second->bytes ? it->second : nullptr;
}

AllocationRef AddressSpace::find(uint64_t address, size_t bytes,
                                 std::string &why) const {
  AllocationRef found = find(address);
  if (found && bytes <= found->bytes - (address - found->base))
    return found;
  why = explain(address, bytes);
  return nullptr;
}

std::string AddressSpace::explain(uint64_t address, size_t bytes) const {
  auto offset = [&](uint64_t base) {
    return std::to_string(bytes) + " bytes at offset " +
           std::to_string(address - base) + " of ";
  };
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.upper_bound(address);
  auto old = freed.upper_bound(address);
  if (old != freed.begin() && address < std::prev(old)->second.end)
    return offset(std::prev(old)->first) + std::prev(old)->second.text +
           ", which was freed";
  if (it != allocations.begin()) {
    const Allocation &before = *std::prev(it)->second;
    if (address < before.base + before.bytes + kGap)
      return offset(before.base) + before.text() + ", beyond its end";
  }
  char text[96];
  std::snprintf(text, sizeof(text), "%zu bytes at address 0x%llx, which %s",
                bytes, static_cast<unsigned long long>(address),
                address == 0 ? "is NULL" : "no device allocation contains");
  return text;
}

std::vector<AllocationRef> AddressSpace::all() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<AllocationRef> result;
  result.reserve(allocations.size());
  for (const auto &[base, allocation] : allocations)
    result.push_back(allocation);
  return result;
}

//===----------------------------------------------------------------------===//
// Footprint
//===----------------------------------------------------------------------===//

std::optional<std::string> Footprint::commit(const Accessor &by,
                                             const Clock &clock) {
  std::optional<std::string> first;
  for (const Touch &touch : touches) {
    Allocation &allocation = *touch.allocation;
    std::lock_guard<std::mutex> lock(allocation.historyMutex);
    std::optional<Conflict> conflict =
        touch.writes ? allocation.history.write(touch.range, by, clock)
                     : allocation.history.read(touch.range, by, clock);
    if (!conflict || first)
      continue;
    first = "race between stream operations: " + by.info->text() +
            (touch.writes ? " writes what " : " reads what ") +
            conflict->other->text() +
            (conflict->otherWrites ? " writes" : " reads") +
            ", with no event between (offset " +
            std::to_string(conflict->offset) + " of " + allocation.text() + ")";
  }
  return first;
}

//===----------------------------------------------------------------------===//
// KernelMemory
//===----------------------------------------------------------------------===//

static std::atomic<uint64_t> launchSerial{0};

KernelMemory::KernelMemory(std::vector<AllocationRef> reachable,
                           const AddressSpace &space)
    : serial(++launchSerial), space(space) {
  regions.reserve(reachable.size());
  for (AllocationRef &allocation : reachable) {
    Region region;
    region.partCount = allocation->bytes / Part::kBytes + 1;
    region.parts = std::make_unique<std::atomic<Part *>[]>(region.partCount);
    region.allocation = std::move(allocation);
    regions.push_back(std::move(region));
  }
}

KernelMemory::~KernelMemory() {
  for (Region &region : regions)
    for (size_t i = 0; i < region.partCount; ++i)
      delete region.parts[i].load(std::memory_order_relaxed);
}

KernelMemory::Region *KernelMemory::find(uint64_t address) {
  // A thread's accesses mostly go where its last one went.
  thread_local uint64_t lastSerial = 0;
  thread_local Region *last = nullptr;
  auto holds = [&](const Region &region) {
    return address - region.allocation->base < region.allocation->bytes;
  };
  if (lastSerial == serial && holds(*last))
    return last;
  auto it = std::upper_bound(regions.begin(), regions.end(), address,
                             [](uint64_t value, const Region &region) {
                               return value < region.allocation->base;
                             });
  if (it == regions.begin() || !holds(*std::prev(it)))
    return nullptr;
  last = &*std::prev(it);
  lastSerial = serial;
  return last;
}

KernelMemory::Part &KernelMemory::partAt(Region &region, size_t index) {
  std::atomic<Part *> &slot = region.parts[index];
  Part *part = slot.load(std::memory_order_acquire);
  if (part)
    return *part;
  auto fresh = std::make_unique<Part>();
  if (slot.compare_exchange_strong(part, fresh.get(),
                                   std::memory_order_acq_rel))
    part = fresh.release();
  return *part;
}

std::byte *KernelMemory::access(uint64_t address, size_t bytes, Access kind,
                                std::string &why) {
  Region *region = find(address);
  if (!region || bytes > region->allocation->bytes -
                             (address - region->allocation->base)) {
    AllocationRef elsewhere = region ? nullptr : space.find(address);
    if (elsewhere)
      why = std::to_string(bytes) + " bytes of " + elsewhere->text() +
            ", whose peer access is not enabled or which was allocated later";
    else
      why = space.explain(address, bytes);
    return nullptr;
  }
  Allocation &allocation = *region->allocation;
  uint64_t offset = address - allocation.base;
  Interval range{offset, offset + bytes};
  if (kind != Access::Write && !allocation.isWritten(range)) {
    why = std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
          " of " + allocation.text() + ", not all of which were ever written";
    return nullptr;
  }
  if (kind != Access::Read)
    allocation.setWritten(range);
  forEachWord(range, [&](uint64_t at, unsigned count) {
    Part &part = partAt(*region, at / Part::kBytes);
    uint64_t mask = lowBits(count) << (at % 64);
    std::atomic<uint64_t> &word =
        (kind == Access::Read ? part.read
                              : part.written)[at % Part::kBytes / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
  });
  return allocation.at(offset);
}

/// The runs of set bits, as intervals from `base` on, joined to what ends
/// there.
static void appendRuns(std::vector<Interval> &runs, uint64_t base,
                       uint64_t word) {
  for (unsigned bit = 0; bit < 64;) {
    if (!(word >> bit & 1)) {
      ++bit;
      continue;
    }
    unsigned begin = bit;
    while (bit < 64 && (word >> bit & 1))
      ++bit;
    if (!runs.empty() && runs.back().end == base + begin)
      runs.back().end = base + bit;
    else
      runs.push_back({base + begin, base + bit});
  }
}

void KernelMemory::collect(Footprint &footprint) const {
  for (const Region &region : regions) {
    std::vector<Interval> reads, writes;
    for (size_t i = 0; i < region.partCount; ++i) {
      const Part *part = region.parts[i].load(std::memory_order_acquire);
      if (!part)
        continue;
      for (size_t word = 0; word < Part::kBytes / 64; ++word) {
        uint64_t base = i * Part::kBytes + word * 64;
        appendRuns(reads, base, part->read[word].load());
        appendRuns(writes, base, part->written[word].load());
      }
    }
    for (Interval range : reads)
      footprint.read(region.allocation, range);
    for (Interval range : writes)
      footprint.write(region.allocation, range);
  }
}
