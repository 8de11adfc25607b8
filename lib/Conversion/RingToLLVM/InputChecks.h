//===- InputChecks.h - What the lowering to calls takes ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOLLVM_INPUTCHECKS_H
#define RING_LIB_CONVERSION_RINGTOLLVM_INPUTCHECKS_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ring {

/// The rank and host functions of the module, to be lowered to runtime calls:
/// those that have a body and that nothing refers to but `ring.host.run`.
/// Fails, with an error, where one is not as the lowering expects it: on
/// strided memrefs, control flow in cf, callees that are there and fit.
FailureOr<SmallVector<func::FuncOp>>
functionsToLower(ModuleOp module, const LLVMTypeConverter &types);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOLLVM_INPUTCHECKS_H
