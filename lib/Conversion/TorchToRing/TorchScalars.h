//===- TorchScalars.h - Tensors of rank 0 as scalars ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_TORCHTORING_TORCHSCALARS_H
#define RING_LIB_CONVERSION_TORCHTORING_TORCHSCALARS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace mlir::ring {

/// Writes an op of torch on tensors of rank 0 with scalars, those that
/// `scalars` maps its operands to, and maps its result. Constants, and lists of
/// them, are left to the ops that have them as operands. An error at the op
/// where it is not understood.
LogicalResult convertTorchScalar(OpBuilder &b, Operation *op,
                                 IRMapping &scalars);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_TORCHTORING_TORCHSCALARS_H
