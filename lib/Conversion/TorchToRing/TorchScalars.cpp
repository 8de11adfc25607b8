//===- TorchScalars.cpp - Tensors of rank 0 as scalars --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops compute in the type of their result, comparisons in the wider type of
// their operands, as PyTorch promotes.
//
//===----------------------------------------------------------------------===//

#include "TorchScalars.h"

#include "../UnlinkedOp.h"
#include "TorchTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ring;

namespace {

class ScalarConverter {
public:
  ScalarConverter(OpBuilder &b, Operation *op, Type type,
                  const IRMapping &scalars)
      : b(b), op(op), loc(op->getLoc()), type(type), scalars(scalars) {}

  /// Null where it is not understood.
  using Convert = Value (ScalarConverter::*)();
  static Convert find(StringRef name);

private:
  template <typename FloatOp, typename IntegerOp> Value binary() {
    return apply<FloatOp, IntegerOp>(operand(0, type), operand(1, type));
  }
  /// The second operand is multiplied by the third, which has to be 1.
  template <typename FloatOp, typename IntegerOp> Value scaled() {
    return op->getNumOperands() > 2 && getTorchNumber(op, 2) != 1
               ? Value()
               : binary<FloatOp, IntegerOp>();
  }
  template <typename FloatOp> Value divide() {
    return isa<FloatType>(type) ? binary<FloatOp, FloatOp>() : Value();
  }
  template <typename FloatOp> Value unary() {
    Value x = operand(0, type);
    return x && isa<FloatType>(type) ? FloatOp::create(b, loc, x) : Value();
  }
  template <arith::CmpIPredicate integers, arith::CmpFPredicate floats>
  Value compare();
  template <typename IntegerOp> Value logical() {
    return type.isInteger(1) ? binary<void, IntegerOp>() : Value();
  }
  Value negateLogical();
  Value where();
  Value convert() { return operand(0, type); }
  /// The number stands at operand 0, or at 1.
  Value scalarTensor() { return number(0, type); }
  Value full() { return number(1, type); }

  template <typename FloatOp, typename IntegerOp> Value apply(Value x, Value y);
  Value number(unsigned i, Type as);
  Value operand(unsigned i, Type as);
  Value cast(Value value, Type as);

  OpBuilder &b;
  Operation *op;
  Location loc;
  Type type;
  const IRMapping &scalars;
};

} // namespace

template <typename FloatOp, typename IntegerOp>
Value ScalarConverter::apply(Value x, Value y) {
  if (!x || !y)
    return {};
  if constexpr (!std::is_void_v<FloatOp>)
    if (isa<FloatType>(x.getType()))
      return FloatOp::create(b, loc, x, y);
  // Booleans have no arithmetic.
  constexpr bool bitwise =
      llvm::is_one_of<IntegerOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>();
  if constexpr (!std::is_same_v<FloatOp, IntegerOp>)
    if (isa<IntegerType>(x.getType()) && (bitwise || !type.isInteger(1)))
      return IntegerOp::create(b, loc, x, y);
  return {};
}

Value ScalarConverter::number(unsigned i, Type as) {
  std::optional<double> value = getTorchNumber(op, i);
  if (!value)
    return {};
  if (auto real = dyn_cast<FloatType>(as))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(real, *value));
  // Of integers, those that a double holds exactly.
  if (!as.isInteger() ||
      !(std::abs(*value) <= static_cast<double>(int64_t(1) << 53)) ||
      *value != static_cast<double>(static_cast<int64_t>(*value)))
    return {};
  auto integer = static_cast<int64_t>(*value);
  if (as.isInteger(1) ? integer != 0 && integer != 1
                      : !llvm::isIntN(as.getIntOrFloatBitWidth(), integer))
    return {};
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(as, integer));
}

Value ScalarConverter::cast(Value value, Type as) {
  Type from = value.getType();
  if (from == as)
    return value;
  auto isReal = [](Type t) { return isa<FloatType>(t); };
  unsigned width = from.getIntOrFloatBitWidth(),
           wanted = as.getIntOrFloatBitWidth();
  if (isReal(from) && isReal(as))
    return wanted > width ? arith::ExtFOp::create(b, loc, as, value).getResult()
                          : arith::TruncFOp::create(b, loc, as, value);
  if (isReal(as))
    return width == 1 ? arith::UIToFPOp::create(b, loc, as, value).getResult()
                      : arith::SIToFPOp::create(b, loc, as, value);
  // What of a float fits no integer has no meaning.
  if (isReal(from) || wanted < width)
    return {};
  return width == 1 ? arith::ExtUIOp::create(b, loc, as, value).getResult()
                    : arith::ExtSIOp::create(b, loc, as, value);
}

Value ScalarConverter::operand(unsigned i, Type as) {
  if (i >= op->getNumOperands())
    return {};
  Value value = scalars.lookupOrNull(op->getOperand(i));
  return value ? cast(value, as) : number(i, as);
}

template <arith::CmpIPredicate integers, arith::CmpFPredicate floats>
Value ScalarConverter::compare() {
  Value x = scalars.lookupOrNull(op->getOperand(0)),
        y = op->getNumOperands() == 2 ? scalars.lookupOrNull(op->getOperand(1))
                                      : Value();
  if (!type.isInteger(1) || !x || op->getNumOperands() != 2)
    return {};
  Type common = x.getType();
  if (y && common != y.getType()) {
    bool real = isa<FloatType>(common), other = isa<FloatType>(y.getType());
    bool wider =
        y.getType().getIntOrFloatBitWidth() > common.getIntOrFloatBitWidth();
    if (real == other ? wider : other)
      common = y.getType();
  }
  // An integer is compared with a number that is none as a float.
  if (!y && isa<IntegerType>(common) && !number(1, common))
    return {};
  x = operand(0, common);
  y = operand(1, common);
  if (!x || !y)
    return {};
  // false < true.
  if (common.isInteger(1)) {
    x = cast(x, b.getI32Type());
    y = cast(y, b.getI32Type());
  }
  if (isa<FloatType>(common))
    return arith::CmpFOp::create(b, loc, floats, x, y);
  return arith::CmpIOp::create(b, loc, integers, x, y);
}

