//===- World.h - A rank for each process ------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a ring as processes. The process of rank 0 has the ring's
// meeting; a thread of it acts there for each other process, told by that over
// TCP. NCCL moves the data.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_WORLD_H
#define RING_RUNTIME_NCCL_WORLD_H

#include "NcclTransport.h"
#include "WorldPlace.h"

namespace ring::runtime {

/// What one process has of the world: its end of the connections, for as long
/// as its host.
class World {
public:
  virtual ~World() = default;

  /// Returns when all processes have come, within the deadline.
  static Result join(const WorldPlace &place, const nccl::Library &library,
                     double deadline, std::unique_ptr<World> &world);

  /// A run begins, which all processes do equally often: the rank's place in
  /// its meeting. `connected`: the rank still has its communicator. Where one
  /// has not, all make new ones: `start` has an id then, and `anew` is set.
  virtual Result beginRun(bool connected, NcclStart &start, bool &anew,
                          std::unique_ptr<Meeting> &meeting) = 0;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_NCCL_WORLD_H
