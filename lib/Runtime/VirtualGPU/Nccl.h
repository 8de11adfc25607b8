//===- Nccl.h - Sends and receives between virtual GPUs ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads of one process. What a group sends and receives is one
// operation of its stream. It ends when each of its transfers has met the
// peer's group, as with NCCL, which keeps no data for a receive to come.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_NCCL_H
#define RING_RUNTIME_VIRTUALGPU_NCCL_H

#include "DriverState.h"

namespace ring::vgpu {

class GroupOp;

/// One end of a transfer.
struct Transfer {
  bool sends = false;
  int peer = 0;
  uint64_t address = 0;
  size_t bytes = 0;
  const char *call = "";
  std::weak_ptr<GroupOp> partner; ///< the peer's group with the other end
  size_t partnerIndex = 0;
  bool done = false;
};

/// The ranks that share an id. Guarded by the driver's lock.
class Clique {
public:
  std::vector<Communicator *> members; ///< by rank; NULL: not there yet
  int ranks = 0;                       ///< 0: nobody came yet
  int arrived = 0;
  bool complete = false;
  ncclResult_t result = ncclSuccess; ///< once complete
  std::string error;

  /// The ends that wait for the other one, from a rank to a rank.
  struct Unmatched {
    std::deque<std::pair<std::shared_ptr<GroupOp>, size_t>> sends, receives;
  };
  std::map<std::pair<int, int>, Unmatched> unmatched;
};

/// A rank of a clique. Guarded by the driver's lock.
class Communicator : public std::enable_shared_from_this<Communicator> {
public:
  std::shared_ptr<Clique> clique;
  int rank = 0;
  Context *context = nullptr;
  bool blocking = true;
  const char *lastError = "";
  OpRef last; ///< its operations follow one another
  std::vector<std::shared_ptr<GroupOp>> groups; ///< not known to have ended

  /// Non-blocking: a group not yet in its stream, because the program has not
  /// learned that the call has ended.
  Stream *deferredStream = nullptr;
  std::shared_ptr<GroupOp> deferred;
  int polls = 0;
  bool finalizing = false;
  ncclResult_t state = ncclSuccess;

  /// What ncclCommGetAsyncError answers; goes on with what is in progress.
  ncclResult_t poll(Scheduler::Lock &lock);
  ncclResult_t enqueue(Stream &stream, const std::shared_ptr<GroupOp> &group);
  void abort();
};

/// All transfers of a group of calls.
class GroupOp : public Op {
public:
  explicit GroupOp(const std::shared_ptr<Communicator> &comm)
      : Op("NCCL group"), comm(comm) {}
  OpRef replica() const override { return std::make_shared<GroupOp>(*this); }
  void enqueued(Scheduler &scheduler) override;
  void addNeeded(std::vector<Op *> &needed) override;
  void start() override { startClock = clock.before(instant); }
  bool canRun() const override;
  void prepare() override;
  std::optional<Failure> run() override;
  bool settle(Scheduler &scheduler) override;
  bool isDone() const override;
  bool uses(uint64_t begin, uint64_t end) const override;

  std::vector<Transfer> transfers;

private:
  bool canReceive(const Transfer &transfer) const;
  std::optional<Failure> receive(const Transfer &mine,
                                 const GroupOp &partner) const;

  std::weak_ptr<Communicator> comm;
  /// What comes before all of its transfers, none of which comes before
  /// another.
  Clock startClock;
  /// Receives that run, with the groups that send.
  std::vector<std::pair<size_t, std::shared_ptr<GroupOp>>> batch;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_NCCL_H
