//===- LocalPart.h - What ranks do of a function ----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_LOCALPART_H
#define RING_DIALECT_RING_TRANSFORMS_LOCALPART_H

#include "SequencePropagation.h"

namespace mlir::ring {

/// True iff `op` calls what ranks do for one attention.
bool isAttentionCall(Operation &op);

/// Erases, from the last op of `block` to the first, what nothing needs, and
/// what `stays` is false for.
void eraseUnless(Block &block, llvm::function_ref<bool(Operation *)> stays);

/// A tensor that is cut before the ranks begin.
struct CutInput {
  Value whole;
  SequenceDim dim;
};

/// What ranks will do of a host function, and what for. All values are those of
/// the host function, whole tensors.
class LocalPart {
public:
  /// `table`: the constant that cuts the sequence.
  LocalPart(func::FuncOp host, const SequencePropagation &propagation,
            Attribute table)
      : host(host), propagation(propagation), table(table) {}

  /// Goes from what the host needs back to what the ranks are given. False, and
  /// `mixing` names the op, where the host would have to work in between.
  bool collect();

  /// The operand of an attention call before it was cut, if the sequence is.
  Value cutSource(Value operand) const;
  /// True iff ranks make their part of `value`, cut along `dim`.
  bool isMade(Value value, SequenceDim dim) const;

  llvm::SetVector<Operation *> ops; ///< from the last to the first
  SmallVector<CutInput> cut;
  llvm::SetVector<Value> scattered; ///< cut by the host along other sequences
  llvm::SetVector<Value> whole;     ///< given to every rank as they are
  llvm::SetVector<Value> results;   ///< joined
  llvm::SetVector<Operation *> onHost; ///< that work with what ranks give
  bool hasLocalOps = false;
  Operation *mixing = nullptr;

private:
  void needOnHost(Value value);
  void needWhole(Value value, Operation *user);
  void needPart(Value value, SequenceDim dim, Operation *user);
  Operation *findMixing(Value value, Operation *user) const;
  void collectAttention(func::CallOp call);
  void collectLocal(Operation *op, const OpSequence &form);

  func::FuncOp host;
  const SequencePropagation &propagation;
  Attribute table;
  llvm::DenseSet<Value> neededOnHost, neededPart;
};

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_LOCALPART_H
