//===- SequenceDim.cpp - Where the sequence runs in a tensor --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequenceDim.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
/// Infers the cut of one op from that of one of its tensors.
class Inference {
public:
  Inference(Operation *op, int64_t length, std::string &why)
      : op(op), length(length), why(why) {
    sequence.operands.resize(op->getNumOperands());
    sequence.results.resize(op->getNumResults());
  }

  std::optional<OpSequence> run(bool isOperand, unsigned index,
                                SequenceDim known);

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }
  bool infer(linalg::LinalgOp linalgOp, bool isOperand, unsigned index,
             SequenceDim known);
  bool infer(tensor::CollapseShapeOp reshape, bool isOperand,
             SequenceDim known);
  bool infer(tensor::ExpandShapeOp reshape, bool isOperand, SequenceDim known);
  bool infer(tensor::ExtractSliceOp slice, bool isOperand, SequenceDim known);
  bool infer(tensor::InsertSliceOp slice, bool isOperand, unsigned index,
             SequenceDim known);
  bool infer(tensor::ConcatOp concat, SequenceDim known);
  bool infer(tensor::PadOp pad, SequenceDim known);
  bool checkRegions();
  /// Every tensor that the op takes and gives is cut the same way.
  bool all(SequenceDim dim);

  Operation *op;
  int64_t length;
  std::string &why;
  OpSequence sequence;
};
} // namespace

bool Inference::all(SequenceDim dim) {
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (isa<RankedTensorType>(type))
      sequence.operands[index] = dim;
  for (std::optional<SequenceDim> &result : sequence.results)
    result = dim;
  return true;
}

/// Positions that pad a rank's block hold zeros: nothing that may trap or end
/// the program can be made of them.
bool Inference::checkRegions() {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps()) {
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
              arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
              inner) &&
          !matchPattern(inner.getOperand(1), m_Constant()))
        return fail("divides integers by data");
      if (isa<cf::AssertOp>(inner)) // is told which positions are padding
        continue;
      if (inner.getNumRegions() > 0 || !isMemoryEffectFree(&inner))
        return fail("has '" + inner.getName().getStringRef() + "' inside");
    }
  return true;
}

