//===- Stream.cpp - Streams whose work is done as late as possible --------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stream.h"

#include <algorithm>
#include <cstdlib>

using namespace ring::vgpu;

/// How often polling finds nothing done before it makes work go on.
static constexpr int kIdleQueries = 2;

Scheduler::Scheduler(Fail fail)
    : fail(std::move(fail)), host(std::make_shared<Clock>()) {}

size_t Scheduler::takeTimeline(uint64_t &tick) {
  if (freeTimelines.empty()) {
    lastTicks.push_back(0);
    tick = 0;
    return lastTicks.size() - 1;
  }
  size_t timeline = freeTimelines.back();
  freeTimelines.pop_back();
  tick = lastTicks[timeline];
  return timeline;
}

void Scheduler::giveTimeline(const Stream &stream) {
  lastTicks[stream.timeline] = stream.lastTick;
  // What comes next on the timeline would seem to know all that went before.
  if (host->includes({stream.timeline, stream.lastTick}) ||
      stream.lastTick == 0)
    freeTimelines.push_back(stream.timeline);
}

void Scheduler::notify() {
  ++progress;
  changed.notify_all();
}

void Scheduler::enqueue(Stream &stream, const OpRef &op) {
  op->stream = &stream;
  op->context = &stream.context;
  op->instant = {stream.timeline, ++stream.lastTick};
  op->host = host;
  op->after.erase(std::remove_if(op->after.begin(), op->after.end(),
                                 [](const OpRef &other) { return !other; }),
                  op->after.end());
  stream.pending.push_back(op);
  stream.last = op;
  op->enqueued(*this);
  if (op->tellsHost())
    demand(*op);
  notify();
}

void Scheduler::demand(Op &op) {
  std::vector<Op *> needed{&op};
  while (!needed.empty()) {
    Op &next = *needed.back();
    needed.pop_back();
    if (next.demanded || next.state == Op::State::Done)
      continue;
    for (const OpRef &earlier : next.stream->pending) {
      if (earlier->instant.tick > next.instant.tick)
        break;
      if (earlier->demanded)
        continue;
      earlier->demanded = true;
      for (const OpRef &other : earlier->after)
        needed.push_back(other.get());
      earlier->addNeeded(needed);
    }
    active.insert(next.stream);
  }
}

OpRef Scheduler::pickFrom(Stream &stream) {
  while (!stream.pending.empty()) {
    OpRef op = stream.pending.front();
    if (!op->demanded || op->state == Op::State::Running)
      return nullptr;
    if (op->state == Op::State::Queued) {
      for (const OpRef &other : op->after)
        if (other->state != Op::State::Done)
          return nullptr;
      op->clock = stream.clock;
      op->clock.join(*op->host);
      for (const OpRef &other : op->after)
        op->clock.join(other->clock);
      op->clock.join(op->instant);
      op->state = Op::State::Started;
      op->start();
      notify();
    }
    if (!op->isDone())
      return op->canRun() ? op : nullptr;
    complete(*op);
  }
  return nullptr;
}

OpRef Scheduler::pick(const Stream *preferred) {
  std::vector<Stream *> streams(active.begin(), active.end());
  auto first = std::find(streams.begin(), streams.end(), preferred);
  if (first != streams.end())
    std::rotate(streams.begin(), first, first + 1);
  // Starting an operation may let one of another stream go on.
  for (uint64_t before = progress + 1; before != progress;) {
    before = progress;
    for (Stream *stream : streams) {
      if (!active.count(stream))
        continue;
      if (OpRef op = pickFrom(*stream))
        return op;
    }
  }
  return nullptr;
}

void Scheduler::execute(Lock &lock, const OpRef &op) {
  op->prepare();
  op->state = Op::State::Running;
  lock.unlock();
  std::optional<Failure> failure = op->run();
  lock.lock();
  op->state = Op::State::Started;
  if (failure)
    fail(*op, std::move(*failure));
  if (op->state == Op::State::Started && op->settle(*this))
    complete(*op);
  notify();
}

void Scheduler::work(Lock &lock, const Stream *preferred) {
  while (OpRef op = pick(preferred))
    execute(lock, op);
}

bool Scheduler::wait(Lock &lock, const std::function<bool()> &done,
                     const Stream *preferred) {
  const char *text = std::getenv("RING_VGPU_DEADLINE");
  double seconds = text ? std::strtod(text, nullptr) : 0;
  while (!done()) {
    if (OpRef op = pick(preferred)) {
      execute(lock, op);
      continue;
    }
    if (done())
      break;
    uint64_t before = progress;
    auto moved = [&] { return progress != before; };
    if (seconds <= 0)
      changed.wait(lock, moved);
    else if (!changed.wait_for(lock, std::chrono::duration<double>(seconds),
                               moved))
      return false;
  }
  return true;
}

bool Scheduler::wait(Lock &lock, Op &op) {
  OpRef kept = op.shared_from_this();
  demand(op);
  const Stream *preferred = op.state == Op::State::Done ? nullptr : op.stream;
  if (!wait(lock, [&] { return op.state == Op::State::Done; }, preferred))
    return false;
  learn(op.clock);
  return true;
}

bool Scheduler::poll(Lock &lock, Op &op) {
  OpRef kept = op.shared_from_this();
  if (op.state != Op::State::Done) {
    if (++op.queries <= kIdleQueries)
      return false;
    demand(op);
    work(lock, op.stream);
  }
  if (op.state != Op::State::Done)
    return false;
  learn(op.clock);
  return true;
}

void Scheduler::complete(Op &op) {
  OpRef kept = op.shared_from_this();
  Stream &stream = *op.stream;
  op.state = Op::State::Done;
  op.after.clear();
  stream.pending.pop_front();
  stream.clock.join(op.clock);
  if (op.tellsHost())
    learn(op.clock);
  if (stream.pending.empty() || !stream.pending.front()->demanded)
    active.erase(&stream);
  notify();
}

void Scheduler::drop(Stream &stream) {
  std::deque<OpRef> kept;
  for (const OpRef &op : stream.pending) {
    if (op->state == Op::State::Running) {
      kept.push_back(op);
      continue;
    }
    op->state = Op::State::Done;
    op->dropped = true;
    op->after.clear();
  }
  stream.pending = std::move(kept);
  if (stream.pending.empty())
    active.erase(&stream);
  notify();
}

void Scheduler::learn(const Clock &clock) {
  auto joined = std::make_shared<Clock>(*host);
  joined->join(clock);
  host = std::move(joined);
}

std::string Scheduler::blocked() const {
  std::string result;
  for (const Stream *stream : active) {
    if (stream->pending.empty())
      continue;
    const Op &op = *stream->pending.front();
    if (!result.empty())
      result += "; ";
    result += op.info->text() + (op.state == Op::State::Queued
                                     ? " waits for an event"
                                     : " waits for its peers");
  }
  return result;
}
