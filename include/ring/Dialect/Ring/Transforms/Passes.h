//===- Passes.h - Passes on the ring dialect --------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_PASSES_H
#define RING_DIALECT_RING_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ring {

#define GEN_PASS_DECL
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_PASSES_H
