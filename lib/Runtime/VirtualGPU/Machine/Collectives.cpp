//===- Collectives.cpp - Barriers, shuffles and votes ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Handlers.h"

#include <algorithm>

using namespace ring::vgpu;

void ring::vgpu::runBarrier(Warp &warp, const Inst &inst) {
  const bool waits = inst.imm & 1, isAll = inst.imm & 2;
  if (warp.alive != warp.initial)
    return warp.fault(
        inst, -1,
        "divergent barrier: " + warp.nameLanes(warp.initial & ~warp.alive) +
            " of the warp returned before");
  if (!warp.gather(inst, warp.initial))
    return;
  const uint32_t *id = warp.at<uint32_t>(inst.r[0]),
                 *count = isAll ? nullptr : warp.at<uint32_t>(inst.r[1]);
  for (unsigned lane = 1; lane < kLanes; ++lane)
    if (warp.has(lane) &&
        (id[lane] != id[0] || (count && count[lane] != count[0])))
      return warp.fault(inst, lane,
                        "divergent barrier: thread " +
                            std::to_string(warp.thread(0)) +
                            " is at another one, or counts otherwise");
  if (count && !count[0])
    return warp.fault(inst, -1, "a barrier of 0 threads");
  warp.block.barrier(warp, inst, id[0], count ? count[0] : 0, waits);
}

/// Calls `apply(members)` for each set of active lanes with one mask, once all
/// of the set are here. False if the instruction is not over, or wrong.
template <class Apply>
static bool eachSet(Warp &warp, const Inst &inst, uint32_t maskRegister,
                    Apply apply) {
  const uint32_t *masks = warp.at<uint32_t>(maskRegister);
  uint32_t needed = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    needed |= masks[lane] & warp.active[lane];
  if (!warp.gather(inst, needed))
    return false;
  for (uint32_t rest = warp.mask; rest;) {
    unsigned first = __builtin_ctz(rest);
    uint32_t mask = masks[first];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      bool isNamed = mask >> lane & 1;
      if (isNamed && masks[lane] != mask) {
        warp.fault(inst, lane,
                   "has another mask than thread " +
                       std::to_string(warp.thread(first)) +
                       ", whose mask names it");
        return false;
      }
    }
    if (!(mask >> first & 1)) {
      warp.fault(inst, first, "is not in its own mask");
      return false;
    }
    apply(mask);
    rest &= ~mask;
  }
  return true;
}

void ring::vgpu::runWarpSync(Warp &warp, const Inst &inst) {
  if (eachSet(warp, inst, inst.r[0], [](uint32_t) {}))
    warp.block.shared.syncWarp(warp.index);
}

void ring::vgpu::runShuffle(Warp &warp, const Inst &inst) {
  const bool hasValid = inst.imm & 4;
  const uint32_t *operands =
      &warp.block.program.operands[inst.list] + (hasValid ? 2 : 1);
  const auto *masks = warp.at<uint32_t>(operands[0]),
             *value = warp.at<uint32_t>(operands[1]),
             *offset = warp.at<uint32_t>(operands[2]),
             *clamp = warp.at<uint32_t>(operands[3]);
  auto *out = warp.at<uint32_t>(inst.r[0]);
  auto *valid = hasValid ? warp.at<uint32_t>(inst.r[1]) : nullptr;
  if (!eachSet(warp, inst, operands[0], [](uint32_t) {}))
    return;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!warp.has(lane))
      continue;
    const uint32_t b = offset[lane] & 31, c = clamp[lane] & 31,
                   segment = clamp[lane] >> 8 & 31;
    const uint32_t least = lane & segment, most = least | (c & ~segment);
    uint32_t from = 0;
    bool isValid = false;
    switch (static_cast<ShuffleKind>(inst.imm & 3)) {
    case ShuffleKind::Up:
      from = lane - b;
      isValid = static_cast<int32_t>(from) >= static_cast<int32_t>(most);
      break;
    case ShuffleKind::Down:
      from = lane + b;
      isValid = from <= most;
      break;
    case ShuffleKind::Butterfly:
      from = lane ^ b;
      isValid = from <= most;
      break;
    case ShuffleKind::Index:
      from = least | (b & ~segment);
      isValid = from <= most;
      break;
    }
    if (!isValid)
      from = lane;
    if (!(masks[lane] >> from & 1))
      return warp.fault(inst, lane,
                        "reads from thread " +
                            std::to_string(warp.thread(from)) +
                            ", which its mask does not name");
    out[lane] = value[from];
    if (valid)
      valid[lane] = isValid;
  }
}

void ring::vgpu::runVote(Warp &warp, const Inst &inst) {
  auto *out = warp.at<uint32_t>(inst.r[0]);
  const auto *predicate = warp.at<uint32_t>(inst.r[2]);
  eachSet(warp, inst, inst.r[1], [&](uint32_t members) {
    uint32_t ballot = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      ballot |= (predicate[lane] & 1) << lane;
    ballot &= members;
    uint32_t result = 0;
    switch (static_cast<VoteKind>(inst.imm)) {
    case VoteKind::Any:
      result = ballot != 0;
      break;
    case VoteKind::All:
      result = ballot == members;
      break;
    case VoteKind::Ballot:
      result = ballot;
      break;
    case VoteKind::Uniform:
      result = ballot == 0 || ballot == members;
      break;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (members >> lane & 1)
        out[lane] = result;
  });
}

void ring::vgpu::runMatchAny32(Warp &warp, const Inst &inst) {
  auto *out = warp.at<uint32_t>(inst.r[0]);
  const auto *value = warp.at<uint32_t>(inst.r[2]);
  eachSet(warp, inst, inst.r[1], [&](uint32_t members) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!(members >> lane & 1))
        continue;
      uint32_t same = 0;
      for (unsigned other = 0; other < kLanes; ++other)
        same |= uint32_t(value[other] == value[lane]) << other;
      out[lane] = same & members;
    }
  });
}

static uint32_t reduce(ReduceOp op, uint32_t a, uint32_t b) {
  auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  switch (op) {
  case ReduceOp::Add:
    return a + b;
  case ReduceOp::And:
    return a & b;
  case ReduceOp::Or:
    return a | b;
  case ReduceOp::Xor:
    return a ^ b;
  case ReduceOp::Max:
    return sa > sb ? a : b;
  case ReduceOp::Min:
    return sa < sb ? a : b;
  case ReduceOp::UMax:
    return std::max(a, b);
  case ReduceOp::UMin:
    return std::min(a, b);
  }
  return a;
}

void ring::vgpu::runReduce(Warp &warp, const Inst &inst) {
  auto *out = warp.at<uint32_t>(inst.r[0]);
  const auto *value = warp.at<uint32_t>(inst.r[2]);
  eachSet(warp, inst, inst.r[1], [&](uint32_t members) {
    uint32_t rest = members, result = value[__builtin_ctz(rest)];
    for (rest &= rest - 1; rest; rest &= rest - 1)
      result = reduce(static_cast<ReduceOp>(inst.imm), result,
                      value[__builtin_ctz(rest)]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (members >> lane & 1)
        out[lane] = result;
  });
}

void ring::vgpu::runElect(Warp &warp, const Inst &inst) {
  auto *out = warp.at<uint32_t>(inst.r[0]);
  eachSet(warp, inst, inst.r[1], [&](uint32_t members) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (members >> lane & 1)
        out[lane] = lane == static_cast<unsigned>(__builtin_ctz(members));
  });
}
