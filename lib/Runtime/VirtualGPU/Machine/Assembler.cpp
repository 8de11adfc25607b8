//===- Assembler.cpp - Puts a program together ----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"

#include "Handlers.h"

#include <queue>

using namespace ring::vgpu;
using llvm::ArrayRef;

Reg Assembler::create(bool isWide) {
  registers.push_back({isWide});
  return registers.size() - 1;
}

Reg Assembler::constant(bool isWide, uint64_t value) {
  auto [it, isNew] = constants.try_emplace({value, isWide}, 0);
  if (isNew) {
    it->second = create(isWide);
    constantList.push_back({it->second, value});
  }
  return it->second;
}

Reg Assembler::preset(bool isWide) {
  presetRegisters.push_back(create(isWide));
  return presetRegisters.back();
}

Label Assembler::label() {
  blocks.emplace_back();
  return blocks.size() - 1;
}

void Assembler::place(Label label) { order.push_back(label); }

void Assembler::setSource(const void *op) { sources.push_back(op); }

Assembler::Instruction &Assembler::append(Handler run) {
  Block &block = blocks[order.back()];
  block.emplace_back();
  block.back().run = run;
  block.back().imm = 0;
  block.back().results = 0;
  block.back().source = sources.size() - 1;
  return block.back();
}

void Assembler::emit(Handler run, ArrayRef<Reg> results, ArrayRef<Reg> operands,
                     uint64_t imm) {
  Instruction &inst = append(run);
  inst.imm = imm;
  inst.results = results.size();
  inst.operands.append(results.begin(), results.end());
  inst.operands.append(operands.begin(), operands.end());
}

Reg Assembler::emit(Arith op, bool isWide, ArrayRef<Reg> operands,
                    uint64_t imm) {
  Reg result = create(isWide);
  emit(handlerOf(op), result, operands, imm);
  return result;
}

void Assembler::copy(ArrayRef<Reg> results, ArrayRef<Reg> sources) {
  llvm::SmallVector<Reg> to, from;
  uint64_t narrow = 0;
  for (bool wide : {false, true}) {
    for (auto [result, source] : llvm::zip(results, sources)) {
      if (isWide(result) != wide || result == source)
        continue;
      to.push_back(result);
      from.push_back(source);
    }
    if (!wide)
      narrow = to.size();
  }
  if (to.empty())
    return;
  if (to.size() == 1)
    return emit(handlerOf(narrow ? Arith::Copy32 : Arith::Copy64), to, from);
  emit(runCopies, to, from, uint64_t(to.size()) << 32 | narrow);
}

void Assembler::jump(Label target) {
  append(runJump).targets.push_back(target);
}

void Assembler::branch(Reg condition, Label then, Label otherwise) {
  Instruction &inst = append(runBranch);
  inst.operands.push_back(condition);
  inst.targets.append({then, otherwise});
}

void Assembler::choose(Reg value, Label otherwise,
                       ArrayRef<std::pair<uint64_t, Label>> cases) {
  Instruction &inst = append(isWide(value) ? runSwitch64 : runSwitch32);
  inst.operands.push_back(value);
  inst.targets.push_back(otherwise);
  for (auto [match, target] : cases) {
    inst.cases.push_back(match);
    inst.targets.push_back(target);
  }
}

/// Liveness over the blocks; then from the first to the last place where a
/// register holds something that is yet to be read.
void Assembler::findLifetimes() {
  const size_t count = registers.size();
  std::vector<llvm::BitVector> in(blocks.size(), llvm::BitVector(count)),
      written(blocks.size(), llvm::BitVector(count));
  for (Label label : order)
    for (const Instruction &inst : blocks[label]) {
      for (size_t i = inst.results; i < inst.operands.size(); ++i)
        if (!written[label][inst.operands[i]])
          in[label].set(inst.operands[i]);
      for (size_t i = 0; i < inst.results; ++i)
        written[label].set(inst.operands[i]);
    }
  auto liveOut = [&](Label label) {
    llvm::BitVector live(count);
    if (!blocks[label].empty())
      for (Label target : blocks[label].back().targets)
        live |= in[target];
    return live;
  };
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (Label label : llvm::reverse(order)) {
      llvm::BitVector live = liveOut(label);
      live.reset(written[label]);
      live |= in[label];
      if (live != in[label]) {
        in[label] = std::move(live);
        isChanged = true;
      }
    }
  }
  uint32_t place = 0;
  auto touch = [&](Reg reg, uint32_t at) {
    registers[reg].begin = std::min(registers[reg].begin, at);
    registers[reg].end = std::max(registers[reg].end, at);
  };
  for (Label label : order) {
    for (unsigned reg : in[label].set_bits())
      touch(reg, place);
    for (const Instruction &inst : blocks[label]) {
      for (Reg reg : inst.operands)
        touch(reg, place);
      ++place;
    }
    const llvm::BitVector out = liveOut(label);
    for (unsigned reg : out.set_bits())
      touch(reg, place - 1);
  }
}

