//===- Slices.cpp - The work list of a round ------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Analysis/Slices.h"

#include <algorithm>
#include <cassert>

using namespace ring;

namespace {
/// An entry and the local index of its first element.
struct EntryAt {
  const LayoutEntry *entry;
  int64_t base;

  int64_t position(int64_t local) const {
    return entry->position(local - base);
  }
};
} // namespace

/// The entry that holds local index `local`.
static EntryAt findEntry(LayoutView view, int64_t local) {
  int64_t base = 0;
  for (const LayoutEntry &entry : view) {
    if (local < base + entry.size())
      return {&entry, base};
    base += entry.size();
  }
  assert(false && "local index beyond the block");
  return {nullptr, base};
}

static int64_t tileCount(const LayoutEntry &entry, int64_t tile) {
  return (entry.size() + tile - 1) / tile;
}

int64_t ring::queryRangeCount(LayoutView queries, int64_t tile) {
  assert(tile >= 1 && "a query range has at least one row");
  int64_t count = 0;
  for (const LayoutEntry &entry : queries)
    count += tileCount(entry, tile);
  return count;
}

Interval ring::queryRange(LayoutView queries, int64_t tile, int64_t index) {
  int64_t base = 0;
  for (const LayoutEntry &entry : queries) {
    int64_t tiles = tileCount(entry, tile);
    if (index < tiles)
      return {base + index * tile,
              base + std::min((index + 1) * tile, entry.size())};
    index -= tiles;
    base += entry.size();
  }
  assert(false && "query range index beyond the block");
  return {};
}

KeyRangeCursor::KeyRangeCursor(const RingBlock &block, Interval queryRange,
                               bool classify)
    : block(block) {
  if (queryRange.empty())
    return;
  if (!classify) {
    any = {0, INT64_MAX};
    full = {any.end, any.end};
    return;
  }
  EntryAt at = findEntry(block.queries, queryRange.begin);
  assert(queryRange.end <= at.base + at.entry->size() &&
         "a query range lies in one entry");
  Interval first =
      block.mask.visibleKeys(at.position(queryRange.begin), block.keyCount);
  Interval last =
      block.mask.visibleKeys(at.position(queryRange.end - 1), block.keyCount);
  // Both ends of a query's keys never decrease and positions ascend within an
  // entry: the extremes over the range are those of its first and last row.
  any = {first.begin, last.end};
  if (any.empty())
    any = {0, 0};
  full = {last.begin, first.end};
  if (full.empty())
    full = {any.end, any.end};
}

bool KeyRangeCursor::next(KeyRange &range) {
  for (; entry < block.keys.size; ++entry, part = 0) {
    const LayoutEntry &keys = block.keys.entries[entry];
    const int64_t cuts[] = {any.begin, full.begin, full.end, any.end};
    while (part < 3) {
      int64_t begin = keys.countBelow(cuts[part]);
      int64_t end = keys.countBelow(cuts[part + 1]);
      bool isFull = part == 1;
      ++part;
      if (begin < end) {
        range = {entryBase + begin, entryBase + end, isFull};
        return true;
      }
    }
    entryBase += keys.size();
  }
  return false;
}

Interval ring::visibleLocalKeys(const RingBlock &block, int64_t query,
                                Interval range) {
  if (range.empty())
    return {range.begin, range.begin};
  EntryAt keys = findEntry(block.keys, range.begin);
  assert(range.end <= keys.base + keys.entry->size() &&
         "a key range lies in one entry");
  Interval visible = block.mask.visibleKeys(
      findEntry(block.queries, query).position(query), block.keyCount);
  int64_t begin = keys.base + keys.entry->countBelow(visible.begin);
  int64_t end = keys.base + keys.entry->countBelow(visible.end);
  begin = std::max(begin, range.begin);
  return {begin, std::max(begin, std::min(end, range.end))};
}
