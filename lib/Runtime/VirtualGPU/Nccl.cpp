//===- Nccl.cpp - Sends and receives between virtual GPUs -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include <algorithm>
#include <cstring>

using namespace ring::vgpu;

/// How often ncclCommGetAsyncError answers "in progress" for what could end.
static constexpr int kIdlePolls = 2;

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

void GroupOp::enqueued(Scheduler &scheduler) {
  std::shared_ptr<Communicator> owner = comm.lock();
  if (!owner) {
    Driver::get().fail(*context, CUDA_ERROR_ILLEGAL_ADDRESS,
                       info->text() + " of a communicator that was destroyed");
    return;
  }
  if (owner->last)
    after.push_back(owner->last);
  auto self = std::static_pointer_cast<GroupOp>(shared_from_this());
  owner->last = self;
  auto &groups = owner->groups;
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const auto &group) {
                                return group->state == State::Done;
                              }),
               groups.end());
  groups.push_back(self);
  Clique &clique = *owner->clique;
  for (size_t i = 0; i < transfers.size(); ++i) {
    Transfer &mine = transfers[i];
    auto ends = mine.sends ? std::make_pair(owner->rank, mine.peer)
                           : std::make_pair(mine.peer, owner->rank);
    Clique::Unmatched &unmatched = clique.unmatched[ends];
    auto &others = mine.sends ? unmatched.receives : unmatched.sends;
    if (others.empty()) {
      (mine.sends ? unmatched.sends : unmatched.receives).emplace_back(self, i);
      continue;
    }
    auto [partner, index] = others.front();
    others.pop_front();
    Transfer &theirs = partner->transfers[index];
    mine.partner = partner;
    mine.partnerIndex = index;
    theirs.partner = self;
    theirs.partnerIndex = i;
    if (mine.bytes != theirs.bytes) {
      auto end = [](const Transfer &transfer, int rank) {
        return std::string(transfer.call) + " of " +
               std::to_string(transfer.bytes) + " bytes of rank " +
               std::to_string(rank);
      };
      Driver::get().fail(*context, CUDA_ERROR_LAUNCH_FAILED,
                         "NCCL: " + end(mine, owner->rank) + " meets " +
                             end(theirs, mine.peer));
      return;
    }
    if (partner->demanded)
      scheduler.demand(*this);
    else if (demanded)
      scheduler.demand(*partner);
  }
}

void GroupOp::addNeeded(std::vector<Op *> &needed) {
  for (const Transfer &transfer : transfers)
    if (std::shared_ptr<GroupOp> partner = transfer.partner.lock())
      needed.push_back(partner.get());
}

bool GroupOp::canReceive(const Transfer &transfer) const {
  if (transfer.sends || transfer.done)
    return false;
  std::shared_ptr<GroupOp> partner = transfer.partner.lock();
  return partner &&
         (partner->state == State::Started || partner->state == State::Running);
}

bool GroupOp::canRun() const {
  return std::any_of(
      transfers.begin(), transfers.end(),
      [&](const Transfer &transfer) { return canReceive(transfer); });
}

void GroupOp::prepare() {
  batch.clear();
  for (size_t i = 0; i < transfers.size(); ++i)
    if (canReceive(transfers[i]))
      batch.emplace_back(i, transfers[i].partner.lock());
}

