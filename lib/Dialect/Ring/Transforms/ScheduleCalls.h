//===- ScheduleCalls.h - Checks what the host gives to the ranks *- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECALLS_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECALLS_H

#include "ScheduleTrace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ring {

/// Checks that the host cuts and joins by the tables of the attention that
/// `function` computes, and gives the ranks whole what is not cut.
LogicalResult checkCalls(func::FuncOp function, const AttentionStep &step,
                         int64_t ranks);

/// The same for a call from a local function: what it gives attention, and the
/// host's calls of it.
LogicalResult checkLocalCall(func::CallOp call, const AttentionStep &step);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULECALLS_H
