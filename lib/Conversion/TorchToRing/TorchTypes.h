//===- TorchTypes.h - Types and constants of torch --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_TORCHTORING_TORCHTYPES_H
#define RING_LIB_CONVERSION_TORCHTORING_TORCHTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::ring {

/// What stands behind the `!torch.` of a type; empty of other types.
StringRef getTorchText(Type type);

/// `vtensor<[1,?,64],f32>` as a tensor; null where it is none, or is not
/// understood. Signs of integers are dropped: ops know them.
RankedTensorType toTensor(Type type);

bool isTorch(Operation *op);

/// What makes operand `i`, where it is that op of torch: `constant.int`.
Operation *getTorchOperand(Operation *op, unsigned i, StringRef name);

/// Operand `i` where it is a constant integer.
std::optional<int64_t> getTorchInteger(Operation *op, unsigned i);

/// Operand `i` where it is a constant float, integer or boolean.
std::optional<double> getTorchNumber(Operation *op, unsigned i);

/// Erases ops of torch that nothing uses, in a block, and checks of what types
/// say already.
void eraseDeadTorchOps(Block &block);

/// The types of query, key and value, the first three operands of an attention;
/// an error where one is not [batch, heads, positions, channels].
FailureOr<SmallVector<RankedTensorType>> attentionInputs(Operation *op);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_TORCHTORING_TORCHTYPES_H
