//===- NcclTransport.cpp - Blocks between GPUs through NCCL ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclTransport.h"

#include "../Device/Slots.h"
#include "../Device/TensorCopy.h"

#include <algorithm>
#include <thread>

using namespace ring::runtime;

namespace {

class NcclTransport final : public Transport {
public:
  NcclTransport(std::unique_ptr<Meeting> meeting, const NcclStart &start,
                NcclRank &state, int32_t rank, double deadline,
                const Fault &fault)
      : meeting(std::move(meeting)), first(start), state(state), rank(rank),
        deadline(deadline), fault(fault) {}

  Result begin(int32_t slots, const Program &program) override {
    this->slots = slots;
    return meeting->begin(slots, program);
  }
  Result end() override { return meeting->end(); }
  void abandon(bool wait) override { meeting->abandon(wait); }
  void fail(const Failure &failure) override { meeting->fail(failure); }
  std::optional<Failure> failure() const override { return meeting->failure(); }

  Result useDevice(Device *device, Timeline *timeline) override;
  Result start(const Transfer &transfer, const TensorGroup &tensors) override;
  Result forward(const Transfer &transfer, const Transfer &source) override;
  Result wait(const Transfer &transfer, Arrival &arrival) override;
  Result finishRounds() override;
  Result drain() override;
  void abort() override;
  int64_t buffersAllocated() const override {
    return buffers + (deviceSlots ? deviceSlots->allocated() : 0);
  }

private:
  /// Ends a wait that began now when the deadline has passed or a rank failed.
  Watch watch(std::string what) const;
  Result connect();
  Result exchange(const Transfer &transfer, const TensorGroup &out);

  std::unique_ptr<Meeting> meeting;
  const NcclStart first;
  NcclRank &state;
  const int32_t rank;
  const double deadline;
  const Fault fault;
  int32_t slots = 1;
  Device *device = nullptr;
  Timeline *timeline = nullptr;
  std::unique_ptr<DeviceSlots> deviceSlots;
  Recording recording; ///< of a program, if it is to be a graph
  int64_t buffers = 0; ///< of programs before
  /// What unwaited transfers will deliver.
  std::map<int64_t, TensorGroup> incoming;
};

} // namespace

Watch NcclTransport::watch(std::string what) const {
  return [this, late = deadlineWatch(deadline, std::move(what))]() -> Result {
    if (std::optional<Failure> failure = meeting->failure())
      return peerFailed(*failure);
    return late();
  };
}

Result NcclTransport::connect() {
  if (first.ranks == 1 ||
      (state.communicator && state.communicator->isConnected()))
    return {};
  state.disconnect();
  state.communicator = std::make_unique<Communicator>(*first.library);
  return state.communicator->connect(first.id, first.ranks, rank,
                                     watch("NCCL did not connect all " +
                                           std::to_string(first.ranks) +
                                           " ranks"));
}

Result NcclTransport::useDevice(Device *used, Timeline *times) {
  buffers = buffersAllocated();
  if (device)
    device->recording = nullptr;
  recording = {};
  device = used;
  timeline = times;
  deviceSlots.reset();
  incoming.clear();
  if (!used)
    return {};
  // A block is sent on from its slot: while the next one comes, that needs
  // another, in programs without prefetching too.
  int32_t count = first.ranks > 2 ? std::max(slots, 2) : slots;
  deviceSlots = std::make_unique<DeviceSlots>(*used, *times, count);
  if (first.graph)
    used->recording = &recording;
  return connect();
}

Result NcclTransport::start(const Transfer &transfer,
                            const TensorGroup &tensors) {
  if (!device)
    return {RING_ERROR_USAGE,
            "a transfer of host memory, nccl is for programs on GPUs"};
  // That it may be read is part of what `exchange` waits for before it writes
  // its slot: all that was enqueued for computation.
  ParcelRef parcel;
  Result result = deviceSlots->pack(tensors, parcel);
  return result.failed() ? result : exchange(transfer, parcel->tensors);
}

