//===- Scalars.cpp - Elementwise StableHLO on scalars ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::ring;

namespace {

/// Makes the scalar ops of one elementwise op.
class ScalarEmitter {
public:
  ScalarEmitter(OpBuilder &b, HLOOp op, ValueRange operands)
      : b(b), op(op), x(operands), loc(op->getLoc()),
        type(op.resultType().getElementType()) {}

  FailureOr<Value> run();

private:
  using Emit = Value (ScalarEmitter::*)();
  struct Entry {
    unsigned operands;
    /// By the first operand's element type; null: not defined for it.
    Emit onFloats, onIntegers, onBooleans;
  };
  static const llvm::StringMap<Entry> &table();
  friend bool mlir::ring::isElementwise(HLOOp);
  friend LogicalResult mlir::ring::checkElementwise(HLOOp);

  template <typename Op> Value unary() { return Op::create(b, loc, x[0]); }
  template <typename Op> Value binary() {
    return Op::create(b, loc, x[0], x[1]);
  }
  Value number(double value) {
    return isa<FloatType>(type)
               ? arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value))
               : arith::ConstantOp::create(
                     b, loc,
                     b.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  Value negateInteger() {
    return arith::SubIOp::create(b, loc, number(0), x[0]);
  }
  Value complement() { return arith::XOrIOp::create(b, loc, x[0], number(-1)); }
  Value square() { return arith::MulFOp::create(b, loc, x[0], x[0]); }
  Value logistic() {
    Value exp =
        math::ExpOp::create(b, loc, Value(arith::NegFOp::create(b, loc, x[0])));
    return arith::DivFOp::create(
        b, loc, number(1),
        Value(arith::AddFOp::create(b, loc, number(1), exp)));
  }
  /// -1, 1, and x itself where it is a zero or NaN.
  Value signOfFloat() {
    Value one = math::CopySignOp::create(b, loc, number(1), x[0]);
    Value nonzero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                                          x[0], number(0));
    return arith::SelectOp::create(b, loc, nonzero, one, x[0]);
  }
  Value signOfInteger() {
    Value high = arith::MinSIOp::create(b, loc, x[0], number(1));
    return arith::MaxSIOp::create(b, loc, high, number(-1));
  }
  Value isFinite() { return math::IsFiniteOp::create(b, loc, x[0]); }
  Value select() { return arith::SelectOp::create(b, loc, x[0], x[1], x[2]); }
  Value clampFloat() {
    Value low = arith::MaximumFOp::create(b, loc, x[1], x[0]);
    return arith::MinimumFOp::create(b, loc, low, x[2]);
  }
  Value clampInteger() {
    Value low = arith::MaxSIOp::create(b, loc, x[1], x[0]);
    return arith::MinSIOp::create(b, loc, low, x[2]);
  }
  Value convert();
  FailureOr<Value> compare();

  OpBuilder &b;
  HLOOp op;
  ValueRange x;
  Location loc;
  Type type; ///< the result's element type
};

} // namespace

