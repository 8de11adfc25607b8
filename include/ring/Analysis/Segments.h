//===- Segments.h - Document ids of a sequence ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a mask that is known at run time only: a query sees the keys of
// its own document, where a negative id belongs to none (padding).
//
// Packed sequences have ascending ids, with the padding at the end. Then a
// document is one interval of keys, like everything that a PositionalMask
// hides or shows. Other orders are right too, and found tile by tile.
//
//===----------------------------------------------------------------------===//

#ifndef RING_ANALYSIS_SEGMENTS_H
#define RING_ANALYSIS_SEGMENTS_H

#include "ring/Analysis/Mask.h"

#include <utility>
#include <vector>

namespace ring {

/// The ids of one sequence, not owned. Without ids (`ids` null) there is one
/// document.
struct SegmentIds {
  const int32_t *ids = nullptr;
  int64_t count = 0;   ///< positions
  int64_t stride = 1;  ///< elements between the ids of neighbours
  bool sorted = false; ///< see areSorted()

  explicit operator bool() const { return ids != nullptr; }
  int32_t at(int64_t position) const { return ids[position * stride]; }
  /// True iff ids ascend and no negative one comes before another: each
  /// document is one interval. Takes time in proportion to `count`.
  bool areSorted() const;
  /// The positions of documents `first` to `last`, both not negative, where
  /// the ids are sorted.
  Interval positionsOf(int32_t first, int32_t last) const;
};

/// Finds the keys of a document, in any order of ids.
class DocumentIndex {
public:
  /// Of the keys below `keyCount`. Takes time and memory in proportion to them,
  /// and time for sorting where the ids are not sorted.
  DocumentIndex(const SegmentIds &keys, int64_t keyCount);
  /// How many keys of the document stand in `positions`. None of padding.
  int64_t count(int32_t id, Interval positions) const;

private:
  std::vector<std::pair<int32_t, int64_t>> places; ///< (id, position), sorted
};

} // namespace ring

#endif // RING_ANALYSIS_SEGMENTS_H
