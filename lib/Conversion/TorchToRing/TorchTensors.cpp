//===- TorchTensors.cpp - Tensor ops of torch and ONNX --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few ops that attention is made of where it has been decomposed. Both
// dialects broadcast from the right.
//
//===----------------------------------------------------------------------===//

#include "TorchTensors.h"

#include "../UnlinkedOp.h"
#include "TorchTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/ADT/StringMap.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::ring;

using utils::IteratorType;

namespace {

class TensorConverter {
public:
  TensorConverter(OpBuilder &b, Operation *op, RankedTensorType type)
      : b(b), op(op), loc(op->getLoc()), type(type) {}

  using Convert = FailureOr<Value> (TensorConverter::*)();
  static Convert find(StringRef name);

private:
  template <typename Op> FailureOr<Value> binary();
  FailureOr<Value> addScaled() {
    return isOne(2) ? binary<arith::AddFOp>() : notUnderstood();
  }
  FailureOr<Value> all();
  FailureOr<Value> constant();
  FailureOr<Value> equalScalar();
  FailureOr<Value> expand();
  FailureOr<Value> full();
  FailureOr<Value> identity() { return tensorAt(0); }
  FailureOr<Value> matmul();
  FailureOr<Value> multiplyScalar();
  FailureOr<Value> permute(std::optional<SmallVector<int64_t>> permutation);
  FailureOr<Value> permuteList() { return permute(integers(1)); }
  FailureOr<Value> permuteAttribute();
  FailureOr<Value> reshape();
  FailureOr<Value> softmax(std::optional<int64_t> dim);
  FailureOr<Value> softmaxOperand() { return softmax(integer(1)); }
  FailureOr<Value> softmaxAttribute();
  FailureOr<Value> where();

  FailureOr<Value> notUnderstood() {
    return emitNamedError(op) << "with these operands is not supported";
  }
  FailureOr<Value> tensorAt(unsigned i);
  std::optional<int64_t> integer(unsigned i) { return getTorchInteger(op, i); }
  std::optional<SmallVector<int64_t>> integers(unsigned i);
  std::optional<double> number(unsigned i) { return getTorchNumber(op, i); }
  bool isOne(unsigned i) {
    return op->getNumOperands() <= i || integer(i) == 1;
  }

  Value filled(double value, RankedTensorType of) {
    Type element = of.getElementType();
    TypedAttr attribute =
        isa<FloatType>(element)
            ? TypedAttr(b.getFloatAttr(element, value))
            : b.getIntegerAttr(element, static_cast<int64_t>(value));
    Value scalar = arith::ConstantOp::create(b, loc, attribute);
    Value empty = tensor::EmptyOp::create(b, loc, of.getShape(), element);
    return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
  }
  /// How a tensor is read that is broadcast from the right to `rank` loops.
  AffineMap broadcastMap(Value tensor, unsigned rank) {
    auto of = cast<RankedTensorType>(tensor.getType());
    SmallVector<AffineExpr> exprs;
    for (auto [i, size] : llvm::enumerate(of.getShape()))
      exprs.push_back(size == 1 ? b.getAffineConstantExpr(0)
                                : b.getAffineDimExpr(rank - of.getRank() + i));
    return AffineMap::get(rank, 0, exprs, b.getContext());
  }
  bool broadcastsTo(Value tensor, RankedTensorType to) {
    auto of = cast<RankedTensorType>(tensor.getType());
    if (of.getRank() > to.getRank())
      return false;
    return llvm::all_of_zip(
        of.getShape(), to.getShape().take_back(of.getRank()),
        [](int64_t a, int64_t b) { return a == 1 || a == b; });
  }
  Value generic(Value init, ValueRange inputs, ArrayRef<AffineMap> maps,
                ArrayRef<IteratorType> iterators,
                function_ref<Value(OpBuilder &, ValueRange)> element) {
    return linalg::GenericOp::create(
               b, loc, TypeRange(init.getType()), inputs, ValueRange(init),
               maps, iterators,
               [&](OpBuilder &nested, Location at, ValueRange x) {
                 linalg::YieldOp::create(nested, at, element(nested, x));
               })
        ->getResult(0);
  }
  /// Each element of a tensor of `of` from those of the inputs.
  Value elementwise(RankedTensorType of, ValueRange inputs,
                    function_ref<Value(OpBuilder &, ValueRange)> element) {
    SmallVector<AffineMap> maps;
    for (Value input : inputs)
      maps.push_back(broadcastMap(input, of.getRank()));
    maps.push_back(b.getMultiDimIdentityMap(of.getRank()));
    Value empty =
        tensor::EmptyOp::create(b, loc, of.getShape(), of.getElementType());
    SmallVector<IteratorType> iterators(of.getRank(), IteratorType::parallel);
    return generic(empty, inputs, maps, iterators, element);
  }
  /// A reduction of dimension `dim`, which keeps size 1.
  Value reduce(Value tensor, int64_t dim, Value init,
               function_ref<Value(OpBuilder &, ValueRange)> combine) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    SmallVector<AffineExpr> kept;
    SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
    for (int64_t i = 0; i < rank; ++i)
      kept.push_back(i == dim ? b.getAffineConstantExpr(0)
                              : b.getAffineDimExpr(i));
    iterators[dim] = IteratorType::reduction;
    return generic(init, tensor,
                   {b.getMultiDimIdentityMap(rank),
                    AffineMap::get(rank, 0, kept, b.getContext())},
                   iterators, combine);
  }

