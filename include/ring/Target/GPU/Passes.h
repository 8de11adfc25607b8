//===- Passes.h - Kernels to what a device loads ----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_GPU_PASSES_H
#define RING_TARGET_GPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ring {

#define GEN_PASS_DECL
#include "ring/Target/GPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Target/GPU/Passes.h.inc"

/// What ring-serialize-kernels needs of MLIR to write PTX.
void registerKernelTranslations(DialectRegistry &registry);

} // namespace mlir::ring

#endif // RING_TARGET_GPU_PASSES_H
