//===- ScheduleChecks.h - Judges the traces of all ranks --------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ring-verify-schedule proves, given what each rank does in order. Each
// check stops at its first error, which names block, rank and round.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECHECKS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECHECKS_H

#include "BlockVisibility.h"
#include "ScheduleTrace.h"

namespace mlir::ring {

class ScheduleChecks {
public:
  /// One trace per rank. `slots` of the transport; 0: what the program needs,
  /// one more than the transfers in flight at once, and no more than there are
  /// transfers.
  ScheduleChecks(const ScheduleRing &ring, ArrayRef<RankTrace> traces,
                 int64_t slots)
      : ring(ring), traces(traces), slots(slots) {}

  LogicalResult run();

  /// After run: transfers of each rank, and the slots that they use.
  int64_t transferCount() const { return traces.front().transfers.size(); }
  int64_t slotCount() const;
  /// After run: what all steps and results of all ranks are of.
  const AttentionStep &attention() const { return *reference; }

private:
  /// Argument `argument` of rank `owner`.
  struct Block {
    int64_t owner;
    int64_t argument;
  };

  LogicalResult checkSameTransfers();
  void nameBlocks();
  LogicalResult checkWaits();
  LogicalResult checkWorkLists();
  /// Takes the first step of result 0 that any rank computes as `reference`.
  LogicalResult findReference();
  /// Every returned state: every visible block once, by a step of the attention
  /// that `reference` is of.
  LogicalResult checkCoverage();
  LogicalResult checkCoverage(int64_t rank, FinalizeEvent finalized,
                              const BlockVisibility &visibility);
  LogicalResult checkFinalized();
  LogicalResult checkSlots();
  LogicalResult checkTransfersNeeded();

  int64_t ranks() const { return ring.order.size(); }
  Block nameOf(int64_t rank, const BlockRef &block) const;
  /// "transfer 2 of rank 0, which brings the block of rank 2 for round 2,"
  std::string describe(int64_t rank, int64_t transfer) const;
  /// How often each computation of `rank` enters a state: 0, 1 or 2 for more.
  SmallVector<int> contributions(int64_t rank, int64_t state) const;

  const ScheduleRing &ring;
  ArrayRef<RankTrace> traces;
  int64_t slots;
  std::optional<AttentionStep> reference;
  int64_t referenceRank = 0;
  /// Per rank and transfer, the blocks that it delivers.
  std::vector<std::vector<SmallVector<Block, 2>>> delivered;
  /// Per rank and computation, whether a returned state holds it.
  std::vector<std::vector<bool>> counted;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECHECKS_H