  OpBuilder &b;
  Operation *op;
  Location loc;
  RankedTensorType type;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

FailureOr<Value> TensorConverter::tensorAt(unsigned i) {
  if (i < op->getNumOperands()) {
    auto of = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (of && of.hasStaticShape())
      return op->getOperand(i);
  }
  return emitNamedError(op)
         << "has no operand " << i << " that is a tensor of static shape";
}

std::optional<SmallVector<int64_t>> TensorConverter::integers(unsigned i) {
  Operation *list = getTorchOperand(op, i, "prim.ListConstruct");
  if (!list)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (unsigned k = 0; k < list->getNumOperands(); ++k) {
    Operation *def = getTorchOperand(list, k, "constant.int");
    auto value = def ? def->getAttrOfType<IntegerAttr>("value") : IntegerAttr();
    if (!value)
      return std::nullopt;
    result.push_back(value.getInt());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

template <typename Op> FailureOr<Value> TensorConverter::binary() {
  FailureOr<Value> x = tensorAt(0), y = tensorAt(1);
  if (failed(x) || failed(y))
    return failure();
  for (Value operand : {*x, *y})
    if (!broadcastsTo(operand, type) ||
        cast<RankedTensorType>(operand.getType()).getElementType() !=
            type.getElementType() ||
        !isa<FloatType>(type.getElementType()))
      return notUnderstood();
  return elementwise(type, {*x, *y},
                     [&](OpBuilder &nested, ValueRange e) -> Value {
                       return Op::create(nested, loc, e[0], e[1]);
                     });
}

FailureOr<Value> TensorConverter::multiplyScalar() {
  FailureOr<Value> x = tensorAt(0);
  std::optional<double> factor = number(1);
  if (failed(x))
    return failure();
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!factor || !element || (*x).getType() != type)
    return notUnderstood();
  Value scalar =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(element, *factor));
  return elementwise(type, *x, [&](OpBuilder &nested, ValueRange e) -> Value {
    return arith::MulFOp::create(nested, loc, e[0], scalar);
  });
}

FailureOr<Value> TensorConverter::equalScalar() {
  FailureOr<Value> x = tensorAt(0);
  std::optional<double> compared = number(1);
  if (failed(x))
    return failure();
  auto of = cast<RankedTensorType>((*x).getType());
  auto element = dyn_cast<FloatType>(of.getElementType());
  if (!compared || !element || of.getShape() != type.getShape() ||
      !type.getElementType().isInteger(1))
    return notUnderstood();
  Value scalar =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(element, *compared));
  return elementwise(type, *x, [&](OpBuilder &nested, ValueRange e) -> Value {
    return arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OEQ, e[0],
                                 scalar);
  });
}

/// all(x, dim, keepdim = true), of booleans.
FailureOr<Value> TensorConverter::all() {
  FailureOr<Value> x = tensorAt(0);
  std::optional<int64_t> dim = integer(1);
  if (failed(x))
    return failure();
  auto of = cast<RankedTensorType>((*x).getType());
  if (!dim || of.getElementType() != type.getElementType() ||
      !type.getElementType().isInteger(1) || of.getRank() != type.getRank())
    return notUnderstood();
  int64_t place = *dim < 0 ? *dim + of.getRank() : *dim;
  if (place < 0 || place >= of.getRank() || type.getDimSize(place) != 1)
    return notUnderstood();
  return reduce(*x, place, filled(1, type),
                [&](OpBuilder &nested, ValueRange e) -> Value {
                  return arith::AndIOp::create(nested, loc, e[0], e[1]);
                });
}

