//===- DecodeArithmetic.cpp - Arithmetic ----------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ring::vgpu;

namespace {
enum class Kind {
  Int,       ///< in 32 bits, then cut
  Signed,    ///< of operands with their sign
  Shift,     ///< of a first operand with its sign
  Float,     ///< 16 bits by way of f32
  FloatOnly, ///< not for f64
};
/// What an op does to each element.
struct Simple {
  Kind kind;
  Arith narrow, wide;
};
} // namespace

/// Arith's two forms of one operation.
#define RING_BOTH(Name) Arith::Name##32, Arith::Name##64

static const Simple *findSimple(StringRef name) {
  static const llvm::StringMap<Simple> table = {
      {"llvm.add", {Kind::Int, RING_BOTH(Add)}},
      {"llvm.sub", {Kind::Int, RING_BOTH(Sub)}},
      {"llvm.mul", {Kind::Int, RING_BOTH(Mul)}},
      {"llvm.udiv", {Kind::Int, RING_BOTH(UDiv)}},
      {"llvm.urem", {Kind::Int, RING_BOTH(URem)}},
      {"llvm.sdiv", {Kind::Signed, RING_BOTH(SDiv)}},
      {"llvm.srem", {Kind::Signed, RING_BOTH(SRem)}},
      {"llvm.and", {Kind::Int, RING_BOTH(And)}},
      {"llvm.or", {Kind::Int, RING_BOTH(Or)}},
      {"llvm.xor", {Kind::Int, RING_BOTH(Xor)}},
      {"llvm.shl", {Kind::Int, RING_BOTH(Shl)}},
      {"llvm.lshr", {Kind::Int, RING_BOTH(LShr)}},
      {"llvm.ashr", {Kind::Shift, RING_BOTH(AShr)}},
      {"llvm.intr.smax", {Kind::Signed, RING_BOTH(SMax)}},
      {"llvm.intr.smin", {Kind::Signed, RING_BOTH(SMin)}},
      {"llvm.intr.umax", {Kind::Int, RING_BOTH(UMax)}},
      {"llvm.intr.umin", {Kind::Int, RING_BOTH(UMin)}},
      {"llvm.intr.abs", {Kind::Signed, RING_BOTH(Abs)}},
      {"llvm.intr.ctpop", {Kind::Int, RING_BOTH(CtPop)}},
      {"llvm.fadd", {Kind::Float, RING_BOTH(FAdd)}},
      {"llvm.fsub", {Kind::Float, RING_BOTH(FSub)}},
      {"llvm.fmul", {Kind::Float, RING_BOTH(FMul)}},
      {"llvm.fdiv", {Kind::Float, RING_BOTH(FDiv)}},
      {"llvm.frem", {Kind::Float, RING_BOTH(FRem)}},
      {"llvm.intr.floor", {Kind::Float, RING_BOTH(Floor)}},
      {"llvm.intr.ceil", {Kind::Float, RING_BOTH(Ceil)}},
      {"llvm.intr.trunc", {Kind::Float, RING_BOTH(Trunc)}},
      {"llvm.intr.roundeven", {Kind::Float, RING_BOTH(RoundEven)}},
      {"llvm.intr.rint", {Kind::Float, RING_BOTH(RoundEven)}},
      {"llvm.intr.nearbyint", {Kind::Float, RING_BOTH(RoundEven)}},
      {"llvm.intr.sqrt", {Kind::Float, RING_BOTH(Sqrt)}},
      {"llvm.intr.maxnum", {Kind::Float, RING_BOTH(MaxNum)}},
      {"llvm.intr.minnum", {Kind::Float, RING_BOTH(MinNum)}},
      {"llvm.intr.maximum", {Kind::Float, RING_BOTH(Maximum)}},
      {"llvm.intr.minimum", {Kind::Float, RING_BOTH(Minimum)}},
      {"llvm.intr.exp", {Kind::Float, RING_BOTH(Exp)}},
      {"llvm.intr.log", {Kind::Float, RING_BOTH(Log)}},
      {"llvm.intr.log2", {Kind::Float, RING_BOTH(Log2)}},
      {"llvm.intr.exp2", {Kind::FloatOnly, Arith::Exp2, Arith::Count}},
      // Calls of intrinsics, by their own names.
      {"llvm.nvvm.ex2.approx.f", {Kind::FloatOnly, Arith::Exp2, Arith::Count}},
      {"llvm.nvvm.ex2.approx", {Kind::FloatOnly, Arith::Exp2, Arith::Count}},
      {"llvm.nvvm.ex2.approx.ftz.f",
       {Kind::FloatOnly, Arith::Exp2Ftz, Arith::Count}},
      {"llvm.nvvm.ex2.approx.ftz",
       {Kind::FloatOnly, Arith::Exp2Ftz, Arith::Count}},
      {"llvm.nvvm.lg2.approx.f",
       {Kind::FloatOnly, Arith::Log232, Arith::Count}},
      {"llvm.nvvm.lg2.approx.ftz.f",
       {Kind::FloatOnly, Arith::Log2Ftz, Arith::Count}},
      {"llvm.nvvm.rcp.approx.ftz.f",
       {Kind::FloatOnly, Arith::RcpFtz, Arith::Count}},
      {"llvm.nvvm.rsqrt.approx.f",
       {Kind::FloatOnly, Arith::RSqrt, Arith::Count}},
      {"llvm.nvvm.rsqrt.approx.ftz.f",
       {Kind::FloatOnly, Arith::RSqrtFtz, Arith::Count}},
      {"llvm.nvvm.fmax.f", {Kind::FloatOnly, Arith::MaxNum32, Arith::Count}},
      {"llvm.nvvm.fmin.f", {Kind::FloatOnly, Arith::MinNum32, Arith::Count}},
      {"llvm.nvvm.fmax.nan.f",
       {Kind::FloatOnly, Arith::Maximum32, Arith::Count}},
      {"llvm.nvvm.fmin.nan.f",
       {Kind::FloatOnly, Arith::Minimum32, Arith::Count}},
      {"nvvm.rcp.approx.ftz.f", {Kind::FloatOnly, Arith::RcpFtz, Arith::Count}},
  };
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

Reg Decoder::toFloat32(Scalar type, Reg value) {
  if (type.bits != 16)
    return value;
  return emit32(type.kind == Scalar::Kind::BFloat ? Arith::BF16ToF32
                                                  : Arith::F16ToF32,
                value);
}

Reg Decoder::fromFloat32(Scalar type, Reg value) {
  if (type.bits != 16)
    return value;
  return emit32(type.kind == Scalar::Kind::BFloat ? Arith::F32ToBF16
                                                  : Arith::F32ToF16,
                value);
}

FailureOr<bool> Decoder::decodeArithmetic(Operation *op) {
  if (op->getNumResults() != 1 || !op->getNumOperands())
    return false;
  if (isa<LLVM::ICmpOp, LLVM::FCmpOp>(op)) {
    if (failed(decodeCompare(op)))
      return failure();
    return true;
  }
  StringRef name = op->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    name = call.getIntrin();
  Value result = op->getResult(0);
  Type type = result.getType();
  std::optional<Scalar> scalar = scalarOf(elementOf(type));
  const Simple *simple = findSimple(name);
  // Those with three operands, with bits of their own, or other operands.
  enum {
    None,
    Fma,
    Neg,
    Abs,
    CopySign,
    LeadingZeros,
    TrailingZeros,
    Reverse,
    ShiftLeft,
    ShiftRight
  } special = None;
  if (isa<LLVM::FMAOp, LLVM::FMulAddOp>(op))
    special = Fma;
  else if (isa<LLVM::FNegOp>(op))
    special = Neg;
  else if (isa<LLVM::FAbsOp>(op))
    special = Abs;
  else if (isa<LLVM::CopySignOp>(op))
    special = CopySign;
  else if (isa<LLVM::CountLeadingZerosOp>(op))
    special = LeadingZeros;
  else if (isa<LLVM::CountTrailingZerosOp>(op))
    special = TrailingZeros;
  else if (isa<LLVM::BitReverseOp>(op))
    special = Reverse;
  else if (isa<LLVM::FshlOp>(op))
    special = ShiftLeft;
  else if (isa<LLVM::FshrOp>(op))
    special = ShiftRight;
  if (!simple && special == None)
    return false;
  auto refuse = [&] {
    return LogicalResult(unknown(op, "'" + name + "' of ") << type);
  };
  if (!scalar)
    return refuse();
  const unsigned bits = scalar->bits;
  const bool isWide = scalar->isWide();

  /// One element.
  auto compute = [&](ArrayRef<Reg> in) -> FailureOr<Reg> {
    auto emit = [&](Arith narrow, Arith wide, ArrayRef<Reg> operands) {
      return assembler.emit(isWide ? wide : narrow, isWide, operands);
    };
    switch (special) {
    case None:
      break;
    case Fma:
      if (bits == 16)
        return emit32(scalar->kind == Scalar::Kind::BFloat ? Arith::FmaBF16
                                                           : Arith::FmaF16,
                      in);
      return emit(RING_BOTH(Fma), in);
    case Neg:
      return bits == 16 ? emit32(Arith::Xor32, {in[0], constant32(0x8000)})
                        : emit(RING_BOTH(FNeg), in);
    case Abs:
      return bits == 16 ? emit32(Arith::And32, {in[0], constant32(0x7fff)})
                        : emit(RING_BOTH(FAbs), in);
    case CopySign:
      if (bits == 16)
        return emit32(Arith::Or32,
                      {emit32(Arith::And32, {in[0], constant32(0x7fff)}),
                       emit32(Arith::And32, {in[1], constant32(0x8000)})});
      return emit(RING_BOTH(CopySign), in);
    case LeadingZeros: {
      Reg count = emit(RING_BOTH(CtLz), in[0]);
      return bits >= 32 ? count
                        : emit32(Arith::Sub32, {count, constant32(32 - bits)});
    }
    case TrailingZeros:
      // A bit beyond the number ends the count.
      return emit(RING_BOTH(CtTz),
                  bits >= 32
                      ? in[0]
                      : emit32(Arith::Or32, {in[0], constant32(1u << bits)}));
    case Reverse: {
      Reg reversed = emit(RING_BOTH(BitReverse), in);
      return bits >= 32
                 ? reversed
                 : emit32(Arith::LShr32, {reversed, constant32(32 - bits)});
    }
    case ShiftLeft:
    case ShiftRight:
      if (bits < 32)
        return failure();
      return special == ShiftLeft ? emit(RING_BOTH(FShl), in)
                                  : emit(RING_BOTH(FShr), in);
    }
    if (isWide && simple->wide == Arith::Count)
      return failure();
    Regs operands(in);
    switch (simple->kind) {
    case Kind::Signed:
      for (Reg &operand : operands)
        operand = isWide ? operand : signExtend(operand, bits);
      break;
    case Kind::Shift:
      if (!isWide)
        operands[0] = signExtend(operands[0], bits);
      break;
    case Kind::Float:
    case Kind::FloatOnly:
      for (Reg &operand : operands)
        operand = toFloat32(*scalar, operand);
      return fromFloat32(*scalar, emit(simple->narrow, simple->wide, operands));
    case Kind::Int:
      break;
    }
    Reg value = emit(simple->narrow, simple->wide, operands);
    return isWide ? value : cut(value, bits);
  };

  // Ops of integers on floats and the other way round do not verify, but calls
  // of intrinsics are not checked.
  SmallVector<Regs> operands;
  for (Value operand : op->getOperands()) {
    if (operand.getType() != type)
      return refuse();
    operands.push_back(elements(operand));
  }
  Regs results;
  for (unsigned i = 0, count = elementCount(type); i < count; ++i) {
    Regs in;
    for (Regs &operand : operands)
      in.push_back(operand[i]);
    FailureOr<Reg> value = compute(in);
    if (failed(value))
      return refuse();
    results.push_back(*value);
  }
  define(result, pack(type, results));
  return true;
}

LogicalResult Decoder::decodeIntrinsicCall(LLVM::CallIntrinsicOp op) {
  StringRef name = op.getIntrin();
  // A suffix that names the type of an overloaded intrinsic.
  FailureOr<bool> isDone = false;
  if (findSimple(name) && op.getNumResults() == 1)
    isDone = decodeArithmetic(op);
  if (failed(isDone))
    return failure();
  if (*isDone)
    return success();
  return unknown(op, "the intrinsic '" + name + "'");
}

LogicalResult Decoder::decodeCompare(Operation *op) {
  Value result = op->getResult(0);
  Type type = op->getOperand(0).getType();
  std::optional<Scalar> scalar = scalarOf(elementOf(type));
  if (!scalar)
    return unknown(op, "a comparison of ") << type;
  const bool isWide = scalar->isWide();
  Regs left = elements(op->getOperand(0)), right = elements(op->getOperand(1));

  Arith narrow = Arith::Count, wide = Arith::Count;
  bool isSwapped = false, isSigned = false;
  auto set = [&](Arith forNarrow, Arith forWide, bool swaps = false,
                 bool hasSign = false) {
    narrow = forNarrow;
    wide = forWide;
    isSwapped = swaps;
    isSigned = hasSign;
  };
  std::optional<bool> constant;
  if (auto compare = dyn_cast<LLVM::ICmpOp>(op)) {
    switch (compare.getPredicate()) {
    case LLVM::ICmpPredicate::eq:
      set(RING_BOTH(Eq));
      break;
    case LLVM::ICmpPredicate::ne:
      set(RING_BOTH(Ne));
      break;
    case LLVM::ICmpPredicate::slt:
      set(RING_BOTH(SLt), false, true);
      break;
    case LLVM::ICmpPredicate::sle:
      set(RING_BOTH(SLe), false, true);
      break;
    case LLVM::ICmpPredicate::sgt:
      set(RING_BOTH(SLt), true, true);
      break;
    case LLVM::ICmpPredicate::sge:
      set(RING_BOTH(SLe), true, true);
      break;
    case LLVM::ICmpPredicate::ult:
      set(RING_BOTH(ULt));
      break;
    case LLVM::ICmpPredicate::ule:
      set(RING_BOTH(ULe));
      break;
    case LLVM::ICmpPredicate::ugt:
      set(RING_BOTH(ULt), true);
      break;
    case LLVM::ICmpPredicate::uge:
      set(RING_BOTH(ULe), true);
      break;
    }
  } else {
    switch (cast<LLVM::FCmpOp>(op).getPredicate()) {
    case LLVM::FCmpPredicate::_false:
      constant = false;
      break;
    case LLVM::FCmpPredicate::_true:
      constant = true;
      break;
    case LLVM::FCmpPredicate::oeq:
      set(RING_BOTH(FOeq));
      break;
    case LLVM::FCmpPredicate::one:
      set(RING_BOTH(FOne));
      break;
    case LLVM::FCmpPredicate::olt:
      set(RING_BOTH(FOlt));
      break;
    case LLVM::FCmpPredicate::ole:
      set(RING_BOTH(FOle));
      break;
    case LLVM::FCmpPredicate::ogt:
      set(RING_BOTH(FOlt), true);
      break;
    case LLVM::FCmpPredicate::oge:
      set(RING_BOTH(FOle), true);
      break;
    case LLVM::FCmpPredicate::ord:
      set(RING_BOTH(FOrd));
      break;
    case LLVM::FCmpPredicate::uno:
      set(RING_BOTH(FUno));
      break;
    case LLVM::FCmpPredicate::ueq:
      set(RING_BOTH(FUeq));
      break;
    case LLVM::FCmpPredicate::une:
      set(RING_BOTH(FUne));
      break;
    case LLVM::FCmpPredicate::ult:
      set(RING_BOTH(FUlt));
      break;
    case LLVM::FCmpPredicate::ule:
      set(RING_BOTH(FUle));
      break;
    case LLVM::FCmpPredicate::ugt:
      set(RING_BOTH(FUlt), true);
      break;
    case LLVM::FCmpPredicate::uge:
      set(RING_BOTH(FUle), true);
      break;
    }
  }
  const bool isFloat = isa<LLVM::FCmpOp>(op);
  Regs results;
  for (auto [a, b] : llvm::zip(left, right)) {
    if (constant) {
      results.push_back(constant32(*constant));
      continue;
    }
    auto prepare = [&](Reg value) {
      if (isFloat)
        return toFloat32(*scalar, value);
      return isSigned && !isWide ? signExtend(value, scalar->bits) : value;
    };
    Reg first = prepare(a), second = prepare(b);
    if (isSwapped)
      std::swap(first, second);
    results.push_back(emit32(isWide ? wide : narrow, {first, second}));
  }
  define(result, results);
  return success();
}

FailureOr<bool> Decoder::decodeConversion(Operation *op) {
  if (!isa<LLVM::TruncOp, LLVM::SExtOp, LLVM::ZExtOp, LLVM::SIToFPOp,
           LLVM::UIToFPOp, LLVM::FPToSIOp, LLVM::FPToUIOp, LLVM::FPExtOp,
           LLVM::FPTruncOp, LLVM::PtrToIntOp, LLVM::IntToPtrOp>(op))
    return false;
  Type fromType = op->getOperand(0).getType(),
       toType = op->getResult(0).getType();
  std::optional<Scalar> from = scalarOf(elementOf(fromType)),
                        to = scalarOf(elementOf(toType));
  auto refuse = [&] {
    return LogicalResult(
        unknown(op, "'" + op->getName().getStringRef() + "' of ")
        << fromType << " to " << toType);
  };
  if (!from || !to)
    return refuse();
  auto convert = [&](Reg value) -> FailureOr<Reg> {
    const bool isSigned = isa<LLVM::SExtOp, LLVM::SIToFPOp>(op);
    if (isa<LLVM::TruncOp, LLVM::PtrToIntOp, LLVM::SExtOp, LLVM::ZExtOp,
            LLVM::IntToPtrOp>(op)) {
      if (from->isWide())
        return to->isWide() ? value
                            : cut(emit32(Arith::Low32, value), to->bits);
      if (isSigned)
        value = signExtend(value, from->bits);
      if (to->isWide())
        return emit64(isSigned ? Arith::SExt64 : Arith::ZExt64, value);
      return cut(value, to->bits);
    }
    if (isa<LLVM::SIToFPOp, LLVM::UIToFPOp>(op)) {
      if (isSigned && !from->isWide())
        value = signExtend(value, from->bits);
      if (to->bits != 16) {
        Arith ops[2][2][2] = {{{Arith::U32ToF32, Arith::U64ToF32},
                               {Arith::S32ToF32, Arith::S64ToF32}},
                              {{Arith::U32ToF64, Arith::U64ToF64},
                               {Arith::S32ToF64, Arith::S64ToF64}}};
        return assembler.emit(ops[to->isWide()][isSigned][from->isWide()],
                              to->isWide(), value);
      }
      // Exact in f64, then rounded once.
      if (from->isWide())
        return failure();
      Reg exact = emit64(isSigned ? Arith::S32ToF64 : Arith::U32ToF64, value);
      return fromFloat32(*to, emit32(Arith::F64ToOddF32, exact));
    }
    if (isa<LLVM::FPToSIOp, LLVM::FPToUIOp>(op)) {
      bool toSigned = isa<LLVM::FPToSIOp>(op);
      value = toFloat32(*from, value);
      Arith ops[2][2][2] = {{{Arith::Real32ToU32, Arith::Real32ToU64},
                             {Arith::Real32ToS32, Arith::Real32ToS64}},
                            {{Arith::Real64ToU32, Arith::Real64ToU64},
                             {Arith::Real64ToS32, Arith::Real64ToS64}}};
      Reg integer = assembler.emit(ops[from->isWide()][toSigned][to->isWide()],
                                   to->isWide(), value);
      return to->isWide() ? integer : cut(integer, to->bits);
    }
    if (isa<LLVM::FPExtOp>(op)) {
      value = toFloat32(*from, value);
      return to->isWide() ? emit64(Arith::F32ToF64, value) : value;
    }
    if (!from->isWide())
      return fromFloat32(*to, value);
    return to->bits == 32 ? emit32(Arith::F64ToF32, value)
                          : fromFloat32(*to, emit32(Arith::F64ToOddF32, value));
  };
  Regs results;
  for (Reg value : elements(op->getOperand(0))) {
    FailureOr<Reg> result = convert(value);
    if (failed(result))
      return refuse();
    results.push_back(*result);
  }
  define(op->getResult(0), pack(toType, results));
  return true;
}
