//===- RefuseUnknownRegions.cpp - Nothing that nobody knows ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"

namespace mlir::ring {
#define GEN_PASS_DEF_REFUSEUNKNOWNREGIONSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

namespace {
struct RefuseUnknownRegionsPass
    : mlir::ring::impl::RefuseUnknownRegionsPassBase<RefuseUnknownRegionsPass> {
  using RefuseUnknownRegionsPassBase::RefuseUnknownRegionsPassBase;
  void runOnOperation() override;
};
} // namespace

void RefuseUnknownRegionsPass::runOnOperation() {
  WalkResult result = getOperation().walk([](Operation *op) {
    if (op->getDialect() || op->getNumRegions() == 0)
      return WalkResult::advance();
    op->emitError("'") << op->getName()
                       << "' has regions and is of no known dialect";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
