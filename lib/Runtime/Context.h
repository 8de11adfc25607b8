//===- Context.h - One rank of a running ring -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_CONTEXT_H
#define RING_RUNTIME_CONTEXT_H

#include "Allocation.h"
#include "Device/DeviceProgram.h"
#include "Trace.h"
#include "Transport.h"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace ring::runtime {

class Pool;

/// A transfer that was started and not yet waited for.
struct OpenTransfer {
  Transfer transfer;
  TensorGroup like; ///< shapes that must arrive (data and strides: unused)
  int64_t bytes;    ///< sent
  Clock::time_point started;
};

/// Of one rank since ring_host_reset_counters.
struct RankCounters {
  int64_t transfers = 0;
  int64_t bytesSent = 0;
  int64_t buffersAllocated = 0; ///< the most of a program
  int64_t slotsInFlight = 0;
  std::atomic<int64_t> launches{0}; ///< also from within a parallel_for body
};

} // namespace ring::runtime

/// Lives as long as its host; `transport` and the fields behind it belong to
/// one ring_host_run. Used by the rank's thread only, except where noted.
struct ring_context {
  ring_context(int32_t rank, int32_t size, ring::runtime::Pool &pool,
               bool traced, ring::runtime::Clock::time_point origin)
      : rank(rank), size(size), pool(pool), trace(traced, origin) {}

  const int32_t rank, size;
  int32_t localIndex = 0; ///< among the ranks of the process
  ring::runtime::Pool &pool;
  ring::runtime::AccountHandle account; ///< any thread
  ring::runtime::RankCounters counters;
  ring::runtime::RankTrace trace;
  ring::runtime::RankDevice gpu; ///< empty on a CPU

  /// Makes the context ready for another run.
  void reset(std::unique_ptr<ring::runtime::Transport> fresh);
  /// Records a failure, tells the peers and returns the rank's first bad
  /// status, which every later call returns too.
  ring_status fail(const ring::runtime::Result &result);
  /// Adds visible pairs to a round of the program that runs (-1: to none).
  void countPairs(int64_t round, int64_t pairs);
  /// What the rank's body returned, made a failure where it was none but the
  /// rank did not end as it should.
  void finish(ring_status returned);

  std::unique_ptr<ring::runtime::Transport> transport;
  enum class Stage { Created, Running, Ended } stage = Stage::Created;
  ring_status status = RING_OK;
  int64_t round = -1;        ///< the last one launched
  int64_t issued = 0;        ///< transfers started in this run
  int64_t buffersBefore = 0; ///< slots allocated before this program
  /// By program of this run and by round.
  std::vector<std::vector<int64_t>> visiblePairs;
  std::map<ring_ticket, ring::runtime::OpenTransfer> open;
  /// From ring_device_begin to ring_device_finish.
  std::unique_ptr<ring::runtime::DeviceProgram> program;
};

#endif // RING_RUNTIME_CONTEXT_H
