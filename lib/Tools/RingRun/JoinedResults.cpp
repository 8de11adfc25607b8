//===- JoinedResults.cpp - Results of which a process has a part ----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/JoinedResults.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

using namespace mlir;

namespace ring::tools {

/// True where the host returns `value`, or gives each rank its own positions of
/// it again: what the other ranks have is not looked at.
static bool needsOwnPositionsOnly(mlir::ring::GatherOp gather, Value value) {
  auto isSameTable = [&](Value other) {
    Attribute a, b;
    return other == gather.getTable() ||
           (matchPattern(other, m_Constant(&a)) &&
            matchPattern(gather.getTable(), m_Constant(&b)) && a == b);
  };
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto cast = dyn_cast<tensor::CastOp>(user))
      return needsOwnPositionsOnly(gather, cast.getResult());
    if (auto scatter = dyn_cast<mlir::ring::ScatterOp>(user))
      return scatter.getDim() == gather.getDim() &&
             isSameTable(scatter.getTable());
    return isa<func::ReturnOp>(user);
  });
}

JoinedResults findJoinedResults(func::FuncOp entry) {
  JoinedResults joined;
  if (llvm::any_of(entry.getArgumentTypes(), llvm::IsaPred<BaseMemRefType>))
    joined.refused = "programs on memrefs";
  entry.walk([&](mlir::ring::GatherOp gather) {
    if (!needsOwnPositionsOnly(gather, gather.getWhole()))
      joined.refused = "computation on joined results";
  });
  for (Value value : entry.back().getTerminator()->getOperands()) {
    std::optional<JoinedResult> &result = joined.results.emplace_back();
    if (auto gather = mlir::ring::withoutCasts(value)
                          .getDefiningOp<mlir::ring::GatherOp>())
      result = JoinedResult{static_cast<int64_t>(gather.getDim()),
                            mlir::ring::parseTable(gather.getTable())};
  }
  return joined;
}

std::optional<OwnPositions>
JoinedResults::of(unsigned result, const Array &whole, int64_t rank) const {
  if (!results[result])
    return std::nullopt;
  OwnPositions own;
  own.dim = results[result]->dim;
  own.has.resize(whole.dim(own.dim));
  for (const LayoutEntry &entry : *results[result]->table)
    for (int64_t i = 0; entry.owner == rank && i < entry.size(); ++i)
      own.has[entry.position(i)] = true;
  return own;
}

} // namespace ring::tools
