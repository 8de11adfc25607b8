//===- TorchTensors.h - Tensor ops of torch and ONNX ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_TORCHTORING_TORCHTENSORS_H
#define RING_LIB_CONVERSION_TORCHTORING_TORCHTENSORS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::ring {

/// Lowers a tensor op to linalg: `aten.bmm`, or `onnx.MatMul` for the operator
/// of that name. `type` is what its result becomes, of static shape. Null
/// without an error where no such op is known, with one at the op where it is
/// not understood.
FailureOr<Value> convertTensorOp(OpBuilder &b, Operation *op, StringRef name,
                                 RankedTensorType type);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_TORCHTORING_TORCHTENSORS_H
