//===- ScheduleChecks.cpp - Judges the traces of all ranks ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

#include "ScheduleDifference.h"

using namespace mlir;
using namespace mlir::ring;

LogicalResult ScheduleChecks::run() {
  if (failed(checkSameTransfers()))
    return failure();
  nameBlocks();
  if (failed(checkWaits()) || failed(checkWorkLists()))
    return failure();
  for (const RankTrace &trace : traces)
    counted.emplace_back(trace.computations.size(), false);
  if (failed(findReference()) || failed(checkCoverage()) ||
      failed(checkFinalized()))
    return failure();
  return failure(failed(checkSlots()) || failed(checkTransfersNeeded()));
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// All ranks start the same transfers in the same order. That is also why none
/// waits forever: transfers complete in order, and a rank that waits for one
/// has started it and all before it. Among all transfers that ranks wait for,
/// the first is started by all, for each rank waits for that one or a later
/// one or is done; what it sends on comes from earlier ones. So it completes.
LogicalResult ScheduleChecks::checkSameTransfers() {
  auto count = [&](int64_t rank) {
    return static_cast<int64_t>(traces[rank].transfers.size());
  };
  int64_t fewest = 0, most = 0;
  for (int64_t rank = 1; rank < ranks(); ++rank) {
    if (count(rank) < count(fewest))
      fewest = rank;
    if (count(rank) > count(most))
      most = rank;
  }
  if (count(fewest) != count(most)) {
    int64_t extra = count(fewest);
    InFlightDiagnostic diag =
        traces[most].transfers[extra].start->emitError("transfer ")
        << extra + 1 << ", for round " << extra + 1 << ", is started on rank "
        << most << " but not on rank " << fewest << ", and waits forever";
    diag.attachNote(traces[fewest].end->getLoc())
        << "rank " << fewest << " returns here after " << extra << " transfers";
    return diag;
  }
  for (int64_t rank = 1; rank < ranks(); ++rank)
    for (int64_t i = 0; i < count(rank); ++i) {
      auto first = cast<PermuteStartOp>(traces[0].transfers[i].start);
      auto other = cast<PermuteStartOp>(traces[rank].transfers[i].start);
      if (first.getFuture().getType() == other.getFuture().getType())
        continue;
      InFlightDiagnostic diag = other.emitError("transfer ")
                                << i + 1 << ", for round " << i + 1 << ", is "
                                << other.getFuture().getType() << " on rank "
                                << rank << ", but "
                                << first.getFuture().getType() << " on rank 0";
      diag.attachNote(first.getLoc()) << "rank 0 starts it here";
      return diag;
    }
  return success();
}

/// What transfer i delivers is what the predecessor sent as its transfer i.
void ScheduleChecks::nameBlocks() {
  delivered.assign(ranks(), {});
  for (int64_t i = 0, e = transferCount(); i < e; ++i)
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      int64_t sender = ring.order.predecessor(rank);
      SmallVector<Block, 2> blocks;
      for (const BlockRef &source : traces[sender].transfers[i].sources)
        blocks.push_back(nameOf(sender, source));
      delivered[rank].push_back(std::move(blocks));
    }
}

ScheduleChecks::Block ScheduleChecks::nameOf(int64_t rank,
                                             const BlockRef &block) const {
  if (block.isOwn())
    return {rank, block.position};
  return delivered[rank][block.transfer][block.position];
}

std::string ScheduleChecks::describe(int64_t rank, int64_t transfer) const {
  return ("transfer " + Twine(transfer + 1) + " of rank " + Twine(rank) +
          ", which brings the block of rank " +
          Twine(delivered[rank][transfer].front().owner) + " for round " +
          Twine(transfer + 1) + ",")
      .str();
}

LogicalResult ScheduleChecks::checkWaits() {
  for (auto [rank, trace] : llvm::enumerate(traces))
    for (auto [index, transfer] : llvm::enumerate(trace.transfers)) {
      if (transfer.waits.size() == 1)
        continue;
      bool never = transfer.waits.empty();
      Operation *culprit = never ? transfer.start : transfer.waits[1].op;
      InFlightDiagnostic diag =
          culprit->emitError(describe(rank, index))
          << (never ? " is never waited for" : " is waited for twice");
      if (never)
        diag.attachNote(trace.end->getLoc())
            << "rank " << rank << " returns here";
      else
        diag.attachNote(transfer.waits[0].op->getLoc())
            << "first waited for here";
      return diag;
    }
  return success();
}

int64_t ScheduleChecks::slotCount() const {
  if (slots > 0)
    return slots;
  int64_t most = 0;
  for (const RankTrace &trace : traces) {
    // By event: one more in flight, or one less.
    std::vector<int> change(trace.computations.size() +
                            2 * trace.transfers.size());
    for (const TransferEvent &transfer : trace.transfers) {
      change[transfer.time] = 1;
      change[transfer.waits.front().time] = -1;
    }
    int64_t inFlight = 0;
    for (int step : change)
      most = std::max(most, inFlight += step);
  }
  return ::ring::slotCount(most, transferCount());
}

