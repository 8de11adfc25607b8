//===- Arithmetic.h - What each lane computes alone -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_ARITHMETIC_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_ARITHMETIC_H

#include "Program.h"

namespace ring::vgpu {

enum class Arith : uint16_t {
#define RING_ARITH1(Name, R, A, value) Name,
#define RING_ARITH2(Name, R, A, B, value) Name,
#define RING_ARITH3(Name, R, A, B, C, value) Name,
#include "Arithmetic.def"
#undef RING_ARITH1
#undef RING_ARITH2
#undef RING_ARITH3
  Count
};

/// The 16-bit types of a matrix product's factors, or the upper 19 bits of f32.
enum class Factor : uint8_t { F16, BF16, TF32 };

/// D[16][8] = A[16][k] * B[k][8] + C, all row-major: one fma after the other
/// for each element, k ascending.
using ProductOf = void (*)(const float *a, const float *b, float *c,
                           unsigned k);

/// Functions of one instruction set; all compute the same bits.
struct LaneFunctions {
  const Handler *arithmetic; ///< by Arith
  ProductOf product;
  /// The two 16-bit numbers of each of `count` words.
  void (*widen)(Factor type, const uint32_t *words, unsigned count, float *out);
};

/// Those of the machine that this runs on.
const LaneFunctions &laneFunctions();

inline Handler handlerOf(Arith op) {
  return laneFunctions().arithmetic[static_cast<unsigned>(op)];
}

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_ARITHMETIC_H