Value ScalarConverter::negateLogical() {
  Value x = operand(0, type);
  if (!x || !type.isInteger(1))
    return {};
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return arith::XOrIOp::create(b, loc, x, yes);
}

Value ScalarConverter::where() {
  Value condition = operand(0, b.getI1Type()), x = operand(1, type),
        y = operand(2, type);
  if (!condition || !x || !y)
    return {};
  return arith::SelectOp::create(b, loc, condition, x, y);
}

ScalarConverter::Convert ScalarConverter::find(StringRef name) {
  using namespace arith;
  using S = ScalarConverter;
  static const llvm::StringMap<Convert> converts = {
      {"aten.abs", &S::unary<math::AbsFOp>},
      {"aten.add.Scalar", &S::scaled<AddFOp, AddIOp>},
      {"aten.add.Tensor", &S::scaled<AddFOp, AddIOp>},
      {"aten.bitwise_and.Tensor", &S::logical<AndIOp>},
      {"aten.bitwise_not", &S::negateLogical},
      {"aten.bitwise_or.Tensor", &S::logical<OrIOp>},
      {"aten.bitwise_xor.Tensor", &S::logical<XOrIOp>},
      {"aten.clone", &S::convert},
      {"aten.div.Scalar", &S::divide<DivFOp>},
      {"aten.div.Tensor", &S::divide<DivFOp>},
      {"aten.eq.Scalar", &S::compare<CmpIPredicate::eq, CmpFPredicate::OEQ>},
      {"aten.eq.Tensor", &S::compare<CmpIPredicate::eq, CmpFPredicate::OEQ>},
      {"aten.exp", &S::unary<math::ExpOp>},
      {"aten.floor_divide", &S::binary<void, FloorDivSIOp>},
      {"aten.full", &S::full},
      {"aten.full_like", &S::full},
      {"aten.ge.Scalar", &S::compare<CmpIPredicate::sge, CmpFPredicate::OGE>},
      {"aten.ge.Tensor", &S::compare<CmpIPredicate::sge, CmpFPredicate::OGE>},
      {"aten.gt.Scalar", &S::compare<CmpIPredicate::sgt, CmpFPredicate::OGT>},
      {"aten.gt.Tensor", &S::compare<CmpIPredicate::sgt, CmpFPredicate::OGT>},
      {"aten.le.Scalar", &S::compare<CmpIPredicate::sle, CmpFPredicate::OLE>},
      {"aten.le.Tensor", &S::compare<CmpIPredicate::sle, CmpFPredicate::OLE>},
      {"aten.log", &S::unary<math::LogOp>},
      {"aten.logical_and", &S::logical<AndIOp>},
      {"aten.logical_not", &S::negateLogical},
      {"aten.logical_or", &S::logical<OrIOp>},
      {"aten.lt.Scalar", &S::compare<CmpIPredicate::slt, CmpFPredicate::OLT>},
      {"aten.lt.Tensor", &S::compare<CmpIPredicate::slt, CmpFPredicate::OLT>},
      {"aten.maximum", &S::binary<MaximumFOp, MaxSIOp>},
      {"aten.minimum", &S::binary<MinimumFOp, MinSIOp>},
      {"aten.mul.Scalar", &S::binary<MulFOp, MulIOp>},
      {"aten.mul.Tensor", &S::binary<MulFOp, MulIOp>},
      {"aten.ne.Scalar", &S::compare<CmpIPredicate::ne, CmpFPredicate::UNE>},
      {"aten.ne.Tensor", &S::compare<CmpIPredicate::ne, CmpFPredicate::UNE>},
      {"aten.neg", &S::unary<NegFOp>},
      {"aten.scalar_tensor", &S::scalarTensor},
      {"aten.sub.Scalar", &S::scaled<SubFOp, SubIOp>},
      {"aten.sub.Tensor", &S::scaled<SubFOp, SubIOp>},
      {"aten.tanh", &S::unary<math::TanhOp>},
      {"aten.to.dtype", &S::convert},
      {"aten.where.self", &S::where},
      {"prims.convert_element_type", &S::convert},
  };
  return converts.lookup(name);
}

LogicalResult mlir::ring::convertTorchScalar(OpBuilder &b, Operation *op,
                                             IRMapping &scalars) {
  StringRef name = op->getName().stripDialect();
  if (isTorch(op) &&
      (name.starts_with("constant.") || name == "prim.ListConstruct" ||
       name == "aten.Int.bool" || name == "aten.empty_strided"))
    return success();
  RankedTensorType type = op->getNumResults() == 1
                              ? toTensor(op->getResult(0).getType())
                              : RankedTensorType();
  ScalarConverter::Convert convert =
      isTorch(op) ? ScalarConverter::find(name) : nullptr;
  if (!convert || !type || type.getRank() != 0)
    return emitNamedError(op)
           << "in a function of flex attention is not supported";
  Value result =
      (ScalarConverter(b, op, type.getElementType(), scalars).*convert)();
  if (!result)
    return emitNamedError(op) << "with these operands is not supported";
  scalars.map(op->getResult(0), result);
  return success();
}