static uint32_t wordsOf(bool isWide) { return isWide ? 2 * kLanes : kLanes; }

uint32_t Assembler::placeConstants(Program &program) {
  uint32_t next = 0;
  for (auto [reg, value] : constantList) {
    bool wide = registers[reg].isWide;
    registers[reg].place = next;
    program.constants.push_back({next, wide, value});
    next += wordsOf(wide);
  }
  for (Reg reg : presetRegisters) {
    registers[reg].place = next;
    next += wordsOf(registers[reg].isWide);
  }
  return next;
}

/// A linear scan over lifetimes. Two registers of one instruction never share a
/// place, which the handlers rely on.
void Assembler::placeRegisters(Program &program) {
  uint32_t next = program.constantWords = placeConstants(program);
  std::vector<Reg> byBegin;
  for (Reg reg = 0; reg < registers.size(); ++reg)
    if (registers[reg].place == ~0u && registers[reg].begin != ~0u)
      byBegin.push_back(reg);
  llvm::sort(byBegin, [&](Reg a, Reg b) {
    return std::make_pair(registers[a].begin, a) <
           std::make_pair(registers[b].begin, b);
  });
  using Ending = std::pair<uint32_t, Reg>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  std::vector<uint32_t> free[2];
  for (Reg reg : byBegin) {
    Register &entry = registers[reg];
    while (!live.empty() && live.top().first < entry.begin) {
      const Register &ended = registers[live.top().second];
      free[ended.isWide].push_back(ended.place);
      live.pop();
    }
    std::vector<uint32_t> &places = free[entry.isWide];
    if (places.empty()) {
      entry.place = next;
      next += wordsOf(entry.isWide);
    } else {
      entry.place = places.back();
      places.pop_back();
    }
    live.push({entry.end, reg});
  }
  program.registerWords = next;
}

void Assembler::finish(Program &program,
                       llvm::SmallVectorImpl<uint32_t> &presets) {
  findLifetimes();
  placeRegisters(program);
  for (Reg reg : presetRegisters)
    presets.push_back(registers[reg].place);

  std::vector<uint32_t> begin(blocks.size());
  uint32_t next = 0;
  for (Label label : order) {
    begin[label] = next;
    next += blocks[label].size();
  }
  for (Label label : order) {
    for (const Instruction &from : blocks[label]) {
      Inst inst{};
      inst.run = from.run;
      inst.imm = from.imm;
      inst.source = from.source;
      inst.list = program.operands.size();
      for (auto [i, reg] : llvm::enumerate(from.operands)) {
        program.operands.push_back(registers[reg].place);
        if (i < inst.r.size())
          inst.r[i] = registers[reg].place;
      }
      if (from.run == runJump) {
        inst.imm = begin[from.targets[0]];
      } else if (from.run == runBranch) {
        inst.imm =
            uint64_t(begin[from.targets[1]]) << 32 | begin[from.targets[0]];
      } else if (!from.targets.empty()) {
        inst.imm = program.tables.size();
        std::vector<uint64_t> &table = program.tables.emplace_back();
        table.push_back(begin[from.targets[0]]);
        for (auto [i, match] : llvm::enumerate(from.cases)) {
          table.push_back(match);
          table.push_back(begin[from.targets[i + 1]]);
        }
      }
      program.code.push_back(inst);
    }
  }
  program.sources = std::move(sources);
}
