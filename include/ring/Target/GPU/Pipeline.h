//===- Pipeline.h - Kernels for GPUs ----------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_GPU_PIPELINE_H
#define RING_TARGET_GPU_PIPELINE_H

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace mlir::ring {

/// How kernels are made.
struct GPUOptions {
  std::string chip = "sm_80";
  /// Of their images (see ring-serialize-kernels); none: they are only lowered.
  std::vector<std::string> formats;
  std::string ptxas;          ///< path; empty: looked for
  bool cubinOptional = false; ///< PTX alone will do
  bool mixed = false;         ///< some ranks compute on a CPU
};

/// Form 5 to kernels and the calls that launch them, on a module.
void populateKernels(OpPassManager &pm, const GPUOptions &options);

/// Registers the pipeline `ring-to-nvvm`.
void registerGPUPipelines();

} // namespace mlir::ring

#endif // RING_TARGET_GPU_PIPELINE_H
