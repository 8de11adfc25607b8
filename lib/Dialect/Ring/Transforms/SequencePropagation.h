//===- SequencePropagation.h - What ranks can do alone ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spreads the sequence dimension from the scatters and gathers of attention
// through the host function around them.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_SEQUENCEPROPAGATION_H
#define RING_DIALECT_RING_TRANSFORMS_SEQUENCEPROPAGATION_H

#include "SequenceDim.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {

/// What the regions of `op` take from outside, operands among it or not.
llvm::SetVector<Value> capturedValues(Operation *op);
/// Values that `op` uses: its operands, and what its regions take from outside.
llvm::SetVector<Value> usedValues(Operation *op);

/// Which values of a host function every rank can have its own positions of,
/// made from its own positions of other values.
class SequencePropagation {
public:
  /// `table`: the constant that cuts the sequence, of `length` positions.
  SequencePropagation(func::FuncOp host, Attribute table, int64_t length)
      : host(host), table(table), length(length) {}

  /// Takes time in proportion to the size of the function.
  void run();

  /// How `value` is cut; nothing where it was not found to run along the
  /// sequence.
  std::optional<SequenceDim> sequenceOf(Value value) const {
    auto found = cuts.find(value);
    return found == cuts.end() ? std::nullopt : std::optional(found->second);
  }
  /// How a rank does `op` on its own positions; null where it cannot.
  const OpSequence *localForm(Operation *op) const {
    auto found = locals.find(op);
    return found == locals.end() ? nullptr : &found->second;
  }
  /// Why a rank cannot do `op` on its own positions.
  StringRef reason(Operation *op) const {
    auto found = reasons.find(op);
    return found == reasons.end() ? StringRef() : StringRef(found->second);
  }
  /// True iff `value` is made of what ranks give.
  bool dependsOnRanks(Value value) const { return fromRanks.contains(value); }
  /// True iff `value` is made of arguments of the function.
  bool dependsOnArguments(Value value) const {
    return isa<BlockArgument>(value) || fromArguments.contains(value);
  }

private:
  void findDependences();
  bool forward(Operation &op);
  bool backward(Operation &op);
  bool accept(Operation *op, OpSequence sequence);
  /// Records that `value` is cut along `dim`; false where nothing is new.
  bool cut(Value value, SequenceDim dim);

  func::FuncOp host;
  Attribute table;
  int64_t length;
  llvm::DenseMap<Value, SequenceDim> cuts;
  llvm::DenseMap<Operation *, OpSequence> locals;
  llvm::DenseMap<Operation *, std::string> reasons;
  llvm::DenseSet<Value> fromRanks, fromArguments;
};

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_SEQUENCEPROPAGATION_H
