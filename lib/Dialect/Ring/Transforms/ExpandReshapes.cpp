//===- ExpandReshapes.cpp - Dimensions apart at run time ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ring {
#define GEN_PASS_DEF_EXPANDRESHAPESPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

namespace {
struct ExpandReshapesPass
    : mlir::ring::impl::ExpandReshapesPassBase<ExpandReshapesPass> {
  using ExpandReshapesPassBase::ExpandReshapesPassBase;
  void runOnOperation() override;
};
} // namespace

/// One dimension becomes several whose sizes are not known.
static bool isAmbiguous(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        return llvm::count_if(group, [&](int64_t dim) {
                                 return op.getResultType().isDynamicDim(dim);
                               }) > 1;
                      });
}

static void expand(memref::ExpandShapeOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  SmallVector<OpFoldResult> ofSource = metadata.getConstifiedMixedStrides();
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    OpFoldResult stride = ofSource[dim];
    for (int64_t inner : llvm::reverse(group)) {
      strides[inner] = stride;
      Value product = arith::MulIOp::create(
          b, getValueOrCreateConstantIndexOp(b, b.getLoc(), stride),
          getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[inner]));
      stride = product;
    }
  }
  // The type may know more than follows from the source.
  SmallVector<int64_t> known;
  int64_t offset;
  MemRefType type = op.getResultType();
  if (failed(type.getStridesAndOffset(known, offset)))
    llvm_unreachable("the result is strided");
  for (auto [stride, value] : llvm::zip_equal(strides, known))
    stride = ShapedType::isDynamic(value)
                 ? OpFoldResult(
                       getValueOrCreateConstantIndexOp(b, b.getLoc(), stride))
                 : OpFoldResult(b.getIndexAttr(value));
  Value result = memref::ReinterpretCastOp::create(
      b, type, metadata.getBaseBuffer(),
      ShapedType::isDynamic(offset) ? OpFoldResult(metadata.getOffset())
                                    : OpFoldResult(b.getIndexAttr(offset)),
      sizes, strides);
  op.replaceAllUsesWith(result);
  op.erase();
}

void ExpandReshapesPass::runOnOperation() {
  SmallVector<memref::ExpandShapeOp> ops;
  getOperation()->walk([&](memref::ExpandShapeOp op) {
    MemRefType type = op.getSrcType();
    if (isAmbiguous(op) && type.isStrided() && op.getResultType().isStrided())
      ops.push_back(op);
  });
  llvm::for_each(ops, expand);
}
