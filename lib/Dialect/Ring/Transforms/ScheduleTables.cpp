//===- ScheduleTables.cpp - Checks the tables of a rank function ----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTables.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ring;

/// One bit per position is kept, so there is a limit.
static constexpr int64_t kMaxPositions = int64_t(1) << 31;

/// Columns that make sense, and no position beyond `kMaxPositions`.
static LogicalResult checkEntry(SlicesOp op, StringRef table, int64_t index,
                                const ::ring::LayoutEntry &entry,
                                int64_t ranks) {
  auto error = [&] {
    return op.emitError() << "entry " << index << " of the " << table
                          << " table ";
  };
  if (entry.owner < 0 || entry.owner >= ranks)
    return error() << "is of rank " << entry.owner << ", expected 0 to "
                   << ranks - 1;
  if (entry.empty())
    return success();
  if (entry.begin < 0)
    return error() << "begins at " << entry.begin << ", expected 0 or more";
  if (entry.stride < entry.block)
    return error() << "has stride " << entry.stride << ", expected its block "
                   << entry.block << " or more";
  int64_t span;
  if (llvm::MulOverflow(entry.count, entry.stride, span) ||
      llvm::AddOverflow(span, entry.begin, span) || span > kMaxPositions)
    return op.emitError("cannot verify: ")
           << table << " table goes beyond position " << kMaxPositions;
  return success();
}

/// Each position below the number of positions has one owner.
static LogicalResult checkPartition(SlicesOp op, StringRef table,
                                    ArrayRef<::ring::LayoutEntry> entries,
                                    int64_t ranks) {
  int64_t positions = 0, owner = 0;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (failed(checkEntry(op, table, index, entry, ranks)))
      return failure();
    if (entry.owner < owner)
      return op.emitError("entry ")
             << index << " of the " << table << " table is of rank "
             << entry.owner << " after rank " << owner
             << ", expected ascending ranks";
    owner = entry.owner;
    positions += entry.empty() ? 0 : entry.size();
  }
  if (positions > kMaxPositions)
    return op.emitError("cannot verify: ")
           << table << " table has more than " << kMaxPositions << " positions";
  llvm::BitVector taken(positions);
  for (const ::ring::LayoutEntry &entry : entries) {
    if (entry.empty())
      continue;
    // So many positions, none of them twice: if one is beyond, one is missing.
    if (entry.last() >= positions)
      return op.emitError()
             << table << " table gives position " << entry.last() << " to rank "
             << entry.owner << ", but has only " << positions << " positions";
    for (int64_t i = 0; i < entry.count; ++i) {
      int64_t begin = entry.begin + i * entry.stride;
      int twice = taken.find_first_in(begin, begin + entry.block);
      if (twice >= 0)
        return op.emitError()
               << table << " table gives position " << twice << " to rank "
               << entry.owner << ", which has an owner already";
      taken.set(begin, begin + entry.block);
    }
  }
  return success();
}

LogicalResult mlir::ring::checkPartitions(ArrayRef<RankTrace> traces) {
  constexpr StringLiteral names[] = {"query", "key"};
  auto ranks = static_cast<int64_t>(traces.size());
  DenseSet<Attribute> checked;
  for (const RankTrace &trace : traces)
    for (const WorkList &work : trace.workLists)
      for (auto [name, input] : llvm::zip(names, work.inputs)) {
        if (input->isArgument() || !checked.insert(input->constant).second)
          continue;
        auto table = parseTable(input->constant);
        if (!table)
          return SlicesOp(work.op).emitError("cannot verify: ")
                 << name << " table is no dense constant";
        if (failed(checkPartition(work.op, name, *table, ranks)))
          return failure();
      }
  return success();
}
