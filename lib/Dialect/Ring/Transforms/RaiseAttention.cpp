//===- RaiseAttention.cpp - Recognise attention ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces attention written as linalg ops by `ring.attention`.
//
// Each product of matrices with a softmax in a factor is a candidate. What one
// element of its result is, as an expression (RaiseAttentionExpr.h), is matched
// from the output to the operands (RaiseAttentionMatch.h). The candidate is
// replaced only where every part of that expression is accounted for.
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionBuild.h"
#include "RaiseAttentionRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

namespace mlir::ring {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

static constexpr StringLiteral kCategory = "ring-raise-attention";

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

/// Erases those of `ops` that are dead, the last first, and what only they
/// used.
static void eraseDead(ArrayRef<Operation *> ops,
                      llvm::DenseSet<Operation *> &erased) {
  llvm::SetVector<Operation *> worklist(ops.begin(), ops.end());
  while (!worklist.empty()) {
    Operation *dead = worklist.pop_back_val();
    if (!isOpTriviallyDead(dead))
      continue;
    llvm::SetVector<Value> used;
    used.insert_range(dead->getOperands());
    getUsedValuesDefinedAbove(dead->getRegions(), used);
    erased.insert(dead);
    dead->erase();
    for (Value value : used)
      if (Operation *def = value.getDefiningOp())
        worklist.insert(def);
  }
}

static void replace(linalg::LinalgOp op, const AttentionMatch &match,
                    llvm::DenseSet<Operation *> &erased) {
  SmallVector<Operation *> replaced = {op};
  for (const OperandRead &log : match.logSums)
    replaced.push_back(log.tensor.getDefiningOp());
  llvm::append_range(replaced, op->getUsers());
  OpBuilder builder(op);
  Value result = buildAttention(builder, op, match);
  op->getResult(0).replaceAllUsesWith(result);
  replaced.push_back(result.getDefiningOp());
  eraseDead(replaced, erased);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct RaiseAttentionPass
    : public mlir::ring::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using RaiseAttentionPassBase::RaiseAttentionPassBase;

  void reportRaised(Location loc, const AttentionMatch &match) {
    std::string mask = "none";
    if (match.mask) {
      mask.clear();
      llvm::raw_string_ostream(mask) << match.mask;
    }
    remark::passed(loc, remark::RemarkOpts::name("RaiseAttention")
                            .category(kCategory)
                            .function(getOperation().getName()))
        << remark::add("raised to ring.attention")
        << remark::metric("heads", getSize(match.operands.query.target[1]))
        << remark::metric("kv_heads", getSize(match.operands.key.target[1]))
        << remark::metric("mask", mask) << remark::metric("scale", match.scale)
        << remark::metric("sinks", match.sinks || match.sink
                                       ? "one for each head"
                                       : "none")
        << remark::metric("softcap", match.softcap
                                         ? std::to_string(*match.softcap)
                                         : "none")
        << remark::metric("bias",
                          match.bias || match.biasMask ? "tensor" : "none")
        << remark::metric("score", match.condition || match.conditionMask
                                       ? "mask from a tensor"
                                       : "none");
  }

  void reportMask(AttentionOp op) {
    std::string mask;
    llvm::raw_string_ostream(mask) << op.getMaskAttr();
    remark::passed(op.getLoc(), remark::RemarkOpts::name("RaiseMask")
                                    .category(kCategory)
                                    .function(getOperation().getName()))
        << remark::add("raised to a mask") << remark::metric("mask", mask);
  }

  void reportMissed(linalg::LinalgOp op, const char *what,
                    const Mismatch &mismatch) {
    Operation *cause = mismatch.op ? mismatch.op : op.getOperation();
    remark::missed(cause->getLoc(), remark::RemarkOpts::name("RaiseAttention")
                                        .category(kCategory)
                                        .function(getOperation().getName()))
        << remark::add("{0}: {1}", what, mismatch.reason)
        << remark::metric("op", cause->getName().getStringRef());
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    getOperation().walk([&](AttentionOp op) {
      if (raiseMask(op))
        reportMask(op);
    });
    llvm::DenseSet<Operation *> erased;
    for (linalg::LinalgOp op : ops) {
      if (erased.contains(op.getOperation()) || !weighsBySoftmax(op))
        continue;
      Mismatch mismatch;
      FailureOr<AttentionMatch> match = matchAttention(op, mismatch);
      if (failed(match)) {
        reportMissed(op, "softmax left as it is", mismatch);
        continue;
      }
      reportRaised(op->getLoc(), *match);
      if (!match->asTensor.reason.empty())
        reportMissed(op, "mask stays a tensor", match->asTensor);
      replace(op, *match, erased);
    }
  }
};

} // namespace
