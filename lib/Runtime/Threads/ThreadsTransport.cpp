//===- ThreadsTransport.cpp - Ranks as threads of one process -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One mutex guards a ring; each rank sleeps on a condition of its own. A
// message is a promise that sender and receiver both hold, whoever comes
// first: a forwarded message is linked to the one that it repeats and fulfilled
// with it, so no thread has to wait in order to forward.
//
// A message says where the owner's memory is. A rank on the CPU reads that of
// another in place. All others copy it: a GPU into a slot of its own, on its
// stream for transfers and as soon as the sender has started, so that the start
// of a transfer is where two ranks meet; a rank on the CPU when it waits for
// what comes from a GPU.
//
//===----------------------------------------------------------------------===//

#include "ThreadsTransport.h"

#include "../Device/Slots.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

using namespace ring::runtime;

namespace {

/// One message group on its way. Links are weak: they may form a cycle in a
/// wrong program.
struct Message {
  int32_t from = 0, to = 0;
  bool sent = false;             ///< the sender has started it
  ParcelRef parcel;              ///< NULL until fulfilled
  Clock::time_point time;        ///< when it was
  std::weak_ptr<Message> source; ///< of a forwarded one
  std::vector<std::weak_ptr<Message>> repeats;
};
using MessageRef = std::shared_ptr<Message>;

/// Messages of one pair of ranks that only one side has seen yet.
class Mailbox {
public:
  enum class Side { Sender, Receiver };

  /// The oldest message that `side` has not seen.
  MessageRef take(Side side, int32_t from, int32_t to) {
    if (!pending.empty() && pendingFor == side) {
      MessageRef message = pending.front();
      pending.pop_front();
      return message;
    }
    auto message = std::make_shared<Message>();
    message->from = from;
    message->to = to;
    pending.push_back(message);
    pendingFor = side == Side::Sender ? Side::Receiver : Side::Sender;
    return message;
  }

private:
  std::deque<MessageRef> pending;
  Side pendingFor = Side::Sender;
};

struct RankState {
  std::condition_variable changed;
  int64_t begun = 0, ended = 0; ///< programs; a run may have several
  bool left = false;            ///< begins and ends no more
  Program program;
  MessageRef first = std::make_shared<Message>(); ///< what it first sent
  std::map<int32_t, Mailbox> mailboxes;           ///< by sender
  MessageRef awaited;                             ///< by a wait, or NULL
};

/// What the transports of one run share.
struct ThreadsRing {
  ThreadsRing(int32_t ranks, double deadline, const Fault &fault)
      : deadline(deadline), fault(fault), ranks(ranks) {
    for (int32_t rank = 0; rank < ranks; ++rank)
      this->ranks[rank].first->to = rank;
  }

  const double deadline;
  const Fault fault;
  std::mutex mutex; ///< guards all below
  std::vector<RankState> ranks;
  std::optional<Failure> failure;

  void wakeAll() {
    for (RankState &state : ranks)
      state.changed.notify_all();
  }
  /// True iff every rank has begun, or ended, so many programs.
  bool all(int64_t RankState::*programs, int64_t count) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](const RankState &state) {
      return state.*programs >= count;
    });
  }
  /// True iff no rank is in the program with this number.
  bool allHaveStopped(int64_t count) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](const RankState &state) {
      return state.left || state.ended >= count;
    });
  }
  /// A rank that has left before it began so many programs.
  std::optional<size_t> leftBefore(int64_t count) const {
    for (size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i].left && ranks[i].begun < count)
        return i;
    return std::nullopt;
  }
  /// "rank 2" or "ranks 2 and 3", those that have not.
  std::string missing(int64_t RankState::*programs, int64_t count) const;
  /// ": rank 1 has not sent to rank 2": the rank at fault where `awaited` did
  /// not arrive. Follows who waits for whom.
  std::string cause(MessageRef awaited) const;
  void fulfil(const MessageRef &message, const ParcelRef &parcel);
  void repeat(const MessageRef &message, const MessageRef &source);
};

class ThreadsTransport final : public Transport {
public:
  ThreadsTransport(std::shared_ptr<ThreadsRing> ring, int32_t rank)
      : ring(std::move(ring)), rank(rank) {}

  Result begin(int32_t slots, const Program &program) override;
  Result start(const Transfer &transfer, const TensorGroup &tensors) override;
  Result forward(const Transfer &transfer, const Transfer &source) override;
  Result wait(const Transfer &transfer, Arrival &arrival) override;
  Result end() override;
  void abandon(bool wait) override;
  void fail(const Failure &failure) override;
  std::optional<Failure> failure() const override;
  Result useDevice(Device *device, Timeline *timeline) override;
  Result drain() override;
  int64_t buffersAllocated() const override {
    return deviceBuffers + hostSlots.allocated();
  }

private:
  /// `own`: NULL where the message repeats `source`.
  Result post(const Transfer &transfer, const ParcelRef &own,
              MessageRef source);
  /// Waits until the message of a transfer is fulfilled.
  Result meet(const Transfer &transfer, const MessageRef &message);
  /// On a GPU: enqueues the copy of what a transfer brings.
  Result receive(const Transfer &transfer);
  /// Sleeps until `done` or the ring failed; false when the deadline passed.
  template <typename Done>
  bool sleep(std::unique_lock<std::mutex> &lock, Done done) {
    return self().changed.wait_for(
        lock, std::chrono::duration<double>(ring->deadline),
        [&] { return ring->failure || done(); });
  }
  RankState &self() { return ring->ranks[rank]; }

