//===- Header.h - The C header of a compiled program ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_CPU_HEADER_H
#define RING_TARGET_CPU_HEADER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ring {

/// Declares the host and rank functions of a sharded module, which still has
/// tensors (forms 1 to 4), for C.
void printHeader(ModuleOp module, llvm::StringRef guard, llvm::raw_ostream &os);

} // namespace mlir::ring

#endif // RING_TARGET_CPU_HEADER_H
