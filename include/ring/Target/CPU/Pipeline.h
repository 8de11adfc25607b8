//===- Pipeline.h - Rank programs for the CPU -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_CPU_PIPELINE_H
#define RING_TARGET_CPU_PIPELINE_H

#include "ring/Target/Pipeline.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace mlir::ring {

struct CPUOptions {
  int64_t vectorBits = 512; ///< 128, 256 or 512
  int64_t keyTile = 96;
  /// Takes what is to run on a GPU out of form 5; none: nothing is.
  std::function<void(OpPassManager &)> kernels = nullptr;
};

/// Form 4, or any other sharded form, to the LLVM dialect.
void populateCPULowering(OpPassManager &pm, const CPUOptions &options);

/// What is left when no op of ours is: functions of arith, cf, index, math,
/// memref and vector ops, to the LLVM dialect.
void populateLLVMLowering(OpPassManager &pm);

/// Registers `ring-to-cpu{ranks layout variant prefetch-distance vector-bits}`.
void registerCPUPipelines();

} // namespace mlir::ring

#endif // RING_TARGET_CPU_PIPELINE_H
