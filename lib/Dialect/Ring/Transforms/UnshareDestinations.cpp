//===- UnshareDestinations.cpp - Memory of its own for each op ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ring {
#define GEN_PASS_DEF_UNSHAREDESTINATIONSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

namespace {
struct UnshareDestinationsPass
    : mlir::ring::impl::UnshareDestinationsPassBase<UnshareDestinationsPass> {
  using UnshareDestinationsPassBase::UnshareDestinationsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Every use gets a copy of `op`, next to it: what becomes memory lives no
/// longer than it has to.
static void copyForEachUse(Operation *op) {
  for (OpOperand &use :
       llvm::make_early_inc_range(op->getResult(0).getUses())) {
    OpBuilder b(use.getOwner());
    use.set(b.clone(*op)->getResult(0));
  }
  op->erase();
}

void UnshareDestinationsPass::runOnOperation() {
  // Fills first: each copy of one is a use of what it fills.
  SmallVector<Operation *> fills, empties;
  getOperation().walk([&](linalg::FillOp op) {
    if (op->getNumResults() == 1 &&
        op.getOutputs().front().getDefiningOp<tensor::EmptyOp>())
      fills.push_back(op);
  });
  llvm::for_each(fills, copyForEachUse);
  getOperation().walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  llvm::for_each(empties, copyForEachUse);
}
