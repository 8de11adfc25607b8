//===- Arithmetic.h - Integer arithmetic of positions -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_ANALYSIS_ARITHMETIC_H
#define RING_LIB_ANALYSIS_ARITHMETIC_H

#include <cstdint>

namespace ring {

/// Bounds of a mask may be unbounded or far outside the sequence: sums stop at
/// the limits of int64_t.
inline int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum))
    return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

inline int64_t saturatingSub(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference))
    return difference;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

/// floor(a / b) for b > 0. Positions may be negative, where / rounds up.
inline int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }

} // namespace ring

#endif // RING_LIB_ANALYSIS_ARITHMETIC_H
