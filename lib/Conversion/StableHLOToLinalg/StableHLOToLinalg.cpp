//===- StableHLOToLinalg.cpp - StableHLO on tensors -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HLOOp.h"
#include "Scalars.h"

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTSTABLEHLOTOLINALGPASS
#include "ring/Conversion/StableHLOToLinalg/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

using utils::IteratorType;

namespace {

/// Converts one op, at its place.
class Converter {
public:
  Converter(OpBuilder &b, HLOOp op) : b(b), op(op), loc(op->getLoc()) {}

  /// What the results are; an error at the op where it is not understood.
  FailureOr<SmallVector<Value>> run();

private:
  FailureOr<Value> broadcast();
  FailureOr<Value> concatenate();
  FailureOr<Value> constant();
  FailureOr<Value> dotGeneral();
  FailureOr<Value> elementwise();
  FailureOr<Value> gather();
  FailureOr<Value> iota();
  FailureOr<Value> pad();
  FailureOr<Value> reshape();
  FailureOr<Value> slice();
  FailureOr<Value> transpose();
  FailureOr<SmallVector<Value>> reduce();

  Value empty(RankedTensorType type) {
    return tensor::EmptyOp::create(b, loc, type.getShape(),
                                   type.getElementType());
  }
  Value filled(Value scalar, RankedTensorType type) {
    return linalg::FillOp::create(b, loc, scalar, empty(type)).getResult(0);
  }
  Value scalarOf(Value tensor);
  AffineMap mapOf(unsigned loops, ArrayRef<int64_t> dims) {
    SmallVector<AffineExpr> exprs = llvm::map_to_vector(
        dims, [&](int64_t dim) { return b.getAffineDimExpr(dim); });
    return AffineMap::get(loops, 0, exprs, b.getContext());
  }
  /// A tensor of `type` of which `element` makes each element from those of
  /// `inputs`.
  Value
  parallel(RankedTensorType type, ValueRange inputs, ArrayRef<AffineMap> maps,
           function_ref<Value(OpBuilder &, Location, ValueRange)> element);
  Value index(OpBuilder &nested, int64_t value) {
    return arith::ConstantIndexOp::create(nested, loc, value);
  }

  OpBuilder &b;
  HLOOp op;
  Location loc;
};

} // namespace

/// The only element of a tensor of rank 0.
Value Converter::scalarOf(Value tensor) {
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)))
    return arith::ConstantOp::create(
        b, loc, cast<TypedAttr>(constant.getSplatValue<Attribute>()));
  return tensor::ExtractOp::create(b, loc, tensor, ValueRange());
}

Value Converter::parallel(
    RankedTensorType type, ValueRange inputs, ArrayRef<AffineMap> maps,
    function_ref<Value(OpBuilder &, Location, ValueRange)> element) {
  SmallVector<AffineMap> all(maps);
  all.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<IteratorType> iterators(type.getRank(), IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, TypeRange(type), inputs, ValueRange(empty(type)), all,
             iterators,
             [&](OpBuilder &nested, Location at, ValueRange arguments) {
               Value result = element(nested, at, arguments.drop_back());
               linalg::YieldOp::create(nested, at, result);
             })
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// One element from one element
//===----------------------------------------------------------------------===//

FailureOr<Value> Converter::elementwise() {
  if (failed(checkElementwise(op)))
    return failure();
  RankedTensorType type = op.resultType();
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    RankedTensorType operand = op.operandType(i);
    // The predicate of `select` and the bounds of `clamp` may be of rank 0.
    bool isScalar = operand.getRank() == 0;
    if (!isScalar && operand.getShape() != type.getShape())
      return op.error() << "has an operand of type " << operand
                        << ", expected the shape of " << type;
    maps.push_back(isScalar ? mapOf(type.getRank(), {})
                            : b.getMultiDimIdentityMap(type.getRank()));
  }
  bool valid = true;
  Value result = parallel(
      type, op->getOperands(), maps,
      [&](OpBuilder &nested, Location, ValueRange scalars) -> Value {
        FailureOr<Value> scalar = emitScalar(nested, op, scalars);
        valid =
            succeeded(scalar) && (*scalar).getType() == type.getElementType();
        if (succeeded(scalar) && !valid)
          op.error() << "is of type " << type << ", expected elements of type "
                     << (*scalar).getType();
        return valid ? *scalar
                     : Value(arith::ConstantOp::create(
                           nested, loc, b.getZeroAttr(type.getElementType())));
      });
  if (!valid)
    return failure();
  return result;
}