const llvm::StringMap<ScalarEmitter::Entry> &ScalarEmitter::table() {
  using S = ScalarEmitter;
  static const llvm::StringMap<Entry> entries = {
      {"abs", {1, &S::unary<math::AbsFOp>, &S::unary<math::AbsIOp>, nullptr}},
      {"add",
       {2, &S::binary<arith::AddFOp>, &S::binary<arith::AddIOp>,
        &S::binary<arith::OrIOp>}},
      {"and",
       {2, nullptr, &S::binary<arith::AndIOp>, &S::binary<arith::AndIOp>}},
      {"atan2", {2, &S::binary<math::Atan2Op>, nullptr, nullptr}},
      {"cbrt", {1, &S::unary<math::CbrtOp>, nullptr, nullptr}},
      {"ceil", {1, &S::unary<math::CeilOp>, nullptr, nullptr}},
      {"chlo.erf", {1, &S::unary<math::ErfOp>, nullptr, nullptr}},
      {"chlo.square", {1, &S::square, nullptr, nullptr}},
      {"clamp", {3, &S::clampFloat, &S::clampInteger, nullptr}},
      {"convert", {1, &S::convert, &S::convert, &S::convert}},
      {"cosine", {1, &S::unary<math::CosOp>, nullptr, nullptr}},
      {"divide",
       {2, &S::binary<arith::DivFOp>, &S::binary<arith::DivSIOp>, nullptr}},
      {"exponential", {1, &S::unary<math::ExpOp>, nullptr, nullptr}},
      {"exponential_minus_one",
       {1, &S::unary<math::ExpM1Op>, nullptr, nullptr}},
      {"floor", {1, &S::unary<math::FloorOp>, nullptr, nullptr}},
      {"is_finite", {1, &S::isFinite, nullptr, nullptr}},
      {"log", {1, &S::unary<math::LogOp>, nullptr, nullptr}},
      {"log_plus_one", {1, &S::unary<math::Log1pOp>, nullptr, nullptr}},
      {"logistic", {1, &S::logistic, nullptr, nullptr}},
      {"maximum",
       {2, &S::binary<arith::MaximumFOp>, &S::binary<arith::MaxSIOp>,
        &S::binary<arith::OrIOp>}},
      {"minimum",
       {2, &S::binary<arith::MinimumFOp>, &S::binary<arith::MinSIOp>,
        &S::binary<arith::AndIOp>}},
      {"multiply",
       {2, &S::binary<arith::MulFOp>, &S::binary<arith::MulIOp>,
        &S::binary<arith::AndIOp>}},
      {"negate", {1, &S::unary<arith::NegFOp>, &S::negateInteger, nullptr}},
      {"not", {1, nullptr, &S::complement, &S::complement}},
      {"or", {2, nullptr, &S::binary<arith::OrIOp>, &S::binary<arith::OrIOp>}},
      {"power", {2, &S::binary<math::PowFOp>, nullptr, nullptr}},
      {"remainder",
       {2, &S::binary<arith::RemFOp>, &S::binary<arith::RemSIOp>, nullptr}},
      {"round_nearest_afz", {1, &S::unary<math::RoundOp>, nullptr, nullptr}},
      {"round_nearest_even",
       {1, &S::unary<math::RoundEvenOp>, nullptr, nullptr}},
      {"rsqrt", {1, &S::unary<math::RsqrtOp>, nullptr, nullptr}},
      {"select", {3, nullptr, nullptr, &S::select}},
      {"sign", {1, &S::signOfFloat, &S::signOfInteger, nullptr}},
      {"sine", {1, &S::unary<math::SinOp>, nullptr, nullptr}},
      {"sqrt", {1, &S::unary<math::SqrtOp>, nullptr, nullptr}},
      {"subtract",
       {2, &S::binary<arith::SubFOp>, &S::binary<arith::SubIOp>, nullptr}},
      {"tan", {1, &S::unary<math::TanOp>, nullptr, nullptr}},
      {"tanh", {1, &S::unary<math::TanhOp>, nullptr, nullptr}},
      {"xor",
       {2, nullptr, &S::binary<arith::XOrIOp>, &S::binary<arith::XOrIOp>}},
      // Its attributes decide more than its types.
      {"compare", {2, nullptr, nullptr, nullptr}},
  };
  return entries;
}

/// Booleans are 0 and 1; a number is true where it is not 0.
Value ScalarEmitter::convert() {
  Type from = x[0].getType();
  if (from == type)
    return x[0];
  unsigned fromBits = from.getIntOrFloatBitWidth(),
           toBits = type.getIntOrFloatBitWidth();
  auto fromFloat = dyn_cast<FloatType>(from),
       toFloat = dyn_cast<FloatType>(type);
  if (fromFloat && toFloat) {
    // f16 and bf16 meet in f32, which holds both.
    if (fromBits == toBits) {
      Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), x[0]);
      return arith::TruncFOp::create(b, loc, type, wide);
    }
    return fromBits < toBits
               ? Value(arith::ExtFOp::create(b, loc, type, x[0]))
               : Value(arith::TruncFOp::create(b, loc, type, x[0]));
  }
  if (toFloat)
    return fromBits == 1 ? Value(arith::UIToFPOp::create(b, loc, type, x[0]))
                         : Value(arith::SIToFPOp::create(b, loc, type, x[0]));
  if (toBits == 1) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(from));
    return fromFloat
               ? Value(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                             x[0], zero))
               : Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                             x[0], zero));
  }
  if (fromFloat)
    return arith::FPToSIOp::create(b, loc, type, x[0]);
  if (fromBits > toBits)
    return arith::TruncIOp::create(b, loc, type, x[0]);
  return fromBits == 1 ? Value(arith::ExtUIOp::create(b, loc, type, x[0]))
                       : Value(arith::ExtSIOp::create(b, loc, type, x[0]));
}

