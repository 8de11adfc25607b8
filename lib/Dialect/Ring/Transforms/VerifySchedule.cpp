//===- VerifySchedule.cpp - Proves a rank program right -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleCalls.h"
#include "ScheduleChecks.h"
#include "ScheduleInterpreter.h"
#include "ScheduleTables.h"

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace mlir::ring {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct VerifySchedulePass
    : mlir::ring::impl::VerifySchedulePassBase<VerifySchedulePass> {
  using VerifySchedulePassBase::VerifySchedulePassBase;
  void runOnOperation() override;
};
} // namespace

/// The ring that the function's ops name. Without transfers and owners only the
/// grid may be named, by the rank's index: then its axis that is not 1.
static FailureOr<ScheduleRing> findRing(func::FuncOp function) {
  Operation *namer = nullptr;
  FlatSymbolRefAttr symbol;
  std::optional<int64_t> axis;
  function.walk([&](Operation *op) {
    if (axis)
      return;
    if (isa<OwnerOp, PermuteStartOp>(op)) {
      auto owner = dyn_cast<OwnerOp>(op);
      auto start = dyn_cast<PermuteStartOp>(op);
      symbol = owner ? owner.getGridAttr() : start.getGridAttr();
      axis = owner ? owner.getAxis() : start.getAxis();
      namer = op;
    } else if (auto index = dyn_cast<shard::ProcessLinearIndexOp>(op)) {
      symbol = index.getGridAttr();
      namer = op;
    }
  });
  if (!namer)
    return function.emitError("cannot verify: no op names the grid");
  auto grid =
      SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(namer, symbol);
  if (!grid)
    return namer->emitError("cannot verify: unknown grid ") << symbol;
  if (!axis) {
    axis = 0;
    for (auto [index, size] : llvm::enumerate(grid.getShape()))
      if (size != 1)
        axis = index;
  }
  for (auto [index, size] : llvm::enumerate(grid.getShape()))
    if (ShapedType::isDynamic(size) ||
        (size != 1 && static_cast<int64_t>(index) != *axis)) {
      InFlightDiagnostic diag = namer->emitError("cannot verify: axis ")
                                << index << " of grid " << symbol
                                << " beside axis " << *axis
                                << " is not of size 1";
      diag.attachNote(grid.getLoc()) << "the grid is here";
      return diag;
    }
  // No op of ours may have named it.
  ArrayRef<int64_t> shape = grid.getShape();
  if (shape.empty() || shape[*axis] < 1 || shape[*axis] > kMaxRingSize)
    return namer->emitError("cannot verify: grid ")
           << symbol << " is no ring of 1 to " << kMaxRingSize << " ranks";
  return ScheduleRing{symbol, *axis, getRingOrder(grid, *axis)};
}

/// Bytes that a rank sends: in each transfer the payload, its sequence padded
/// to the longest rank's. Nothing where that is known only at run time, or
/// where no integer of 64 bits can hold it.
static std::optional<int64_t> bytesPerRank(const RankTrace &trace,
                                           int64_t ranks) {
  if (trace.workLists.empty())
    return std::nullopt;
  SlicesOp slices = trace.workLists.front().op;
  std::optional<std::vector<::ring::LayoutEntry>> keys =
      parseTable(slices.getKeyTable());
  if (!keys)
    return std::nullopt;
  ::ring::LayoutView view{keys->data(), static_cast<int64_t>(keys->size())};
  int64_t padded = view.paddedSize(ranks);
  std::optional<int64_t> bytes = 0;
  for (const TransferEvent &transfer : trace.transfers)
    for (Type type : cast<PermuteStartOp>(transfer.start)
                         .getFuture()
                         .getType()
                         .getPayload()) {
      auto shaped = cast<ShapedType>(type);
      std::optional<int64_t> size = shaped.getElementTypeBitWidth() / 8;
      for (auto [dim, extent] : llvm::enumerate(shaped.getShape())) {
        if (dim != kSequenceDim && ShapedType::isDynamic(extent))
          return std::nullopt;
        size = llvm::checkedMul(*size, dim == kSequenceDim ? padded : extent);
        if (!size)
          return std::nullopt;
      }
      bytes = llvm::checkedAdd(*bytes, *size);
      if (!bytes)
        return std::nullopt;
    }
  return bytes;
}

/// Form 5: values no longer say what a block is, only memory does.
static bool isOnMemrefs(func::FuncOp function) {
  return llvm::any_of(function.getArgumentTypes(),
                      [](Type type) { return isa<MemRefType>(type); });
}

static LogicalResult verifySchedule(func::FuncOp function, int64_t slots) {
  if (isOnMemrefs(function)) {
    remark::missed(function.getLoc(), remark::RemarkOpts::name("VerifySchedule")
                                          .category("ring-verify-schedule")
                                          .function(function.getName()))
        << remark::reason("a program on memrefs, which is verified before "
                          "bufferization");
    return success();
  }
  FailureOr<ScheduleRing> ring = findRing(function);
  if (failed(ring))
    return failure();
  ScheduleInterpreter interpreter(function, *ring);
  std::vector<RankTrace> traces;
  for (int64_t rank = 0; rank < ring->order.size(); ++rank) {
    FailureOr<RankTrace> trace = interpreter.run(rank);
    if (failed(trace))
      return failure();
    traces.push_back(std::move(*trace));
  }
  // What the program says of itself is stricter than what can be observed.
  if (auto own = function->getAttrOfType<IntegerAttr>(kSlotsAttrName);
      own && slots == 0)
    slots = own.getInt();
  ScheduleChecks checks(*ring, traces, slots);
  // Which blocks are visible is asked of tables that make sense only.
  if (failed(checkPartitions(traces)) || failed(checks.run()) ||
      failed(checkCalls(function, checks.attention(), ring->order.size())))
    return failure();
  auto counts = remark::analysis(function.getLoc(),
                                 remark::RemarkOpts::name("VerifySchedule")
                                     .category("ring-verify-schedule")
                                     .function(function.getName()));
  counts << remark::metric("ranks", ring->order.size())
         << remark::metric("transfers", checks.transferCount())
         << remark::metric("slots", checks.slotCount());
  if (std::optional<int64_t> bytes =
          bytesPerRank(traces.front(), ring->order.size()))
    counts << remark::metric("bytes_per_rank", *bytes);
  return success();
}

void VerifySchedulePass::runOnOperation() {
  if (slots < 0) {
    getOperation().emitError("slots is ")
        << slots.getValue() << ", expected 0 or more";
    return signalPassFailure();
  }
  bool wrong = false;
  getOperation().walk([&](func::FuncOp function) {
    if (RankProgram::isRankFunction(function))
      wrong |= failed(verifySchedule(function, slots));
  });
  if (wrong)
    signalPassFailure();
  markAllAnalysesPreserved();
}