  std::shared_ptr<ThreadsRing> ring;
  int32_t rank;
  std::map<int64_t, MessageRef> incoming; ///< unwaited, by transfer
  int32_t slots = 1;                      ///< of the program
  Device *device = nullptr;
  std::unique_ptr<DeviceSlots> deviceSlots; ///< with a device
  int64_t deviceBuffers = 0;                ///< of all programs
  HostSlots hostSlots;
};

} // namespace

std::string ThreadsRing::missing(int64_t RankState::*programs,
                                 int64_t count) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].*programs < count)
      names.push_back(std::to_string(i));
  std::string text = names.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string ThreadsRing::cause(MessageRef awaited) const {
  MessageRef unsent;
  // In a wrong program both walks may go in circles.
  for (size_t step = 0; step < ranks.size() && awaited; ++step) {
    // The message repeats others; the first of them that was not sent counts.
    for (size_t link = 0; link < ranks.size() && awaited->sent; ++link)
      if (MessageRef source = awaited->source.lock())
        awaited = source;
    if (awaited->sent)
      break;
    unsent = awaited;
    awaited = ranks[unsent->from].awaited;
  }
  if (!unsent)
    return "";
  return ": rank " + std::to_string(unsent->from) + " has not sent to rank " +
         std::to_string(unsent->to);
}

void ThreadsRing::fulfil(const MessageRef &message, const ParcelRef &parcel) {
  std::vector<MessageRef> work{message};
  while (!work.empty()) {
    MessageRef next = std::move(work.back());
    work.pop_back();
    if (next->parcel)
      continue;
    next->parcel = parcel;
    next->time = Clock::now();
    ranks[next->to].changed.notify_all();
    for (const std::weak_ptr<Message> &reference : next->repeats)
      if (MessageRef repeated = reference.lock())
        work.push_back(std::move(repeated));
    next->repeats.clear();
  }
}

void ThreadsRing::repeat(const MessageRef &message, const MessageRef &source) {
  message->source = source;
  if (source->parcel)
    fulfil(message, source->parcel);
  else
    source->repeats.push_back(message);
}

Result ThreadsTransport::begin(int32_t slots, const Program &program) {
  this->slots = slots;
  hostSlots.begin(slots);
  std::unique_lock<std::mutex> lock(ring->mutex);
  const int64_t count = self().begun + 1;
  for (size_t i = 0; i < ring->ranks.size(); ++i) {
    const RankState &other = ring->ranks[i];
    if (other.begun == count &&
        other.program.fingerprint != program.fingerprint)
      return {RING_ERROR_MISMATCH,
              describeMismatch(static_cast<int32_t>(i), other.program, rank,
                               program)};
  }
  // Peers look at these after all have begun.
  self().begun = count;
  self().program = program;
  self().first = std::make_shared<Message>();
  self().first->to = rank;
  if (ring->all(&RankState::begun, count))
    ring->wakeAll();
  bool inTime = sleep(lock, [&] {
    return ring->all(&RankState::begun, count) || ring->leftBefore(count);
  });
  if (ring->failure) {
    // A mismatch concerns every rank, not only the one that noticed.
    if (ring->failure->status == RING_ERROR_MISMATCH)
      return {RING_ERROR_MISMATCH, ring->failure->message};
    return peerFailed(*ring->failure);
  }
  if (!inTime)
    return {RING_ERROR_TIMEOUT, ring->missing(&RankState::begun, count) +
                                    " did not begin within " +
                                    formatSeconds(ring->deadline)};
  if (std::optional<size_t> left = ring->leftBefore(count))
    return {RING_ERROR_MISMATCH, "rank " + std::to_string(*left) +
                                     " has ended before program " +
                                     std::to_string(count) + " of the run"};
  return {};
}

Result ThreadsTransport::useDevice(Device *used, Timeline *timeline) {
  if (deviceSlots)
    deviceBuffers += deviceSlots->allocated();
  device = used;
  deviceSlots =
      used ? std::make_unique<DeviceSlots>(*used, *timeline, slots) : nullptr;
  return {};
}

Result ThreadsTransport::drain() {
  Result result = device->drain(
      deadlineWatch(ring->deadline, device->text() + " was not done"));
  // What it still uses must not be allocated again.
  if (result.status == RING_ERROR_TIMEOUT)
    device->giveUp(result.message);
  return result;
}

Result ThreadsTransport::start(const Transfer &transfer,
                               const TensorGroup &tensors) {
  ParcelRef parcel;
  Result result;
  if (device)
    result = deviceSlots->pack(tensors, parcel);
  else
    parcel = hostSlots.pack(tensors);
  return result.failed() ? result : post(transfer, parcel, nullptr);
}

