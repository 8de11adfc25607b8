//===- Mask.cpp - Position-dependent visibility ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Mask.h"

#include "Arithmetic.h"

#include <algorithm>

using namespace ring;

Interval PositionalMask::visibleKeys(int64_t query, int64_t keyCount) const {
  int64_t p = saturatingAdd(query, shift);
  int64_t begin = 0, end = keyCount;
  if (causal)
    end = std::min(end, saturatingAdd(std::max(p, prefix - 1), 1));
  if (left != kUnbounded)
    begin = std::max(begin, saturatingSub(p, left));
  if (right != kUnbounded)
    end = std::min(end, saturatingAdd(saturatingAdd(p, right), 1));
  if (chunk > 0) {
    // Not floorDiv(p, chunk) * chunk, which may be below INT64_MIN.
    int64_t within = p % chunk;
    int64_t first = saturatingSub(p, within < 0 ? within + chunk : within);
    begin = std::max(begin, first);
    end = std::min(end, saturatingAdd(first, chunk));
  }
  // Clamping both ends keeps them monotone in `query`, also where nothing is
  // visible.
  return {std::min(begin, keyCount), std::max<int64_t>(end, 0)};
}
