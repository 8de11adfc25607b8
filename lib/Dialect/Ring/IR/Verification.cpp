//===- Verification.cpp - Checks that several ops share -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool mlir::ring::areCompatible(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

std::string mlir::ring::sizeText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

static LogicalResult expectSize(Operation *op, const Twine &what, int64_t got,
                                int64_t expected) {
  if (areCompatible(got, expected))
    return success();
  return op->emitOpError() << what << " is " << sizeText(got) << ", expected "
                           << sizeText(expected);
}

/// As `expectSize`, where `owner` decides the size.
static LogicalResult expectSizeOf(Operation *op, const Twine &what, int64_t got,
                                  StringRef owner, int64_t expected) {
  if (areCompatible(got, expected))
    return success();
  return op->emitOpError() << what << " is " << sizeText(got)
                           << ", expected the " << owner << "'s "
                           << sizeText(expected);
}

static LogicalResult expectStatic(Operation *op, const Twine &what,
                                  int64_t size) {
  if (!ShapedType::isDynamic(size))
    return success();
  return op->emitOpError() << what << " is dynamic, expected a static size";
}

LogicalResult mlir::ring::expectShape(Operation *op, StringRef what,
                                      ShapedType type,
                                      ArrayRef<int64_t> expected) {
  for (auto [dim, size] : llvm::enumerate(expected))
    if (failed(expectSize(op, "dimension " + Twine(dim) + " of " + what,
                          type.getDimSize(dim), size)))
      return failure();
  return success();
}

LogicalResult mlir::ring::expectHeadShape(Operation *op, StringRef what,
                                          ShapedType type,
                                          ArrayRef<int64_t> expected) {
  for (int64_t dim = 1; dim < type.getRank(); dim += 2)
    if (failed(expectStatic(op, "dimension " + Twine(dim) + " of " + what,
                            type.getDimSize(dim))))
      return failure();
  return expectShape(op, what, type, expected);
}

//===----------------------------------------------------------------------===//
// Operands of attention
//===----------------------------------------------------------------------===//

FailureOr<AttentionSizes> mlir::ring::verifyInputs(Operation *op,
                                                   ShapedType query,
                                                   ShapedType key,
                                                   ShapedType value) {
  Type element = query.getElementType();
  std::pair<StringRef, ShapedType> inputs[] = {
      {"query", query}, {"key", key}, {"value", value}};
  for (auto [name, type] : inputs)
    if (type.getElementType() != element)
      return op->emitOpError() << name << " is of " << type.getElementType()
                               << ", expected the query's " << element;
  for (auto [name, type] : inputs) {
    if (failed(expectStatic(op, "number of heads of the " + name,
                            type.getDimSize(1))) ||
        failed(
            expectStatic(op, "head size of the " + name, type.getDimSize(3))))
      return failure();
    if (type.getDimSize(3) == 0)
      return op->emitOpError()
             << "head size of the " << name << " is 0, expected 1 or more";
  }
  if (failed(expectSizeOf(op, "batch size of the key", key.getDimSize(0),
                          "query", query.getDimSize(0))) ||
      failed(expectSizeOf(op, "batch size of the value", value.getDimSize(0),
                          "query", query.getDimSize(0))) ||
      failed(expectSizeOf(op, "head size of the key", key.getDimSize(3),
                          "query", query.getDimSize(3))) ||
      failed(expectSizeOf(op, "number of heads of the value",
                          value.getDimSize(1), "key", key.getDimSize(1))) ||
      failed(expectSizeOf(op, "sequence length of the value",
                          value.getDimSize(2), "key", key.getDimSize(2))))
    return failure();

  AttentionSizes sizes{query.getDimSize(0), query.getDimSize(1),
                       key.getDimSize(1),   query.getDimSize(2),
                       key.getDimSize(2),   query.getDimSize(3),
                       value.getDimSize(3)};
  if (sizes.heads == 0 || sizes.keyHeads == 0)
    return op->emitOpError()
           << "has " << sizes.heads << " query heads and " << sizes.keyHeads
           << " key/value heads, expected 1 or more of each";
  if (sizes.heads % sizes.keyHeads != 0)
    return op->emitOpError()
           << "has " << sizes.heads << " query heads and " << sizes.keyHeads
           << " key/value heads, expected a multiple of the latter";
  return sizes;
}

