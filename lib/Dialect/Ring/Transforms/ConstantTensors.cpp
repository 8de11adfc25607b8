//===- ConstantTensors.cpp - Tensors that follow from constants -----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/ConstantTensors.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::optional<ConstantElements> ConstantElements::get(Value value) {
  ConstantElements result;
  result.type = dyn_cast<RankedTensorType>(value.getType());
  if (!result.type || !result.type.hasStaticShape())
    return std::nullopt;
  Type element = result.type.getElementType();
  if (!element.isIndex() &&
      (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 64))
    return std::nullopt;
  DenseResourceElementsAttr resource;
  if (matchPattern(value, m_Constant(&result.dense)))
    return result;
  if (!matchPattern(value, m_Constant(&resource)) || element.isIndex())
    return std::nullopt;
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  result.width = result.type.getElementTypeBitWidth();
  // Booleans may be bits or bytes there.
  if (!blob || (result.width != 8 && result.width != 16 && result.width != 32 &&
                result.width != 64))
    return std::nullopt;
  result.bytes = blob->getData();
  if (static_cast<int64_t>(result.bytes.size()) !=
      result.type.getNumElements() * (result.width / 8))
    return std::nullopt;
  return result;
}

uint64_t ConstantElements::getBits(int64_t place) const {
  if (dense) {
    Attribute element = *(dense.value_begin<Attribute>() + place);
    if (auto real = dyn_cast<FloatAttr>(element))
      return real.getValue().bitcastToAPInt().getZExtValue();
    return cast<IntegerAttr>(element).getValue().getZExtValue();
  }
  uint64_t bits = 0;
  // The host is little-endian, as resources are.
  std::memcpy(&bits, bytes.data() + place * (width / 8), width / 8);
  return bits;
}

Attribute ConstantElements::getElement(uint64_t bits) const {
  Type element = type.getElementType();
  if (auto real = dyn_cast<FloatType>(element))
    return FloatAttr::get(element, APFloat(real.getFloatSemantics(),
                                           APInt(real.getWidth(), bits)));
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return IntegerAttr::get(element, APInt(width, bits));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

ScalarFolder::~ScalarFolder() {
  for (auto [op, copy] : copies)
    copy->destroy();
}

Attribute ScalarFolder::fold(Operation *op, ArrayRef<Attribute> operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumOperands() != operands.size() || !isMemoryEffectFree(op))
    return {};
  Operation *&copy = copies[op];
  if (!copy) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand,
                    arguments.addArgument(operand.getType(), operand.getLoc()));
    copy = op->clone(mapping);
  }
  SmallVector<OpFoldResult> results;
  if (failed(copy->fold(operands, results)) || results.size() != 1)
    return {};
  Attribute result = dyn_cast<Attribute>(results[0]);
  if (!result)
    for (auto [value, operand] : llvm::zip(copy->getOperands(), operands))
      if (value == cast<Value>(results[0]))
        result = operand;
  return isa_and_nonnull<IntegerAttr, FloatAttr>(result) ? result : Attribute();
}

//===----------------------------------------------------------------------===//
// Linalg
//===----------------------------------------------------------------------===//

/// The region of a linalg op at one point of its loops.
class ConstantTensors::Body {
public:
  Body(ConstantTensors &tensors, linalg::LinalgOp op)
      : tensors(tensors), op(op) {}

  void moveTo(ArrayRef<int64_t> point) {
    at = point;
    values.clear();
  }
  Attribute evaluate(Value value);

private:
  Attribute evaluateNew(Value value);
  Attribute read(Value tensor, ArrayRef<int64_t> indices);

  ConstantTensors &tensors;
  linalg::LinalgOp op;
  ArrayRef<int64_t> at;
  DenseMap<Value, Attribute> values;
};

