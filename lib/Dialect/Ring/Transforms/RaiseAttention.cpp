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

#include "RaiseAttentionMatch.h"

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

static RankedTensorType getTypeAt(const Indices &indices, Type elementType) {
  return RankedTensorType::get(llvm::map_to_vector(indices, getSize),
                               elementType);
}

/// Scores of pairs that the condition hides become `fill`.
static void buildScore(OpBuilder &builder, AttentionOp op, Value condition,
                       const AttentionMatch &match) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  Block *block =
      builder.createBlock(&op.getScore(), {}, {f32, index, index, index, index},
                          SmallVector<Location>(5, loc));
  SmallVector<Value> place;
  for (auto [dim, read] : llvm::enumerate(match.condition->target))
    place.push_back(read.empty()
                        ? Value(arith::ConstantIndexOp::create(builder, loc, 0))
                        : block->getArgument(1 + dim));
  Value flag = tensor::ExtractOp::create(builder, loc, condition, place);
  Value score = block->getArgument(0);
  Value fill = arith::ConstantOp::create(builder, loc,
                                         builder.getF32FloatAttr(match.fill));
  Value result = match.hidden
                     ? arith::SelectOp::create(builder, loc, flag, fill, score)
                     : arith::SelectOp::create(builder, loc, flag, score, fill);
  YieldOp::create(builder, loc, result);
}

static AttentionOp createAttention(OpBuilder &builder, Location loc,
                                   const AttentionMatch &match) {
  Type elementType = getElementTypeOrSelf(match.operands.query.tensor);
  auto materialize = [&](const OperandRead &read) {
    return rearrange(builder, loc, read.tensor, read.indices, read.target,
                     getTypeAt(read.target, getElementTypeOrSelf(read.tensor)));
  };
  Value query = materialize(match.operands.query);
  Value key = materialize(match.operands.key);
  Value value = materialize(match.operands.value);
  Value bias = match.bias ? materialize(*match.bias) : Value();
  Value condition = match.condition ? materialize(*match.condition) : Value();
  EmptyRowsAttr emptyRows;
  if (match.emptyRows != EmptyRows::Zero)
    emptyRows = EmptyRowsAttr::get(builder.getContext(), match.emptyRows);
  FloatAttr softcap;
  if (match.softcap)
    softcap = builder.getF32FloatAttr(*match.softcap);
  auto op = AttentionOp::create(
      builder, loc, getTypeAt(match.operands.output, elementType),
      /*lse=*/Type(), query, key, value, bias,
      /*query_segments=*/nullptr, /*key_segments=*/nullptr, /*lengths=*/nullptr,
      /*offsets=*/nullptr, /*sinks=*/nullptr, match.mask,
      builder.getF32FloatAttr(match.scale), softcap, emptyRows);
  if (condition)
    buildScore(builder, op, condition, match);
  return op;
}

/// Where the result was the output with dimensions merged, expanding it again
/// gives the output.
static void forwardExpansions(Value result, AttentionOp attention) {
  auto collapse = result.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || collapse.getSrc() != attention.getOut())
    return;
  for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user);
        expand && expand.getType() == attention.getOut().getType() &&
        expand.getReassociationIndices() == collapse.getReassociationIndices())
      expand.getResult().replaceAllUsesWith(attention.getOut());
}

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
  OpBuilder builder(op);
  AttentionOp attention = createAttention(builder, op->getLoc(), match);
  Value result = rearrange(builder, op->getLoc(), attention.getOut(),
                           match.operands.output, match.result,
                           cast<RankedTensorType>(op->getResult(0).getType()));
  op->getResult(0).replaceAllUsesWith(result);
  forwardExpansions(result, attention);
  SmallVector<Operation *> replaced = {op, result.getDefiningOp()};
  llvm::append_range(replaced, result.getUsers());
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
        << remark::metric("softcap", match.softcap
                                         ? std::to_string(*match.softcap)
                                         : "none")
        << remark::metric("bias", match.bias ? "tensor" : "none")
        << remark::metric("score",
                          match.condition ? "mask from a tensor" : "none");
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