Result ThreadsTransport::forward(const Transfer &transfer,
                                 const Transfer &source) {
  return post(transfer, nullptr, incoming.at(source.number));
}

Result ThreadsTransport::post(const Transfer &transfer, const ParcelRef &own,
                              MessageRef source) {
  const Fault &fault = ring->fault;
  auto hit = [&](Fault::Kind kind) {
    return fault.hits(kind, rank, transfer.number);
  };
  std::unique_lock<std::mutex> lock(ring->mutex);
  if (hit(Fault::Kind::Delay))
    self().changed.wait_for(lock, std::chrono::milliseconds(fault.milliseconds),
                            [&] { return ring->failure.has_value(); });
  if (ring->failure)
    return peerFailed(*ring->failure);

  MessageRef outgoing = ring->ranks[transfer.to].mailboxes[rank].take(
      Mailbox::Side::Sender, rank, transfer.to);
  incoming[transfer.number] = self().mailboxes[transfer.from].take(
      Mailbox::Side::Receiver, transfer.from, rank);

  if (own)
    ring->fulfil(self().first, own);
  if (!hit(Fault::Kind::Drop)) {
    outgoing->sent = true;
    // In a ring no rank is ever sent its own first block by another.
    if (hit(Fault::Kind::Swap))
      ring->repeat(outgoing, ring->ranks[transfer.to].first);
    else if (own)
      ring->fulfil(outgoing, own);
    else
      ring->repeat(outgoing, source);
  }
  lock.unlock();
  return device ? receive(transfer) : Result{};
}

Result ThreadsTransport::meet(const Transfer &transfer,
                              const MessageRef &message) {
  std::unique_lock<std::mutex> lock(ring->mutex);
  self().awaited = message;
  bool inTime = sleep(lock, [&] { return message->parcel != nullptr; });
  if (inTime)
    self().awaited = nullptr; // otherwise it still explains peers' timeouts
  // Before the arrival: what a failed rank lent may be gone soon.
  if (ring->failure)
    return peerFailed(*ring->failure);
  if (!inTime)
    return {RING_ERROR_TIMEOUT,
            "transfer " + std::to_string(transfer.number) + " from rank " +
                std::to_string(transfer.from) + " did not arrive within " +
                formatSeconds(ring->deadline) + ring->cause(message)};
  return {};
}

Result ThreadsTransport::receive(const Transfer &transfer) {
  MessageRef message = incoming.at(transfer.number);
  Result result = meet(transfer, message);
  return result.failed() ? result
                         : deviceSlots->receive(transfer, message->parcel);
}

Result ThreadsTransport::wait(const Transfer &transfer, Arrival &arrival) {
  MessageRef message = incoming.at(transfer.number);
  incoming.erase(transfer.number);
  if (device)
    return deviceSlots->wait(transfer.number, arrival.tensors);
  Result result = meet(transfer, message);
  if (result.failed())
    return result;
  const Parcel &parcel = *message->parcel;
  arrival = {parcel.tensors, message->time};
  if (!parcel.device)
    return {};
  result = hostSlots.receive(message->parcel, arrival.tensors);
  arrival.time = Clock::now();
  return result;
}

Result ThreadsTransport::end() {
  hostSlots.release();
  std::unique_lock<std::mutex> lock(ring->mutex);
  const int64_t count = ++self().ended;
  auto allEnded = [&] { return ring->all(&RankState::ended, count); };
  if (allEnded())
    ring->wakeAll();
  sleep(lock, allEnded);
  if (allEnded()) // a failure since then is of a later program
    return {};
  if (ring->failure)
    return peerFailed(*ring->failure);
  std::string text = ring->missing(&RankState::ended, count) +
                     " did not pass the last round within " +
                     formatSeconds(ring->deadline);
  for (const RankState &state : ring->ranks)
    if (state.awaited)
      return {RING_ERROR_TIMEOUT, text + ring->cause(state.awaited)};
  return {RING_ERROR_TIMEOUT, text};
}

void ThreadsTransport::abandon(bool wait) {
  hostSlots.release();
  std::unique_lock<std::mutex> lock(ring->mutex);
  // What was lent is of the program that this rank is in.
  const int64_t count = self().begun;
  self().left = true;
  ring->wakeAll();
  if (wait)
    self().changed.wait_for(lock, std::chrono::duration<double>(ring->deadline),
                            [&] { return ring->allHaveStopped(count); });
}

void ThreadsTransport::fail(const Failure &failure) {
  std::lock_guard<std::mutex> lock(ring->mutex);
  if (ring->failure)
    return;
  ring->failure = failure;
  ring->wakeAll();
}

std::optional<Failure> ThreadsTransport::failure() const {
  std::lock_guard<std::mutex> lock(ring->mutex);
  return ring->failure;
}

std::vector<std::unique_ptr<Transport>>
ring::runtime::createThreadsTransports(int32_t ranks, double deadline,
                                       const Fault &fault) {
  auto ring = std::make_shared<ThreadsRing>(ranks, deadline, fault);
  std::vector<std::unique_ptr<Transport>> transports;
  transports.reserve(ranks);
  for (int32_t rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<ThreadsTransport>(ring, rank));
  return transports;
}