FailureOr<Value> Converter::broadcast() {
  FailureOr<SmallVector<int64_t>> dims = op.integers("broadcast_dimensions");
  if (failed(op.check(1, 1, {"broadcast_dimensions"})) || failed(dims))
    return failure();
  RankedTensorType from = op.operandType(0), to = op.resultType();
  SmallVector<AffineExpr> exprs;
  for (auto [size, dim] : llvm::zip(from.getShape(), *dims)) {
    if (dim < 0 || dim >= to.getRank() ||
        (size != 1 && size != to.getDimSize(dim)))
      return op.error() << "cannot broadcast " << from << " to " << to;
    exprs.push_back(size == to.getDimSize(dim) ? b.getAffineDimExpr(dim)
                                               : b.getAffineConstantExpr(0));
  }
  if (static_cast<int64_t>(dims->size()) != from.getRank() ||
      llvm::SmallDenseSet<int64_t>(dims->begin(), dims->end()).size() !=
          dims->size())
    return op.error() << "cannot broadcast " << from << " to " << to;
  if (from == to && llvm::is_sorted(*dims))
    return op->getOperand(0);
  return parallel(
      to, op->getOperand(0),
      AffineMap::get(to.getRank(), 0, exprs, b.getContext()),
      [](OpBuilder &, Location, ValueRange scalars) { return scalars[0]; });
}

/// iota, and dynamic_iota, whose operand says the static shape of its type.
FailureOr<Value> Converter::iota() {
  FailureOr<int64_t> dim = op.integer("iota_dimension");
  if (failed(op.check(op.name() == "iota" ? 0 : 1, 1, {"iota_dimension"})) ||
      failed(dim))
    return failure();
  RankedTensorType type = op.resultType();
  if (*dim < 0 || *dim >= type.getRank())
    return op.error() << "has iota_dimension " << *dim << " of " << type;
  return parallel(
      type, {}, {}, [&](OpBuilder &nested, Location at, ValueRange) -> Value {
        Value place = linalg::IndexOp::create(nested, at, *dim);
        Type element = type.getElementType();
        if (!isa<FloatType>(element))
          return arith::IndexCastOp::create(nested, at, element, place);
        Value number =
            arith::IndexCastOp::create(nested, at, nested.getI64Type(), place);
        return arith::SIToFPOp::create(nested, at, element, number);
      });
}

//===----------------------------------------------------------------------===//
// Elements that move
//===----------------------------------------------------------------------===//

FailureOr<Value> Converter::constant() {
  auto value = op->getAttrOfType<ElementsAttr>("value");
  if (failed(op.check(0, 1, {"value"})))
    return failure();
  if (!value || value.getType() != op.resultType())
    return op.error() << "has no value of type " << op.resultType();
  return Value(arith::ConstantOp::create(b, loc, cast<TypedAttr>(value)));
}

FailureOr<Value> Converter::reshape() {
  if (failed(op.check(1, 1, {})))
    return failure();
  Value source = op->getOperand(0);
  RankedTensorType from = op.operandType(0), to = op.resultType();
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return op.error() << "cannot reshape " << from << " to " << to;
  auto through = [&](Value value, RankedTensorType type) -> Value {
    auto present = cast<RankedTensorType>(value.getType());
    if (present == type)
      return value;
    auto groups = getReassociationIndicesForReshape(present, type);
    if (!groups)
      return nullptr;
    if (present.getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(b, loc, type, value, *groups);
    return tensor::ExpandShapeOp::create(b, loc, type, value, *groups);
  };
  if (Value direct = through(source, to))
    return direct;
  // By the dimensions that both sides are made of: they end where as many
  // elements lie behind on either side.
  auto boundaries = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result;
    int64_t product = 1;
    for (int64_t size : llvm::reverse(shape))
      if (size != 1)
        result.push_back(product *= size);
    return result;
  };
  SmallVector<int64_t> mine = boundaries(from.getShape());
  SmallVector<int64_t> common;
  int64_t behind = 1;
  for (int64_t boundary : boundaries(to.getShape()))
    if (llvm::is_contained(mine, boundary)) {
      common.push_back(boundary / behind);
      behind = boundary;
    }
  std::reverse(common.begin(), common.end());
  bool isEmpty = llvm::is_contained(from.getShape(), 0);
  Value between =
      isEmpty ? nullptr
              : through(source,
                        RankedTensorType::get(common, from.getElementType()));
  Value result = between ? through(between, to) : nullptr;
  if (!result)
    return op.error() << "from " << from << " to " << to << " is not supported";
  return result;
}

