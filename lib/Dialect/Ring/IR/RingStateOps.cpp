//===- RingStateOps.cpp - Work lists and the running state ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// SlicesOp
//===----------------------------------------------------------------------===//

LogicalResult SlicesOp::verify() {
  if (failed(verifyRequiredOperands(*this, {0, 1, 2, 3})) ||
      failed(verifyTable(*this, getQueryTable())) ||
      failed(verifyTable(*this, getKeyTable())))
    return failure();
  return verifyRunTimeVisibility(*this);
}

void SlicesOp::getEffects(MemoryEffectList &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// OnlineAttentionOp
//===----------------------------------------------------------------------===//

/// acc [batch, heads, Lq, dv] against max and sum [batch, heads, Lq]. `which`
/// names the state where an op has two.
static LogicalResult verifyState(Operation *op, const Twine &which, Value acc,
                                 Value max, Value sum) {
  ArrayRef<int64_t> rows =
      cast<ShapedType>(acc.getType()).getShape().drop_back();
  if (failed(expectShape(op, (which + "max").str(),
                         cast<ShapedType>(max.getType()), rows)))
    return failure();
  return expectShape(op, (which + "sum").str(), cast<ShapedType>(sum.getType()),
                     rows);
}

LogicalResult OnlineAttentionOp::verify() {
  auto query = cast<ShapedType>(getQuery().getType());
  FailureOr<AttentionSizes> sizes =
      verifyInputs(*this, query, cast<ShapedType>(getKey().getType()),
                   cast<ShapedType>(getValue().getType()));
  if (failed(sizes) ||
      failed(expectHeadShape(
          *this, "acc", cast<ShapedType>(getAcc().getType()),
          {sizes->batch, sizes->heads, sizes->queries, sizes->valueDepth})) ||
      failed(verifyState(*this, "", getAcc(), getMax(), getSum())) ||
      // A rank's bias has the columns of all owners, not only of this block.
      failed(verifyBias(*this, getBias(), query.getElementType(), *sizes,
                        ShapedType::kDynamic)) ||
      failed(verifyFactors(*this, getScale(), getSoftcap())))
    return failure();
  return verifyOneSemantics(*this, getQuery());
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  return verifyScore(*this, getScore());
}

void OnlineAttentionOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/true, effects);
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  ArrayRef<int64_t> acc = cast<ShapedType>(getAcc().getType()).getShape();
  if (failed(expectShape(*this, "the other acc",
                         cast<ShapedType>(getOtherAcc().getType()), acc)) ||
      failed(verifyState(*this, "", getAcc(), getMax(), getSum())) ||
      failed(verifyState(*this, "the other ", getOtherAcc(), getOtherMax(),
                         getOtherSum())))
    return failure();
  return verifyOneSemantics(*this,
                            {getOtherAcc(), getOtherMax(), getOtherSum()});
}

void MergeOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/true, effects);
}

namespace {
/// Merging with the identity, max filled with -inf, changes nothing.
struct MergeWithIdentity : OpRewritePattern<MergeOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isNegativeInfinity(const APFloat &value) {
    return value.isInfinity() && value.isNegative();
  }

  static bool isEmpty(Value max) {
    if (auto fill = max.getDefiningOp<linalg::FillOp>()) {
      FloatAttr value;
      return matchPattern(fill.getInputs().front(), m_Constant(&value)) &&
             isNegativeInfinity(value.getValue());
    }
    DenseFPElementsAttr dense;
    return matchPattern(max, m_Constant(&dense)) && dense.isSplat() &&
           isNegativeInfinity(dense.getSplatValue<APFloat>());
  }

  LogicalResult matchAndRewrite(MergeOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    ValueRange state = op.getDpsInits(),
               other = op->getOperands().drop_back(state.size());
    if (isEmpty(op.getOtherMax())) {
      rewriter.replaceOp(op, state);
      return success();
    }
    if (isEmpty(op.getMax()) && other.getTypes() == state.getTypes()) {
      rewriter.replaceOp(op, other);
      return success();
    }
    return failure();
  }
};
} // namespace

void MergeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<MergeWithIdentity>(context);
}

//===----------------------------------------------------------------------===//
// FinalizeOp
//===----------------------------------------------------------------------===//

LogicalResult FinalizeOp::verify() {
  if (failed(verifyRequiredOperands(*this, {0, 1, 2, 5})))
    return failure();
  auto acc = cast<ShapedType>(getAcc().getType());
  if (failed(verifyState(*this, "", getAcc(), getMax(), getSum())) ||
      failed(expectShape(*this, "out", cast<ShapedType>(getOut().getType()),
                         acc.getShape())))
    return failure();
  if (getLse() &&
      failed(expectShape(*this, "lse", cast<ShapedType>(getLse().getType()),
                         acc.getShape().drop_back())))
    return failure();
  if (getSinks() &&
      failed(expectShape(*this, "sinks", cast<ShapedType>(getSinks().getType()),
                         {acc.getDimSize(1)})))
    return failure();
  if ((getEmptyRows() == EmptyRows::Uniform) != static_cast<bool>(getMean()))
    return emitOpError("has ")
           << (getMean() ? "a mean without" : "no mean, but")
           << " empty_rows(uniform)";
  if (getMean()) {
    ArrayRef<int64_t> mean = cast<ShapedType>(getMean().getType()).getShape();
    if (failed(expectShape(*this, "mean", cast<ShapedType>(getMean().getType()),
                           {acc.getDimSize(0), mean[1], acc.getDimSize(3)})))
      return failure();
    if (ShapedType::isDynamic(mean[1]) || mean[1] < 1 ||
        acc.getDimSize(1) % mean[1] != 0)
      return emitOpError("mean has ")
             << sizeText(mean[1]) << " heads, expected a divisor of "
             << sizeText(acc.getDimSize(1));
  }
  return verifyOneSemantics(*this, {getAcc(), getMax(), getSum()});
}

void FinalizeOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}
