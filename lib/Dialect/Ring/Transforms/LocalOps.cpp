//===- LocalOps.cpp - Ops on a rank's own positions -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

RankedTensorType mlir::ring::localType(RankedTensorType whole,
                                       SequenceDim dim) {
  return mlir::ring::localType(whole, dim.dim);
}

/// Size of a local dimension.
static OpFoldResult localSize(ImplicitLocOpBuilder &b, SequenceDim dim,
                              Value length) {
  if (dim.isPlain())
    return length;
  Value factor = arith::ConstantIndexOp::create(b, dim.outer * dim.inner);
  return arith::MulIOp::create(b, length, factor).getResult();
}

/// The sizes of the local form of a tensor of type `whole`.
static SmallVector<OpFoldResult> localSizes(ImplicitLocOpBuilder &b,
                                            RankedTensorType whole,
                                            SequenceDim dim, Value length) {
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), whole.getShape());
  sizes[dim.dim] = localSize(b, dim, length);
  return sizes;
}

static SmallVector<linalg::IndexOp> sequenceIndices(linalg::LinalgOp op,
                                                    unsigned loop) {
  SmallVector<linalg::IndexOp> found;
  op->walk([&](linalg::IndexOp index) {
    if (index.getDim() == loop)
      found.push_back(index);
  });
  return found;
}

std::optional<SequenceDim>
mlir::ring::neededPositions(Operation *op, const OpSequence &sequence) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return std::nullopt;
  std::optional<unsigned> loop = sequenceLoop(linalgOp, sequence);
  bool ends = false;
  op->walk([&](cf::AssertOp) { ends = true; });
  if (!loop || (!ends && sequenceIndices(linalgOp, *loop).empty()))
    return std::nullopt;
  SequenceDim dim = *sequence.results.front();
  return SequenceDim{0, dim.outer, dim.inner};
}

/// Positions that pad a block hold zeros, and indices made of them may be
/// anything: look-ups stay inside the tensor. For others nothing changes.
static void clampLookUps(Operation *op) {
  op->walk([&](tensor::ExtractOp extract) {
    ImplicitLocOpBuilder b(extract.getLoc(), extract);
    auto type = cast<RankedTensorType>(extract.getTensor().getType());
    for (auto [dim, index] : llvm::enumerate(extract.getIndicesMutable())) {
      if (getConstantIntValue(index.get()))
        continue;
      Value zero = arith::ConstantIndexOp::create(b, 0);
      Value last = arith::ConstantIndexOp::create(
          b, std::max<int64_t>(type.getDimSize(dim) - 1, 0));
      Value clamped = arith::MaxSIOp::create(b, index.get(), zero);
      index.set(arith::MinSIOp::create(b, clamped, last));
    }
  });
}

/// A generic that reads the index of `loop` from one more input, and asserts
/// nothing of padding.
static linalg::GenericOp readPositions(ImplicitLocOpBuilder &b,
                                       linalg::GenericOp op, unsigned loop,
                                       Value positions) {
  SmallVector<Value> inputs(op.getInputs());
  inputs.push_back(positions);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned place = op.getNumDpsInputs();
  maps.insert(maps.begin() + place, AffineMap::get(maps.front().getNumDims(), 0,
                                                   b.getAffineDimExpr(loop)));
  auto result =
      linalg::GenericOp::create(b, op.getResultTypes(), inputs, op.getOutputs(),
                                maps, op.getIteratorTypesArray());
  result.getRegion().takeBody(op.getRegion());
  Value number =
      result.getBody()->insertArgument(place, b.getI64Type(), op.getLoc());
  auto inner =
      ImplicitLocOpBuilder::atBlockBegin(op.getLoc(), result.getBody());
  Value zero = arith::ConstantIntOp::create(inner, b.getI64Type(), 0);
  Value one = arith::ConstantIntOp::create(inner, b.getI64Type(), 1);
  Value position = arith::IndexCastOp::create(
      inner, inner.getIndexType(),
      Value(arith::MaxSIOp::create(
          inner, Value(arith::SubIOp::create(inner, number, one)), zero)));
  Value isPadding =
      arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, number, zero);
  for (linalg::IndexOp index : sequenceIndices(result, loop)) {
    index.replaceAllUsesWith(position);
    index.erase();
  }
  result->walk([&](cf::AssertOp check) {
    inner.setInsertionPoint(check);
    check.getArgMutable().set(
        arith::OrIOp::create(inner, isPadding, check.getArg()));
  });
  op.erase();
  return result;
}

/// A copy with other operands and local result types.
static Operation *copy(ImplicitLocOpBuilder &b, Operation *op,
                       const OpSequence &sequence, ArrayRef<Value> operands,
                       IRMapping &whole) {
  Operation *result = op->clone(whole);
  result->setOperands(operands);
  for (auto [value, dim] :
       llvm::zip_equal(result->getResults(), sequence.results))
    if (dim)
      value.setType(localType(cast<RankedTensorType>(value.getType()), *dim));
  return b.insert(result);
}

Operation *mlir::ring::buildLocal(ImplicitLocOpBuilder &b, Operation *op,
                                  const OpSequence &sequence,
                                  ArrayRef<Value> operands, IRMapping whole,
                                  Value length, Value positions) {
  b.setLoc(op->getLoc());
  auto wholeType = cast<RankedTensorType>(op->getResult(0).getType());
  SequenceDim dim = *sequence.results.front();
  RankedTensorType type = localType(wholeType, dim);
  auto sizes = [&] { return localSizes(b, wholeType, dim, length); };

  if (isa<tensor::EmptyOp>(op))
    return tensor::EmptyOp::create(b, sizes(), type.getElementType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    Value scalar =
        arith::ConstantOp::create(b, splat.getSplatValue<TypedAttr>());
    Value empty = tensor::EmptyOp::create(b, sizes(), type.getElementType());
    return linalg::FillOp::create(b, scalar, empty);
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return tensor::ExpandShapeOp::create(
        b, type, operands[0], expand.getReassociationIndices(), sizes());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<OpFoldResult> taken = slice.getMixedSizes();
    SequenceDim source = *sequence.operands[0];
    taken[source.dim] = localSize(b, source, length);
    return tensor::ExtractSliceOp::create(b, type, operands[0],
                                          slice.getMixedOffsets(), taken,
                                          slice.getMixedStrides());
  }
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    SmallVector<OpFoldResult> taken = slice.getMixedSizes();
    taken[dim.dim] = localSize(b, dim, length);
    return tensor::InsertSliceOp::create(b, operands[0], operands[1],
                                         slice.getMixedOffsets(), taken,
                                         slice.getMixedStrides());
  }
  Operation *result = copy(b, op, sequence, operands, whole);
  clampLookUps(result);
  if (!positions)
    return result;
  b.setInsertionPointAfter(result);
  unsigned loop = *sequenceLoop(cast<linalg::LinalgOp>(op), sequence);
  return readPositions(b, cast<linalg::GenericOp>(result), loop, positions);
}
