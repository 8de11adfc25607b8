//===- RankProgram.h - The parts of a rank function -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ring-shard-attention builds, found again by the passes after it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_RANKPROGRAM_H
#define RING_DIALECT_RING_TRANSFORMS_RANKPROGRAM_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ring {

/// A rank function: attention of its queries with every block of the ring.
/// Argument 0 is the query, 1 and 2 are key and value; results are laid out
/// like the query. Then comes the bias, if it has a row for each query, and
/// then what every rank has whole: other biases, ids, lengths, offsets, sinks,
/// means, and what the `score` region captures.
struct RankProgram {
  func::FuncOp function;
  shard::GridOp grid;
  int64_t axis = 0;
  /// The work lists; one unless rounds have been peeled.
  SmallVector<SlicesOp> slices;

  /// True iff `function` is what a rank does for one attention.
  static bool isRankFunction(func::FuncOp function);
  /// Finds the parts. Fails, with an error, where the arguments are not query,
  /// key and value, where there are no work lists, or where their tables
  /// differ, make no sense (see checkTable), are neither constants nor
  /// arguments, or have visible pairs that nobody can count in time.
  static FailureOr<RankProgram> match(func::FuncOp function);

  int64_t ranks() { return grid.getShape()[axis]; }
  ::ring::RingOrder order() { return getRingOrder(grid, axis); }
  /// False where the tables are arguments, computed at run time.
  bool hasConstantTables();
  /// True iff ring-classify-blocks has not run yet.
  bool isWhole() {
    return llvm::all_of(slices, [](SlicesOp op) { return op.getWhole(); });
  }
};

/// True iff `function` is what a rank does around its attentions, which it
/// calls (see ring-shard-function).
bool isLocalFunction(func::FuncOp function);

/// Checks, for `op`, what arithmetic on a table relies on: owners are ranks and
/// ascend, nothing is negative, the blocks of an entry do not overlap and their
/// positions stay below 2^62. The error names the entry.
LogicalResult checkTable(Operation *op, ArrayRef<::ring::LayoutEntry> entries,
                         int64_t ranks);

/// The tables and the bound mask of a work list.
struct SlicesArithmetic {
  std::vector<::ring::LayoutEntry> queries, keys;
  int64_t queryCount, keyCount;
  ::ring::PositionalMask mask;

  /// The tables must be constants (RankProgram::hasConstantTables).
  explicit SlicesArithmetic(SlicesOp slices);

  ::ring::LayoutView queryView() const;
  ::ring::LayoutView keyView() const;
};

/// The loop of forms 1 to 3: compute, then pass the blocks on unless this was
/// the last round.
struct RoundsLoop {
  scf::ForOp loop;
  arith::CmpIOp guard; ///< round + 1 < rounds
  scf::IfOp passOn;
  PermuteStartOp start;
  int64_t rounds;

  /// Nothing where the function holds no such loop.
  static std::optional<RoundsLoop> match(func::FuncOp function);
};

/// What a rank does, counted from the IR of forms 3 and 4. Fails, with an
/// error, where a loop's trip count is not constant.
struct ProgramCounts {
  int64_t rounds = 0;    ///< blocks computed on
  int64_t transfers = 0; ///< started
  /// Sent; nothing where it is known at run time only.
  std::optional<int64_t> bytesPerRank;
  int64_t slots = 0; ///< in flight, and the block in use
  /// From the positional mask; nothing where more is known at run time.
  std::optional<double> balance, roundBalance;
};
FailureOr<ProgramCounts> countProgram(RankProgram &program);

/// The table as its ring.tables gives it: canonicalisation puts casts between.
Value withoutCasts(Value table);

/// What decides, besides positions, who sees whom; null where there is none.
struct RunTimeVisibility {
  Value querySegments, keySegments, lengths, offsets;
};

/// The type of a table that is a value: how many entries it has depends on the
/// layout, which a later pass may change.
RankedTensorType runTimeTableType(MLIRContext *context);

/// A `ring.tables` for sequences of these sizes, and what it writes to.
TablesOp createTables(ImplicitLocOpBuilder &b, LayoutAttr layout, int64_t ranks,
                      Value queryCount, Value keyCount,
                      const RunTimeVisibility &visibility, MaskAttr mask);

/// Run-time ids, lengths or offsets decide what is visible.
bool hasRunTimeVisibility(SlicesOp op);
/// Run-time offsets move the queries of a mask that depends on positions: no
/// pair is surely visible or hidden.
bool movesQueries(SlicesOp op);

/// Bytes that a rank sends in so many transfers; nothing where batch or tables
/// are known at run time only, or where no integer of 64 bits can hold them.
std::optional<int64_t> bytesOfTransfers(RankProgram &program,
                                        int64_t transfers);

/// Dimension of query, key, value, bias, out and lse that is cut.
inline constexpr int64_t kSequenceDim = 2;

/// Arguments that a rank function surely has: query, key, value.
inline constexpr unsigned kInputCount = 3;

/// Position of the first block among the loop's iter_args and of the last:
/// (acc, max, sum, key, value).
inline constexpr unsigned kStateSize = 3;
inline constexpr unsigned kBlockCount = 2;

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_RANKPROGRAM_H
