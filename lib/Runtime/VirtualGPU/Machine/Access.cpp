//===- Access.cpp - Loads and stores --------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"

#include "Address.h"
#include "Block.h"
#include "Float.h"
#include "Handlers.h"

#include <cstring>

using namespace ring::vgpu;

static std::string hex(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

static const char *verb(DeviceMemory::Access kind) {
  switch (kind) {
  case DeviceMemory::Access::Read:
    return "reads";
  case DeviceMemory::Access::Write:
    return "writes";
  case DeviceMemory::Access::Atomic:
    return "updates";
  }
  return "";
}

/// "reads 4 bytes".
static std::string what(DeviceMemory::Access kind, uint32_t bytes) {
  return std::string(verb(kind)) + " " + std::to_string(bytes) + " bytes";
}

Space ring::vgpu::spaceOf(uint64_t address) {
  switch (address & kTagMask) {
  case kSharedTag:
    return Space::Shared;
  case kLocalTag:
    return Space::Local;
  case kParameterTag:
  case kConstantTag:
    return Space::Constant;
  default:
    return Space::Global;
  }
}

bool ring::vgpu::sharedOffset(Warp &warp, const Inst &inst, unsigned lane,
                              uint64_t address, uint32_t bytes,
                              DeviceMemory::Access kind, uint32_t &offset) {
  uint64_t at = (address & ~kTagMask) - kSharedBase;
  uint32_t size = warp.block.shared.bytes();
  if (at < size && bytes <= size - at) {
    offset = at;
    return true;
  }
  warp.fault(inst, lane,
             what(kind, bytes) + " of shared memory at offset " +
                 std::to_string(static_cast<int64_t>(at)) +
                 ", out of bounds: the block has " + std::to_string(size) +
                 " bytes");
  return false;
}

/// Parameters, constants and a thread's own memory.
static std::byte *privateMemory(Warp &warp, const Inst &inst, unsigned lane,
                                uint64_t address, uint32_t bytes,
                                DeviceMemory::Access kind) {
  Block &block = warp.block;
  uint64_t tag = address & kTagMask, at = address & ~kTagMask;
  const std::byte *data = nullptr;
  size_t size = 0;
  const char *name = "";
  if (tag == kLocalTag) {
    data = block.local(warp.thread(lane));
    size = block.program.localBytes;
    name = "local memory";
  } else if (tag == kParameterTag) {
    data = block.launch.parameters.data();
    size = block.launch.parameters.size();
    name = "the parameters";
  } else {
    data = block.program.constantData.data();
    size = block.program.constantData.size();
    name = "constant memory";
  }
  if (at >= size || bytes > size - at) {
    warp.fault(inst, lane,
               what(kind, bytes) + " of " + name + " at offset " +
                   std::to_string(static_cast<int64_t>(at << 16) >> 16) +
                   ", out of bounds: there are " + std::to_string(size));
    return nullptr;
  }
  if (tag != kLocalTag && kind != DeviceMemory::Access::Read) {
    warp.fault(inst, lane,
               what(kind, bytes) + " of " + name + ", which are only read");
    return nullptr;
  }
  return const_cast<std::byte *>(data) + at;
}

std::byte *ring::vgpu::globalMemory(Warp &warp, const Inst &inst, unsigned lane,
                                    uint64_t address, uint32_t bytes,
                                    DeviceMemory::Access kind) {
  std::string why;
  std::byte *host = warp.block.launch.memory.access(address, bytes, kind, why);
  if (!host)
    warp.fault(inst, lane,
               what(kind, bytes) + " of global memory at " + hex(address) +
                   ": " + why);
  return host;
}

bool ring::vgpu::checkAlignment(Warp &warp, const Inst &inst, unsigned lane,
                                uint64_t address, uint32_t align,
                                const char *verb) {
  if (!(address & (align - 1)))
    return true;
  warp.fault(inst, lane,
             std::string("misaligned: ") + verb + " at " + hex(address) +
                 ", which is no multiple of " + std::to_string(align));
  return false;
}

void ring::vgpu::globalMemory(Warp &warp, const Inst &inst, uint32_t lanes,
                              const uint64_t *addresses, uint32_t bytes,
                              DeviceMemory::Access kind,
                              std::byte *(&host)[kLanes]) {
  while (lanes) {
    // Lanes one after another, or at the same place, are one access.
    unsigned first = __builtin_ctz(lanes), lane = first;
    uint64_t begin = addresses[first], end = begin + bytes;
    uint32_t together = 0;
    for (; lane < kLanes; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      uint64_t address = addresses[lane];
      if (address == end)
        end += bytes;
      else if (address < begin || (address - begin) % bytes || address > end)
        break;
      together |= 1u << lane;
    }
    lanes &= ~together;
    std::string why;
    std::byte *all =
        warp.block.launch.memory.access(begin, end - begin, kind, why);
    for (uint32_t rest = together; rest; rest &= rest - 1) {
      unsigned at = __builtin_ctz(rest);
      // Once more lane by lane, to find the one that is wrong.
      host[at] = all ? all + (addresses[at] - begin)
                     : globalMemory(warp, inst, at, addresses[at], bytes, kind);
      if (!host[at])
        return;
    }
  }
}

namespace {
/// Where the accesses of a warp's lanes are.
struct Places {
  std::byte *host[kLanes];
  uint32_t shared = 0; ///< lanes that are at offsets of shared memory
  uint32_t offsets[kLanes];
};
} // namespace

/// False after a fault. Shared memory is found, and not yet checked.
static bool findPlaces(Warp &warp, const Inst &inst, const AccessPlan &plan,
                       const uint64_t *addresses, DeviceMemory::Access kind,
                       Places &places) {
  uint32_t global = 0;
  uint64_t low = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    low |= addresses[lane] & warp.active[lane];
  if (low & (plan.align - 1))
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.has(lane) && !checkAlignment(warp, inst, lane, addresses[lane],
                                            plan.align, verb(kind)))
        return false;
  for (uint32_t rest = warp.mask; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    Space space =
        plan.space == Space::Generic ? spaceOf(addresses[lane]) : plan.space;
    switch (space) {
    case Space::Shared:
      if (!sharedOffset(warp, inst, lane, addresses[lane], plan.bytes, kind,
                        places.offsets[lane]))
        return false;
      places.shared |= 1u << lane;
      break;
    case Space::Global:
    case Space::Generic:
      global |= 1u << lane;
      break;
    case Space::Constant:
    case Space::Local:
      places.host[lane] =
          privateMemory(warp, inst, lane, addresses[lane], plan.bytes, kind);
      if (!places.host[lane])
        return false;
      break;
    }
  }
  if (global)
    globalMemory(warp, inst, global, addresses, plan.bytes, kind, places.host);
  return warp.current() != Warp::State::Faulted;
}

