//===- Block.cpp - One thread block at work -------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <cstring>

using namespace ring::vgpu;

// A warp that waits for another one without a barrier gets no further in this
// many instructions; then the other one runs.
static constexpr uint64_t kSlice = 1 << 20;

static unsigned threadsOf(const LaunchShape &shape) {
  return shape.block[0] * shape.block[1] * shape.block[2];
}

Block::Block(const Launch &launch)
    : launch(launch), program(launch.program),
      threads(threadsOf(launch.shape)) {
  unsigned count = (threads + kLanes - 1) / kLanes;
  for (unsigned index = 0; index < count; ++index)
    warps.emplace_back(*this, index);
  registers.resize(size_t(count) * program.registerWords * 4 + 64);
}

std::optional<Fault> Block::run(std::array<uint32_t, 3> blockId) {
  id = blockId;
  found.reset();
  barriers = {};
  shared.reset(program.staticSharedBytes + launch.shape.dynamicSharedBytes,
               warps.size(), program.cellShift);
  copies.reset(threads);
  localMemory.assign(size_t(threads) * program.localBytes, std::byte(0xff));
  auto base = reinterpret_cast<uintptr_t>(registers.data());
  std::byte *next = registers.data() + (-base & 63);
  for (Warp &warp : warps) {
    unsigned lanes = std::min(kLanes, threads - warp.index * kLanes);
    std::copy(launch.constants.begin(), launch.constants.end(), next);
    warp.start(next, lanes == kLanes ? ~0u : (1u << lanes) - 1);
    next += size_t(program.registerWords) * 4;
  }

  uint64_t steps = 0;
  while (!found) {
    bool isDone = true, isStuck = true;
    for (Warp &warp : warps) {
      if (found)
        break;
      isDone &= warp.current() == Warp::State::Done;
      if (warp.current() != Warp::State::Ready)
        continue;
      isStuck = false;
      steps += warp.run(kSlice);
      if (steps > launch.maxSteps && !found)
        warp.fault(warp.last(), -1,
                   "the block has run " + std::to_string(steps) +
                       " instructions of its warps and does not end "
                       "(RING_VGPU_MAX_STEPS)");
    }
    if (isDone)
      break;
    if (isStuck)
      deadlock();
  }
  return std::move(found);
}

uint32_t Block::liveWarps() const {
  uint32_t live = 0;
  for (const Warp &warp : warps)
    if (warp.current() != Warp::State::Done)
      live |= 1u << warp.index;
  return live;
}

void Block::barrier(Warp &warp, const Inst &inst, uint32_t number,
                    uint32_t count, bool waits) {
  if (number >= barriers.size())
    return warp.fault(inst, -1,
                      "there is no barrier " + std::to_string(number) +
                          ", only 0 to 15");
  if (count % kLanes || (!count && !waits))
    return warp.fault(inst, -1,
                      "a barrier of " + std::to_string(count) +
                          " threads, which is no multiple of a warp");
  Barrier &barrier = barriers[number];
  if (barrier.arrived && barrier.expected != count) {
    auto name = [](uint32_t threads) {
      return threads ? std::to_string(threads) : std::string("all");
    };
    return warp.fault(
        inst, -1,
        "barrier " + std::to_string(number) + " for " + name(count) +
            " threads, while others wait there for " + name(barrier.expected));
  }
  if (barrier.arrivedWarps >> warp.index & 1)
    return warp.fault(inst, -1,
                      "arrives at barrier " + std::to_string(number) +
                          " again, before it has completed");
  barrier.expected = count;
  barrier.arrived += kLanes;
  barrier.arrivedWarps |= 1u << warp.index;
  shared.arrive(warp.index, barrier.clock);
  if (waits) {
    barrier.waiting |= 1u << warp.index;
    warp.waitAtBarrier();
  }
  if (count ? barrier.arrived >= count : barrier.arrivedWarps == liveWarps())
    complete(barrier);
}

void Block::complete(Barrier &barrier) {
  for (Warp &warp : warps) {
    if (!(barrier.waiting >> warp.index & 1))
      continue;
    shared.join(warp.index, barrier.clock);
    warp.passBarrier();
  }
  barrier = {};
}

void Block::onExit() {
  for (Barrier &barrier : barriers)
    if (barrier.arrived && !barrier.expected &&
        barrier.arrivedWarps == liveWarps())
      complete(barrier);
}

void Block::deadlock() {
  std::string message = "deadlock: ";
  const Warp *first = nullptr;
  for (const Warp &warp : warps) {
    if (warp.current() != Warp::State::AtBarrier)
      continue;
    message += (first ? ", " : "") + warp.nameLanes(warp.alive) + " wait at " +
               describe(warp.last());
    first = first ? first : &warp;
  }
  message += ", and no other thread can come";
  fault(*first, first->last(), -1, std::move(message));
}
