//===- Segments.cpp - Document ids of a sequence --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Segments.h"

#include <algorithm>

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

DocumentIndex::DocumentIndex(const SegmentIds &keys, int64_t keyCount) {
  for (int64_t position = 0; position < keyCount; ++position)
    if (int32_t id = keys.at(position); id >= 0)
      places.emplace_back(id, position);
  if (!std::is_sorted(places.begin(), places.end()))
    std::sort(places.begin(), places.end());
}

int64_t DocumentIndex::count(int32_t id, Interval positions) const {
  if (id < 0 || positions.empty())
    return 0;
  auto first = std::lower_bound(places.begin(), places.end(),
                                std::pair(id, positions.begin));
  return std::lower_bound(first, places.end(), std::pair(id, positions.end)) -
         first;
}
