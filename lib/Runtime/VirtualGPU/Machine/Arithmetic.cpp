//===- Arithmetic.cpp - What each lane computes alone ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define RING_ISA basic
#include "Arithmetic.inc"

namespace ring::vgpu {
#ifdef RING_VGPU_AVX2
namespace avx2 {
extern const LaneFunctions functions;
}
#endif

const LaneFunctions &laneFunctions() {
#ifdef RING_VGPU_AVX2
  static const bool hasAvx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (hasAvx2)
    return avx2::functions;
#endif
  return basic::functions;
}
} // namespace ring::vgpu
