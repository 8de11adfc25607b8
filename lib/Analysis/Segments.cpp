//===- Segments.cpp - Document ids of a sequence --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Segments.h"

using namespace ring;

/// Padding sorts behind every document.
static uint32_t sortKey(int32_t id) {
  return id < 0 ? UINT32_MAX : static_cast<uint32_t>(id);
}

bool SegmentIds::areSorted() const {
  for (int64_t position = 1; position < count; ++position)
    if (sortKey(at(position)) < sortKey(at(position - 1)))
      return false;
  return true;
}

/// The first position whose sort key is not below `key`.
static int64_t lowerBound(const SegmentIds &segments, uint64_t key) {
  int64_t low = 0, high = segments.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sortKey(segments.at(middle)) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Interval SegmentIds::positionsOf(int32_t first, int32_t last) const {
  return {lowerBound(*this, sortKey(first)),
          lowerBound(*this, uint64_t(sortKey(last)) + 1)};
}
