//===- Assembler.h - Puts a program together --------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_ASSEMBLER_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_ASSEMBLER_H

#include "Arithmetic.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace ring::vgpu {

/// A register before it has a place. Any number of instructions may write it.
using Reg = uint32_t;
/// A block of instructions before it has a place.
using Label = uint32_t;

class Assembler {
public:
  Reg create(bool isWide);
  /// One register for each value.
  Reg constant(bool isWide, uint64_t value);
  /// A register that is set from outside before the start.
  Reg preset(bool isWide);
  bool isWide(Reg reg) const { return registers[reg].isWide; }

  Label label();
  /// What follows is this block, laid out behind the one before.
  void place(Label label);
  /// The op that the next instructions come from.
  void setSource(const void *op);

  void emit(Handler run, llvm::ArrayRef<Reg> results,
            llvm::ArrayRef<Reg> operands, uint64_t imm = 0);
  Reg emit(Arith op, bool isWide, llvm::ArrayRef<Reg> operands,
           uint64_t imm = 0);
  void copy(llvm::ArrayRef<Reg> results, llvm::ArrayRef<Reg> sources);
  // Ends of blocks.
  void jump(Label target);
  void branch(Reg condition, Label then, Label otherwise);
  void choose(Reg value, Label otherwise,
              llvm::ArrayRef<std::pair<uint64_t, Label>> cases);

  /// Gives registers and blocks their places. `presets[i]` gets the place of
  /// the i-th preset register.
  void finish(Program &program, llvm::SmallVectorImpl<uint32_t> &presets);

private:
  struct Register {
    bool isWide;
    uint32_t begin = ~0u, end = 0; ///< where it is needed, inclusive
    uint32_t place = ~0u;
  };
  struct Instruction {
    Handler run;
    uint64_t imm;
    uint32_t source;
    unsigned results;
    llvm::SmallVector<Reg, 4> operands; ///< results first
    llvm::SmallVector<Label, 2> targets;
    llvm::SmallVector<uint64_t, 0> cases;
  };
  using Block = std::vector<Instruction>;

  Instruction &append(Handler run);
  void findLifetimes();
  uint32_t placeConstants(Program &program);
  void placeRegisters(Program &program);

  std::vector<Register> registers;
  llvm::DenseMap<std::pair<uint64_t, unsigned>, Reg> constants;
  std::vector<std::pair<Reg, uint64_t>> constantList;
  llvm::SmallVector<Reg> presetRegisters;
  std::vector<Block> blocks; ///< by label
  std::vector<Label> order;  ///< of blocks
  std::vector<const void *> sources;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_ASSEMBLER_H
