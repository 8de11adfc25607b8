//===- FeedForward.h - What may run block by block --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_FEEDFORWARD_H
#define RING_DIALECT_RING_TRANSFORMS_FEEDFORWARD_H

#include "LocalPart.h"

namespace mlir::ring {

/// A feed-forward network of a host function: products that make positions
/// wide, what works on these, and the product that makes them narrow again
/// (Liu, Abbeel, Blockwise Parallel Transformer, 2305.19370). With it go a norm
/// before and the residual sum after, so that nothing of it but the result is
/// as long as the sequence.
struct FeedForward {
  llvm::SetVector<Operation *> ops; ///< in program order
  SmallVector<CutInput> inputs;     ///< made before, cut along the sequence
  Value output;                     ///< all that is used outside

  bool isOutput(Operation *op) const { return output.getDefiningOp() == op; }
};

/// Those that ranks run, in program order.
std::vector<FeedForward>
findFeedForwards(func::FuncOp host, const LocalPart &part,
                 const SequencePropagation &propagation);

/// True iff the local form of `op` is made of nothing that is cut: memory to
/// write to, a constant.
bool isMadeOfNothing(Operation *op, const LocalPart &part,
                     const SequencePropagation &propagation);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_FEEDFORWARD_H
