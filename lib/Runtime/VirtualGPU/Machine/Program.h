//===- Program.h - Kernels as the machine runs them -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is decoded once into a list of instructions, each a function and the
// registers that it works on. A register holds a value of each of a warp's 32
// lanes, 32 bits each (narrow) or 64 bits each (wide):
//
//   i1 i8 i16 f16 bf16   narrow, zero-extended
//   i32 f32              narrow
//   i64 f64 pointers     wide
//   vectors              of 8- and 16-bit elements that fill whole words:
//   packed
//                        into narrow registers, as in PTX; else one an element
//   structs, arrays      the registers of their elements, one after another
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_PROGRAM_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_PROGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ring::vgpu {

inline constexpr unsigned kLanes = 32;

class Warp;
struct Inst;
using Handler = void (*)(Warp &, const Inst &);

/// One instruction of a warp.
struct Inst {
  Handler run;
  uint64_t imm; ///< what the handler says
  /// The first operands, results first: offsets in words into the registers of
  /// a warp. All of them are `Program::operands[list]` and on.
  std::array<uint32_t, 4> r;
  uint32_t list;
  uint32_t source; ///< the op that it came from, see `Program::sources`
};

/// What the address of an access means; Generic: the address tells, see
/// Address.h.
enum class Space : uint8_t { Generic, Global, Shared, Constant, Local };

/// How the value of a load or store lies in memory.
struct AccessPlan {
  struct Piece {
    uint32_t offset, bytes; ///< one register: 1, 2, 4 or 8 bytes
  };
  std::vector<Piece> pieces;
  uint32_t bytes = 0; ///< from the first byte to the last
  uint32_t align = 1; ///< what the address must be a multiple of
  Space space = Space::Generic;
  bool atomic = false;
  bool isWords = false; ///< pieces are words one after another
};

/// A kernel.
struct Program {
  std::string name;
  std::vector<Inst> code;
  std::vector<uint32_t> operands;
  std::vector<AccessPlan> plans;
  std::vector<std::vector<uint64_t>> tables; ///< of switches: value, target
  std::vector<const void *> sources;         ///< mlir::Operation

  /// A register that has the same value in all lanes from the start.
  struct Constant {
    uint32_t reg;
    bool wide;
    uint64_t value;
  };
  std::vector<Constant> constants;
  /// Registers below this offset hold constants and parameters.
  uint32_t constantWords = 0;
  uint32_t registerWords = 0;

  struct Parameter {
    size_t bytes;
    bool byval;      ///< the register is a pointer to it in parameter memory
    uint32_t offset; ///< in parameter memory
    std::vector<Constant> registers; ///< `value`: the offset in the parameter
    std::vector<uint32_t> pieceBytes;
  };
  std::vector<Parameter> parameters;
  std::vector<size_t> parameterBytes;
  uint32_t parameterMemory = 0;

  uint32_t staticSharedBytes = 0; ///< dynamic shared memory begins there
  uint32_t localBytes = 0;        ///< of a thread
  std::vector<std::byte> constantData;
  /// Shared memory is watched in cells of 1 << cellShift bytes: the narrowest
  /// access of the kernel, so that no access touches a part of a cell.
  unsigned cellShift = 2;
  std::array<uint32_t, 3> requiredBlock = {}; ///< 0: any
  uint32_t maxThreads = 1024;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_PROGRAM_H