FailureOr<Value> TensorConverter::where() {
  FailureOr<Value> c = tensorAt(0), x = tensorAt(1), y = tensorAt(2);
  if (failed(c) || failed(x) || failed(y))
    return failure();
  for (Value operand : {*c, *x, *y})
    if (!broadcastsTo(operand, type) ||
        (operand != *c &&
         cast<RankedTensorType>(operand.getType()).getElementType() !=
             type.getElementType()))
      return notUnderstood();
  if (!cast<RankedTensorType>((*c).getType()).getElementType().isInteger(1))
    return notUnderstood();
  return elementwise(
      type, {*c, *x, *y}, [&](OpBuilder &nested, ValueRange e) -> Value {
        return arith::SelectOp::create(nested, loc, e[0], e[1], e[2]);
      });
}

FailureOr<Value> TensorConverter::full() {
  std::optional<double> value = number(1);
  if (!value)
    return notUnderstood();
  return filled(*value, type);
}

FailureOr<Value> TensorConverter::expand() {
  FailureOr<Value> x = tensorAt(0);
  if (failed(x))
    return failure();
  if (!broadcastsTo(*x, type))
    return notUnderstood();
  if ((*x).getType() == type)
    return *x;
  return elementwise(type, *x, [](OpBuilder &, ValueRange e) { return e[0]; });
}

/// The sizes are those of the result's type.
FailureOr<Value> TensorConverter::reshape() {
  FailureOr<Value> x = tensorAt(0);
  if (failed(x))
    return failure();
  auto of = cast<RankedTensorType>((*x).getType());
  if (of == type)
    return *x;
  auto groups = getReassociationIndicesForReshape(of, type);
  if (of.getElementType() != type.getElementType() ||
      of.getNumElements() != type.getNumElements() || !groups)
    return notUnderstood();
  if (of.getRank() > type.getRank())
    return Value(tensor::CollapseShapeOp::create(b, loc, type, *x, *groups));
  return Value(tensor::ExpandShapeOp::create(b, loc, type, *x, *groups));
}

FailureOr<Value>
TensorConverter::permute(std::optional<SmallVector<int64_t>> permutation) {
  FailureOr<Value> x = tensorAt(0);
  if (failed(x))
    return failure();
  auto of = cast<RankedTensorType>((*x).getType());
  if (!permutation || !isPermutationVector(*permutation) ||
      static_cast<int64_t>(permutation->size()) != of.getRank() ||
      type != of.clone(applyPermutation(of.getShape(), *permutation)))
    return notUnderstood();
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  return linalg::TransposeOp::create(b, loc, *x, empty, *permutation)
      ->getResult(0);
}

FailureOr<Value> TensorConverter::permuteAttribute() {
  auto list = op->getAttrOfType<ArrayAttr>("torch.onnx.perm");
  if (!list || !llvm::all_of(list, llvm::IsaPred<IntegerAttr>))
    return notUnderstood();
  return permute(llvm::map_to_vector(list, [](Attribute a) {
    return cast<IntegerAttr>(a).getValue().getSExtValue();
  }));
}

/// [..., m, k] times [..., k, n].
FailureOr<Value> TensorConverter::matmul() {
  FailureOr<Value> x = tensorAt(0), y = tensorAt(1);
  if (failed(x) || failed(y))
    return failure();
  auto left = cast<RankedTensorType>((*x).getType()),
       right = cast<RankedTensorType>((*y).getType());
  int64_t rank = type.getRank();
  if (rank < 2 || left.getRank() != rank || right.getRank() != rank ||
      left.getElementType() != type.getElementType() ||
      right.getElementType() != type.getElementType() ||
      !type.getElementType().isF32() ||
      left.getDimSize(rank - 1) != right.getDimSize(rank - 2) ||
      left.getDimSize(rank - 2) != type.getDimSize(rank - 2) ||
      right.getDimSize(rank - 1) != type.getDimSize(rank - 1))
    return notUnderstood();
  // Loops: batch, m, n, k.
  SmallVector<AffineExpr> l, r, o;
  for (int64_t i = 0; i < rank - 2; ++i) {
    o.push_back(b.getAffineDimExpr(i));
    for (auto [of, exprs] : {std::pair(left, &l), std::pair(right, &r)}) {
      if (of.getDimSize(i) != type.getDimSize(i) && of.getDimSize(i) != 1)
        return notUnderstood();
      exprs->push_back(of.getDimSize(i) == type.getDimSize(i)
                           ? o.back()
                           : b.getAffineConstantExpr(0));
    }
  }
  AffineExpr m = b.getAffineDimExpr(rank - 2), n = b.getAffineDimExpr(rank - 1),
             k = b.getAffineDimExpr(rank);
  l.append({m, k});
  r.append({k, n});
  o.append({m, n});
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.push_back(IteratorType::reduction);
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs : {ArrayRef(l), ArrayRef(r), ArrayRef(o)})
    maps.push_back(AffineMap::get(rank + 1, 0, exprs, b.getContext()));
  return generic(filled(0, type), {*x, *y}, maps, iterators,
                 [&](OpBuilder &nested, ValueRange e) -> Value {
                   Value product =
                       arith::MulFOp::create(nested, loc, e[0], e[1]);
                   return arith::AddFOp::create(nested, loc, e[2], product);
                 });
}