/// A register's part of the bytes.
static void loadPiece(const Warp &warp, uint32_t reg, AccessPlan::Piece piece,
                      std::byte *const *host) {
  auto each = [&](auto *out, auto read) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.has(lane)) {
        decltype(read) value;
        std::memcpy(&value, host[lane] + piece.offset, sizeof(value));
        out[lane] = value;
      }
  };
  switch (piece.bytes) {
  case 1:
    return each(warp.at<uint32_t>(reg), uint8_t());
  case 2:
    return each(warp.at<uint32_t>(reg), uint16_t());
  case 4:
    return each(warp.at<uint32_t>(reg), uint32_t());
  default:
    return each(warp.at<uint64_t>(reg), uint64_t());
  }
}

static void storePiece(const Warp &warp, uint32_t reg, AccessPlan::Piece piece,
                       unsigned lane, std::byte *host) {
  // Little-endian: the low bytes come first.
  const std::byte *value =
      piece.bytes == 8
          ? reinterpret_cast<std::byte *>(warp.at<uint64_t>(reg) + lane)
          : reinterpret_cast<std::byte *>(warp.at<uint32_t>(reg) + lane);
  std::memcpy(host + piece.offset, value, piece.bytes);
}

void ring::vgpu::runLoad(Warp &warp, const Inst &inst) {
  Block &block = warp.block;
  const AccessPlan &plan = block.program.plans[inst.imm];
  const uint32_t *operands = &block.program.operands[inst.list];
  const size_t count = plan.pieces.size();
  Places places;
  if (!findPlaces(warp, inst, plan, warp.at<uint64_t>(operands[count]),
                  DeviceMemory::Access::Read, places))
    return;
  for (uint32_t rest = places.shared; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    uint32_t offset = places.offsets[lane];
    std::string why;
    if (!block.shared.read({warp.index, lane}, offset, plan.bytes, why,
                           plan.atomic))
      return warp.fault(inst, lane, std::move(why));
    places.host[lane] = block.shared.data(offset);
  }
  for (size_t i = 0; i < count; ++i)
    loadPiece(warp, operands[i], plan.pieces[i], places.host);
}

