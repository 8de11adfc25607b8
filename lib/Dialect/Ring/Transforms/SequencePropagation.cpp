//===- SequencePropagation.cpp - What ranks can do alone ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequencePropagation.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::ring;

llvm::SetVector<Value> mlir::ring::capturedValues(Operation *op) {
  llvm::SetVector<Value> captured;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, captured);
  return captured;
}

llvm::SetVector<Value> mlir::ring::usedValues(Operation *op) {
  llvm::SetVector<Value> used;
  used.insert_range(op->getOperands());
  used.insert_range(capturedValues(op));
  return used;
}

void SequencePropagation::findDependences() {
  for (Operation &op : host.front())
    for (Value used : usedValues(&op)) {
      if (isa<GatherOp>(op) || fromRanks.contains(used))
        fromRanks.insert_range(op.getResults());
      if (dependsOnArguments(used))
        fromArguments.insert_range(op.getResults());
    }
}

bool SequencePropagation::cut(Value value, SequenceDim dim) {
  return cuts.try_emplace(value, dim).second;
}

/// Takes the local form of `op`, if there is none yet and what it needs is to
/// be had.
bool SequencePropagation::accept(Operation *op, OpSequence sequence) {
  for (auto [value, dim] :
       llvm::zip_equal(op->getOperands(), sequence.operands)) {
    bool ofRanks = dependsOnRanks(value);
    if (!dim && ofRanks) {
      reasons[op] = "needs all positions of an operand";
      return false;
    }
    std::optional<SequenceDim> known = sequenceOf(value);
    if (dim && known && *known != *dim && ofRanks) {
      reasons[op] = "needs an operand along two dimensions";
      return false;
    }
  }
  for (Value value : capturedValues(op))
    if (dependsOnRanks(value)) {
      reasons[op] = "looks up other positions";
      return false;
    }
  for (auto [result, dim] : llvm::zip_equal(op->getResults(), sequence.results))
    if (auto known = sequenceOf(result); known && dim && *known != *dim)
      return false; // asked for along another dimension: made by the host
  for (auto [value, dim] :
       llvm::zip_equal(op->getOperands(), sequence.operands))
    if (dim)
      cut(value, *dim);
  for (auto [result, dim] : llvm::zip_equal(op->getResults(), sequence.results))
    if (dim)
      cut(result, *dim);
  reasons.erase(op);
  locals[op] = std::move(sequence);
  return true;
}

/// From operands to results.
bool SequencePropagation::forward(Operation &op) {
  if (locals.contains(&op) || op.hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Attribute by;
    return matchPattern(gather.getTable(), m_Constant(&by)) && by == table &&
           cut(gather.getWhole(), {static_cast<int64_t>(gather.getDim())});
  }
  if (isa<ScatterOp, func::CallOp>(op))
    return false;
  for (OpOperand &operand : op.getOpOperands()) {
    // What is made of nothing that ranks give is cut where it is asked for, the
    // way it is asked for: a mask runs along the sequence twice.
    std::optional<SequenceDim> dim = sequenceOf(operand.get());
    if (!dim || !dependsOnRanks(operand.get()))
      continue;
    std::string why;
    if (auto sequence = sequenceFromOperand(&op, operand.getOperandNumber(),
                                            *dim, length, why)) {
      if (accept(&op, std::move(*sequence)))
        return true;
    } else {
      reasons[&op] = why;
    }
  }
  return false;
}

/// From results to operands.
bool SequencePropagation::backward(Operation &op) {
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    Attribute by;
    return matchPattern(scatter.getTable(), m_Constant(&by)) && by == table &&
           cut(scatter.getSource(), {static_cast<int64_t>(scatter.getDim())});
  }
  if (locals.contains(&op) || isa<GatherOp>(op))
    return false;
  for (OpResult result : op.getResults()) {
    std::optional<SequenceDim> dim = sequenceOf(result);
    if (!dim)
      continue;
    std::string why;
    if (auto sequence = sequenceFromResult(&op, result.getResultNumber(), *dim,
                                           length, why))
      return accept(&op, std::move(*sequence));
    reasons[&op] = why;
  }
  return false;
}

void SequencePropagation::run() {
  findDependences();
  // A result found in one direction may be what the other one lacked; each time
  // round finds all that follows, so this ends after a few.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : host.front())
      changed |= forward(op);
    for (Operation &op : llvm::reverse(host.front()))
      changed |= backward(op);
  }
}