FailureOr<Value> Converter::transpose() {
  FailureOr<SmallVector<int64_t>> permutation = op.integers("permutation");
  if (failed(op.check(1, 1, {"permutation"})) || failed(permutation))
    return failure();
  RankedTensorType from = op.operandType(0), to = op.resultType();
  if (!isPermutationVector(*permutation) ||
      static_cast<int64_t>(permutation->size()) != from.getRank() ||
      !llvm::equal(to.getShape(), llvm::map_range(*permutation, [&](int64_t d) {
                     return from.getDimSize(d);
                   })))
    return op.error() << "cannot permute " << from << " to " << to;
  return linalg::TransposeOp::create(b, loc, op->getOperand(0), empty(to),
                                     *permutation)
      ->getResult(0);
}

FailureOr<Value> Converter::slice() {
  FailureOr<SmallVector<int64_t>> starts = op.integers("start_indices"),
                                  limits = op.integers("limit_indices"),
                                  strides = op.integers("strides");
  if (failed(op.check(1, 1, {"start_indices", "limit_indices", "strides"})) ||
      failed(starts) || failed(limits) || failed(strides))
    return failure();
  RankedTensorType from = op.operandType(0), to = op.resultType();
  size_t rank = from.getRank();
  bool valid = starts->size() == rank && limits->size() == rank &&
               strides->size() == rank && to.getRank() == from.getRank();
  for (size_t i = 0; valid && i < rank; ++i) {
    int64_t start = (*starts)[i], limit = (*limits)[i], stride = (*strides)[i];
    valid = start >= 0 && start <= limit && limit <= from.getDimSize(i) &&
            stride >= 1 &&
            to.getDimSize(i) == (limit - start + stride - 1) / stride;
  }
  if (!valid)
    return op.error() << "cannot cut " << to << " from " << from;
  return Value(tensor::ExtractSliceOp::create(
      b, loc, to, op->getOperand(0), ValueRange(), ValueRange(), ValueRange(),
      *starts, to.getShape(), *strides));
}

FailureOr<Value> Converter::concatenate() {
  FailureOr<int64_t> dim = op.integer("dimension");
  if (failed(op.check(-1, 1, {"dimension"})) || failed(dim))
    return failure();
  RankedTensorType type = op.resultType();
  if (*dim < 0 || *dim >= type.getRank())
    return op.error() << "has dimension " << *dim << " of " << type;
  Value result = empty(type);
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    RankedTensorType part = op.operandType(i);
    SmallVector<int64_t> shape(type.getShape());
    if (part.getRank() == type.getRank())
      shape[*dim] = part.getDimSize(*dim);
    if (part.getShape() != ArrayRef(shape) ||
        part.getElementType() != type.getElementType())
      return op.error() << "has an operand of type " << part
                        << " for a result of type " << type;
    result = tensor::InsertSliceOp::create(
        b, loc, op->getOperand(i), result, ValueRange(), ValueRange(),
        ValueRange(), offsets, shape, strides);
    offsets[*dim] += shape[*dim];
  }
  if (offsets[*dim] != type.getDimSize(*dim))
    return op.error() << "has operands of " << offsets[*dim]
                      << " elements in all along dimension " << *dim << " of "
                      << type;
  return result;
}

