//===- RingTableOps.cpp - What is known at run time -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ring;

LogicalResult TablesOp::verify() {
  if (failed(verifyRequiredOperands(*this, {0, 1, 6, 7})) ||
      failed(verifyRanks(*this, getRanks())))
    return failure();
  if (failed(verifyRunTimeVisibility(*this)))
    return failure();
  auto kind = static_cast<::ring::LayoutKind>(getLayout().getKind());
  int64_t needed = ::ring::maxEntries(kind, getRanks());
  for (Value table : getDpsInits()) {
    if (failed(verifyTable(*this, table)))
      return failure();
    int64_t entries = cast<ShapedType>(table.getType()).getDimSize(0);
    if (!ShapedType::isDynamic(entries) && entries < needed)
      return emitOpError("layout table has ")
             << entries << " entries, expected " << needed << " or more for "
             << getLayout().spelling() << " on " << getRanks() << " ranks";
  }
  return verifyOneSemantics(*this, {});
}

void TablesOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}

LogicalResult PaddedSizeOp::verify() {
  if (failed(verifyRanks(*this, getRanks())))
    return failure();
  return verifyTable(*this, getTable());
}

void PaddedSizeOp::getEffects(MemoryEffectList &effects) {
  if (isa<MemRefType>(getTable().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getTableMutable(),
                         SideEffects::DefaultResource::get());
}

/// It may end the program: neither dropped nor moved.
void RequireEqualOp::getEffects(MemoryEffectList &effects) {
  effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult RequireEqualOp::canonicalize(RequireEqualOp op,
                                           PatternRewriter &rewriter) {
  if (!isEqualConstantIntOrValue(op.getLhs(), op.getRhs()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
