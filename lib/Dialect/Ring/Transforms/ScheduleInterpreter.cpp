//===- ScheduleInterpreter.cpp - Runs a rank function on names ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleInterpreter.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ring;

/// Ends loops that no ring of ranks has: 1000 times the ops of 64 rounds.
static constexpr int64_t kMaxExecutedOps = int64_t(1) << 20;

ScheduleInterpreter::~ScheduleInterpreter() {
  for (auto [op, copy] : scratch)
    if (copy)
      copy->destroy();
}

FailureOr<RankTrace> ScheduleInterpreter::run(int64_t ofRank) {
  rank = ofRank;
  time = executedOps = 0;
  trace = RankTrace();
  values.clear();
  if (!llvm::hasSingleElement(function.getBody()))
    return cannotVerify(function) << "function has several blocks";
  for (BlockArgument argument : function.getArguments())
    values[argument] = {
        Kind::Block, {}, BlockRef::kOwn, argument.getArgNumber()};
  SmallVector<AbstractValue> results;
  if (failed(execute(function.getBody().front(), results)) ||
      failed(finish(
          cast<func::ReturnOp>(function.getBody().front().getTerminator()),
          results)))
    return failure();
  return std::move(trace);
}

/// Every result comes from ring.finalize.
LogicalResult ScheduleInterpreter::finish(func::ReturnOp op,
                                          ArrayRef<AbstractValue> results) {
  for (auto [index, result] : llvm::enumerate(results)) {
    if (result.kind != Kind::Finalized) {
      InFlightDiagnostic diag = op.emitError("result ")
                                << index << " of rank " << rank
                                << " does not come from ring.finalize";
      if (result.origin)
        diag.attachNote(result.origin->getLoc()) << "it is made here";
      return diag;
    }
    trace.returned.push_back(result.index);
  }
  if (results.empty())
    return cannotVerify(op) << "rank function returns nothing";
  trace.end = op;
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult
ScheduleInterpreter::execute(Block &block,
                             SmallVectorImpl<AbstractValue> &yielded) {
  for (Operation &op : block) {
    if (++executedOps > kMaxExecutedOps)
      return cannotVerify(&op)
             << "more than " << kMaxExecutedOps << " ops on rank " << rank;
    if (isa<scf::YieldOp, func::ReturnOp>(op)) {
      yielded.clear();
      for (Value operand : op.getOperands())
        yielded.push_back(lookup(operand));
      return success();
    }
    if (failed(execute(&op)))
      return failure();
  }
  return success();
}

LogicalResult ScheduleInterpreter::execute(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::ForOp, scf::IfOp, shard::ProcessLinearIndexOp,
            shard::ProcessMultiIndexOp, OwnerOp, SlicesOp, OnlineAttentionOp,
            MergeOp, FinalizeOp, PermuteStartOp, PermuteWaitOp>(
          [&](auto concrete) { return visit(concrete); })
      .Case<linalg::FillOp>(
          [&](auto fill) { return visitFill(fill, fill.getInputs().front()); })
      .Case<tensor::SplatOp>(
          [&](auto splat) { return visitFill(splat, splat.getInput()); })
      // The same block, seen as another type.
      .Case<tensor::CastOp, memref::CastOp, bufferization::ToTensorOp,
            bufferization::ToBufferOp>([&](Operation *view) {
        values[view->getResult(0)] = lookup(view->getOperand(0));
        return success();
      })
      .Default([&](Operation *other) { return visitOther(other); });
}

LogicalResult ScheduleInterpreter::visit(scf::ForOp op) {
  FailureOr<int64_t> lower =
      expectInteger(op, op.getLowerBound(), "lower bound of the loop");
  FailureOr<int64_t> upper =
      failed(lower)
          ? FailureOr<int64_t>()
          : expectInteger(op, op.getUpperBound(), "upper bound of the loop");
  FailureOr<int64_t> step =
      failed(upper) ? FailureOr<int64_t>()
                    : expectInteger(op, op.getStep(), "step of the loop");
  if (failed(step))
    return failure();
  if (*step < 1)
    return op.emitError("step of the loop is ")
           << *step << " on rank " << rank << ", expected 1 or more";
  if (op.getUnsignedCmp() && (*lower < 0 || *upper < 0))
    return cannotVerify(op) << "unsigned loop with negative bounds";
  SmallVector<AbstractValue> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(lookup(init));
  for (int64_t round = *lower; round < *upper;) {
    assignInteger(op.getInductionVar(), round);
    assign(op.getRegionIterArgs(), carried);
    if (failed(execute(*op.getBody(), carried)))
      return failure();
    if (llvm::AddOverflow(round, *step, round))
      break;
  }
  assign(op.getResults(), carried);
  return success();
}

LogicalResult ScheduleInterpreter::visit(scf::IfOp op) {
  FailureOr<int64_t> condition =
      expectInteger(op, op.getCondition(), "condition");
  if (failed(condition))
    return failure();
  SmallVector<AbstractValue> yielded;
  Region &taken = *condition ? op.getThenRegion() : op.getElseRegion();
  if (!taken.empty() && failed(execute(taken.front(), yielded)))
    return failure();
  assign(op.getResults(), yielded);
  return success();
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

LogicalResult ScheduleInterpreter::checkGrid(Operation *op,
                                             FlatSymbolRefAttr grid,
                                             std::optional<int64_t> axis) {
  if (grid != ring.grid || (axis && *axis != ring.axis)) {
    InFlightDiagnostic diag = cannotVerify(op);
    diag << "rank function uses axis " << ring.axis << " of " << ring.grid
         << " and ";
    if (axis)
      diag << "axis " << *axis << " of ";
    return diag << grid;
  }
  return success();
}

LogicalResult ScheduleInterpreter::visit(shard::ProcessLinearIndexOp op) {
  assignInteger(op.getResult(), rank);
  return checkGrid(op, op.getGridAttr(), std::nullopt);
}

LogicalResult ScheduleInterpreter::visit(shard::ProcessMultiIndexOp op) {
  // All axes but the ring's have size 1. No axes named: all of them.
  ArrayRef<shard::GridAxis> axes = op.getAxes();
  for (auto [position, result] : llvm::enumerate(op.getResults())) {
    int64_t axis = axes.empty() ? position : axes[position];
    assignInteger(result, axis == ring.axis ? rank : 0);
  }
  return checkGrid(op, op.getGridAttr(), std::nullopt);
}

LogicalResult ScheduleInterpreter::visit(OwnerOp op) {
  FailureOr<int64_t> round = expectInteger(op, op.getRound(), "round");
  if (failed(round) || failed(checkGrid(op, op.getGridAttr(), op.getAxis())))
    return failure();
  assignInteger(op.getOwner(), ring.order.owner(rank, *round));
  return success();
}

LogicalResult ScheduleInterpreter::visit(SlicesOp op) {
  FailureOr<int64_t> ofRank =
      expectInteger(op, op.getRank(), "rank of the work list");
  if (failed(ofRank))
    return failure();
  FailureOr<int64_t> owner =
      expectInteger(op, op.getOwner(), "owner of the work list");
  if (failed(owner))
    return failure();
  WorkList work{op, *ofRank, *owner, std::nullopt, {}};
  if (auto asked = op.getOwner().getDefiningOp<OwnerOp>())
    work.round = cast<IntegerAttr>(lookup(asked.getRound()).attribute).getInt();
  for (Value input : {Value(op.getQueryTable()), Value(op.getKeyTable()),
                      Value(op.getQuerySegments()), Value(op.getKeySegments()),
                      Value(op.getLengths()), Value(op.getOffsets())}) {
    if (failed(expectOptional(op, input, "a table, ids or lengths are",
                              work.inputs.emplace_back())))
      return failure();
  }
  values[op.getSlices()] = {
      Kind::Slices, {}, static_cast<int64_t>(trace.workLists.size())};
  trace.workLists.push_back(std::move(work));
  return success();
}

LogicalResult ScheduleInterpreter::visit(OnlineAttentionOp op) {
  if (op.getNumResults() != 3)
    return cannotVerify(op) << "state in memory, expected tensors";
  FailureOr<BlockRef> query = expectBlock(op, op.getQuery(), "query");
  if (failed(query))
    return failure();
  FailureOr<BlockRef> key = expectBlock(op, op.getKey(), "key");
  if (failed(key))
    return failure();
  FailureOr<BlockRef> value = expectBlock(op, op.getValue(), "value");
  if (failed(value))
    return failure();
  FailureOr<AbstractValue> slices =
      expect(Kind::Slices, op, op.getSlices(), "work list");
  if (failed(slices))
    return failure();
  FailureOr<int64_t> state =
      expectState(op, op.getAcc(), op.getMax(), op.getSum());
  if (failed(state))
    return failure();
  if (!query->isOwn())
    return op.emitError("query on rank ") << rank << " is not its own";
  std::optional<FixedInput> bias;
  if (failed(expectOptional(op, op.getBias(), "bias is", bias)))
    return failure();
  constexpr int64_t kRowDim = 2;
  if (bias && !bias->isArgument() &&
      cast<ShapedType>(op.getBias().getType()).getDimSize(kRowDim) != 1)
    return cannotVerify(op) << "bias with a row for each query is a constant, "
                               "expected an argument";
  SmallVector<FixedInput, 0> captures;
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getScore(), used);
  for (Value capture : used) {
    FailureOr<FixedInput> known =
        expectFixed(op, capture, "a value that the score region uses is");
    if (failed(known))
      return failure();
    captures.push_back(*known);
  }

  auto index = static_cast<int64_t>(trace.computations.size());
  int64_t round = trace.workLists[slices->index].round.value_or(index);
  trace.computations.push_back({op, time++, round, slices->index, *query, *key,
                                *value, bias, std::move(captures)});
  assignState(op.getResults(), {*state, StateNode::kIdentity, index});
  return success();
}

LogicalResult ScheduleInterpreter::visit(MergeOp op) {
  if (op.getNumResults() != 3)
    return cannotVerify(op) << "state in memory, expected tensors";
  FailureOr<int64_t> first =
      expectState(op, op.getAcc(), op.getMax(), op.getSum());
  if (failed(first))
    return failure();
  FailureOr<int64_t> second =
      expectState(op, op.getOtherAcc(), op.getOtherMax(), op.getOtherSum());
  if (failed(second))
    return failure();
  assignState(op.getResults(), {*first, *second, -1});
  return success();
}

LogicalResult ScheduleInterpreter::visit(FinalizeOp op) {
  if (op.getNumResults() == 0)
    return cannotVerify(op) << "state in memory, expected tensors";
  FailureOr<int64_t> state =
      expectState(op, op.getAcc(), op.getMax(), op.getSum());
  if (failed(state))
    return failure();
  FinalizeEvent event{op, *state, {}, {}};
  if (failed(expectOptional(op, op.getSinks(), "sinks are", event.sinks)) ||
      failed(expectOptional(op, op.getMean(), "mean is", event.mean)))
    return failure();
  auto index = static_cast<int64_t>(trace.finalized.size());
  trace.finalized.push_back(event);
  for (auto [part, result] : llvm::enumerate(op.getResults()))
    values[result] = {Kind::Finalized, {}, index, static_cast<int64_t>(part)};
  return success();
}

LogicalResult ScheduleInterpreter::visit(PermuteStartOp op) {
  if (failed(checkGrid(op, op.getGridAttr(), op.getAxis())))
    return failure();
  TransferEvent transfer{op, time++, {}, {}};
  if (Value forwarded = op.getForwarded()) {
    FailureOr<AbstractValue> future =
        expect(Kind::Future, op, forwarded, "future");
    if (failed(future))
      return failure();
    const TransferEvent &source = trace.transfers[future->index];
    if (!source.waits.empty()) {
      // The ticket of a transfer ends with its wait.
      InFlightDiagnostic diag =
          op.emitError("sends on transfer ")
          << future->index + 1 << " on rank " << rank
          << " after it was waited for, expected what the wait returned";
      diag.attachNote(source.waits.front().op->getLoc()) << "waited for here";
      return diag;
    }
    auto payload = cast<FutureType>(forwarded.getType()).getPayload();
    for (int64_t part = 0, e = payload.size(); part < e; ++part)
      transfer.sources.push_back({future->index, part});
  } else {
    for (Value value : op.getSources()) {
      FailureOr<BlockRef> block = expectBlock(op, value, "block to send");
      if (failed(block))
        return failure();
      transfer.sources.push_back(*block);
    }
  }
  values[op.getFuture()] = {
      Kind::Future, {}, static_cast<int64_t>(trace.transfers.size())};
  trace.transfers.push_back(std::move(transfer));
  return success();
}

LogicalResult ScheduleInterpreter::visit(PermuteWaitOp op) {
  FailureOr<AbstractValue> future =
      expect(Kind::Future, op, op.getFuture(), "future");
  if (failed(future))
    return failure();
  trace.transfers[future->index].waits.push_back({op, time++});
  for (auto [part, result] : llvm::enumerate(op.getReceived()))
    values[result] = {
        Kind::Block, {}, future->index, static_cast<int64_t>(part)};
  return success();
}

//===----------------------------------------------------------------------===//
// Other ops
//===----------------------------------------------------------------------===//

LogicalResult ScheduleInterpreter::visitFill(Operation *op, Value scalar) {
  AbstractValue known = lookup(scalar);
  if (op->getNumResults() != 1 || known.kind != Kind::Constant)
    return visitOther(op);
  values[op->getResult(0)] = {Kind::Filled, known.attribute};
  return success();
}

/// True iff the op changes nothing that a rank may hold.
static bool isHarmless(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Read, MemoryEffects::Allocate>(
               effect.getEffect());
         });
}

