//===- RankProgram.cpp - The parts of a rank function ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ring;

bool RankProgram::isRankFunction(func::FuncOp function) {
  return function->hasAttr(kRankOfAttrName) && !function.isExternal();
}

FailureOr<RankProgram> RankProgram::match(func::FuncOp function) {
  RankProgram program;
  program.function = function;
  function.walk([&](SlicesOp op) { program.slices.push_back(op); });
  if (program.slices.empty())
    return function.emitError("rank function without ring.slices");
  for (SlicesOp op : program.slices)
    for (Value table : {op.getQueryTable(), op.getKeyTable()})
      if (!parseTable(table))
        return op.emitError("layout table is no constant");

  // Every op on the grid names the same one; ring.owner always exists.
  OwnerOp owner;
  function.walk([&](OwnerOp op) { owner = op; });
  if (!owner)
    return function.emitError("rank function without ring.owner");
  program.grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(
      owner, owner.getGridAttr());
  program.axis = owner.getAxis();
  return program;
}

static int64_t positions(ArrayRef<::ring::LayoutEntry> table) {
  int64_t count = 0;
  for (const ::ring::LayoutEntry &entry : table)
    count += entry.size();
  return count;
}

SlicesArithmetic::SlicesArithmetic(SlicesOp slices)
    : queries(*parseTable(slices.getQueryTable())),
      keys(*parseTable(slices.getKeyTable())), queryCount(positions(queries)),
      keyCount(positions(keys)) {
  if (MaskAttr attr = slices.getMaskAttr())
    mask = attr.bind(queryCount, keyCount);
}

::ring::LayoutView SlicesArithmetic::queryView() const {
  return {queries.data(), static_cast<int64_t>(queries.size())};
}
::ring::LayoutView SlicesArithmetic::keyView() const {
  return {keys.data(), static_cast<int64_t>(keys.size())};
}

std::optional<RoundsLoop> RoundsLoop::match(func::FuncOp function) {
  RoundsLoop found;
  for (auto loop : function.getOps<scf::ForOp>()) {
    std::optional<APInt> lower = loop.getConstantStep();
    IntegerAttr from, to;
    if (!lower || !lower->isOne() ||
        !matchPattern(loop.getLowerBound(), m_Constant(&from)) ||
        !matchPattern(loop.getUpperBound(), m_Constant(&to)) ||
        from.getInt() != 0 ||
        loop.getInitArgs().size() != kStateSize + kBlockCount)
      continue;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    auto passOn = yield.getOperand(kStateSize).getDefiningOp<scf::IfOp>();
    if (!passOn || passOn->getParentOp() != loop ||
        passOn.getNumResults() != kBlockCount ||
        yield.getOperand(kStateSize + 1) != passOn.getResult(1))
      continue;
    auto guard = passOn.getCondition().getDefiningOp<arith::CmpIOp>();
    auto starts = passOn.thenBlock()->getOps<PermuteStartOp>();
    IntegerAttr bound;
    if (!guard || starts.empty() ||
        guard.getPredicate() != arith::CmpIPredicate::slt ||
        !matchPattern(guard.getRhs(), m_Constant(&bound)) ||
        bound.getInt() != to.getInt())
      continue;
    if (found.loop)
      return std::nullopt;
    found = {loop, guard, passOn, *starts.begin(), to.getInt()};
  }
  if (!found.loop)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

std::optional<int64_t> mlir::ring::bytesOfTransfer(RankProgram &program) {
  ArrayRef<Type> inputs = program.function.getArgumentTypes();
  auto key = cast<ShapedType>(inputs[1]), value = cast<ShapedType>(inputs[2]);
  if (key.isDynamicDim(0))
    return std::nullopt;
  SlicesArithmetic arithmetic(program.slices.front());
  return ::ring::bytesPerRank(
      /*transfers=*/1, key.getDimSize(0), key.getDimSize(1),
      arithmetic.keyView().paddedSize(program.ranks()), key.getDimSize(3),
      value.getDimSize(3), key.getElementTypeBitWidth() / 8);
}

/// How often `op` runs: the product of the trip counts around it.
static FailureOr<int64_t> executions(Operation *op) {
  int64_t count = 1;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      continue;
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips)
      return loop.emitError("trip count is no constant");
    count *= trips->getSExtValue();
  }
  return count;
}

FailureOr<ProgramCounts> mlir::ring::countProgram(RankProgram &program) {
  ProgramCounts counts;
  bool counted = true;
  auto add = [&](Operation *op, int64_t &total) {
    FailureOr<int64_t> times = executions(op);
    counted &= succeeded(times);
    total += succeeded(times) ? *times : 0;
  };
  program.function.walk([&](Operation *op) {
    if (isa<OnlineAttentionOp>(op))
      add(op, counts.rounds);
    else if (isa<PermuteStartOp>(op))
      add(op, counts.transfers);
  });
  if (!counted)
    return failure();
  counts.bytesPerRank =
      counts.transfers * bytesOfTransfer(program).value_or(0);
  if (auto slots =
          program.function->getAttrOfType<IntegerAttr>(kSlotsAttrName))
    counts.slots = slots.getInt();
  SlicesArithmetic arithmetic(program.slices.front());
  ::ring::RingCounts ring = ::ring::countRing(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  counts.balance = ring.balance;
  counts.roundBalance = ring.roundBalance;
  return counts;
}
