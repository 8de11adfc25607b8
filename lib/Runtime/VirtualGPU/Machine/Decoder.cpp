//===- Decoder.cpp - From MLIR to a program: structure --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "Address.h"
#include "Handlers.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ring::vgpu;

Decoder::Decoder(LLVM::LLVMFuncOp kernel, Program &program)
    : kernel(kernel), program(program) {}

InFlightDiagnostic Decoder::unknown(Operation *op, const Twine &what) {
  return op->emitError("the virtual GPU does not know ") << what;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Regs &Decoder::regs(Value value) {
  auto it = frame->values.find(value);
  assert(it != frame->values.end() && "blocks are in order of dominance");
  return it->second;
}

FailureOr<Regs> Decoder::createRegs(Operation *op, Type type) {
  SmallVector<RegisterShape> shape;
  if (!shapeOf(type, shape))
    return LogicalResult(unknown(op, "the type ") << type);
  Regs registers;
  for (RegisterShape part : shape)
    registers.push_back(assembler.create(part.isWide));
  return registers;
}

Reg Decoder::signExtend(Reg value, unsigned bits) {
  return bits >= 32 ? value : emit32(Arith::SExt32, value, 32 - bits);
}

Reg Decoder::cut(Reg value, unsigned bits) {
  return bits >= 32 ? value : emit32(Arith::Mask32, value, (1u << bits) - 1);
}

Regs Decoder::unpack(Type type, ArrayRef<Reg> registers) {
  unsigned pack = packing(type);
  if (!pack)
    return Regs(registers);
  unsigned bits = 32 / pack;
  Regs elements;
  for (Reg word : registers)
    for (unsigned i = 0; i < pack; ++i)
      elements.push_back(emit32(Arith::Bits32, word,
                                uint64_t((1u << bits) - 1) << 32 | i * bits));
  return elements;
}

Regs Decoder::pack(Type type, ArrayRef<Reg> elements) {
  unsigned pack = packing(type);
  if (!pack)
    return Regs(elements);
  Regs words;
  for (size_t first = 0; first < elements.size(); first += pack) {
    Reg word = elements[first];
    for (unsigned i = 1; i < pack; ++i)
      word = emit32(Arith::Deposit32, {word, elements[first + i]},
                    i * (32 / pack));
    words.push_back(word);
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult Decoder::jumpTo(Block *target, ValueRange operands) {
  Regs to, from;
  for (auto [argument, operand] : llvm::zip(target->getArguments(), operands)) {
    llvm::append_range(to, regs(argument));
    llvm::append_range(from, regs(operand));
  }
  assembler.copy(to, from);
  assembler.jump(frame->labels[target]);
  return success();
}

/// Where a conditional branch goes: `target` itself, or a block of copies,
/// which the caller places.
Label Decoder::edge(Block *target, ValueRange operands) {
  return operands.empty() ? frame->labels[target] : assembler.label();
}

LogicalResult Decoder::decodeTerminator(Operation *op) {
  // Copies come right behind their branch, before all that joins.
  auto placeEdge = [&](Label label, Block *target, ValueRange operands) {
    if (operands.empty())
      return;
    assembler.place(label);
    (void)jumpTo(target, operands);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LLVM::BrOp br) {
        return jumpTo(br.getDest(), br.getDestOperands());
      })
      .Case([&](LLVM::CondBrOp br) {
        Label then = edge(br.getTrueDest(), br.getTrueDestOperands()),
              otherwise = edge(br.getFalseDest(), br.getFalseDestOperands());
        assembler.branch(reg(br.getCondition()), then, otherwise);
        placeEdge(then, br.getTrueDest(), br.getTrueDestOperands());
        placeEdge(otherwise, br.getFalseDest(), br.getFalseDestOperands());
        return success();
      })
      .Case([&](LLVM::SwitchOp br) {
        SmallVector<std::pair<uint64_t, Label>> cases;
        if (auto values = br.getCaseValues())
          for (auto [i, value] : llvm::enumerate(values->getValues<APInt>()))
            cases.push_back(
                {value.getZExtValue(),
                 edge(br.getCaseDestinations()[i], br.getCaseOperands(i))});
        Label otherwise =
            edge(br.getDefaultDestination(), br.getDefaultOperands());
        assembler.choose(reg(br.getValue()), otherwise, cases);
        for (auto [i, entry] : llvm::enumerate(cases))
          placeEdge(entry.second, br.getCaseDestinations()[i],
                    br.getCaseOperands(i));
        placeEdge(otherwise, br.getDefaultDestination(),
                  br.getDefaultOperands());
        return success();
      })
      .Case([&](LLVM::ReturnOp) {
        if (calls.empty()) {
          assembler.emit(runReturn, {}, {});
          return success();
        }
        Regs from;
        for (Value operand : op->getOperands())
          llvm::append_range(from, regs(operand));
        assembler.copy(frame->results, from);
        assembler.jump(frame->returns);
        return success();
      })
      .Case([&](LLVM::UnreachableOp) {
        assembler.emit(runUnreachable, {}, {});
        return success();
      })
      .Default([&](Operation *) {
        return LogicalResult(
            unknown(op, "'" + op->getName().getStringRef() + "'"));
      });
}

LogicalResult Decoder::decodeBody(Frame &callee) {
  Frame *caller = std::exchange(frame, &callee);
  SmallVector<Block *> order = orderBlocks(callee.function.getBody());
  for (Block *block : order) {
    callee.labels[block] = assembler.label();
    if (block->isEntryBlock())
      continue;
    for (BlockArgument argument : block->getArguments()) {
      FailureOr<Regs> registers =
          createRegs(callee.function, argument.getType());
      if (failed(registers))
        return failure();
      define(argument, *registers);
    }
  }
  // What was before the first block goes on there.
  if (!calls.empty())
    assembler.jump(callee.labels[order.front()]);
  for (Block *block : order) {
    assembler.place(callee.labels[block]);
    for (Operation &op : *block) {
      assembler.setSource(&op);
      if (failed(op.hasTrait<OpTrait::IsTerminator>() ? decodeTerminator(&op)
                                                      : decode(&op)))
        return failure();
    }
  }
  frame = caller;
  return success();
}

LogicalResult Decoder::decodeCall(LLVM::CallOp call) {
  auto callee = dyn_cast_or_null<LLVM::LLVMFuncOp>(
      call.getCallee()
          ? SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr())
          : nullptr);
  if (!callee || callee.isExternal())
    return unknown(call, "what is called: it has no body here");
  if (llvm::is_contained(calls, callee) || callee == kernel)
    return call.emitError("the virtual GPU does not run recursive functions");
  Frame inner(callee);
  for (auto [argument, operand] :
       llvm::zip(callee.getArguments(), call.getArgOperands()))
    inner.values[argument] = regs(operand);
  inner.returns = assembler.label();
  if (call.getNumResults()) {
    FailureOr<Regs> results = createRegs(call, call.getResult().getType());
    if (failed(results))
      return failure();
    inner.results = *results;
  }
  calls.push_back(callee);
  if (failed(decodeBody(inner)))
    return failure();
  calls.pop_back();
  assembler.place(inner.returns);
  assembler.setSource(call);
  if (call.getNumResults())
    define(call.getResult(), inner.results);
  return success();
}

LogicalResult Decoder::decode(Operation *op) {
  // What tells the optimiser something and does nothing.
  if (isa<LLVM::AssumeOp, LLVM::LifetimeStartOp, LLVM::LifetimeEndOp,
          LLVM::DbgValueOp, LLVM::DbgDeclareOp, LLVM::DbgLabelOp,
          LLVM::NoAliasScopeDeclOp>(op))
    return success();
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return decodeCall(call);
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return decodeIntrinsicCall(call);
  if (isa<LLVM::Trap>(op)) {
    assembler.emit(runTrap, {}, {});
    return success();
  }
  for (auto part : {&Decoder::decodeValue, &Decoder::decodeMemory,
                    &Decoder::decodeArithmetic, &Decoder::decodeConversion,
                    &Decoder::decodeNVVM}) {
    FailureOr<bool> isDone = (this->*part)(op);
    if (failed(isDone))
      return failure();
    if (*isDone)
      return success();
  }
  return unknown(op, "'" + op->getName().getStringRef() + "'");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult Decoder::decodeParameters() {
  uint64_t memory = 0;
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto byval = kernel.getArgAttrOfType<TypeAttr>(
        index, LLVM::LLVMDialect::getByValAttrName());
    Type type = byval ? byval.getValue() : argument.getType();
    SmallVector<RegisterShape> shape;
    if (!shapeOf(type, shape))
      return unknown(kernel, "the type ") << type << " of a parameter";
    Program::Parameter &parameter = program.parameters.emplace_back();
    parameter.bytes = sizeOf(type);
    parameter.byval = static_cast<bool>(byval);
    program.parameterBytes.push_back(parameter.bytes);
    if (byval) {
      memory = llvm::alignTo(memory, std::max<uint64_t>(alignOf(type), 16));
      parameter.offset = memory;
      memory += parameter.bytes;
      define(argument,
             {assembler.constant(true, kParameterTag | parameter.offset)});
      continue;
    }
    Regs registers;
    for (RegisterShape part : shape) {
      registers.push_back(assembler.preset(part.isWide));
      parameter.registers.push_back({0, part.isWide, part.offset});
      parameter.pieceBytes.push_back(part.bytes);
    }
    define(argument, registers);
  }
  program.parameterMemory = memory;
  return success();
}

LogicalResult Decoder::run() {
  program.name = kernel.getSymName().str();
  Frame outermost(kernel);
  frame = &outermost;
  assembler.setSource(kernel);
  if (failed(layOutGlobals()) || failed(decodeParameters()) ||
      failed(decodeBody(outermost)))
    return failure();
  if (auto block = kernel->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getReqntidAttrName()))
    for (auto [i, size] : llvm::enumerate(block.asArrayRef().take_front(3)))
      program.requiredBlock[i] = size;
  if (auto block = kernel->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getMaxntidAttrName())) {
    program.maxThreads = 1;
    for (int32_t size : block.asArrayRef())
      program.maxThreads *= size;
  }
  SmallVector<uint32_t> presets;
  assembler.finish(program, presets);
  auto place = presets.begin();
  for (Program::Parameter &parameter : program.parameters)
    for (Program::Constant &part : parameter.registers)
      part.reg = *place++;
  return success();
}
