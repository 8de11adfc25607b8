//===- Matrix.h - Fragments of matrix products ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_MATRIX_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_MATRIX_H

#include "Arithmetic.h"

namespace ring::vgpu {

/// mma.sync.m16n8k`k` with f32 accumulators.
struct MatrixShape {
  Factor type;
  uint8_t k;

  unsigned wordsOfA() const { return type == Factor::TF32 ? k / 2 : k / 4; }
  unsigned wordsOfB() const { return wordsOfA() / 2; }
  uint64_t encode() const { return uint64_t(type) << 8 | k; }
  static MatrixShape decode(uint64_t imm) {
    return {static_cast<Factor>(imm >> 8), static_cast<uint8_t>(imm)};
  }
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_MATRIX_H