/// Transfer i of S slots is written where transfer i - S was, so that one must
/// have been computed on and sent on.
LogicalResult ScheduleChecks::checkSlots() {
  int64_t count = slotCount();
  for (auto [rank, trace] : llvm::enumerate(traces)) {
    // When the block of a transfer is used last, and by whom.
    struct Use {
      int64_t time = -1;
      Operation *op = nullptr;
      int64_t round = 0;
      int64_t sentBy = -1;
    };
    std::vector<Use> last(trace.transfers.size());
    auto use = [&](const BlockRef &block, const Use &at) {
      if (!block.isOwn() && at.time > last[block.transfer].time)
        last[block.transfer] = at;
    };
    for (const ComputeEvent &event : trace.computations)
      for (const BlockRef &block : {event.key, event.value})
        use(block, {event.time, event.op, event.round, -1});
    for (auto [index, transfer] : llvm::enumerate(trace.transfers))
      for (const BlockRef &block : transfer.sources)
        use(block, {transfer.waits.front().time, transfer.waits.front().op, 0,
                    static_cast<int64_t>(index)});

    for (int64_t i = count, e = transferCount(); i < e; ++i) {
      const TransferEvent &transfer = trace.transfers[i];
      const Use &read = last[i - count];
      if (read.time < transfer.time)
        continue;
      InFlightDiagnostic diag = transfer.start->emitError(describe(rank, i))
                                << " overwrites the block of rank "
                                << delivered[rank][i - count].front().owner
                                << " in slot " << i % count << " of " << count
                                << " before ";
      if (read.sentBy < 0)
        diag << "round " << read.round << " computes on it";
      else
        diag << "transfer " << read.sentBy + 1 << " has sent it on";
      diag.attachNote(read.op->getLoc())
          << (read.sentBy < 0 ? "computed on here" : "waited for here");
      return diag;
    }
  }
  return success();
}

