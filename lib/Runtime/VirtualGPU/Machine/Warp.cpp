//===- Warp.cpp - A warp and where its lanes are --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp.h"

#include "Block.h"

#include <algorithm>

using namespace ring::vgpu;

void Warp::start(std::byte *memory, uint32_t lanes) {
  registers = memory;
  initial = alive = lanes;
  setMask(lanes);
  pc = 0;
  others.clear();
  state = State::Ready;
}

uint64_t Warp::run(uint64_t most) {
  const Inst *code = block.program.code.data();
  uint64_t steps = 0;
  while (state == State::Ready && steps < most) {
    const Inst &inst = code[pc++];
    inst.run(*this, inst);
    ++steps;
  }
  return steps;
}

void Warp::park(uint32_t at, uint32_t lanes, bool waits) {
  for (Group &group : others) {
    if (group.pc != at)
      continue;
    group.lanes |= lanes;
    // Whoever waits looks again.
    group.waits = false;
    return;
  }
  others.push_back({at, lanes, waits});
}

void Warp::regroup() {
  if (mask)
    park(pc, mask, /*waits=*/false);
  auto next = others.end();
  for (auto it = others.begin(); it != others.end(); ++it)
    if (!it->waits && (next == others.end() || it->pc < next->pc))
      next = it;
  if (next == others.end()) {
    stuck();
    return;
  }
  pc = next->pc;
  setMask(next->lanes);
  others.erase(next);
}

void Warp::branch(uint32_t taken, uint32_t then, uint32_t otherwise) {
  if (taken == mask)
    return jump(then);
  if (!taken)
    return jump(otherwise);
  park(otherwise, mask & ~taken, /*waits=*/false);
  setMask(taken);
  jump(then);
}

void Warp::scatter(const uint32_t (&targets)[kLanes]) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (has(lane))
      park(targets[lane], 1u << lane, /*waits=*/false);
  setMask(0);
  regroup();
}

void Warp::exit() {
  alive &= ~mask;
  setMask(0);
  if (!others.empty())
    return regroup();
  state = State::Done;
  block.onExit();
}

bool Warp::gather(const Inst &inst, uint32_t needed) {
  uint32_t here = &inst - block.program.code.data();
  for (auto it = others.begin(); it != others.end(); ++it) {
    if (it->pc != here)
      continue;
    setMask(mask | it->lanes);
    others.erase(it);
    break;
  }
  if (!(needed & ~mask))
    return true;
  if (uint32_t missing = needed & ~initial) {
    fault(inst, -1,
          "the mask names lanes that the block does not have: " +
              nameLanes(missing));
    return false;
  }
  if (uint32_t returned = needed & ~alive) {
    fault(inst, -1, "needs " + nameLanes(returned) + ", which returned before");
    return false;
  }
  park(here, mask, /*waits=*/true);
  setMask(0);
  regroup();
  return false;
}

bool Warp::gatherAll(const Inst &inst) {
  if (initial != ~0u) {
    fault(inst, -1,
          "needs a whole warp, but this one has " +
              std::to_string(__builtin_popcount(initial)) + " threads");
    return false;
  }
  return gather(inst, initial);
}

void Warp::stuck() {
  auto first = std::min_element(
      others.begin(), others.end(),
      [](const Group &a, const Group &b) { return a.pc < b.pc; });
  const Program &program = block.program;
  std::string message =
      nameLanes(first->lanes) + " wait here for the rest of the warp, but ";
  bool isFirst = true;
  for (const Group &group : others) {
    if (&group == &*first)
      continue;
    message += (isFirst ? "" : ", ") + nameLanes(group.lanes) + " wait at " +
               block.describe(program.code[group.pc]);
    isFirst = false;
  }
  if (isFirst)
    message += nameLanes(initial & ~alive) + " have returned";
  fault(program.code[first->pc], -1, std::move(message));
}

void Warp::fault(const Inst &inst, int lane, std::string message) {
  if (state == State::Faulted)
    return;
  state = State::Faulted;
  block.fault(*this, inst, lane, std::move(message));
}

std::string Warp::nameLanes(uint32_t lanes) const {
  std::string text;
  unsigned count = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    unsigned end = lane;
    while (end + 1 < kLanes && lanes >> (end + 1) & 1)
      ++end;
    text += (count ? ", " : "") + std::to_string(thread(lane));
    if (end > lane)
      text += "-" + std::to_string(thread(end));
    count += end - lane + 1;
    lane = end;
  }
  return (count == 1 ? "thread " : "threads ") + text;
}

const Inst &Warp::last() const { return block.program.code[pc ? pc - 1 : 0]; }