/// The result of `map` that is loop `loop` alone; -1 where none is. Fails where
/// the loop is part of something else, or occurs twice.
static std::optional<int64_t> resultOfLoop(AffineMap map, unsigned loop) {
  int64_t found = -1;
  for (auto [index, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (!isa<AffineDimExpr>(expr) || found >= 0)
      return std::nullopt;
    found = static_cast<int64_t>(index);
  }
  return found;
}

bool Inference::infer(linalg::LinalgOp linalgOp, bool isOperand, unsigned index,
                      SequenceDim known) {
  OpOperand *place =
      isOperand ? &op->getOpOperand(index) : linalgOp.getDpsInitOperand(index);
  auto expr = dyn_cast<AffineDimExpr>(
      linalgOp.getMatchingIndexingMap(place).getResult(known.dim));
  if (!expr)
    return fail("reads other positions");
  unsigned loop = expr.getPosition();
  if (linalgOp.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)
    return fail("reduces along the sequence");
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    std::optional<int64_t> dim =
        resultOfLoop(linalgOp.getMatchingIndexingMap(&operand), loop);
    if (!dim)
      return fail("reads other positions");
    if (*dim >= 0)
      sequence.operands[operand.getOperandNumber()] =
          SequenceDim{*dim, known.outer, known.inner};
    else if (linalgOp.isDpsInit(&operand))
      return fail("writes one result for all positions");
  }
  for (OpOperand &init : linalgOp.getDpsInitsMutable())
    sequence.results[linalgOp.getTiedOpResult(&init).getResultNumber()] =
        sequence.operands[init.getOperandNumber()];
  // `linalg.index` of a loop over several collapsed dimensions is as good: it
  // is read from a tensor that is cut like the others.
  return checkRegions();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Where `dim` of the larger shape stands in the smaller one.
static SequenceDim collapse(ArrayRef<int64_t> shape,
                            ArrayRef<ReassociationIndices> groups,
                            SequenceDim dim) {
  for (auto [index, group] : llvm::enumerate(groups)) {
    const auto *place = llvm::find(group, dim.dim);
    if (place == group.end())
      continue;
    int64_t before = 1, after = 1;
    for (int64_t other : group)
      (other < dim.dim ? before : after) *= other == dim.dim ? 1 : shape[other];
    return {static_cast<int64_t>(index), before * dim.outer, after * dim.inner};
  }
  llvm_unreachable("every dimension is in a group");
}

/// The reverse; nothing where the sequence is spread over several dimensions.
static std::optional<SequenceDim> expand(ArrayRef<int64_t> shape,
                                         const ReassociationIndices &group,
                                         SequenceDim dim, int64_t length) {
  int64_t before = 1;
  int64_t all = 1;
  for (int64_t member : group)
    all *= shape[member];
  for (int64_t member : group) {
    int64_t size = shape[member], after = all / (before * size);
    if (dim.outer % before == 0 && dim.inner % after == 0 &&
        size == (dim.outer / before) * length * (dim.inner / after))
      return SequenceDim{member, dim.outer / before, dim.inner / after};
    before *= size;
  }
  return std::nullopt;
}

bool Inference::infer(tensor::CollapseShapeOp reshape, bool isOperand,
                      SequenceDim known) {
  auto groups = reshape.getReassociationIndices();
  ArrayRef<int64_t> source = reshape.getSrcType().getShape();
  if (isOperand) {
    sequence.operands[0] = known;
    sequence.results[0] = collapse(source, groups, known);
    return true;
  }
  sequence.results[0] = known;
  if (!llvm::is_contained(source, 0))
    sequence.operands[0] = expand(source, groups[known.dim], known, length);
  return sequence.operands[0] || fail("takes the sequence apart");
}

bool Inference::infer(tensor::ExpandShapeOp reshape, bool isOperand,
                      SequenceDim known) {
  auto groups = reshape.getReassociationIndices();
  ArrayRef<int64_t> result = reshape.getResultType().getShape();
  if (!isOperand) {
    sequence.results[0] = known;
    sequence.operands[0] = collapse(result, groups, known);
    return true;
  }
  sequence.operands[0] = known;
  if (!llvm::is_contained(result, 0))
    sequence.results[0] = expand(result, groups[known.dim], known, length);
  return sequence.results[0] || fail("takes the sequence apart");
}

/// A slice of `whole` takes all of dimension `dim`.
template <typename SliceOp>
static bool takesAll(SliceOp slice, RankedTensorType whole, int64_t dim) {
  return slice.getStaticOffsets()[dim] == 0 &&
         slice.getStaticSizes()[dim] == whole.getDimSize(dim) &&
         slice.getStaticStrides()[dim] == 1;
}

/// Dimension `dim` of the larger tensor in one without the `dropped` ones.
static int64_t withoutDropped(const llvm::SmallBitVector &dropped,
                              int64_t dim) {
  int64_t result = 0;
  for (int64_t i = 0; i < dim; ++i)
    result += !dropped.test(i);
  return result;
}

/// The reverse of `withoutDropped`.
static int64_t withDropped(const llvm::SmallBitVector &dropped, int64_t dim) {
  int64_t kept = -1;
  for (unsigned i = 0; i < dropped.size(); ++i)
    if (!dropped.test(i) && ++kept == dim)
      return i;
  llvm_unreachable("every dimension is one of the larger tensor");
}

bool Inference::infer(tensor::ExtractSliceOp slice, bool isOperand,
                      SequenceDim known) {
  if (op->getNumOperands() != 1)
    return fail("takes a slice that is known at run time only");
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SequenceDim source = known, result = known;
  if (isOperand)
    result.dim = withoutDropped(dropped, known.dim);
  else
    source.dim = withDropped(dropped, known.dim);
  if (dropped.test(source.dim) ||
      !takesAll(slice, slice.getSourceType(), source.dim))
    return fail("takes some of the positions");
  sequence.operands[0] = source;
  sequence.results[0] = result;
  return true;
}

bool Inference::infer(tensor::InsertSliceOp slice, bool isOperand,
                      unsigned index, SequenceDim known) {
  if (op->getNumOperands() != 2)
    return fail("writes a slice that is known at run time only");
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SequenceDim source = known, whole = known;
  if (isOperand && index == 0)
    whole.dim = withDropped(dropped, known.dim);
  else
    source.dim = withoutDropped(dropped, known.dim);
  if (dropped.test(whole.dim) ||
      !takesAll(slice, slice.getDestType(), whole.dim))
    return fail("writes some of the positions");
  sequence.operands[0] = source;
  sequence.operands[1] = sequence.results[0] = whole;
  return true;
}

bool Inference::infer(tensor::ConcatOp concat, SequenceDim known) {
  if (concat.getDim() == static_cast<uint64_t>(known.dim))
    return fail("concatenates along the sequence");
  return all(known);
}

bool Inference::infer(tensor::PadOp pad, SequenceDim known) {
  if (pad.getStaticLow()[known.dim] != 0 || pad.getStaticHigh()[known.dim] != 0)
    return fail("pads the sequence");
  if (!pad.getConstantPaddingValue() || pad->getNumOperands() != 1)
    return fail("pads with what is no constant");
  return all(known);
}

//===----------------------------------------------------------------------===//
// Any op
//===----------------------------------------------------------------------===//

std::optional<OpSequence> Inference::run(bool isOperand, unsigned index,
                                         SequenceDim known) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !isa<ShapedType>(type) || (tensor && tensor.hasStaticShape());
  };
  bool good = false;
  if (!llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic))
    fail("has sizes that are known at run time only");
  else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    good = infer(linalgOp, isOperand, index, known);
  else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    good = infer(collapse, isOperand, known);
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    good = infer(expand, isOperand, known);
  else if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
    good = infer(extract, isOperand, known);
  else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    good = infer(insert, isOperand, index, known);
  else if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    good = infer(concat, known);
  else if (auto pad = dyn_cast<tensor::PadOp>(op))
    good = infer(pad, known);
  else if (isa<tensor::EmptyOp>(op))
    good = true;
  else if (auto constant = dyn_cast<arith::ConstantOp>(op))
    good = isa<SplatElementsAttr>(constant.getValue()) ||
           fail("holds a value for each position");
  else if (op->getDialect() == op->getContext()->getLoadedDialect("arith") &&
           OpTrait::hasElementwiseMappableTraits(op) && isPure(op))
    good = all(known);
  else
    fail("is not known to work position by position");
  if (!good)
    return std::nullopt;
  if (isa<tensor::EmptyOp, arith::ConstantOp>(op))
    sequence.results[0] = known;
  return sequence;
}

std::optional<OpSequence> mlir::ring::sequenceFromOperand(Operation *op,
                                                          unsigned index,
                                                          SequenceDim known,
                                                          int64_t length,
                                                          std::string &why) {
  return Inference(op, length, why).run(/*isOperand=*/true, index, known);
}

std::optional<OpSequence>
mlir::ring::sequenceFromResult(Operation *op, unsigned index, SequenceDim known,
                               int64_t length, std::string &why) {
  return Inference(op, length, why).run(/*isOperand=*/false, index, known);
}

std::optional<unsigned> mlir::ring::sequenceLoop(linalg::LinalgOp op,
                                                 const OpSequence &sequence) {
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<SequenceDim> dim =
            sequence.operands[operand.getOperandNumber()])
      return cast<AffineDimExpr>(
                 op.getMatchingIndexingMap(&operand).getResult(dim->dim))
          .getPosition();
  return std::nullopt;
}