/// Each transfer brings at least one rank a block that it computes on, or that
/// it sends on to a rank that does.
LogicalResult ScheduleChecks::checkTransfersNeeded() {
  int64_t count = transferCount();
  std::vector<std::vector<bool>> needed(ranks(), std::vector<bool>(count));
  for (auto [rank, trace] : llvm::enumerate(traces))
    for (auto [index, event] : llvm::enumerate(trace.computations))
      for (const BlockRef &block : {event.key, event.value})
        if (!block.isOwn() && counted[rank][index])
          needed[rank][block.transfer] = true;
  // Backwards: a block is sent on after it was received.
  for (int64_t i = count - 1; i >= 0; --i) {
    bool any = false;
    for (int64_t rank = 0; rank < ranks(); ++rank)
      any |= needed[rank][i];
    if (!any) {
      const RankTrace &trace = traces.front();
      InFlightDiagnostic diag =
          trace.transfers[i].start->emitError(describe(0, i))
          << " is one too many: no rank computes on "
             "what it brings";
      if (!trace.computations.empty()) {
        ComputeEvent event = trace.computations.back();
        diag.attachNote(event.op.getLoc())
            << "rank 0 computes last here, in round " << event.round;
      }
      return diag;
    }
    for (int64_t rank = 0; rank < ranks(); ++rank)
      if (needed[ring.order.successor(rank)][i])
        for (const BlockRef &source : traces[rank].transfers[i].sources)
          if (!source.isOwn())
            needed[rank][source.transfer] = true;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

/// Each work list is that of the queries and the block that are computed on.
LogicalResult ScheduleChecks::checkWorkLists() {
  for (auto [index, trace] : llvm::enumerate(traces)) {
    auto rank = static_cast<int64_t>(index);
    for (ComputeEvent event : trace.computations) {
      const WorkList &work = trace.workOf(event);
      SlicesOp slices = work.op;
      int64_t key = nameOf(rank, event.key).owner;
      int64_t value = nameOf(rank, event.value).owner;
      if (key != value) {
        InFlightDiagnostic diag = event.op.emitError("key is of rank ")
                                  << key << " and value is of rank " << value
                                  << ", on rank " << rank << " in round "
                                  << event.round;
        diag.attachNote(slices.getLoc())
            << "the work list is that of the block of rank " << work.owner;
        return diag;
      }
      if (work.rank != rank || work.owner != key) {
        InFlightDiagnostic diag = slices.emitError("work list is of rank ")
                                  << work.rank << " and the block of rank "
                                  << work.owner << ", expected rank " << rank
                                  << " and the block of rank " << key
                                  << " in round " << event.round;
        diag.attachNote(event.op.getLoc()) << "the block is computed on here";
        return diag;
      }
    }
  }
  return success();
}

SmallVector<int> ScheduleChecks::contributions(int64_t rank,
                                               int64_t state) const {
  const RankTrace &trace = traces[rank];
  SmallVector<int> times(trace.computations.size(), 0);
  if (state == StateNode::kIdentity)
    return times;
  // Parents come before children.
  std::vector<int> uses(state + 1, 0);
  uses[state] = 1;
  auto add = [](int &to, int more) { to = std::min(to + more, 2); };
  for (int64_t i = state; i >= 0; --i) {
    const StateNode &node = trace.states[i];
    for (int64_t parent : {node.first, node.second})
      if (parent != StateNode::kIdentity)
        add(uses[parent], uses[i]);
    if (node.computation >= 0)
      add(times[node.computation], uses[i]);
  }
  return times;
}

LogicalResult ScheduleChecks::findReference() {
  for (const auto &[rank, trace] : llvm::enumerate(traces)) {
    const FinalizeEvent &finalized = trace.finalized[trace.returned.front()];
    SmallVector<int> times = contributions(rank, finalized.state);
    auto *first = llvm::find_if(times, [](int count) { return count > 0; });
    if (first == times.end())
      continue;
    const ComputeEvent &event = trace.computations[first - times.begin()];
    referenceRank = static_cast<int64_t>(rank);
    reference = AttentionStep{event, trace.workOf(event), finalized,
                              nameOf(referenceRank, event.key).argument,
                              nameOf(referenceRank, event.value).argument};
    return success();
  }
  FinalizeOp finalize = traces[0].finalized[traces[0].returned.front()].op;
  InFlightDiagnostic diag =
      finalize.emitError("no rank computes any block, expected the block of "
                         "rank 0 on rank 0 in round 0");
  diag.attachNote(traces[0].end->getLoc()) << "the result is returned here";
  return diag;
}

/// All results are of one attention: an lse with other sinks than its out, say,
/// is wrong.
LogicalResult ScheduleChecks::checkFinalized() {
  for (const auto &[rank, trace] : llvm::enumerate(traces))
    for (const auto &[index, finalized] : llvm::enumerate(trace.returned)) {
      FinalizeEvent event = trace.finalized[finalized];
      StringRef what = findDifference(reference->finalized, event);
      if (what.empty())
        continue;
      InFlightDiagnostic diag = event.op.emitError()
                                << what << " of result " << index << " on rank "
                                << rank << " is another than of result 0 on "
                                << "rank " << referenceRank;
      diag.attachNote(reference->finalized.op.getLoc()) << "the other is here";
      return diag;
    }
  return success();
}

LogicalResult ScheduleChecks::checkCoverage() {
  BlockVisibility visibility(reference->work);
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    const RankTrace &trace = traces[rank];
    llvm::SmallDenseSet<int64_t> checked;
    for (int64_t finalized : trace.returned) {
      const FinalizeEvent &event = trace.finalized[finalized];
      if (checked.insert(event.state).second &&
          failed(checkCoverage(rank, event, visibility)))
        return failure();
    }
  }
  return success();
}

LogicalResult ScheduleChecks::checkCoverage(int64_t rank,
                                            FinalizeEvent finalized,
                                            const BlockVisibility &visibility) {
  const RankTrace &trace = traces[rank];
  SmallVector<int> times = contributions(rank, finalized.state);

  std::vector<const ComputeEvent *> of(ranks(), nullptr);
  for (auto [index, count] : llvm::enumerate(times)) {
    if (count == 0)
      continue;
    ComputeEvent event = trace.computations[index];
    Block key = nameOf(rank, event.key);
    StringRef what = findDifference(reference->event, reference->work, event,
                                    trace.workOf(event));
    if (what.empty() && key.argument != reference->key)
      what = "key";
    if (what.empty() && nameOf(rank, event.value).argument != reference->value)
      what = "value";
    if (!what.empty()) {
      InFlightDiagnostic diag =
          event.op.emitError()
          << what << " for the block of rank " << key.owner << " on rank "
          << rank << " in round " << event.round << " is another than on rank "
          << referenceRank << " in round " << reference->event.round;
      diag.attachNote(reference->event.op.getLoc()) << "the other is here";
      return diag;
    }
    counted[rank][index] = true;
    const ComputeEvent *&earlier = of[key.owner];
    if ((count == 1 && !earlier) || !visibility.isVisible(rank, key.owner)) {
      earlier = &trace.computations[index];
      continue;
    }
    if (earlier) {
      ComputeEvent first = *earlier;
      InFlightDiagnostic diag = event.op.emitError("block of rank ")
                                << key.owner << " is computed twice on rank "
                                << rank << ", in rounds " << first.round
                                << " and " << event.round;
      diag.attachNote(first.op.getLoc()) << "first computed here";
      return diag;
    }
    InFlightDiagnostic diag = finalized.op.emitError("block of rank ")
                              << key.owner << ", computed on rank " << rank
                              << " in round " << event.round
                              << ", is merged into the state twice";
    diag.attachNote(event.op.getLoc()) << "computed here";
    return diag;
  }

  for (int64_t round = 0; round < ranks(); ++round) {
    int64_t owner = ring.order.owner(rank, round);
    if (of[owner] || !visibility.isVisible(rank, owner))
      continue;
    InFlightDiagnostic diag = finalized.op.emitError("block of rank ")
                              << owner << " is never computed on rank " << rank
                              << ", expected in round " << round;
    if (!trace.computations.empty()) {
      ComputeEvent last = trace.computations.back();
      diag.attachNote(last.op.getLoc())
          << "rank " << rank << " computes last here, in round " << last.round;
    }
    return diag;
  }
  return success();
}