FailureOr<Value> ScalarEmitter::compare() {
  FailureOr<StringRef> direction =
      op.keyword("comparison_direction", "comparison_direction");
  if (failed(direction))
    return failure();
  bool onFloats = isa<FloatType>(x[0].getType());
  bool isUnsigned = x[0].getType().isInteger(1);
  if (op->hasAttr("compare_type")) {
    FailureOr<StringRef> kind = op.keyword("compare_type", "comparison_type");
    if (failed(kind))
      return failure();
    if (*kind != "NOTYPE" && *kind != (onFloats     ? "FLOAT"
                                       : isUnsigned ? "UNSIGNED"
                                                    : "SIGNED"))
      return op.error() << "compares " << x[0].getType() << " as '" << *kind
                        << "', which is not supported";
  }
  if (onFloats) {
    auto predicate =
        llvm::StringSwitch<std::optional<arith::CmpFPredicate>>(*direction)
            .Case("EQ", arith::CmpFPredicate::OEQ)
            .Case("NE", arith::CmpFPredicate::UNE)
            .Case("GE", arith::CmpFPredicate::OGE)
            .Case("GT", arith::CmpFPredicate::OGT)
            .Case("LE", arith::CmpFPredicate::OLE)
            .Case("LT", arith::CmpFPredicate::OLT)
            .Default(std::nullopt);
    if (predicate)
      return Value(arith::CmpFOp::create(b, loc, *predicate, x[0], x[1]));
  } else {
    using P = arith::CmpIPredicate;
    auto predicate = llvm::StringSwitch<std::optional<P>>(*direction)
                         .Case("EQ", P::eq)
                         .Case("NE", P::ne)
                         .Case("GE", isUnsigned ? P::uge : P::sge)
                         .Case("GT", isUnsigned ? P::ugt : P::sgt)
                         .Case("LE", isUnsigned ? P::ule : P::sle)
                         .Case("LT", isUnsigned ? P::ult : P::slt)
                         .Default(std::nullopt);
    if (predicate)
      return Value(arith::CmpIOp::create(b, loc, *predicate, x[0], x[1]));
  }
  return op.error() << "compares by '" << *direction
                    << "', which is not understood";
}

FailureOr<Value> ScalarEmitter::run() {
  const Entry &entry = table().find(op.name())->second;
  // But for what `select` chooses by, all are of one type.
  for (unsigned i = op.name() == "select" ? 2 : 1; i < x.size(); ++i)
    if (x[i].getType() != x[i - 1].getType())
      return op.error() << "has operands of " << x[i - 1].getType() << " and "
                        << x[i].getType();
  if (op.name() == "compare")
    return compare();
  Type first = op.operandType(0).getElementType();
  Emit emit = isa<FloatType>(first) ? entry.onFloats
              : first.isInteger(1)  ? entry.onBooleans
                                    : entry.onIntegers;
  if (!emit)
    return op.error() << "of " << first << " is not supported";
  return (this->*emit)();
}

bool mlir::ring::isElementwise(HLOOp op) {
  return ScalarEmitter::table().contains(op.name());
}

LogicalResult mlir::ring::checkElementwise(HLOOp op) {
  // How exact a result has to be: it is as exact as can be.
  SmallVector<StringRef> known = {"result_accuracy"};
  if (op.name() == "compare")
    known.append({"comparison_direction", "compare_type"});
  unsigned operands = ScalarEmitter::table().find(op.name())->second.operands;
  return op.check(operands, 1, known);
}

FailureOr<Value> mlir::ring::emitScalar(OpBuilder &b, HLOOp op,
                                        ValueRange operands) {
  return ScalarEmitter(b, op, operands).run();
}

FailureOr<SmallVector<Value>> mlir::ring::emitRegion(OpBuilder &b, HLOOp op,
                                                     ValueRange arguments) {
  Region &region = op->getRegion(0);
  if (!region.hasOneBlock() ||
      region.front().getNumArguments() != arguments.size())
    return op.error() << "has a region that is not one block of "
                      << arguments.size() << " arguments";
  for (auto [inside, outside] :
       llvm::zip(region.front().getArgumentTypes(), arguments.getTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(inside);
        !tensor || tensor.getRank() != 0 || tensor.getElementType() != outside)
      return op.error() << "has a region with an argument of type " << inside
                        << ", expected a tensor of rank 0 of " << outside;
  IRMapping scalars;
  scalars.map(region.front().getArguments(), arguments);
  for (Operation &inner : region.front()) {
    // What is defined outside is of rank 0 as well, but no scalar.
    for (Value operand : inner.getOperands())
      if (!scalars.contains(operand))
        return inner.emitError("'")
               << inner.getName()
               << "' uses a value from outside its region, which is not "
                  "supported";
    SmallVector<Value> operands = llvm::map_to_vector(
        inner.getOperands(), [&](Value v) { return scalars.lookup(v); });
    if (inner.getName().getStringRef() == "stablehlo.return")
      return operands;
    DenseElementsAttr constant;
    if (inner.getName().getStringRef() == "stablehlo.constant" &&
        inner.getNumResults() == 1 &&
        (constant = inner.getAttrOfType<DenseElementsAttr>("value")) &&
        constant.getNumElements() == 1) {
      scalars.map(inner.getResult(0),
                  Value(arith::ConstantOp::create(
                      b, inner.getLoc(),
                      cast<TypedAttr>(constant.getSplatValue<Attribute>()))));
      continue;
    }
    if (!HLOOp::isHLO(&inner) || !isElementwise(HLOOp(&inner)))
      return inner.emitError("'") << inner.getName() << "' in a region of '"
                                  << op->getName() << "' is not supported";
    if (failed(checkElementwise(HLOOp(&inner))))
      return failure();
    FailureOr<Value> scalar = emitScalar(b, HLOOp(&inner), operands);
    if (failed(scalar))
      return failure();
    scalars.map(inner.getResult(0), *scalar);
  }
  return op.error() << "has a region without stablehlo.return";
}