/// What a map to dimensions and zeros gives at a point.
static std::optional<SmallVector<int64_t>> applyMap(AffineMap map,
                                                    ArrayRef<int64_t> point) {
  SmallVector<int64_t> result;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      result.push_back(point[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      result.push_back(constant.getValue());
    else
      return std::nullopt;
  }
  return result;
}

Attribute ConstantTensors::Body::read(Value tensor, ArrayRef<int64_t> indices) {
  const std::vector<Attribute> *elements = tensors.evaluate(tensor);
  if (!elements)
    return {};
  int64_t place = 0;
  for (auto [index, size] : llvm::zip_equal(
           indices, cast<RankedTensorType>(tensor.getType()).getShape())) {
    if (index < 0 || index >= size)
      return {};
    place = place * size + index;
  }
  return (*elements)[place];
}

Attribute ConstantTensors::Body::evaluate(Value value) {
  auto [it, inserted] = values.try_emplace(value);
  if (!inserted)
    return it->second;
  Attribute result = evaluateNew(value);
  return values[value] = result;
}

Attribute ConstantTensors::Body::evaluateNew(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    if (!isa<RankedTensorType>(operand.get().getType()))
      return evaluate(operand.get());
    std::optional<SmallVector<int64_t>> indices =
        applyMap(op.getMatchingIndexingMap(&operand), at);
    return indices ? read(operand.get(), *indices) : Attribute();
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock())
    return {};
  if (auto index = dyn_cast<linalg::IndexOp>(def))
    return IntegerAttr::get(index.getType(), at[index.getDim()]);
  auto extract = dyn_cast<tensor::ExtractOp>(def);
  SmallVector<Attribute> operands;
  for (Value operand :
       extract ? ValueRange(extract.getIndices()) : def->getOperands()) {
    operands.push_back(evaluate(operand));
    if (!operands.back())
      return {};
  }
  if (!extract)
    return tensors.folder.fold(def, operands);
  return read(extract.getTensor(),
              llvm::map_to_vector(operands, [](Attribute index) {
                return cast<IntegerAttr>(index).getInt();
              }));
}

bool ConstantTensors::evaluate(linalg::LinalgOp op, unsigned result,
                               std::vector<Attribute> &elements) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() != 0 ||
      !map.isPermutation() || !op.getBlock() ||
      op.getBlock()->getNumArguments() != op->getNumOperands())
    return false;
  Body body(*this, op);
  Value yielded = op.getBlock()->getTerminator()->getOperand(result);
  AffineMap toLoops = inversePermutation(map);
  SmallVector<int64_t> strides = computeStrides(
      cast<RankedTensorType>(op->getResult(result).getType()).getShape());
  for (size_t place = 0; place < elements.size(); ++place) {
    SmallVector<int64_t> point =
        *applyMap(toLoops, delinearize(place, strides));
    body.moveTo(point);
    elements[place] = body.evaluate(yielded);
    if (!elements[place])
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

const std::vector<Attribute> *ConstantTensors::evaluate(Value tensor) {
  auto [it, inserted] = known.try_emplace(tensor);
  if (!inserted)
    return it->second.get();
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() > kMostElements)
    return nullptr;
  auto elements =
      std::make_unique<std::vector<Attribute>>(type.getNumElements());
  if (!evaluate(tensor, *elements))
    return nullptr;
  return (known[tensor] = std::move(elements)).get();
}

bool ConstantTensors::evaluate(Value tensor, std::vector<Attribute> &elements) {
  if (std::optional<ConstantElements> constant =
          ConstantElements::get(tensor)) {
    for (auto [place, element] : llvm::enumerate(elements))
      element = constant->getElement(constant->getBits(place));
    return true;
  }
  Operation *def = tensor.getDefiningOp();
  if (!def)
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(def))
    return evaluate(linalgOp, cast<OpResult>(tensor).getResultNumber(),
                    elements);
  if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          def)) {
    const std::vector<Attribute> *source = evaluate(def->getOperand(0));
    if (source)
      elements = *source;
    return source;
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  SmallVector<int64_t> strides = computeStrides(shape);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def)) {
    const std::vector<Attribute> *source = evaluate(slice.getSource());
    if (!source || slice.getSourceType().getRank() != slice.getType().getRank())
      return false;
    SmallVector<int64_t> sourceStrides =
        computeStrides(slice.getSourceType().getShape());
    for (auto [place, element] : llvm::enumerate(elements)) {
      SmallVector<int64_t> indices = delinearize(place, strides);
      int64_t from = 0;
      for (auto [dim, index] : llvm::enumerate(indices)) {
        if (slice.isDynamicOffset(dim) || slice.isDynamicStride(dim))
          return false;
        from +=
            (slice.getStaticOffset(dim) + index * slice.getStaticStride(dim)) *
            sourceStrides[dim];
      }
      if (from < 0 || from >= static_cast<int64_t>(source->size()))
        return false;
      element = (*source)[from];
    }
    return true;
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(def)) {
    int64_t dim = concat.getDim(), offset = 0;
    for (Value input : concat.getInputs()) {
      const std::vector<Attribute> *source = evaluate(input);
      if (!source)
        return false;
      ArrayRef<int64_t> part =
          cast<RankedTensorType>(input.getType()).getShape();
      SmallVector<int64_t> partStrides = computeStrides(part);
      for (auto [place, element] : llvm::enumerate(*source)) {
        SmallVector<int64_t> indices = delinearize(place, partStrides);
        indices[dim] += offset;
        elements[linearize(indices, strides)] = element;
      }
      offset += part[dim];
    }
    return true;
  }
  return false;
}
