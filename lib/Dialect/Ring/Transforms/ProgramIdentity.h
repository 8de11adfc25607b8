//===- ProgramIdentity.h - What ranks compare before they begin -*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_PROGRAMIDENTITY_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_PROGRAMIDENTITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ring {

/// Gives a rank function its `ring.fingerprint`, a hash of its text and so of
/// all that it does (shapes, types, layout tables, mask, rounds), and its
/// `ring.program`, which says in words what most often differs. Nothing where
/// it has a fingerprint. On tensors, before bufferization hides the tables.
void identifyProgram(func::FuncOp rankFunction);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_PROGRAMIDENTITY_H
