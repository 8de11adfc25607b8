//===- RaiseAttentionSlices.cpp - Parts of tensors ------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An index may have fewer values than the dimension that it is into: it then
// reads the first of them. Such an index comes from a slice, or from taking a
// variable for a longer one, and tells the part of a concatenation that is
// read.
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionExpr.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

static bool isStaticUnitStride(OffsetSizeAndStrideOpInterface slice) {
  return llvm::none_of(slice.getStaticOffsets(), ShapedType::isDynamic) &&
         llvm::none_of(slice.getStaticSizes(), ShapedType::isDynamic) &&
         llvm::all_of(slice.getStaticStrides(),
                      [](int64_t stride) { return stride == 1; });
}

bool mlir::ring::isWhole(const Index &index, int64_t size) {
  return ShapedType::isDynamic(size) || ShapedType::isDynamic(getSize(index)) ||
         getSize(index) == size;
}

Expr *ExprContext::expandExtraction(Expr *expr, tensor::ExtractSliceOp slice) {
  if (!isStaticUnitStride(slice))
    return nullptr;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  Indices indices;
  size_t next = 0;
  for (int64_t dim = 0, rank = slice.getSourceType().getRank(); dim < rank;
       ++dim)
    indices.push_back(dropped[dim] ? Index() : expr->indices[next++]);
  Expr *source = load(slice.getSource(), indices);
  if (llvm::all_of(slice.getStaticOffsets(), [](int64_t o) { return o == 0; }))
    return source;
  // Not understood, but what is sliced says what is missed.
  return create({Expr::Kind::Unknown, slice, expr->value, {}, {}, {source}});
}

Expr *ExprContext::expandInsertion(Expr *expr, tensor::InsertSliceOp insert) {
  if (!isStaticUnitStride(insert))
    return nullptr;
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  Indices indices;
  bool inside = true, outside = false;
  for (auto [dim, index] : llvm::enumerate(expr->indices)) {
    int64_t offset = insert.getStaticOffsets()[dim], size = getSize(index);
    if (ShapedType::isDynamic(size))
      return nullptr;
    inside &= offset == 0 && size <= insert.getStaticSizes()[dim];
    outside |= offset >= size;
    if (!dropped[dim])
      indices.push_back(index);
  }
  if (inside)
    return load(insert.getSource(), indices);
  return outside ? load(insert.getDest(), expr->indices) : nullptr;
}

Expr *ExprContext::expandConcatenation(Expr *expr, tensor::ConcatOp concat) {
  Value first = concat.getInputs().front();
  const Index &index = expr->indices[concat.getDim()];
  int64_t size =
      cast<RankedTensorType>(first.getType()).getDimSize(concat.getDim());
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(getSize(index)) ||
      getSize(index) > size)
    return nullptr;
  return load(first, expr->indices);
}

/// The last part of a concatenation, where it has one element along `dim`.
static Value getLastColumn(Operation *op, int64_t dim) {
  auto hasOne = [&](Value part) {
    auto type = cast<RankedTensorType>(part.getType());
    return type.getDimSize(dim) == 1;
  };
  if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op))
    return static_cast<int64_t>(concat.getDim()) == dim &&
                   hasOne(concat.getInputs().back())
               ? concat.getInputs().back()
               : Value();
  auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op);
  if (!insert || !isStaticUnitStride(insert) ||
      insert.getSourceType().getRank() != insert.getType().getRank() ||
      !hasOne(insert.getSource()))
    return Value();
  // Whole along the other dimensions, which the operand's type says.
  ArrayRef<int64_t> shape = insert.getType().getShape();
  for (auto [i, size] : llvm::enumerate(insert.getStaticSizes()))
    if (static_cast<int64_t>(i) == dim
            ? insert.getStaticOffsets()[i] != shape[i] - 1
            : size != shape[i])
      return Value();
  return insert.getSource();
}

Expr *ExprContext::loadLast(Expr *expr, const Digit &variable) {
  if (!expr->isLoad())
    return nullptr;
  Indices indices = expr->indices;
  Value column;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index != Index({variable}))
      continue;
    column = getLastColumn(expr->op, dim);
    index = Index();
    break;
  }
  return column ? load(column, indices) : nullptr;
}

Expr *ExprContext::restrict(Expr *expr, const Digit &variable,
                            const Digit &first) {
  Expr restricted = *expr;
  for (Index &index : restricted.indices)
    for (Digit &digit : index) {
      if (digit.variable != variable.variable)
        continue;
      // Of more than one digit, another part than the first may be read.
      if (!(digit == variable) || index.size() != 1)
        return nullptr;
      digit = first;
    }
  if (restricted.isLoad())
    return load(restricted.value, restricted.indices);
  for (Expr *&operand : restricted.operands)
    if (!(operand = restrict(operand, variable, first)))
      return nullptr;
  return create(std::move(restricted));
}