LogicalResult mlir::ring::verifyBias(Operation *op, Value bias, Type element,
                                     const AttentionSizes &sizes,
                                     int64_t keys) {
  if (!bias)
    return success();
  auto type = cast<ShapedType>(bias.getType());
  if (!type.getElementType().isF32() && type.getElementType() != element)
    return op->emitOpError() << "bias is of " << type.getElementType()
                             << ", expected 'f32' or the query's " << element;
  int64_t whole[] = {sizes.batch, sizes.heads, sizes.queries};
  for (auto [dim, size] : llvm::enumerate(whole))
    if (type.getDimSize(dim) != 1 && !areCompatible(type.getDimSize(dim), size))
      return op->emitOpError()
             << "dimension " << dim << " of bias is " << type.getDimSize(dim)
             << ", expected 1 or " << size;
  return expectSize(op, "dimension 3 of bias", type.getDimSize(3), keys);
}

LogicalResult mlir::ring::verifySegmentPair(Operation *op, Value query,
                                            Value key) {
  if (static_cast<bool>(query) == static_cast<bool>(key))
    return success();
  return op->emitOpError() << "has segments of the "
                           << (query ? "query" : "key")
                           << " only, expected both or none";
}

/// The number as a reader knows it: attributes print inf and NaN as bits.
static double number(const APFloat &value) { return value.convertToDouble(); }

LogicalResult mlir::ring::verifyFactors(Operation *op,
                                        std::optional<APFloat> scale,
                                        std::optional<APFloat> softcap) {
  if (scale && !scale->isFinite())
    return op->emitOpError()
           << "scale is " << number(*scale) << ", expected a finite number";
  if (softcap &&
      (!softcap->isFinite() || softcap->isZero() || softcap->isNegative()))
    return op->emitOpError() << "softcap is " << number(*softcap)
                             << ", expected a finite positive number";
  return success();
}

//===----------------------------------------------------------------------===//
// Score regions
//===----------------------------------------------------------------------===//

/// A captured tensor is read by tensor.extract, its buffer by memref.load.
static bool isScoreOp(Operation &op, bool onBuffers) {
  if (isa<YieldOp>(op) ||
      (onBuffers ? isa<memref::LoadOp>(op) : isa<tensor::ExtractOp>(op)) ||
      op.hasTrait<OpTrait::ConstantLike>())
    return true;
  // The index dialect does not carry the traits of elementwise ops.
  return (OpTrait::hasElementwiseMappableTraits(&op) ||
          isa_and_nonnull<index::IndexDialect>(op.getDialect())) &&
         isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
         llvm::all_of(op.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

LogicalResult mlir::ring::verifyScore(Operation *op, Region &region) {
  if (region.empty())
    return success();
  Block &block = region.front();
  Type f32 = Float32Type::get(op->getContext());
  Type index = IndexType::get(op->getContext());
  SmallVector<Type> expected = {f32, index, index, index, index};
  if (SmallVector<Type>(block.getArgumentTypes()) != expected)
    return op->emitOpError("score region takes (")
           << block.getArgumentTypes() << "), expected (" << expected << ")";
  if (!isa<YieldOp>(block.back()))
    return op->emitOpError("score region ends in '")
           << block.back().getName() << "', expected 'ring.yield'";
  bool onBuffers = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return isa<BaseMemRefType>(type);
  });
  for (Operation &inner : block) {
    if (isScoreOp(inner, onBuffers))
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("score region holds '")
        << inner.getName()
        << "', expected elementwise ops on scalars, constants, index "
           "arithmetic or "
        << (onBuffers ? "memref.load" : "tensor.extract");
    diag.attachNote(inner.getLoc()) << "the op is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tables and destinations
//===----------------------------------------------------------------------===//

LogicalResult mlir::ring::verifyRanks(Operation *op, int64_t ranks) {
  if (ranks >= 1 && ranks <= kMaxRingSize)
    return success();
  return op->emitOpError("ranks is ")
         << ranks << ", expected 1 to " << kMaxRingSize;
}

LogicalResult mlir::ring::verifyTable(Operation *op, Value table) {
  int64_t columns = cast<ShapedType>(table.getType()).getDimSize(1);
  if (columns == 5)
    return success();
  return op->emitOpError("layout table has ")
         << sizeText(columns) << " columns, expected 5";
}

LogicalResult mlir::ring::verifyOneSemantics(DestinationStyleOpInterface op,
                                             ValueRange others) {
  SmallVector<Value> values(others);
  llvm::append_range(values, op.getDpsInits());
  if (llvm::all_of(values,
                   [](Value v) { return isa<TensorType>(v.getType()); }) ||
      llvm::all_of(values,
                   [](Value v) { return isa<BaseMemRefType>(v.getType()); }))
    return success();
  return op->emitOpError(
      "mixes tensors and memrefs, expected all tensors or all memrefs");
}

void mlir::ring::addDestinationEffects(DestinationStyleOpInterface op,
                                       bool readsDestinations,
                                       MemoryEffectList &effects) {
  for (OpOperand *operand : op.getDpsInputOperands())
    if (isa<MemRefType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : op.getDpsInitsMutable()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (readsDestinations)
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
  }
}