Result NcclTransport::forward(const Transfer &transfer,
                              const Transfer &source) {
  return exchange(transfer, incoming.at(source.number));
}

static std::vector<Communicator::Piece> piecesOf(const TensorGroup &group) {
  std::vector<Communicator::Piece> pieces;
  for (const ring_tensor &tensor : group)
    if (int64_t bytes = denseBytes(tensor))
      pieces.push_back({tensor.data, bytes});
  return pieces;
}

static std::string
keyOfExchange(const Transfer &transfer,
              const std::vector<Communicator::Piece> &sent,
              const std::vector<Communicator::Piece> &received) {
  std::string key = keyOf('x', transfer.to, transfer.from, sent.size());
  for (const auto *pieces : {&sent, &received})
    for (const Communicator::Piece &piece : *pieces)
      key += keyOf(piece.data, piece.bytes);
  return key;
}

Result NcclTransport::exchange(const Transfer &transfer,
                               const TensorGroup &out) {
  if (fault.hits(Fault::Kind::Delay, rank, transfer.number))
    std::this_thread::sleep_for(std::chrono::milliseconds(fault.milliseconds));
  if (std::optional<Failure> failed = meeting->failure())
    return peerFailed(*failed);
  if (transfer.to == rank) // a ring of one
    return {RING_ERROR_USAGE, "a transfer of a rank to itself over nccl"};
  TensorGroup in;
  Result result = deviceSlots->acquire(transfer.number, out, in);
  std::vector<Communicator::Piece> sent = piecesOf(out),
                                   received = piecesOf(in);
  int64_t bytes = 0;
  for (const Communicator::Piece &piece : received)
    bytes += piece.bytes;
  if (fault.hits(Fault::Kind::Drop, rank, transfer.number))
    sent.clear();
  if (!result.failed())
    result = timeline->open(device->transfers);
  std::string name = "transfer " + std::to_string(transfer.number);
  std::string late = name + " with ranks " + std::to_string(transfer.to) +
                     " and " + std::to_string(transfer.from) +
                     " was not started";
  if (!result.failed() && !received.empty())
    result = device->enqueue(keyOfExchange(transfer, sent, received),
                             [this, sent, received, transfer, late] {
                               return state.communicator->exchange(
                                   sent, transfer.to, received, transfer.from,
                                   device->transfers, watch(late));
                             });
  if (!result.failed())
    result = timeline->closeTransfer(device->transfers, transfer, bytes);
  if (!result.failed())
    result = deviceSlots->arrived(transfer.number);
  incoming[transfer.number] = std::move(in);
  return result;
}

Result NcclTransport::wait(const Transfer &transfer, Arrival &arrival) {
  incoming.erase(transfer.number);
  return deviceSlots->wait(transfer.number, arrival.tensors);
}

Result NcclTransport::finishRounds() {
  if (!device->recording)
    return {};
  device->recording = nullptr;
  return state.graphs.run(*device, recording, state.note);
}

Result NcclTransport::drain() {
  Watch watcher =
      watch(device->text() + " and the transfers to and from rank " +
            std::to_string(rank) + " were not done");
  Result result = device->drain([&]() -> Result {
    Result seen = watcher();
    if (!seen.failed() && state.communicator &&
        state.communicator->isConnected())
      seen = state.communicator->check();
    return seen;
  });
  if (!result.failed())
    return result;
  // What waits for a peer ends now, so that the streams can be emptied.
  abort();
  Result after =
      device->drain(deadlineWatch(deadline, device->text() + " was not done"));
  if (after.failed()) // what it still uses must not be allocated again
    device->giveUp(after.message);
  return result;
}

void NcclTransport::abort() {
  device->recording = nullptr;
  state.graphs.clear();
  if (state.communicator)
    state.communicator->abort();
}

std::unique_ptr<Transport> ring::runtime::createNcclTransport(
    std::unique_ptr<Meeting> meeting, const NcclStart &start, NcclRank &state,
    int32_t rank, double deadline, const Fault &fault) {
  return std::make_unique<NcclTransport>(std::move(meeting), start, state, rank,
                                         deadline, fault);
}
