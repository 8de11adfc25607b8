//===- Scalars.h - Elementwise StableHLO on scalars -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_STABLEHLOTOLINALG_SCALARS_H
#define RING_LIB_CONVERSION_STABLEHLOTOLINALG_SCALARS_H

#include "HLOOp.h"

#include "mlir/IR/Builders.h"

namespace mlir::ring {

/// True iff each element of the op's result is a function of the elements of
/// its operands at the same place (operands of rank 0: of their only one).
bool isElementwise(HLOOp op);

/// An error at an elementwise op of other operands, results or attributes than
/// it takes.
LogicalResult checkElementwise(HLOOp op);

/// That function of one element of each operand of an op for which
/// `checkElementwise` holds. An error at the op where it is not defined for the
/// element types, or what an attribute says is not understood.
FailureOr<Value> emitScalar(OpBuilder &b, HLOOp op, ValueRange operands);

/// The function on scalars that the region of a reduction is: block arguments
/// of rank 0 in, operands of `stablehlo.return` out. An error at an op in it
/// that is not elementwise.
FailureOr<SmallVector<Value>> emitRegion(OpBuilder &b, HLOOp op,
                                         ValueRange arguments);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_STABLEHLOTOLINALG_SCALARS_H
