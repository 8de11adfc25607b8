//===- Control.cpp - Branches, copies, special registers ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Handlers.h"

#include <cstring>

using namespace ring::vgpu;

void ring::vgpu::runJump(Warp &warp, const Inst &inst) { warp.jump(inst.imm); }

void ring::vgpu::runBranch(Warp &warp, const Inst &inst) {
  const uint32_t *condition = warp.at<uint32_t>(inst.r[0]);
  uint32_t taken = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    taken |= (condition[lane] & 1) << lane;
  warp.branch(taken & warp.mask, static_cast<uint32_t>(inst.imm),
              inst.imm >> 32);
}

template <class T> static void runSwitch(Warp &warp, const Inst &inst) {
  const T *value = warp.at<T>(inst.r[0]);
  const std::vector<uint64_t> &table = warp.block.program.tables[inst.imm];
  uint32_t targets[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    targets[lane] = table[0];
    for (size_t i = 1; i < table.size(); i += 2)
      if (table[i] == value[lane])
        targets[lane] = table[i + 1];
  }
  warp.scatter(targets);
}
void ring::vgpu::runSwitch32(Warp &warp, const Inst &inst) {
  runSwitch<uint32_t>(warp, inst);
}
void ring::vgpu::runSwitch64(Warp &warp, const Inst &inst) {
  runSwitch<uint64_t>(warp, inst);
}

void ring::vgpu::runReturn(Warp &warp, const Inst &inst) { warp.exit(); }

void ring::vgpu::runUnreachable(Warp &warp, const Inst &inst) {
  warp.fault(inst, __builtin_ctz(warp.mask), "reaches what is unreachable");
}
void ring::vgpu::runTrap(Warp &warp, const Inst &inst) {
  warp.fault(inst, __builtin_ctz(warp.mask), "trap");
}

void ring::vgpu::runCopies(Warp &warp, const Inst &inst) {
  const uint32_t narrow = static_cast<uint32_t>(inst.imm),
                 count = inst.imm >> 32;
  const uint32_t *results = &warp.block.program.operands[inst.list],
                 *sources = results + count;
  static thread_local std::vector<uint32_t> held;
  held.resize((size_t(count) * 2 - narrow) * kLanes);
  uint32_t *next = held.data();
  for (uint32_t i = 0; i < count; ++i) {
    unsigned words = i < narrow ? kLanes : 2 * kLanes;
    std::memcpy(next, warp.at<uint32_t>(sources[i]), words * 4);
    next += words;
  }
  next = held.data();
  for (uint32_t i = 0; i < count; ++i) {
    unsigned words = i < narrow ? kLanes : 2 * kLanes;
    uint32_t *out = warp.at<uint32_t>(results[i]);
    if (warp.all()) {
      std::memcpy(out, next, words * 4);
    } else {
      for (unsigned word = 0; word < words; ++word)
        if (warp.has(i < narrow ? word : word / 2))
          out[word] = next[word];
    }
    next += words;
  }
}

template <class T> static void runExtract(Warp &warp, const Inst &inst) {
  const uint32_t *operands = &warp.block.program.operands[inst.list];
  const uint32_t *index = warp.at<uint32_t>(operands[1]);
  T *out = warp.at<T>(operands[0]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.has(lane))
      out[lane] = index[lane] < inst.imm
                      ? warp.at<T>(operands[2 + index[lane]])[lane]
                      : 0;
}
void ring::vgpu::runExtract32(Warp &warp, const Inst &inst) {
  runExtract<uint32_t>(warp, inst);
}
void ring::vgpu::runExtract64(Warp &warp, const Inst &inst) {
  runExtract<uint64_t>(warp, inst);
}

static uint32_t special(const Warp &warp, SpecialRegister what, unsigned lane) {
  const Block &block = warp.block;
  const LaunchShape &shape = block.launch.shape;
  unsigned number = static_cast<unsigned>(what);
  if (what < SpecialRegister::BlockSize) {
    uint32_t thread = warp.thread(lane);
    uint32_t x = shape.block[0], y = shape.block[1];
    return number == 0   ? thread % x
           : number == 1 ? thread / x % y
                         : thread / x / y;
  }
  if (what < SpecialRegister::BlockIndex)
    return shape.block[number - unsigned(SpecialRegister::BlockSize)];
  if (what < SpecialRegister::GridSize)
    return block.id[number - unsigned(SpecialRegister::BlockIndex)];
  if (what < SpecialRegister::Lane)
    return shape.grid[number - unsigned(SpecialRegister::GridSize)];
  switch (what) {
  case SpecialRegister::Lane:
    return lane;
  case SpecialRegister::WarpIndex:
    return warp.index;
  case SpecialRegister::WarpSize:
    return kLanes;
  case SpecialRegister::WarpCount:
    return (block.threads + kLanes - 1) / kLanes;
  case SpecialRegister::MaskEq:
    return 1u << lane;
  case SpecialRegister::MaskLe:
    return (2u << lane) - 1;
  case SpecialRegister::MaskLt:
    return (1u << lane) - 1;
  case SpecialRegister::MaskGe:
    return ~((1u << lane) - 1);
  case SpecialRegister::MaskGt:
    return ~((2u << lane) - 1);
  default:
    return shape.dynamicSharedBytes;
  }
}

void ring::vgpu::runSpecial(Warp &warp, const Inst &inst) {
  uint32_t *out = warp.at<uint32_t>(inst.r[0]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.has(lane))
      out[lane] = special(warp, static_cast<SpecialRegister>(inst.imm), lane);
}
