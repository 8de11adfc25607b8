//===- LocalPart.cpp - What ranks do of a function ------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalPart.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ring;

bool mlir::ring::isAttentionCall(Operation &op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return false;
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return callee && RankProgram::isRankFunction(callee);
}

void mlir::ring::eraseUnless(Block &block,
                             llvm::function_ref<bool(Operation *)> stays) {
  SmallVector<Operation *> ops(llvm::make_pointer_range(block));
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op) || !stays(op))
      op->erase();
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

Value LocalPart::cutSource(Value operand) const {
  auto scatter = operand.getDefiningOp<ScatterOp>();
  return scatter && constantTable(scatter.getTable()) == table
             ? scatter.getSource()
             : Value();
}

bool LocalPart::isMade(Value value, SequenceDim dim) const {
  if (propagation.sequenceOf(value) != dim)
    return false;
  Operation *op = value.getDefiningOp();
  return op && (propagation.localForm(op) ||
                (isa<GatherOp>(op) && propagation.dependsOnRanks(value)));
}

void LocalPart::needOnHost(Value value) {
  std::optional<SequenceDim> dim = propagation.sequenceOf(value);
  if (propagation.dependsOnRanks(value) && dim && isMade(value, *dim)) {
    results.insert(value);
    neededPart.insert(value);
  } else {
    neededOnHost.insert(value);
  }
}

/// The op on the way to `value` that takes what ranks have of their own
/// positions and is not local itself; `user`, where `value` is such.
Operation *LocalPart::findMixing(Value value, Operation *user) const {
  while (true) {
    std::optional<SequenceDim> dim = propagation.sequenceOf(value);
    Operation *op = value.getDefiningOp();
    if (!op || isa<GatherOp>(op) || (dim && isMade(value, *dim)))
      return user;
    llvm::SetVector<Value> used = usedValues(op);
    auto next = llvm::find_if(used, [&](Value operand) {
      return propagation.dependsOnRanks(operand);
    });
    if (next == used.end())
      return op;
    user = op;
    value = *next;
  }
}

void LocalPart::needWhole(Value value, Operation *user) {
  if (propagation.dependsOnRanks(value) && !mixing)
    mixing = findMixing(value, user);
  if (!isConstant(value))
    whole.insert(value);
  neededOnHost.insert(value);
}

void LocalPart::needPart(Value value, SequenceDim dim, Operation *user) {
  if (isMade(value, dim)) {
    neededPart.insert(value);
    return;
  }
  if (propagation.dependsOnRanks(value) && !mixing)
    mixing = findMixing(value, user);
  if (llvm::none_of(cut, [&](const CutInput &input) {
        return input.whole == value && input.dim == dim;
      }))
    cut.push_back({value, dim});
  neededOnHost.insert(value);
}

void LocalPart::collectAttention(func::CallOp call) {
  ops.insert(call);
  if (!cutSource(call.getOperand(0)) && !mixing)
    mixing = call;
  for (Value operand : call.getOperands()) {
    if (Value source = cutSource(operand)) {
      auto scatter = operand.getDefiningOp<ScatterOp>();
      needPart(source, {static_cast<int64_t>(scatter.getDim())}, call);
    } else if (auto scatter = operand.getDefiningOp<ScatterOp>()) {
      if (propagation.dependsOnRanks(operand) && !mixing)
        mixing = findMixing(scatter.getSource(), call);
      scattered.insert(operand);
      neededOnHost.insert(scatter.getSource());
    } else {
      needWhole(operand, call);
    }
  }
}

void LocalPart::collectLocal(Operation *op, const OpSequence &form) {
  ops.insert(op);
  hasLocalOps |= !isa<tensor::EmptyOp>(op);
  for (auto [value, dim] : llvm::zip_equal(op->getOperands(), form.operands)) {
    if (dim)
      needPart(value, *dim, op);
    else
      needWhole(value, op);
  }
  // An operand that is captured too is needed in both forms.
  for (Value value : capturedValues(op))
    needWhole(value, op);
}

bool LocalPart::collect() {
  for (Operation &op : llvm::reverse(host.front())) {
    auto isIn = [](const llvm::DenseSet<Value> &set) {
      return [&set](Value value) { return set.contains(value); };
    };
    if (isAttentionCall(op)) {
      collectAttention(cast<func::CallOp>(op));
      continue;
    }
    const OpSequence *form = propagation.localForm(&op);
    if (form && llvm::any_of(op.getResults(), isIn(neededPart)))
      collectLocal(&op, *form);
    if (isa<GatherOp, ScatterOp>(op))
      continue;
    bool isTerminator = op.hasTrait<OpTrait::IsTerminator>();
    // What may end the program does so on the ranks, if they do it.
    if (!isTerminator && (form || isMemoryEffectFree(&op)) &&
        llvm::none_of(op.getResults(), isIn(neededOnHost)))
      continue;
    for (Value used : usedValues(&op)) {
      if (propagation.dependsOnRanks(used) && !isTerminator)
        onHost.insert(&op);
      needOnHost(used);
    }
  }
  return !mixing;
}
