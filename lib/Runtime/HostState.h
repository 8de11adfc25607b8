//===- HostState.h - A set of ranks of this process -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_HOSTSTATE_H
#define RING_RUNTIME_HOSTSTATE_H

#include "Context.h"
#include "NCCL/World.h"
#include "Pool.h"
#include "ring/Runtime/Host.h"

#include <memory>
#include <string>
#include <vector>

/// The ranks that live here, as threads: all, or one of a world of processes.
struct ring_host {
  ring_host_options options; ///< defaults filled in
  int64_t process;           ///< that created it, and has the pool's threads
  ring::runtime::Clock::time_point origin = ring::runtime::Clock::now();
  std::unique_ptr<ring::runtime::Pool> pool;
  std::vector<std::unique_ptr<ring_context>> contexts; ///< of the ranks here
  /// NULL: the transport is `threads`.
  const ring::nccl::Library *nccl = nullptr;
  std::vector<ring::runtime::NcclRank> ncclRanks; ///< gone before the contexts
  std::unique_ptr<ring::runtime::World> world;    ///< NULL: all ranks are here
  std::string error;
  int64_t runs = 0;
  double seconds = 0;
  ring::runtime::AccountHandle account;              ///< of host functions
  ring::runtime::Account *previousAccount = nullptr; ///< of the caller
  bool insideFunction = false; ///< of a program, which may run ranks often
  int64_t localBytes = 0;      ///< of one rank, all scatters and gathers
  double balance = 1, roundBalance = 1; ///< the largest of all runs

  /// Records the outcome of a call and returns its status.
  ring_status conclude(ring::runtime::Result result) {
    error = std::move(result.message);
    return result.status;
  }
  int32_t firstRank() const { return contexts.front()->rank; }
  int32_t localRanks() const { return static_cast<int32_t>(contexts.size()); }
  /// For one run, of the ranks here.
  ring::runtime::Result createTransports(
      const ring::runtime::Fault &fault,
      std::vector<std::unique_ptr<ring::runtime::Transport>> &transports);
  ring::runtime::Result
  meet(ring::runtime::NcclStart &start,
       std::vector<std::unique_ptr<ring::runtime::Meeting>> &meetings);
  /// What accounts have kept, and nothing of late has used, is freed.
  void beginRun();
  /// RING_ERROR_USAGE in a process forked after the host was created.
  ring::runtime::Result checkProcess() const;
};

#endif // RING_RUNTIME_HOSTSTATE_H
