//===- Handlers.h - Instructions that are more than arithmetic --*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each with its operands, results first.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_HANDLERS_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_HANDLERS_H

#include "Program.h"

namespace ring::vgpu {

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// imm: target.
void runJump(Warp &warp, const Inst &inst);
/// condition; imm: targets of true and, in the high half, false.
void runBranch(Warp &warp, const Inst &inst);
/// value; imm: table of the default target, then values and targets.
void runSwitch32(Warp &warp, const Inst &inst);
void runSwitch64(Warp &warp, const Inst &inst);
void runReturn(Warp &warp, const Inst &inst);
void runUnreachable(Warp &warp, const Inst &inst);
void runTrap(Warp &warp, const Inst &inst);
/// results, then as many sources, narrow ones first; imm: how many narrow ones.
/// They are copied as if at once.
void runCopies(Warp &warp, const Inst &inst);
/// result, index, elements; imm: how many.
void runExtract32(Warp &warp, const Inst &inst);
void runExtract64(Warp &warp, const Inst &inst);
/// result; imm: a Register.
void runSpecial(Warp &warp, const Inst &inst);
enum class SpecialRegister : uint8_t {
  Thread, // x; y and z follow, as of all triples
  BlockSize = Thread + 3,
  BlockIndex = BlockSize + 3,
  GridSize = BlockIndex + 3,
  Lane = GridSize + 3,
  WarpIndex,
  WarpSize,
  WarpCount,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  DynamicShared
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// results, address; imm: plan.
void runLoad(Warp &warp, const Inst &inst);
/// values, address; imm: plan.
void runStore(Warp &warp, const Inst &inst);
/// old value, address, value; imm: plan, and AtomicOp in the high half.
void runAtomic(Warp &warp, const Inst &inst);
enum class AtomicOp : uint8_t {
  Exchange,
  Add,
  And,
  Or,
  Xor,
  SMax,
  SMin,
  UMax,
  UMin,
  FAdd,
  FMax,
  FMin
};
/// old value, success, address, compared, new; imm: plan.
void runCompareExchange(Warp &warp, const Inst &inst);
/// destination, source, and unless imm >> 32, the bytes to copy; imm: bytes.
void runAsyncCopy(Warp &warp, const Inst &inst);
void runAsyncCommit(Warp &warp, const Inst &inst);
/// imm: groups left.
void runAsyncWait(Warp &warp, const Inst &inst);

//===----------------------------------------------------------------------===//
// All lanes of a warp, all warps of a block
//===----------------------------------------------------------------------===//

/// id; threads unless imm bit 1 (all); imm bit 0: waits.
void runBarrier(Warp &warp, const Inst &inst);
/// mask.
void runWarpSync(Warp &warp, const Inst &inst);
/// value, [is valid if imm bit 2], mask, value, offset, clamp; imm bits 0-1:
/// ShuffleKind.
void runShuffle(Warp &warp, const Inst &inst);
enum class ShuffleKind : uint8_t { Butterfly, Up, Down, Index };
/// result, mask, predicate; imm: VoteKind.
void runVote(Warp &warp, const Inst &inst);
enum class VoteKind : uint8_t { Any, All, Ballot, Uniform };
/// result, mask, value.
void runMatchAny32(Warp &warp, const Inst &inst);
/// result, mask, value; imm: ReduceOp.
void runReduce(Warp &warp, const Inst &inst);
enum class ReduceOp : uint8_t { Add, And, Max, Min, Or, UMax, UMin, Xor };
/// predicate, mask.
void runElect(Warp &warp, const Inst &inst);
/// results, address; imm bits 0-2: matrices, bit 8: transposed.
void runLoadMatrix(Warp &warp, const Inst &inst);
/// 4 results; A, B, C; imm: MatrixShape.
void runMatrixProduct(Warp &warp, const Inst &inst);

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_HANDLERS_H
