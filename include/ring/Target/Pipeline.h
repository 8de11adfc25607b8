//===- Pipeline.h - From attention to rank programs -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_PIPELINE_H
#define RING_TARGET_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::ring {

/// What decides a rank program, on every target.
struct ProgramOptions {
  int64_t ranks = 0;  ///< 0: the program's own, where it has been sharded
  std::string layout; ///< empty: the program's own, or zigzag
  std::string variant = "auto";
  int64_t prefetchDistance = 1;
  int64_t blockwiseFfn = 0; ///< positions of a block; 0: all at once
};

/// One named step of the pipeline.
struct PipelineStep {
  std::string name; ///< of its pass
  std::function<void(OpPassManager &)> populate;
  /// False for steps that only change how the program runs: leaving them out
  /// must not change its numbers.
  bool required;
};

/// Form 0 to form 4, on a module: raise, shard, lay out, classify, pipeline,
/// verify. A program that is further on already passes through the earlier
/// steps unchanged.
std::vector<PipelineStep> programSteps(const ProgramOptions &options);

} // namespace mlir::ring

#endif // RING_TARGET_PIPELINE_H
