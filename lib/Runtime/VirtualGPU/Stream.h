//===- Stream.h - Streams whose work is done as late as possible -*- C++
//-*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of a stream is only queued. It is executed when something that
// the host waits for needs it: then all earlier operations of its stream, what
// the events waited for there need, and nothing more. Threads that wait do the
// work, any of them what is ready of any device.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_STREAM_H
#define RING_RUNTIME_VIRTUALGPU_STREAM_H

#include "DriverApi.h"
#include "Memory.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <set>

namespace ring::vgpu {

class Capture;
class Scheduler;

/// What went wrong in an operation, and what its context answers from then on.
struct Failure {
  CUresult code = CUDA_ERROR_LAUNCH_FAILED;
  std::string text;
};

/// An operation of a stream. Unless said otherwise, members are guarded by the
/// driver's lock.
class Op : public std::enable_shared_from_this<Op> {
public:
  explicit Op(std::string name) : name(std::move(name)) {}
  virtual ~Op() = default;

  /// The same operation, not yet in a stream: what a graph launch enqueues.
  virtual std::shared_ptr<Op> replica() const = 0;
  /// It was put into its stream.
  virtual void enqueued(Scheduler &scheduler) {}
  /// What else has to be executed with it, besides what comes before it.
  virtual void addNeeded(std::vector<Op *> &needed) {}
  /// It has become the next operation of its stream, and is demanded.
  virtual void start() {}
  /// After start: whether `run` can do something.
  virtual bool canRun() const { return true; }
  /// It runs next.
  virtual void prepare() {}
  /// Does the work. Without the lock.
  virtual std::optional<Failure> run() = 0;
  /// After run: whether it has ended; otherwise it runs again.
  virtual bool settle(Scheduler &scheduler) { return true; }
  /// After start: whether there is nothing left to run.
  virtual bool isDone() const { return false; }
  /// Whether it may touch memory of [begin, end), as far as can be seen.
  virtual bool uses(uint64_t begin, uint64_t end) const { return false; }
  virtual bool uses(const Module &module) const { return false; }
  /// The host learns of its end without asking.
  virtual bool tellsHost() const { return false; }

  enum class State { Queued, Started, Running, Done };

  std::string name;
  Stream *stream = nullptr; ///< while it is not done
  Context *context = nullptr;
  Instant instant;
  OpInfoRef info;
  std::vector<std::shared_ptr<Op>> after; ///< besides its stream's earlier ones
  std::shared_ptr<const Clock> host; ///< what the host knew when it enqueued
  Clock clock;                       ///< from its start on
  State state = State::Queued;
  bool demanded = false;
  bool dropped = false; ///< never executed: its context failed before
  int queries = 0;      ///< answered with "not ready"

  Accessor accessor() const { return {instant, info}; }
};
using OpRef = std::shared_ptr<Op>;

/// A place in a stream: an event's record, or where it waits for one.
class MarkerOp : public Op {
public:
  using Op::Op;
  OpRef replica() const override { return std::make_shared<MarkerOp>(name); }
  std::optional<Failure> run() override {
    time = std::chrono::steady_clock::now();
    return std::nullopt;
  }
  std::chrono::steady_clock::time_point time;
};

class Stream {
public:
  Stream(Context &context, int number, unsigned flags, size_t timeline)
      : context(context), number(number), flags(flags), timeline(timeline) {}

  Context &context;
  const int number; ///< of the device's streams; 0: the default stream
  const unsigned flags;
  const size_t timeline;
  bool replays = false; ///< a branch of a graph that was launched
  uint64_t lastTick = 0;
  std::deque<OpRef> pending;
  OpRef last;  ///< the last one enqueued, perhaps done
  Clock clock; ///< of the last one done
  std::shared_ptr<Capture> capture;
  size_t branch = 0;    ///< of the capture
  bool closing = false; ///< destroyed, with work pending
};

class Event {
public:
  Event(Context &context, int number, unsigned flags)
      : context(context), number(number), flags(flags) {}

  Context &context;
  const int number;
  const unsigned flags;
  std::shared_ptr<MarkerOp> record; ///< NULL: never recorded
  std::shared_ptr<Capture> capture; ///< in which it was recorded last
  Clock captured;                   ///< by branches, what it stands for
  size_t capturedNode = 0;
};

/// Executes operations. Its members want the driver's lock.
class Scheduler {
public:
  using Lock = std::unique_lock<std::mutex>;
  using Fail = std::function<void(Op &, Failure)>;
  explicit Scheduler(Fail fail);

  size_t takeTimeline(uint64_t &tick);
  void giveTimeline(const Stream &stream);

  void enqueue(Stream &stream, const OpRef &op);
  /// What the host waits for, or will.
  void demand(Op &op);
  /// Waits until `op` is done, doing whatever work is ready meanwhile, and
  /// takes note that the host knows. False: no progress for RING_VGPU_DEADLINE
  /// seconds.
  bool wait(Lock &lock, Op &op);
  bool wait(Lock &lock, const std::function<bool()> &done,
            const Stream *preferred = nullptr);
  /// Whether `op` is done, for a host that polls: at first it never is.
  bool poll(Lock &lock, Op &op);
  /// Does what is ready of what was demanded.
  void work(Lock &lock, const Stream *preferred = nullptr);

  /// Ends an operation that has started, or is dropped.
  void complete(Op &op);
  /// Ends all operations of a stream that are not running.
  void drop(Stream &stream);
  /// The host learned that what the clock includes has ended.
  void learn(const Clock &clock);
  const Clock &hostClock() const { return *host; }
  /// Something happened for which threads may wait.
  void notify();

  /// Demanded operations that cannot go on: for a report of a deadlock.
  std::string blocked() const;

private:
  /// An operation to run now, started; NULL: none is ready.
  OpRef pick(const Stream *preferred);
  OpRef pickFrom(Stream &stream);
  void execute(Lock &lock, const OpRef &op);

  Fail fail;
  std::condition_variable changed;
  uint64_t progress = 0;
  std::shared_ptr<const Clock> host;
  std::vector<uint64_t> lastTicks; ///< by timeline
  std::vector<size_t> freeTimelines;
  /// Streams whose next operation is demanded, in an order of their own.
  struct ByTimeline {
    bool operator()(const Stream *a, const Stream *b) const {
      return a->timeline < b->timeline;
    }
  };
  std::set<Stream *, ByTimeline> active;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_STREAM_H