void ring::vgpu::runStore(Warp &warp, const Inst &inst) {
  Block &block = warp.block;
  const AccessPlan &plan = block.program.plans[inst.imm];
  const uint32_t *operands = &block.program.operands[inst.list];
  const size_t count = plan.pieces.size();
  Places places;
  if (!findPlaces(warp, inst, plan, warp.at<uint64_t>(operands[count]),
                  plan.atomic ? DeviceMemory::Access::Atomic
                              : DeviceMemory::Access::Write,
                  places))
    return;
  std::byte value[kMostAccessBytes];
  for (uint32_t rest = warp.mask; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    bool isShared = places.shared >> lane & 1;
    std::byte *host = isShared ? value : places.host[lane];
    for (size_t i = 0; i < count; ++i)
      storePiece(warp, operands[i], plan.pieces[i], lane, host);
    if (!isShared)
      continue;
    std::string why;
    if (!block.shared.write({warp.index, lane}, places.offsets[lane],
                            plan.bytes, value, why, plan.atomic))
      return warp.fault(inst, lane, std::move(why));
  }
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

template <class T, class Update>
static T update(std::byte *host, Update newValue) {
  T *place = reinterpret_cast<T *>(host);
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, newValue(old), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}

template <class U, class I, class F>
static U applyAtomic(AtomicOp op, std::byte *host, U value) {
  auto real = [](U bits) { return __builtin_bit_cast(F, bits); };
  return update<U>(host, [&](U old) -> U {
    switch (op) {
    case AtomicOp::Exchange:
      return value;
    case AtomicOp::Add:
      return old + value;
    case AtomicOp::And:
      return old & value;
    case AtomicOp::Or:
      return old | value;
    case AtomicOp::Xor:
      return old ^ value;
    case AtomicOp::SMax:
      return I(old) > I(value) ? old : value;
    case AtomicOp::SMin:
      return I(old) < I(value) ? old : value;
    case AtomicOp::UMax:
      return old > value ? old : value;
    case AtomicOp::UMin:
      return old < value ? old : value;
    case AtomicOp::FAdd:
      return __builtin_bit_cast(U, F(real(old) + real(value)));
    case AtomicOp::FMax:
      return __builtin_bit_cast(U, std::fmax(real(old), real(value)));
    case AtomicOp::FMin:
      return __builtin_bit_cast(U, std::fmin(real(old), real(value)));
    }
    return old;
  });
}

/// Calls `apply(lane, host)` for each active lane in turn.
template <class Apply>
static void eachAtomic(Warp &warp, const Inst &inst, const AccessPlan &plan,
                       uint32_t address, Apply apply) {
  Block &block = warp.block;
  Places places;
  if (!findPlaces(warp, inst, plan, warp.at<uint64_t>(address),
                  DeviceMemory::Access::Atomic, places))
    return;
  for (uint32_t rest = warp.mask; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    if (places.shared >> lane & 1) {
      std::string why;
      uint32_t offset = places.offsets[lane];
      if (!block.shared.atomic({warp.index, lane}, offset, plan.bytes, why))
        return warp.fault(inst, lane, std::move(why));
      places.host[lane] = block.shared.data(offset);
    }
    apply(lane, places.host[lane]);
  }
}

void ring::vgpu::runAtomic(Warp &warp, const Inst &inst) {
  const AccessPlan &plan =
      warp.block.program.plans[static_cast<uint32_t>(inst.imm)];
  auto op = static_cast<AtomicOp>(inst.imm >> 32);
  eachAtomic(warp, inst, plan, inst.r[1], [&](unsigned lane, std::byte *host) {
    if (plan.bytes == 4)
      warp.at<uint32_t>(inst.r[0])[lane] =
          applyAtomic<uint32_t, int32_t, float>(
              op, host, warp.at<uint32_t>(inst.r[2])[lane]);
    else
      warp.at<uint64_t>(inst.r[0])[lane] =
          applyAtomic<uint64_t, int64_t, double>(
              op, host, warp.at<uint64_t>(inst.r[2])[lane]);
  });
}

void ring::vgpu::runCompareExchange(Warp &warp, const Inst &inst) {
  const AccessPlan &plan = warp.block.program.plans[inst.imm];
  const uint32_t *operands = &warp.block.program.operands[inst.list];
  auto exchange = [&](auto type, unsigned lane, std::byte *host) {
    using T = decltype(type);
    T expected = warp.at<T>(operands[3])[lane];
    T old = update<T>(host, [&](T current) {
      return current == expected ? warp.at<T>(operands[4])[lane] : current;
    });
    warp.at<T>(operands[0])[lane] = old;
    warp.at<uint32_t>(operands[1])[lane] = old == expected;
  };
  eachAtomic(warp, inst, plan, operands[2],
             [&](unsigned lane, std::byte *host) {
               if (plan.bytes == 4)
                 exchange(uint32_t(), lane, host);
               else
                 exchange(uint64_t(), lane, host);
             });
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void ring::vgpu::runAsyncCopy(Warp &warp, const Inst &inst) {
  Block &block = warp.block;
  const auto bytes = static_cast<uint32_t>(inst.imm);
  const bool isWhole = inst.imm >> 32;
  const auto *destinations = warp.at<uint64_t>(inst.r[0]),
             *sources = warp.at<uint64_t>(inst.r[1]);
  uint32_t copied[kLanes];
  std::byte *host[kLanes] = {};
  uint32_t whole = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!warp.has(lane))
      continue;
    copied[lane] = isWhole ? bytes : warp.at<uint32_t>(inst.r[2])[lane];
    if (copied[lane] > bytes)
      return warp.fault(inst, lane,
                        "cp.async of " + std::to_string(bytes) +
                            " bytes is to copy " +
                            std::to_string(copied[lane]));
    if (!checkAlignment(warp, inst, lane, destinations[lane], bytes,
                        "cp.async writes") ||
        !checkAlignment(warp, inst, lane, sources[lane], bytes,
                        "cp.async reads"))
      return;
    // With nothing to copy the source is not looked at.
    if (copied[lane] == bytes)
      whole |= 1u << lane;
    else if (copied[lane] && !(host[lane] = globalMemory(
                                   warp, inst, lane, sources[lane],
                                   copied[lane], DeviceMemory::Access::Read)))
      return;
  }
  if (whole)
    globalMemory(warp, inst, whole, sources, bytes, DeviceMemory::Access::Read,
                 host);
  if (warp.current() == Warp::State::Faulted)
    return;
  for (uint32_t rest = warp.mask; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    uint32_t offset;
    if (!sharedOffset(warp, inst, lane, destinations[lane], bytes,
                      DeviceMemory::Access::Write, offset))
      return;
    std::string why;
    if (!block.shared.startCopy({warp.index, lane}, offset, bytes, why))
      return warp.fault(inst, lane, std::move(why));
    block.copies.add(warp.thread(lane), offset, bytes, host[lane],
                     copied[lane]);
  }
}

void ring::vgpu::runAsyncCommit(Warp &warp, const Inst &inst) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.has(lane))
      warp.block.copies.commit(warp.thread(lane));
}

void ring::vgpu::runAsyncWait(Warp &warp, const Inst &inst) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.has(lane))
      warp.block.copies.wait({warp.index, lane}, warp.thread(lane), inst.imm,
                             warp.block.shared);
}
