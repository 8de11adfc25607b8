//===- RingAttentionOps.cpp - Attention on whole tensors ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

float AttentionOp::getEffectiveScale() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToFloat();
  int64_t depth = cast<ShapedType>(getQuery().getType()).getDimSize(3);
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(depth)));
}

MaskAttr AttentionOp::getEffectiveMask() {
  if (MaskAttr mask = getMaskAttr())
    return mask;
  return MaskAttr::get(getContext(), /*causal=*/false, std::nullopt,
                       std::nullopt, /*hasWindow=*/false, std::nullopt,
                       std::nullopt, std::nullopt);
}

/// A mask that depends on positions needs to know where queries stand relative
/// to keys. Two dynamic lengths are taken to be equal.
static LogicalResult verifyPositions(AttentionOp op,
                                     const AttentionSizes &sizes) {
  MaskAttr mask = op.getEffectiveMask();
  if (op.getOffsets() && mask.getAlign())
    return op.emitOpError("has both offsets and align, expected one of them");
  // Dynamic sizes are one value, so that two of them are equal here.
  if (mask.dependsOnPositions() && !mask.getAlign() && !op.getOffsets() &&
      sizes.queries != sizes.keys)
    return op.emitOpError("mask depends on positions, and query and key have ")
           << sizeText(sizes.queries) << " and " << sizeText(sizes.keys)
           << " of them, expected align or offsets";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyRequiredOperands(*this, {0, 1, 2})))
    return failure();
  auto query = cast<ShapedType>(getQuery().getType());
  FailureOr<AttentionSizes> sizes =
      verifyInputs(*this, query, cast<ShapedType>(getKey().getType()),
                   cast<ShapedType>(getValue().getType()));
  if (failed(sizes))
    return failure();

  auto out = cast<ShapedType>(getOut().getType());
  if (out.getElementType() != query.getElementType())
    return emitOpError("out is of ")
           << out.getElementType() << ", expected the query's "
           << query.getElementType();
  if (failed(expectHeadShape(
          *this, "out", out,
          {sizes->batch, sizes->heads, sizes->queries, sizes->valueDepth})))
    return failure();
  if (getLse() &&
      failed(expectHeadShape(*this, "lse", cast<ShapedType>(getLse().getType()),
                             {sizes->batch, sizes->heads, sizes->queries})))
    return failure();

  auto check = [&](StringRef what, Value value, ArrayRef<int64_t> expected) {
    return value ? expectShape(*this, what, cast<ShapedType>(value.getType()),
                               expected)
                 : success();
  };
  if (failed(verifyBias(*this, getBias(), query.getElementType(), *sizes,
                        sizes->keys)) ||
      failed(verifySegmentPair(*this, getQuerySegments(), getKeySegments())) ||
      failed(check("query segments", getQuerySegments(),
                   {sizes->batch, sizes->queries})) ||
      failed(check("key segments", getKeySegments(),
                   {sizes->batch, sizes->keys})) ||
      failed(check("lengths", getLengths(), {sizes->batch})) ||
      failed(check("offsets", getOffsets(), {sizes->batch})) ||
      failed(check("sinks", getSinks(), {sizes->heads})) ||
      failed(verifyFactors(*this, getScale(), getSoftcap())))
    return failure();
  return verifyPositions(*this, *sizes);
}

LogicalResult AttentionOp::verifyRegions() {
  return verifyScore(*this, getScore());
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  auto dim = [&](Value value, int64_t index) -> OpFoldResult {
    return tensor::getMixedSize(builder, getLoc(), value, index);
  };
  OpFoldResult batch = dim(getQuery(), 0), heads = dim(getQuery(), 1),
               queries = dim(getQuery(), 2);
  shapes = {{batch, heads, queries, dim(getValue(), 3)}};
  if (getLse())
    shapes.push_back({batch, heads, queries});
  return success();
}

namespace {
/// An lse that nobody reads is not computed.
struct DropUnusedLse : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLse() || !op.getLse().use_empty())
      return failure();
    // The generic form copies every clause, also those added later.
    OperationState state(op.getLoc(), AttentionOp::getOperationName());
    state.addOperands(op->getOperands());
    state.addTypes(op.getOut().getType());
    state.addAttributes(op->getAttrs());
    state.addRegion()->takeBody(op.getScore());
    auto narrow = cast<AttentionOp>(rewriter.create(state));
    rewriter.replaceAllUsesWith(op.getOut(), narrow.getOut());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A mask that hides nothing whatever the sizes is no mask, and where positions
/// do not matter, offsets do not either.
struct DropFullMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if ((!op.getMaskAttr() && !op.getOffsets()) ||
        op.getEffectiveMask().dependsOnPositions())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.removeMaskAttr();
      op.getOffsetsMutable().clear();
    });
    return success();
  }
};

/// `empty_rows(zero)` is what holds where nothing is said.
struct DropDefaultEmptyRows : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getEmptyRows() != EmptyRows::Zero)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.removeEmptyRowsAttr(); });
    return success();
  }
};

/// A score region that returns its score is no region.
struct DropIdentityScore : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasScore())
      return failure();
    Block &block = op.getScore().front();
    auto yield = cast<YieldOp>(block.getTerminator());
    if (yield.getScore() != block.getArgument(0))
      return failure();
    // Through the rewriter, which may have the block's ops on its list.
    rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&block); });
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropUnusedLse, DropFullMask, DropDefaultEmptyRows,
               DropIdentityScore>(context);
}