FailureOr<Value> Converter::pad() {
  FailureOr<SmallVector<int64_t>> low = op.integers("edge_padding_low"),
                                  high = op.integers("edge_padding_high"),
                                  interior = op.integers("interior_padding");
  if (failed(op.check(
          2, 1,
          {"edge_padding_low", "edge_padding_high", "interior_padding"})) ||
      failed(low) || failed(high) || failed(interior))
    return failure();
  RankedTensorType from = op.operandType(0), to = op.resultType();
  size_t rank = from.getRank();
  if (low->size() != rank || high->size() != rank || interior->size() != rank ||
      to.getRank() != from.getRank() || op.operandType(1).getRank() != 0)
    return op.error() << "cannot pad " << from << " to " << to;
  SmallVector<int64_t> strides;
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = from.getDimSize(i), between = (*interior)[i];
    int64_t padded = (*low)[i] + (*high)[i] + size +
                     std::max<int64_t>(size - 1, 0) * between;
    if (between < 0 || padded != to.getDimSize(i))
      return op.error() << "cannot pad " << from << " to " << to;
    if ((*low)[i] < 0 || (*high)[i] < 0)
      return op.error() << "with a negative number is not supported";
    strides.push_back(between + 1);
  }
  return Value(tensor::InsertSliceOp::create(
      b, loc, op->getOperand(0), filled(scalarOf(op->getOperand(1)), to),
      ValueRange(), ValueRange(), ValueRange(), *low, from.getShape(),
      strides));
}

/// result[batch, offset] = operand[start(batch) + offset], where `start` is
/// read from the indices, clamped so that the slice lies in the operand.
FailureOr<Value> Converter::gather() {
  auto fields = op.fields(
      "dimension_numbers", "gather",
      {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
       "start_indices_batching_dims", "start_index_map", "index_vector_dim"});
  FailureOr<SmallVector<int64_t>> sizes = op.integers("slice_sizes");
  if (failed(op.check(
          2, 1, {"dimension_numbers", "slice_sizes", "indices_are_sorted"})) ||
      failed(fields) || failed(sizes))
    return failure();
  RankedTensorType from = op.operandType(0), to = op.resultType();
  RankedTensorType starts = op.operandType(1);
  ArrayRef<int64_t> offsetDims = (*fields)["offset_dims"];
  ArrayRef<int64_t> collapsed = (*fields)["collapsed_slice_dims"];
  ArrayRef<int64_t> startMap = (*fields)["start_index_map"];
  ArrayRef<int64_t> batching = (*fields)["operand_batching_dims"];
  ArrayRef<int64_t> startsBatching = (*fields)["start_indices_batching_dims"];
  ArrayRef<int64_t> vectorDims = (*fields)["index_vector_dim"];
  int64_t vectorDim = vectorDims.empty() ? 0 : vectorDims[0];

  // Dimensions of the result that are of the indices, in their order.
  SmallVector<int64_t> batchDims;
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (!llvm::is_contained(offsetDims, dim))
      batchDims.push_back(dim);
  // Dimensions of the operand that the offsets run along, in their order.
  SmallVector<int64_t> sliced;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(collapsed, dim) &&
        !llvm::is_contained(batching, dim))
      sliced.push_back(dim);
  bool hasVector = vectorDim < starts.getRank();
  bool valid =
      vectorDim >= 0 && vectorDim <= starts.getRank() &&
      static_cast<int64_t>(sizes->size()) == from.getRank() &&
      sliced.size() == offsetDims.size() &&
      batching.size() == startsBatching.size() &&
      static_cast<int64_t>(batchDims.size()) == starts.getRank() - hasVector &&
      static_cast<int64_t>(startMap.size()) ==
          (hasVector ? starts.getDimSize(vectorDim) : 1) &&
      isa<IntegerType>(starts.getElementType()) &&
      from.getElementType() == to.getElementType();
  auto inRange = [](ArrayRef<int64_t> dims, int64_t rank) {
    return llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < rank; });
  };
  valid = valid && inRange(startMap, from.getRank()) &&
          inRange(batching, from.getRank()) &&
          inRange(startsBatching, starts.getRank()) &&
          inRange(offsetDims, to.getRank());
  for (int64_t dim = 0; valid && dim < from.getRank(); ++dim)
    valid = (*sizes)[dim] >= 0 && (*sizes)[dim] <= from.getDimSize(dim) &&
            (llvm::is_contained(sliced, dim) || (*sizes)[dim] == 1);
  for (size_t i = 0; valid && i < sliced.size(); ++i)
    valid = to.getDimSize(offsetDims[i]) == (*sizes)[sliced[i]];
  // The dimension of the result for each one of the indices.
  SmallVector<int64_t> resultDim(starts.getRank(), -1);
  for (int64_t dim = 0, next = 0; valid && dim < starts.getRank(); ++dim)
    if (!hasVector || dim != vectorDim) {
      resultDim[dim] = batchDims[next++];
      valid = to.getDimSize(resultDim[dim]) == starts.getDimSize(dim);
    }
  for (int64_t dim : startsBatching)
    valid = valid && resultDim[dim] >= 0;
  if (!valid)
    return op.error() << "of " << from << " by " << starts << " to " << to
                      << " is not understood";

  return parallel(
      to, {}, {}, [&](OpBuilder &nested, Location at, ValueRange) -> Value {
        SmallVector<Value> place(from.getRank());
        auto here = [&](int64_t dim) -> Value {
          return linalg::IndexOp::create(nested, at, dim);
        };
        for (auto [i, dim] : llvm::enumerate(startMap)) {
          SmallVector<Value> at0;
          for (int64_t d = 0; d < starts.getRank(); ++d)
            at0.push_back(hasVector && d == vectorDim ? index(nested, i)
                                                      : here(resultDim[d]));
          Value start =
              tensor::ExtractOp::create(nested, at, op->getOperand(1), at0);
          start = arith::IndexCastOp::create(nested, at, nested.getIndexType(),
                                             start);
          start = arith::MaxSIOp::create(nested, at, start, index(nested, 0));
          place[dim] = arith::MinSIOp::create(
              nested, at, start,
              index(nested, from.getDimSize(dim) - (*sizes)[dim]));
        }
        for (auto [dim, of] : llvm::zip_equal(batching, startsBatching))
          place[dim] = here(resultDim[of]);
        for (auto [dim, offset] : llvm::zip_equal(sliced, offsetDims))
          place[dim] = place[dim] ? Value(arith::AddIOp::create(
                                        nested, at, place[dim], here(offset)))
                                  : here(offset);
        for (Value &p : place)
          if (!p)
            p = index(nested, 0);
        return tensor::ExtractOp::create(nested, at, op->getOperand(0), place);
      });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