LogicalResult ScheduleInterpreter::visitOther(Operation *op) {
  if (isa<CallOpInterface>(op))
    return cannotVerify(op) << "call of another function";
  if (!isHarmless(op))
    return cannotVerify(op) << "'" << op->getName() << "' is not understood";
  if (fold(op))
    return success();
  for (Value result : op->getResults())
    values[result] = {Kind::Unknown, {}, 0, 0, op};
  return success();
}

bool ScheduleInterpreter::fold(Operation *op) {
  auto isConstant = [&](Value value) {
    return lookup(value).kind == Kind::Constant;
  };
  if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
      (!op->hasTrait<OpTrait::ConstantLike>() &&
       llvm::none_of(op->getOperands(), isConstant)))
    return false;

  Operation *&copy = scratch[op];
  if (!copy)
    copy = op->clone();
  SmallVector<OpFoldResult> folded;
  bool changed = false;
  // An op that first swaps its operands, say, folds in several steps.
  for (int step = 0; step < 4 && folded.empty(); ++step) {
    SmallVector<Attribute> constants;
    for (Value operand : copy->getOperands())
      constants.push_back(isConstant(operand) ? lookup(operand).attribute
                                              : Attribute());
    if (failed(copy->fold(constants, folded)))
      break;
    changed |= folded.empty();
  }
  for (auto [result, value] : llvm::zip(op->getResults(), folded)) {
    if (auto attribute = dyn_cast<Attribute>(value))
      values[result] = {Kind::Constant, attribute};
    else
      values[result] = lookup(cast<Value>(value));
  }
  // A changed copy holds for these constants only.
  if (changed) {
    copy->destroy();
    copy = nullptr;
  }
  return !folded.empty();
}
