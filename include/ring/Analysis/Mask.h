//===- Mask.h - Position-dependent visibility -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position-dependent part of a mask, as one interval of keys per query.
//
// Causal, prefix, window and chunk, alone and combined, always leave one
// interval of visible keys per query, and both ends of it never decrease from
// one query to the next. Everything that reasons about masks (who works in
// which round, what a tile sees, how many pairs there are) needs only that.
//
// Plain C++ without LLVM: the compiler and the runtime share it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_ANALYSIS_MASK_H
#define RING_ANALYSIS_MASK_H

#include <algorithm>
#include <cstdint>

namespace ring {

/// Half-open interval of positions. Empty iff `begin >= end`.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
  int64_t size() const { return empty() ? 0 : end - begin; }
};

/// {0, 0} where they have nothing in common.
inline Interval intersect(Interval a, Interval b) {
  Interval both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? Interval{0, 0} : both;
}

/// `#ring.mask` bound to sizes: the query with index i stands at position
/// i + shift. (`align = top_left`: shift 0; `bottom_right`: Sk - Sq;
/// `offsets`: the batch entry's offset.) The key with index j stands at j.
struct PositionalMask {
  static constexpr int64_t kUnbounded = INT64_MAX;

  bool causal = false;
  int64_t left = kUnbounded;  ///< keys down to p - left are visible
  int64_t right = kUnbounded; ///< keys up to p + right are visible
  int64_t chunk = 0;          ///< 0: no chunks
  int64_t prefix = 0;         ///< keys below it escape `causal`
  int64_t shift = 0;

  /// True iff the mask hides nothing whatever the sizes are.
  bool isFull() const {
    return !causal && left == kUnbounded && right == kUnbounded && chunk == 0;
  }

  /// The keys in [0, keyCount) that query index `query` sees.
  Interval visibleKeys(int64_t query, int64_t keyCount) const;
};

} // namespace ring

#endif // RING_ANALYSIS_MASK_H
