//===- SequenceDim.h - Where the sequence runs in a tensor ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an op on whole tensors does position by position along the sequence, so
// that a rank can do it for its own positions.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_SEQUENCEDIM_H
#define RING_DIALECT_RING_TRANSFORMS_SEQUENCEDIM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace mlir::ring {

/// The dimension of a tensor that runs along the sequence. Batch and sequence
/// may be collapsed into one (or sequence and heads): its size is
/// outer * length * inner.
struct SequenceDim {
  int64_t dim;
  int64_t outer = 1, inner = 1;

  bool isPlain() const { return outer == 1 && inner == 1; }
  friend bool operator==(const SequenceDim &a, const SequenceDim &b) {
    return a.dim == b.dim && a.outer == b.outer && a.inner == b.inner;
  }
  friend bool operator!=(const SequenceDim &a, const SequenceDim &b) {
    return !(a == b);
  }
};

/// How the tensors of an op that works position by position are cut; nothing
/// for what every rank needs whole.
struct OpSequence {
  SmallVector<std::optional<SequenceDim>> operands, results;
};

/// Says how an op is cut whose operand (or result) `index` is cut along
/// `known`, or, in `why`, what keeps ranks from doing it on their own
/// positions: "reduces along the sequence".
std::optional<OpSequence> sequenceFromOperand(Operation *op, unsigned index,
                                              SequenceDim known, int64_t length,
                                              std::string &why);
std::optional<OpSequence> sequenceFromResult(Operation *op, unsigned index,
                                             SequenceDim known, int64_t length,
                                             std::string &why);

/// The loop of `op` that runs along the sequence; nothing where none does.
std::optional<unsigned> sequenceLoop(linalg::LinalgOp op,
                                     const OpSequence &sequence);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_SEQUENCEDIM_H