FailureOr<Value> TensorConverter::softmax(std::optional<int64_t> dim) {
  FailureOr<Value> x = tensorAt(0);
  if (failed(x))
    return failure();
  int64_t place = dim && *dim < 0 ? *dim + type.getRank() : dim.value_or(-1);
  if (place < 0 || place >= type.getRank() || (*x).getType() != type ||
      !type.getElementType().isF32())
    return notUnderstood();
  SmallVector<int64_t> shape(type.getShape());
  shape[place] = 1;
  RankedTensorType rows = type.clone(shape);
  Value max =
      reduce(*x, place, filled(-std::numeric_limits<double>::infinity(), rows),
             [&](OpBuilder &nested, ValueRange e) -> Value {
               return arith::MaximumFOp::create(nested, loc, e[0], e[1]);
             });
  Value weights = elementwise(
      type, {*x, max}, [&](OpBuilder &nested, ValueRange e) -> Value {
        Value difference = arith::SubFOp::create(nested, loc, e[0], e[1]);
        return math::ExpOp::create(nested, loc, difference);
      });
  Value sum = reduce(weights, place, filled(0, rows),
                     [&](OpBuilder &nested, ValueRange e) -> Value {
                       return arith::AddFOp::create(nested, loc, e[0], e[1]);
                     });
  return elementwise(type, {weights, sum},
                     [&](OpBuilder &nested, ValueRange e) -> Value {
                       return arith::DivFOp::create(nested, loc, e[0], e[1]);
                     });
}

FailureOr<Value> TensorConverter::softmaxAttribute() {
  auto axis = op->getAttrOfType<IntegerAttr>("torch.onnx.axis");
  return softmax(axis ? axis.getValue().getSExtValue() : -1);
}

FailureOr<Value> TensorConverter::constant() {
  auto value = op->getAttrOfType<ElementsAttr>("torch.onnx.value");
  if (!value || value.getShapedType() != type)
    return emitNamedError(op)
           << "\"onnx.Constant\" has no value of type " << type;
  return Value(arith::ConstantOp::create(b, loc, cast<TypedAttr>(value)));
}

TensorConverter::Convert TensorConverter::find(StringRef name) {
  using T = TensorConverter;
  static const llvm::StringMap<Convert> converts = {
      {"aten._softmax", &T::softmaxOperand},
      {"aten.add.Tensor", &T::addScaled},
      {"aten.all.dim", &T::all},
      {"aten.bmm", &T::matmul},
      {"aten.clone", &T::identity},
      {"aten.div.Tensor", &T::binary<arith::DivFOp>},
      {"aten.eq.Scalar", &T::equalScalar},
      {"aten.expand", &T::expand},
      {"aten.full_like", &T::full},
      {"aten.matmul", &T::matmul},
      {"aten.mul.Scalar", &T::multiplyScalar},
      {"aten.mul.Tensor", &T::binary<arith::MulFOp>},
      {"aten.permute", &T::permuteList},
      {"aten.reshape", &T::reshape},
      {"aten.softmax.int", &T::softmaxOperand},
      {"aten.view", &T::reshape},
      {"aten.where.self", &T::where},
      {"onnx.Add", &T::binary<arith::AddFOp>},
      {"onnx.Constant", &T::constant},
      {"onnx.Div", &T::binary<arith::DivFOp>},
      {"onnx.MatMul", &T::matmul},
      {"onnx.Mul", &T::binary<arith::MulFOp>},
      {"onnx.Reshape", &T::reshape},
      {"onnx.Softmax", &T::softmaxAttribute},
      {"onnx.Transpose", &T::permuteAttribute},
  };
  return converts.lookup(name);
}

FailureOr<Value> mlir::ring::convertTensorOp(OpBuilder &b, Operation *op,
                                             StringRef name,
                                             RankedTensorType type) {
  TensorConverter::Convert convert = TensorConverter::find(name);
  if (!convert)
    return Value();
  return (TensorConverter(b, op, type).*convert)();
}
