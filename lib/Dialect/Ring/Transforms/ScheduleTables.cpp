//===- ScheduleTables.cpp - Checks the tables of a rank function ----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTables.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Matchers.h"
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

/// `table`, of the op `by` on the host, is the one of the work list: an equal
/// constant, or what `call` gives for the work list's argument.
static LogicalResult checkSame(Operation *by, Value table, SlicesOp slices,
                               Value expected, func::CallOp call,
                               int64_t ranks) {
  bool same = false;
  if (auto argument = dyn_cast<BlockArgument>(expected)) {
    Value given = call.getOperand(argument.getArgNumber());
    auto tables = withoutCasts(given).getDefiningOp<TablesOp>();
    if (!tables)
      return call.emitError("cannot verify: argument ")
             << argument.getArgNumber() << " does not come from ring.tables";
    if (tables.getRanks() != static_cast<uint64_t>(ranks))
      return tables.emitError("makes tables for ")
             << tables.getRanks() << " ranks, the program runs on " << ranks;
    same = withoutCasts(given) == withoutCasts(table);
  } else {
    Attribute got, wanted;
    if (!matchPattern(expected, m_Constant(&wanted)))
      return slices.emitError("cannot verify: layout table is neither a "
                              "constant nor an argument");
    same = matchPattern(table, m_Constant(&got)) && got == wanted;
  }
  if (same)
    return success();
  InFlightDiagnostic diag =
      by->emitError("layout table is not the one that the ranks compute with");
  diag.attachNote(slices.getLoc()) << "the work list is here";
  return diag;
}

/// A call of the rank function, for one of its computations on own blocks.
static LogicalResult checkCall(func::CallOp call, const ComputeEvent &event,
                               SlicesOp slices, int64_t ranks) {
  Value queryTable = slices.getQueryTable(), keyTable = slices.getKeyTable();
  std::pair<BlockRef, Value> blocks[] = {{event.query, queryTable},
                                         {event.key, keyTable},
                                         {event.value, keyTable}};
  for (auto [block, table] : blocks) {
    if (!block.isOwn())
      continue;
    auto scatter = call.getOperand(block.position).getDefiningOp<ScatterOp>();
    if (!scatter)
      return call.emitError("cannot verify: argument ")
             << block.position << " does not come from ring.scatter";
    if (failed(
            checkSame(scatter, scatter.getTable(), slices, table, call, ranks)))
      return failure();
  }
  for (Operation *user : call->getUsers()) {
    auto gather = dyn_cast<GatherOp>(user);
    if (!gather)
      return user->emitError("cannot verify: a rank's result is used by '")
             << user->getName() << "', expected ring.gather";
    if (failed(checkSame(gather, gather.getTable(), slices, queryTable, call,
                         ranks)))
      return failure();
  }
  return success();
}

LogicalResult mlir::ring::checkTables(func::FuncOp function,
                                      const RankTrace &trace, int64_t ranks) {
  DenseSet<Attribute> checked;
  for (const WorkList &work : trace.workLists) {
    SlicesOp op = work.op;
    std::pair<StringRef, Value> tables[] = {{"query", op.getQueryTable()},
                                            {"key", op.getKeyTable()}};
    for (auto [name, value] : tables) {
      Attribute constant;
      std::optional<std::vector<::ring::LayoutEntry>> table = parseTable(value);
      if (table && matchPattern(value, m_Constant(&constant)) &&
          checked.insert(constant).second &&
          failed(checkPartition(op, name, *table, ranks)))
        return failure();
    }
  }
  if (trace.computations.empty())
    return success();
  auto module = function->getParentOfType<ModuleOp>();
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser()))
      for (const ComputeEvent &event : trace.computations)
        if (failed(checkCall(call, event, trace.workOf(event).op, ranks)))
          return failure();
  return success();
}
