//===- LocalOps.h - Ops on a rank's own positions ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies ops on whole tensors into a function on local ones.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_LOCALOPS_H
#define RING_DIALECT_RING_TRANSFORMS_LOCALOPS_H

#include "SequenceDim.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ring {

/// The type of a rank's part of a tensor of type `whole`.
RankedTensorType localType(RankedTensorType whole, SequenceDim dim);

/// How the positions are cut that the local form of `op` needs: those of the
/// loop along the sequence, where its region asks for their index or ends the
/// program. A tensor [outer * length * inner], i64, of indices plus one; zeros
/// are padding.
std::optional<SequenceDim> neededPositions(Operation *op,
                                           const OpSequence &sequence);

/// Builds, at `b`, the local form of `op`. `operands` are in the order of its
/// operands, `whole` maps what its regions capture, `length` is the number of
/// positions of the rank, `positions` what `neededPositions` asks for.
Operation *buildLocal(ImplicitLocOpBuilder &b, Operation *op,
                      const OpSequence &sequence, ArrayRef<Value> operands,
                      IRMapping whole, Value length, Value positions);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_LOCALOPS_H
