//===- RingDeviceOps.cpp - Ops of rank functions on a GPU -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"

using namespace mlir;
using namespace mlir::ring;

/// The runtime chooses strides and offset of what it returns.
template <typename OpTy> static LogicalResult verifyCopy(OpTy op) {
  auto source = cast<MemRefType>(op.getSource().getType());
  auto target = cast<MemRefType>(op.getTarget().getType());
  if (source.getShape() != target.getShape() ||
      source.getElementType() != target.getElementType())
    return op.emitOpError("makes ")
           << target << " of " << source << ", expected one shape and type";
  int64_t offset;
  SmallVector<int64_t> strides;
  bool isDynamic =
      succeeded(target.getStridesAndOffset(strides, offset)) &&
      ShapedType::isDynamic(offset) &&
      llvm::all_of(strides, [](int64_t s) { return ShapedType::isDynamic(s); });
  if (!isDynamic)
    return op.emitOpError("makes ")
           << target << ", expected dynamic strides and offset";
  return success();
}

LogicalResult DeviceImportOp::verify() { return verifyCopy(*this); }
LogicalResult DeviceExportOp::verify() { return verifyCopy(*this); }
LogicalResult DeviceHostCopyOp::verify() { return verifyCopy(*this); }
