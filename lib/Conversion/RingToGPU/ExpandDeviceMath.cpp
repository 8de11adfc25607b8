//===- ExpandDeviceMath.cpp - Functions without an instruction ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/IR/Refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ring {
#define GEN_PASS_DEF_EXPANDDEVICEMATHPASS
#include "ring/Conversion/RingToGPU/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ExpandDeviceMathPass
    : mlir::ring::impl::ExpandDeviceMathPassBase<ExpandDeviceMathPass> {
  void runOnOperation() override;
};
} // namespace

/// True iff LLVM makes instructions of it, and no call.
static bool hasInstructions(Operation *op) {
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
          math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp,
          math::FloorOp, math::FmaOp, math::RoundEvenOp, math::SqrtOp,
          math::TruncOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
          math::IsNormalOp>(op))
    return true;
  return isa<math::Exp2Op>(op) && op->getResult(0).getType().isF32();
}

void ExpandDeviceMathPass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  populateMathPolynomialApproximationPatterns(patterns);
  math::populateExpansionPatterns(

      patterns, {"ctlz", "fpowi", "powf", "rsqrt", "round", "sinh", "cosh",
                 "asinh", "acosh", "atanh", "tan"});
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return signalPassFailure();
  WalkResult result = getOperation().walk([&](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        hasInstructions(op))
      return WalkResult::advance();
    refuse(
        op, op->getName().getStringRef(), "on " + [&] {
          std::string text;
          llvm::raw_string_ostream(text) << op->getOperand(0).getType();
          return text;
        }() + " by ring-expand-device-math: a GPU has no instruction for it");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
