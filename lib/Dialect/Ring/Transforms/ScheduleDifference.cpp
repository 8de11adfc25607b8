//===- ScheduleDifference.cpp - Steps of one attention --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleDifference.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::ring;

/// The same function of the score: equal ops on equal captures.
static bool haveSameScore(ComputeEvent a, ComputeEvent b) {
  if (a.captures != b.captures)
    return false;
  Region &scoreA = a.op.getScore(), &scoreB = b.op.getScore();
  if (&scoreA == &scoreB)
    return true;
  // A peeled round has a region of its own, which may name the same constant
  // by another value. So captures correspond by their order, not by identity.
  llvm::SetVector<Value> usedA, usedB;
  getUsedValuesDefinedAbove(scoreA, usedA);
  getUsedValuesDefinedAbove(scoreB, usedB);
  DenseMap<Value, Value> corresponding;
  for (auto [valueA, valueB] : llvm::zip_equal(usedA, usedB))
    corresponding[valueA] = valueB;
  return OperationEquivalence::isRegionEquivalentTo(
      &scoreA, &scoreB,
      [&](Value valueA, Value valueB) {
        return success(corresponding.lookup(valueA) == valueB);
      },
      [&](Value valueA, Value valueB) { corresponding[valueA] = valueB; },
      OperationEquivalence::IgnoreLocations |
          OperationEquivalence::IgnoreDiscardableAttrs);
}

StringRef mlir::ring::findDifference(ComputeEvent a, const WorkList &workA,
                                     ComputeEvent b, const WorkList &workB) {
  SlicesOp slicesA = workA.op, slicesB = workB.op;
  if (slicesA.getMaskAttr() != slicesB.getMaskAttr())
    return "mask";
  if (workA.inputs != workB.inputs)
    return "layout table, ids or lengths";
  if (a.op.getScaleAttr() != b.op.getScaleAttr())
    return "scale";
  if (a.op.getSoftcapAttr() != b.op.getSoftcapAttr())
    return "softcap";
  if (a.bias != b.bias)
    return "bias";
  if (!haveSameScore(a, b))
    return "score region";
  if (a.query.position != b.query.position)
    return "query";
  return "";
}

StringRef mlir::ring::findDifference(FinalizeEvent a, FinalizeEvent b) {
  auto emptyRows = [](FinalizeOp op) {
    return op.getEmptyRows().value_or(EmptyRows::Zero);
  };
  if (a.sinks != b.sinks)
    return "sinks clause";
  if (emptyRows(a.op) != emptyRows(b.op))
    return "empty_rows clause";
  if (a.mean != b.mean)
    return "mean";
  return "";
}
