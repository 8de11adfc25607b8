//===- RankProgram.cpp - The parts of a rank function ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"

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
