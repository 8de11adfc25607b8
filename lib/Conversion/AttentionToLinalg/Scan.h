//===- Scan.h - Running sums ------------------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_ATTENTIONTOLINALG_SCAN_H
#define RING_LIB_CONVERSION_ATTENTIONTOLINALG_SCAN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace mlir::ring {

/// Replaces `tm_tensor.scan(input, output, accumulator)` of additions. The
/// inclusive one starts with the first element, the exclusive one with the
/// accumulator. An error at the op where it is anything else.
LogicalResult convertScan(OpBuilder &b, Operation *op);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_ATTENTIONTOLINALG_SCAN_H
