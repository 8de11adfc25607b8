//===- SplitConstants.cpp - A constant for each use -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ring {
#define GEN_PASS_DEF_SPLITCONSTANTSPASS
#include "ring/Conversion/RingToLLVM/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

namespace {
struct SplitConstantsPass
    : mlir::ring::impl::SplitConstantsPassBase<SplitConstantsPass> {
  using SplitConstantsPassBase::SplitConstantsPassBase;
  void runOnOperation() override;
};
} // namespace

void SplitConstantsPass::runOnOperation() {
  SmallVector<LLVM::ConstantOp> constants;
  getOperation().walk([&](LLVM::ConstantOp op) { constants.push_back(op); });
  OpBuilder b(&getContext());
  for (LLVM::ConstantOp op : constants) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    b.setInsertionPoint(op);
    // The first use keeps the constant itself.
    for (OpOperand *use :
         ArrayRef<OpOperand *>(uses).drop_front(uses.empty() ? 0 : 1))
      use->set(cast<LLVM::ConstantOp>(b.clone(*op)).getResult());
    if (uses.empty())
      op.erase();
  }
}
