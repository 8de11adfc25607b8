//===- FreeEarly.cpp - Memory lives as long as its use --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ring {
#define GEN_PASS_DEF_FREEEARLYPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct FreeEarlyPass : mlir::ring::impl::FreeEarlyPassBase<FreeEarlyPass> {
  void runOnOperation() override {
    OpPassManager passes(func::FuncOp::getOperationName());
    passes.addPass(bufferization::createOptimizeAllocationLivenessPass());
    for (auto function : getOperation().getOps<func::FuncOp>())
      // What a rank sends is read after the last op that names it.
      if (!function.isExternal() && !RankProgram::isRankFunction(function) &&
          failed(runPipeline(passes, function)))
        return signalPassFailure();
  }
};
} // namespace