std::optional<Failure> GroupOp::receive(const Transfer &mine,
                                        const GroupOp &partner) const {
  const Transfer &theirs = partner.transfers[mine.partnerIndex];
  // A rank's own part of a gather may already be in its place.
  bool inPlace = &partner == this && theirs.address == mine.address;
  if (!mine.bytes || inPlace)
    return std::nullopt;
  AddressSpace &space = Driver::get().space;
  std::string why;
  AllocationRef from = space.find(theirs.address, theirs.bytes, why);
  if (!from)
    return Failure{CUDA_ERROR_ILLEGAL_ADDRESS,
                   partner.info->text() + " sends " + why};
  AllocationRef to = space.find(mine.address, mine.bytes, why);
  if (!to)
    return Failure{CUDA_ERROR_ILLEGAL_ADDRESS,
                   info->text() + " receives into " + why};
  uint64_t source = theirs.address - from->base;
  uint64_t target = mine.address - to->base;
  std::memmove(to->at(target), from->at(source), mine.bytes);
  to->copyWritten({target, target + mine.bytes}, *from, source);
  Footprint reads, writes;
  reads.read(from, {source, source + mine.bytes});
  writes.write(to, {target, target + mine.bytes});
  std::optional<std::string> race =
      reads.commit(partner.accessor(), partner.startClock);
  Clock arrived = startClock;
  arrived.join(partner.startClock);
  if (auto other = writes.commit(accessor(), arrived); other && !race)
    race = other;
  if (race)
    return Failure{CUDA_ERROR_ILLEGAL_ADDRESS, *race};
  return std::nullopt;
}

std::optional<Failure> GroupOp::run() {
  for (const auto &[index, partner] : batch)
    if (auto failure = receive(transfers[index], *partner))
      return failure;
  return std::nullopt;
}

bool GroupOp::settle(Scheduler &scheduler) {
  for (const auto &[index, partner] : batch) {
    Transfer &mine = transfers[index];
    mine.done = true;
    partner->transfers[mine.partnerIndex].done = true;
    clock.join(partner->startClock);
    if (partner.get() != this && partner->state == State::Started &&
        partner->isDone())
      scheduler.complete(*partner);
  }
  batch.clear();
  return isDone();
}

bool GroupOp::isDone() const {
  return std::all_of(transfers.begin(), transfers.end(),
                     [](const Transfer &transfer) { return transfer.done; });
}

bool GroupOp::uses(uint64_t begin, uint64_t end) const {
  return std::any_of(transfers.begin(), transfers.end(),
                     [&](const Transfer &transfer) {
                       return !transfer.done && transfer.address < end &&
                              begin < transfer.address + transfer.bytes;
                     });
}

//===----------------------------------------------------------------------===//
// Communicator
//===----------------------------------------------------------------------===//

ncclResult_t Communicator::enqueue(Stream &stream,
                                   const std::shared_ptr<GroupOp> &group) {
  return Driver::get().enqueue(stream, group) == CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

ncclResult_t Communicator::poll(Scheduler::Lock &lock) {
  Driver &driver = Driver::get();
  if (!clique->complete)
    return state = ncclInProgress;
  if (clique->result != ncclSuccess)
    return state = clique->result;
  if (state != ncclInProgress || ++polls <= kIdlePolls)
    return state;
  polls = 0;
  state = ncclSuccess;
  if (deferred) {
    std::shared_ptr<GroupOp> group = std::move(deferred);
    deferred = nullptr;
    if (!driver.owns(deferredStream))
      return state = ncclUnhandledCudaError;
    return state = enqueue(*deferredStream, group);
  }
  if (finalizing && last && last->state != Op::State::Done) {
    driver.scheduler.demand(*last);
    driver.scheduler.work(lock);
    if (last->state != Op::State::Done)
      state = ncclInProgress;
  }
  return state;
}

void Communicator::abort() {
  Scheduler &scheduler = Driver::get().scheduler;
  for (auto &[ends, unmatched] : clique->unmatched)
    for (auto *queue : {&unmatched.sends, &unmatched.receives})
      queue->erase(std::remove_if(queue->begin(), queue->end(),
                                  [&](const auto &entry) {
                                    return std::count(groups.begin(),
                                                      groups.end(),
                                                      entry.first);
                                  }),
                   queue->end());
  for (const auto &group : groups) {
    for (Transfer &transfer : group->transfers)
      transfer.done = true;
    if (group->state == Op::State::Started)
      scheduler.complete(*group);
  }
  if (rank < static_cast<int>(clique->members.size()))
    clique->members[rank] = nullptr;
  scheduler.notify();
}
