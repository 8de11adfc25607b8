//===- Transport.h - How blocks travel between ranks ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a back end (threads, MPI, NCCL, a virtual GPU) implements. Everything
// that is the same for all of them (tickets, shapes, counters, the trace, the
// text that says which rank and round) lives in Runtime.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_TRANSPORT_H
#define RING_RUNTIME_TRANSPORT_H

#include "ring/Runtime/Runtime.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ring::runtime {

using Clock = std::chrono::steady_clock;

/// Outcome of a call. The message is one line, lower case, without the rank
/// and the round, which the context puts in front.
struct Result {
  ring_status status = RING_OK;
  std::string message;

  bool failed() const { return status != RING_OK; }
};

/// The first failure of a ring, as all its ranks see it.
struct Failure {
  int32_t rank;
  ring_status status;
  std::string message; ///< complete: names rank and round
};

/// What the arguments of ring_begin say that a rank runs.
struct Program {
  uint64_t fingerprint = 0;
  std::string description;
};

/// "rank A and rank B run different programs: ..." for two that differ.
std::string describeMismatch(int32_t rankA, const Program &a, int32_t rankB,
                             const Program &b);

/// One message group.
using TensorGroup = std::vector<ring_tensor>;

/// One permute of one rank.
struct Transfer {
  int64_t number; ///< 1, 2, ... in the order of the rank's starts
  int32_t to, from;
};

/// What a transfer delivered, and when it was there: not known of a GPU's, for
/// which nobody waits on the host.
struct Arrival {
  TensorGroup tensors;
  std::optional<Clock::time_point> time;
};

class Device;
class Timeline;

/// Looked at while something is awaited: a failure ends the wait.
using Watch = std::function<Result()>;

/// Where the ranks of a ring begin, end and fail together. All calls but `fail`
/// and `failure` come from the thread of the rank. No call lasts longer than
/// the deadline.
class Meeting {
public:
  virtual ~Meeting() = default;

  /// Meets all ranks and compares their programs. RING_ERROR_MISMATCH names two
  /// ranks that differ, and how.
  virtual Result begin(int32_t slots, const Program &program) = 0;

  /// The rank has passed its last round; returns when all ranks have.
  virtual Result end() = 0;
  /// The same for a rank that failed: nothing to report. With `wait` it stays
  /// until no rank can read what this one lent, or the deadline passes.
  virtual void abandon(bool wait) = 0;

  /// Tells every rank. Only the first failure of a ring counts.
  virtual void fail(const Failure &failure) = 0;
  virtual std::optional<Failure> failure() const = 0;
};

/// The end of a ring at one rank, of whose calls the same holds.
class Transport : public Meeting {
public:
  /// Sends `tensors` to `transfer.to` and expects one group from
  /// `transfer.from`; does not wait. What one rank sends to another is received
  /// in the order of the sends.
  virtual Result start(const Transfer &transfer,
                       const TensorGroup &tensors) = 0;
  /// The same with what `source`, an unwaited transfer, will deliver.
  virtual Result forward(const Transfer &transfer, const Transfer &source) = 0;
  /// Returns when the group sent may be considered gone and the group expected
  /// is there.
  virtual Result wait(const Transfer &transfer, Arrival &arrival) = 0;

  /// What is sent and received from now on is memory of the rank's GPU (NULL:
  /// of the host again). A wait makes the GPU wait, and a start returns when
  /// the transfer is enqueued.
  virtual Result useDevice(Device *device, Timeline *timeline) = 0;
  /// The program has done its rounds: what was put off is enqueued now.
  virtual Result finishRounds() { return {}; }
  /// Waits until the GPU has done what it was given.
  virtual Result drain() = 0;
  /// The rank failed: what its GPU waits for may never come.
  virtual void abort() {}

  /// Slots that this rank allocated so far.
  virtual int64_t buffersAllocated() const = 0;
};

/// The result of a call that ended because another rank failed.
Result peerFailed(const Failure &failure);

/// Ends a wait that begins now with RING_ERROR_TIMEOUT, "`what` within 60 s".
Watch deadlineWatch(double deadline, std::string what);

/// "1.5 s"
std::string formatSeconds(double seconds);

} // namespace ring::runtime

#endif // RING_RUNTIME_TRANSPORT_H
