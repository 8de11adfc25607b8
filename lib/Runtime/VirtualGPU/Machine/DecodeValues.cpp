//===- DecodeValues.cpp - Constants, aggregates and vectors ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Handlers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ring::vgpu;

/// The bits of a number, as a register holds them.
static FailureOr<uint64_t> bitsOf(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getValue().getBitWidth() > 64
               ? FailureOr<uint64_t>(failure())
               : FailureOr<uint64_t>(integer.getValue().getZExtValue());
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return failure();
}

FailureOr<Regs> Decoder::constantRegs(Operation *op, Type type,
                                      Attribute value) {
  Regs registers;
  // Of each element of a scalar, a vector or an array of either.
  Type element = type;
  while (auto array = dyn_cast<LLVM::LLVMArrayType>(element))
    element = array.getElementType();
  std::optional<Scalar> scalar = scalarOf(elementOf(element));
  if (!scalar)
    return LogicalResult(unknown(op, "a constant of type ") << type);
  SmallVector<uint64_t> bits;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (scalar->kind == Scalar::Kind::Int)
      for (APInt each : dense.getValues<APInt>())
        bits.push_back(each.getZExtValue());
    else
      for (APFloat each : dense.getValues<APFloat>())
        bits.push_back(each.bitcastToAPInt().getZExtValue());
  } else if (FailureOr<uint64_t> single = bitsOf(value); succeeded(single)) {
    bits.push_back(*single);
  } else {
    return LogicalResult(unknown(op, "the constant ") << value);
  }
  SmallVector<RegisterShape> shape;
  shapeOf(type, shape);
  unsigned pack = std::max(packing(element), 1u);
  if (bits.size() != shape.size() * pack)
    return LogicalResult(unknown(op, "the constant ") << value);
  for (size_t first = 0; first < bits.size(); first += pack) {
    uint64_t word = 0;
    for (unsigned i = 0; i < pack; ++i)
      word |= bits[first + i] << (i * 32 / pack);
    registers.push_back(assembler.constant(scalar->isWide(), word));
  }
  return registers;
}

/// The same bits in narrow registers, which have to be filled.
Regs Decoder::words(Type type, ArrayRef<Reg> registers) {
  Regs out;
  if (scalarOf(elementOf(type))->isWide()) {
    for (Reg value : registers) {
      out.push_back(emit32(Arith::Low32, value));
      out.push_back(emit32(Arith::High32, value));
    }
    return out;
  }
  return Regs(registers);
}

Regs Decoder::fromWords(Type type, ArrayRef<Reg> words) {
  if (!scalarOf(elementOf(type))->isWide())
    return Regs(words);
  Regs out;
  for (size_t i = 0; i < words.size(); i += 2)
    out.push_back(emit64(Arith::Join64, {words[i], words[i + 1]}));
  return out;
}

LogicalResult Decoder::decodeBitcast(Operation *op) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  std::optional<Scalar> source = scalarOf(elementOf(from)),
                        target = scalarOf(elementOf(to));
  if (!source || !target)
    return unknown(op, "a bitcast of ") << from << " to " << to;
  Regs &registers = regs(op->getOperand(0));
  if (source->bits == target->bits && elementCount(from) == elementCount(to)) {
    define(op->getResult(0), registers);
    return success();
  }
  // A register that is not filled: a lone number, or elements on their own.
  auto isFilled = [](Type type, const Scalar &element) {
    return element.bits >= 32 || packing(type);
  };
  if (isFilled(from, *source) && isFilled(to, *target)) {
    define(op->getResult(0), fromWords(to, words(from, registers)));
    return success();
  }
  return unknown(op, "a bitcast of ") << from << " to " << to;
}

