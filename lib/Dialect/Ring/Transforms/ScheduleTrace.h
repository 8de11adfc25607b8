//===- ScheduleTrace.h - What a rank does, in order -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The events of one rank of a rank function: transfers, computations, and the
// states that they make. ScheduleInterpreter records them, ScheduleChecks
// judges them.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETRACE_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETRACE_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include <optional>
#include <vector>

namespace mlir::ring {

/// The ring that a rank function runs on.
struct ScheduleRing {
  FlatSymbolRefAttr grid;
  int64_t axis;
  ::ring::RingOrder order;
};

/// A tensor that a rank holds: its own argument, or part of what a transfer
/// delivered. Whose argument the latter is, only the traces of all ranks tell.
struct BlockRef {
  static constexpr int64_t kOwn = -1;

  int64_t transfer = kOwn; ///< index into RankTrace::transfers
  int64_t position = 0;    ///< argument number, or position in the payload

  bool isOwn() const { return transfer == kOwn; }
};

/// Times count the events of a rank from 0.
struct WaitEvent {
  Operation *op;
  int64_t time;
};

/// Transfers are numbered in the order of their starts, from 0 here and from 1
/// in messages: the first one brings the block of round 1.
struct TransferEvent {
  Operation *start;
  int64_t time;
  SmallVector<BlockRef, 2> sources;
  SmallVector<WaitEvent, 1> waits;
};

/// What does not travel, like a table, ids or the bias: a constant or an
/// argument.
struct FixedInput {
  Attribute constant;
  int64_t argument = -1; ///< -1: `constant`

  bool isArgument() const { return argument >= 0; }
  bool operator==(const FixedInput &other) const {
    return constant == other.constant && argument == other.argument;
  }
  bool operator!=(const FixedInput &other) const { return !(*this == other); }
};

/// One execution of ring.slices.
struct WorkList {
  SlicesOp op;
  int64_t rank, owner;
  /// The round that ring.owner was asked for, where `owner` comes from it.
  std::optional<int64_t> round;
  /// Query and key table, segments, lengths, offsets; nothing where left out.
  SmallVector<std::optional<FixedInput>, 6> inputs;
};

/// One execution of ring.online_attention.
struct ComputeEvent {
  OnlineAttentionOp op;
  int64_t time;
  int64_t round;
  int64_t work; ///< index into RankTrace::workLists
  BlockRef query, key, value;
  std::optional<FixedInput> bias;
  /// What the score region uses of what is defined above it, in the order of
  /// use.
  SmallVector<FixedInput, 0> captures;
};

/// A state, made of at most two earlier ones and at most one computation.
struct StateNode {
  static constexpr int64_t kIdentity = -1;

  int64_t first = kIdentity, second = kIdentity;
  int64_t computation = -1;
};

/// A returned ring.finalize and the state that it was given.
struct FinalizeEvent {
  FinalizeOp op;
  int64_t state;
  std::optional<FixedInput> sinks, mean;
};

struct RankTrace {
  std::vector<TransferEvent> transfers;
  std::vector<WorkList> workLists;
  std::vector<ComputeEvent> computations;
  std::vector<StateNode> states; ///< parents before children
  std::vector<FinalizeEvent> finalized;
  std::vector<int64_t> returned; ///< per result, index into `finalized`
  Operation *end = nullptr;      ///< the return

  const WorkList &workOf(const ComputeEvent &event) const {
    return workLists[event.work];
  }
};

/// The attention that the results of a rank function are of: one of its steps
/// and what ends it, with blocks as arguments of their owners.
struct AttentionStep {
  ComputeEvent event;
  WorkList work;
  FinalizeEvent finalized;
  int64_t key, value;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETRACE_H
