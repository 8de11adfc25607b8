//===- ScoreFunction.h - A score region, pair by pair -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_SCOREFUNCTION_H
#define RING_TOOLS_RINGRUN_SCOREFUNCTION_H

#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Tools/RingRun/Signature.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"

#include <functional>
#include <memory>

namespace ring::tools {

/// The `score` region of an attention as a function of one pair, for the dense
/// reference: compiled apart from the program, scalar, without our kernels.
class ScoreFunction {
public:
  /// An error, already printed, where it cannot be compiled.
  static mlir::FailureOr<std::shared_ptr<ScoreFunction>>
  compile(mlir::ring::AttentionOp attention);

  /// What the region captures, as tensors (see getScoreCaptures; scalars become
  /// tensors of no dimension), made before the attention.
  static llvm::SmallVector<mlir::Value>
  capturesAsTensors(mlir::ring::AttentionOp attention);

  /// (score, batch, head, query, key) -> score, with these captures, which must
  /// live as long. May be called by several threads at once.
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)>
  bind(const std::vector<const Array *> &captures) const;

private:
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_SCOREFUNCTION_H