FailureOr<Value> Converter::dotGeneral() {
  auto fields =
      op.fields("dot_dimension_numbers", "dot",
                {"lhs_batching_dimensions", "rhs_batching_dimensions",
                 "lhs_contracting_dimensions", "rhs_contracting_dimensions"});
  if (failed(op.check(
          2, 1, {"dot_dimension_numbers", "precision_config", "algorithm"})) ||
      failed(fields))
    return failure();
  RankedTensorType left = op.operandType(0), right = op.operandType(1);
  RankedTensorType type = op.resultType();
  ArrayRef<int64_t> leftBatch = (*fields)["lhs_batching_dimensions"],
                    rightBatch = (*fields)["rhs_batching_dimensions"],
                    leftSummed = (*fields)["lhs_contracting_dimensions"],
                    rightSummed = (*fields)["rhs_contracting_dimensions"];

  // Loops: batch, rows of the left, columns of the right, what is summed over.
  SmallVector<int64_t> leftLoops(left.getRank(), -1),
      rightLoops(right.getRank(), -1), sizes;
  bool valid = leftBatch.size() == rightBatch.size() &&
               leftSummed.size() == rightSummed.size();
  auto bind = [&](RankedTensorType of, SmallVector<int64_t> &loops, int64_t dim,
                  int64_t loop) {
    valid = valid && dim >= 0 && dim < of.getRank() && loops[dim] < 0 &&
            of.getDimSize(dim) == sizes[loop];
    if (valid)
      loops[dim] = loop;
  };
  auto bindBoth = [&](ArrayRef<int64_t> mine, ArrayRef<int64_t> theirs) {
    for (auto [l, r] : llvm::zip(mine, theirs)) {
      sizes.push_back(l >= 0 && l < left.getRank() ? left.getDimSize(l) : -1);
      bind(left, leftLoops, l, sizes.size() - 1);
      bind(right, rightLoops, r, sizes.size() - 1);
    }
  };
  bindBoth(leftBatch, rightBatch);
  auto bindFree = [&](RankedTensorType of, SmallVector<int64_t> &loops,
                      ArrayRef<int64_t> summed) {
    for (int64_t dim = 0; dim < of.getRank(); ++dim)
      if (loops[dim] < 0 && !llvm::is_contained(summed, dim)) {
        sizes.push_back(of.getDimSize(dim));
        loops[dim] = sizes.size() - 1;
      }
  };
  bindFree(left, leftLoops, leftSummed);
  bindFree(right, rightLoops, rightSummed);
  int64_t parallelLoops = sizes.size();
  valid = valid && type.getShape() == ArrayRef(sizes);
  bindBoth(leftSummed, rightSummed);
  Type element = type.getElementType();
  if (!valid)
    return op.error() << "of " << left << " and " << right << " to " << type
                      << " is not understood";
  bool onFloats = isa<FloatType>(element);
  for (RankedTensorType factor : {left, right})
    if (isa<FloatType>(factor.getElementType()) != onFloats ||
        factor.getElementTypeBitWidth() > type.getElementTypeBitWidth() ||
        element.isInteger(1))
      return op.error() << "of " << factor.getElementType() << " to " << element
                        << " is not supported";

  Type sumType = onFloats && type.getElementTypeBitWidth() < 32
                     ? Type(b.getF32Type())
                     : element;
  RankedTensorType sums = type.clone(sumType);
  SmallVector<int64_t> outLoops(parallelLoops);
  std::iota(outLoops.begin(), outLoops.end(), 0);
  unsigned loops = sizes.size();
  SmallVector<IteratorType> iterators(parallelLoops, IteratorType::parallel);
  iterators.resize(loops, IteratorType::reduction);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(sumType));
  Value result = linalg::GenericOp::create(
                     b, loc, TypeRange(sums), op->getOperands(),
                     ValueRange(filled(zero, sums)),
                     {mapOf(loops, leftLoops), mapOf(loops, rightLoops),
                      mapOf(loops, outLoops)},
                     iterators,
                     [&](OpBuilder &nested, Location at, ValueRange arguments) {
                       auto widen = [&](Value x) -> Value {
                         if (x.getType() == sumType)
                           return x;
                         if (onFloats)
                           return arith::ExtFOp::create(nested, at, sumType, x);
                         return arith::ExtSIOp::create(nested, at, sumType, x);
                       };
                       Value l = widen(arguments[0]), r = widen(arguments[1]);
                       Value sum;
                       if (onFloats)
                         sum = arith::AddFOp::create(
                             nested, at, arguments[2],
                             Value(arith::MulFOp::create(nested, at, l, r)));
                       else
                         sum = arith::AddIOp::create(
                             nested, at, arguments[2],
                             Value(arith::MulIOp::create(nested, at, l, r)));
                       linalg::YieldOp::create(nested, at, sum);
                     })
                     ->getResult(0);
  if (sumType == element)
    return result;
  return parallel(type, result, b.getMultiDimIdentityMap(type.getRank()),
                  [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                    return arith::TruncFOp::create(nested, at, element, x[0]);
                  });
}

