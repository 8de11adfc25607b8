//===- Decoder.h - From MLIR to a program -----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_DECODER_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_DECODER_H

#include "Assembler.h"
#include "Types.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace ring::vgpu {

using Regs = llvm::SmallVector<Reg, 2>;

/// The blocks of a region that can be reached, each after those that dominate
/// it, loops contiguous, and a join after all that joins there.
llvm::SmallVector<mlir::Block *> orderBlocks(mlir::Region &region);

/// Decodes one kernel. What the machine does not know is an error at the op.
class Decoder {
public:
  Decoder(mlir::LLVM::LLVMFuncOp kernel, Program &program);
  mlir::LogicalResult run();

private:
  /// A function at a place where it is called; its values' registers.
  struct Frame {
    explicit Frame(mlir::LLVM::LLVMFuncOp function) : function(function) {}

    mlir::LLVM::LLVMFuncOp function;
    llvm::DenseMap<mlir::Value, Regs> values;
    llvm::DenseMap<mlir::Block *, Label> labels;
    Label returns = 0; ///< where the caller goes on
    Regs results;
  };

  // Structure: Decoder.cpp.
  mlir::LogicalResult decodeParameters();
  mlir::LogicalResult decodeBody(Frame &callee);
  mlir::LogicalResult decode(mlir::Operation *op);
  mlir::LogicalResult decodeTerminator(mlir::Operation *op);
  mlir::LogicalResult decodeCall(mlir::LLVM::CallOp call);
  Label edge(mlir::Block *target, mlir::ValueRange operands);
  mlir::LogicalResult jumpTo(mlir::Block *target, mlir::ValueRange operands);

  // Values: Decoder.cpp.
  Regs &regs(mlir::Value value);
  Reg reg(mlir::Value value) { return regs(value).front(); }
  mlir::FailureOr<Regs> createRegs(mlir::Operation *op, mlir::Type type);
  void define(mlir::Value value, Regs registers) {
    frame->values[value] = std::move(registers);
  }
  /// One register for each element of a vector, and back.
  Regs elements(mlir::Value value) {
    return unpack(value.getType(), regs(value));
  }
  Regs unpack(mlir::Type type, llvm::ArrayRef<Reg> registers);
  Regs pack(mlir::Type type, llvm::ArrayRef<Reg> elements);
  Reg constant32(uint32_t value) { return assembler.constant(false, value); }
  Reg signExtend(Reg value, unsigned bits);
  Reg cut(Reg value, unsigned bits);
  Reg emit32(Arith op, llvm::ArrayRef<Reg> operands, uint64_t imm = 0) {
    return assembler.emit(op, /*isWide=*/false, operands, imm);
  }
  Reg emit64(Arith op, llvm::ArrayRef<Reg> operands, uint64_t imm = 0) {
    return assembler.emit(op, /*isWide=*/true, operands, imm);
  }
  mlir::InFlightDiagnostic unknown(mlir::Operation *op,
                                   const llvm::Twine &what);

  // Constants, aggregates and vectors: DecodeValues.cpp.
  mlir::FailureOr<bool> decodeValue(mlir::Operation *op);
  mlir::FailureOr<Regs> constantRegs(mlir::Operation *op, mlir::Type type,
                                     mlir::Attribute value);
  mlir::LogicalResult decodeBitcast(mlir::Operation *op);
  Regs words(mlir::Type type, llvm::ArrayRef<Reg> registers);
  Regs fromWords(mlir::Type type, llvm::ArrayRef<Reg> words);

  // Arithmetic: DecodeArithmetic.cpp.
  mlir::FailureOr<bool> decodeArithmetic(mlir::Operation *op);
  mlir::FailureOr<bool> decodeConversion(mlir::Operation *op);
  mlir::LogicalResult decodeCompare(mlir::Operation *op);
  mlir::LogicalResult decodeIntrinsicCall(mlir::LLVM::CallIntrinsicOp op);
  Reg toFloat32(Scalar type, Reg value);
  Reg fromFloat32(Scalar type, Reg value);

  // Memory: DecodeMemory.cpp.
  mlir::FailureOr<bool> decodeMemory(mlir::Operation *op);
  mlir::LogicalResult layOutGlobals();
  mlir::LogicalResult decodeAddressOf(mlir::LLVM::AddressOfOp op);
  mlir::LogicalResult decodeGEP(mlir::LLVM::GEPOp op);
  mlir::LogicalResult decodeAtomic(mlir::LLVM::AtomicRMWOp op);
  mlir::FailureOr<uint32_t> plan(mlir::Operation *op, mlir::Type type,
                                 mlir::Value address, uint64_t align,
                                 bool isAtomic);
  void watch(Space space, uint32_t bytes);

  // NVVM: DecodeNVVM.cpp.
  mlir::FailureOr<bool> decodeNVVM(mlir::Operation *op);
  mlir::LogicalResult decodeMma(mlir::Operation *op);

  mlir::LLVM::LLVMFuncOp kernel;
  Program &program;
  Assembler assembler;
  Frame *frame = nullptr;
  llvm::SmallVector<mlir::Operation *> calls; ///< that are being decoded
  llvm::DenseMap<mlir::Operation *, uint64_t> globals; ///< their addresses
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_DECODER_H