FailureOr<bool> Decoder::decodeValue(Operation *op) {
  auto done = [&](Value result, Regs registers) {
    define(result, std::move(registers));
    return FailureOr<bool>(true);
  };
  auto zeros = [&](Value result) -> FailureOr<bool> {
    SmallVector<RegisterShape> shape;
    if (!shapeOf(result.getType(), shape))
      return LogicalResult(unknown(op, "the type ") << result.getType());
    Regs registers;
    for (RegisterShape part : shape)
      registers.push_back(assembler.constant(part.isWide, 0));
    return done(result, registers);
  };
  using Result = FailureOr<bool>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](LLVM::ConstantOp constant) -> Result {
        FailureOr<Regs> registers =
            constantRegs(op, constant.getType(), constant.getValue());
        if (failed(registers))
          return failure();
        return done(constant, *registers);
      })
      .Case<LLVM::ZeroOp, LLVM::UndefOp, LLVM::PoisonOp>(
          [&](Operation *) { return zeros(op->getResult(0)); })
      .Case<LLVM::FreezeOp, LLVM::ExpectOp>([&](Operation *) -> Result {
        return done(op->getResult(0), regs(op->getOperand(0)));
      })
      .Case([&](LLVM::BitcastOp) -> Result {
        if (failed(decodeBitcast(op)))
          return failure();
        return true;
      })
      .Case([&](LLVM::ExtractValueOp extract) -> Result {
        Type type = extract.getContainer().getType();
        unsigned first = 0, count = 0;
        for (int64_t index : extract.getPosition()) {
          auto [at, size] = registersOf(type, index, type);
          first += at;
          count = size;
        }
        Regs &whole = regs(extract.getContainer());
        return done(extract, Regs(ArrayRef<Reg>(whole).slice(first, count)));
      })
      .Case([&](LLVM::InsertValueOp insert) -> Result {
        Type type = insert.getContainer().getType();
        unsigned first = 0;
        for (int64_t index : insert.getPosition())
          first += registersOf(type, index, type).first;
        Regs whole = regs(insert.getContainer());
        for (auto [i, part] : llvm::enumerate(regs(insert.getValue())))
          whole[first + i] = part;
        return done(insert, whole);
      })
      .Case([&](LLVM::ExtractElementOp extract) -> Result {
        Value vector = extract.getVector();
        Regs parts = elements(vector);
        APInt index;
        if (matchPattern(extract.getPosition(), m_ConstantInt(&index))) {
          if (index.uge(parts.size()))
            return zeros(extract);
          return done(extract, {parts[index.getZExtValue()]});
        }
        Value position = extract.getPosition();
        Reg at = reg(position);
        if (assembler.isWide(at))
          at = emit32(Arith::Low32, at);
        bool isWide = assembler.isWide(parts.front());
        Reg result = assembler.create(isWide);
        Regs operands{at};
        llvm::append_range(operands, parts);
        assembler.emit(isWide ? runExtract64 : runExtract32, result, operands,
                       parts.size());
        return done(extract, {result});
      })
      .Case([&](LLVM::InsertElementOp insert) -> Result {
        Type type = insert.getVector().getType();
        Regs parts = elements(insert.getVector());
        Reg value = reg(insert.getValue());
        APInt index;
        if (matchPattern(insert.getPosition(), m_ConstantInt(&index))) {
          if (index.ult(parts.size()))
            parts[index.getZExtValue()] = value;
          return done(insert, pack(type, parts));
        }
        Reg at = reg(insert.getPosition());
        if (assembler.isWide(at))
          at = emit32(Arith::Low32, at);
        for (auto [i, part] : llvm::enumerate(parts)) {
          Reg isHere = emit32(Arith::Eq32, {at, constant32(i)});
          bool isWide = assembler.isWide(part);
          part = assembler.emit(isWide ? Arith::Select64 : Arith::Select32,
                                isWide, {isHere, value, part});
        }
        return done(insert, pack(type, parts));
      })
      .Case([&](LLVM::ShuffleVectorOp shuffle) -> Result {
        Regs parts = elements(shuffle.getV1());
        llvm::append_range(parts, elements(shuffle.getV2()));
        Regs chosen;
        for (int32_t index : shuffle.getMask())
          chosen.push_back(parts[std::max(index, 0)]);
        return done(shuffle, pack(shuffle.getType(), chosen));
      })
      .Case([&](LLVM::SelectOp select) -> Result {
        Value condition = select.getCondition();
        bool isVector = isa<VectorType>(condition.getType());
        Type type = select.getType();
        Regs yes = isVector ? elements(select.getTrueValue())
                            : regs(select.getTrueValue()),
             no = isVector ? elements(select.getFalseValue())
                           : regs(select.getFalseValue()),
             conditions = regs(condition), result;
        for (auto [i, then, otherwise] : llvm::enumerate(yes, no)) {
          bool isWide = assembler.isWide(then);
          result.push_back(
              assembler.emit(isWide ? Arith::Select64 : Arith::Select32, isWide,
                             {conditions[isVector ? i : 0], then, otherwise}));
        }
        return done(select, isVector ? pack(type, result) : result);
      })
      .Default(Result(false));
}