FailureOr<SmallVector<Value>> Converter::reduce() {
  FailureOr<SmallVector<int64_t>> dims = op.integers("dimensions");
  if (failed(op.check(-1, -1, {"dimensions"})) || failed(dims))
    return failure();
  unsigned count = op->getNumResults();
  if (count == 0 || op->getNumOperands() != 2 * count ||
      op->getNumRegions() != 1)
    return op.error() << "has " << op->getNumOperands() << " operands and "
                      << count << " results";
  RankedTensorType from = op.operandType(0);
  SmallVector<int64_t> kept, shape;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(*dims, dim)) {
      kept.push_back(dim);
      shape.push_back(from.getDimSize(dim));
    }
  SmallVector<Value> inputs, outputs;
  SmallVector<Type> types;
  for (unsigned i = 0; i < count; ++i) {
    if (op.operandType(i).getShape() != from.getShape() ||
        op.operandType(count + i).getRank() != 0 ||
        op.resultType(i).getShape() != ArrayRef(shape) ||
        op.operandType(i).getElementType() !=
            op.resultType(i).getElementType() ||
        op.operandType(count + i).getElementType() !=
            op.resultType(i).getElementType())
      return op.error() << "of " << op.operandType(i) << " to "
                        << op.resultType(i) << " is not understood";
    inputs.push_back(op->getOperand(i));
    outputs.push_back(
        filled(scalarOf(op->getOperand(count + i)), op.resultType(i)));
    types.push_back(op.resultType(i));
  }
  SmallVector<IteratorType> iterators(from.getRank(), IteratorType::parallel);
  for (int64_t dim : *dims) {
    if (dim < 0 || dim >= from.getRank())
      return op.error() << "has dimension " << dim << " of " << from;
    iterators[dim] = IteratorType::reduction;
  }
  SmallVector<AffineMap> maps(count, b.getMultiDimIdentityMap(from.getRank()));
  maps.append(count, mapOf(from.getRank(), kept));
  bool valid = true;
  auto generic = linalg::GenericOp::create(
      b, loc, types, inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location at, ValueRange arguments) {
        // The region takes what there is so far first.
        SmallVector<Value> scalars(arguments.take_back(count));
        llvm::append_range(scalars, arguments.take_front(count));
        FailureOr<SmallVector<Value>> reduced = emitRegion(nested, op, scalars);
        valid = succeeded(reduced) && reduced->size() == count &&
                llvm::equal(ValueRange(*reduced).getTypes(),
                            arguments.take_back(count).getTypes());
        if (succeeded(reduced) && !valid)
          op.error() << "has a region of other types than its results";
        linalg::YieldOp::create(nested, at,
                                valid ? ValueRange(*reduced)
                                      : arguments.take_back(count));
      });
  if (!valid)
    return failure();
  return SmallVector<Value>(generic.getResults());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> Converter::run() {
  if (op.name() == "reduce")
    return reduce();
  if (op.name() == "optimization_barrier")
    return SmallVector<Value>(op->getOperands());
  using Convert = FailureOr<Value> (Converter::*)();
  static const llvm::StringMap<Convert> converts = {
      {"broadcast_in_dim", &Converter::broadcast},
      {"concatenate", &Converter::concatenate},
      {"constant", &Converter::constant},
      {"dot_general", &Converter::dotGeneral},
      {"dynamic_iota", &Converter::iota},
      {"gather", &Converter::gather},
      {"iota", &Converter::iota},
      {"pad", &Converter::pad},
      {"reshape", &Converter::reshape},
      {"slice", &Converter::slice},
      {"transpose", &Converter::transpose},
  };
  Convert convert = converts.lookup(op.name());
  if (!convert && isElementwise(op))
    convert = &Converter::elementwise;
  if (!convert)
    return op.error() << "is not supported";
  FailureOr<Value> result = (this->*convert)();
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result};
}

namespace {
struct ConvertStableHLOToLinalgPass
    : mlir::ring::impl::ConvertStableHLOToLinalgPassBase<
          ConvertStableHLOToLinalgPass> {
  using ConvertStableHLOToLinalgPassBase::ConvertStableHLOToLinalgPassBase;

  void runOnOperation() override {
    // Regions of StableHLO ops are converted with the op.
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!HLOOp::isHLO(op))
        return WalkResult::advance();
      ops.push_back(op);
      return WalkResult::skip();
    });
    for (Operation *op : ops) {
      OpBuilder b(op);
      FailureOr<SmallVector<Value>> results = Converter(b, HLOOp(op)).run();
      if (failed(results))
        return signalPassFailure();
      if (!llvm::equal(ValueRange(*results).getTypes(), op->getResultTypes())) {
        HLOOp(op).error() << "has results of other types than its operands say";
        return signalPassFailure();
      }
      op->replaceAllUsesWith(*results);
      op->erase();
    }
  }
};
} // namespace
