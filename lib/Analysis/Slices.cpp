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
#include <cstring>

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

KeyRangeCursor::KeyRangeCursor(const RingBlock &block, Interval queries,
                               bool classify)
    : ringBlock(block), queryRange(queries) {
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
  if (block.keySegments)
    restrictToSegments();
  if (full.empty())
    full = {any.end, any.end};
}

namespace {
/// The ids of some positions, padding (negative ids) included.
struct IdRange {
  int32_t lowest = INT32_MAX, highest = INT32_MIN;
  /// The lowest that is not negative: as unsigned numbers those come first.
  uint32_t lowestDocument = UINT32_MAX;

  void add(int32_t id) {
    lowest = std::min(lowest, id);
    highest = std::max(highest, id);
    lowestDocument = std::min(lowestDocument, static_cast<uint32_t>(id));
  }
};
} // namespace

/// Of the local positions [range.begin, range.end), which lie in one entry.
static IdRange idsOf(const SegmentIds &segments, EntryAt at, Interval range) {
  IdRange ids;
  for (int64_t local = range.begin; local < range.end;) {
    // Positions are consecutive up to the end of the entry's block.
    int64_t left = at.entry->block - (local - at.base) % at.entry->block;
    int64_t count = std::min(range.end - local, left);
    int64_t position = at.position(local);
    if (segments.stride == 1)
      for (int64_t i = 0; i < count; ++i) // vectorised
        ids.add(segments.ids[position + i]);
    else
      for (int64_t i = 0; i < count; ++i)
        ids.add(segments.at(position + i));
    local += count;
  }
  return ids;
}

/// Leaves the keys of the queries' documents.
void KeyRangeCursor::restrictToSegments() {
  IdRange ids =
      idsOf(ringBlock.querySegments,
            findEntry(ringBlock.queries, queryRange.begin), queryRange);
  if (ids.highest < 0) {
    any = full = {0, 0};
    return;
  }
  firstId = static_cast<int32_t>(ids.lowestDocument);
  lastId = ids.highest;
  oneDocument = ids.lowest == lastId;
  if (!ringBlock.keySegments.sorted) {
    compareIds = true;
    return;
  }
  Interval documents = ringBlock.keySegments.positionsOf(firstId, lastId);
  any = intersect(any, documents);
  full = oneDocument ? intersect(full, documents) : Interval{0, 0};
}

bool KeyRangeCursor::next(KeyRange &range) {
  return compareIds ? nextBySegments(range) : nextByPosition(range);
}

bool KeyRangeCursor::nextByPosition(KeyRange &range) {
  for (; entry < ringBlock.keys.size; ++entry, part = 0) {
    const LayoutEntry &keys = ringBlock.keys.entries[entry];
    // Of a long table most entries are far from what is visible.
    if (keys.empty() || keys.begin >= any.end || keys.last() < any.begin)
      part = 3;
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

KeyRangeCursor::Verdict KeyRangeCursor::judge(Interval keys) const {
  IdRange ids =
      idsOf(ringBlock.keySegments, findEntry(ringBlock.keys, keys.begin), keys);
  if (ids.highest < firstId || ids.lowest > lastId)
    return Verdict::Hidden;
  bool same = oneDocument && ids.lowest == firstId && ids.highest == firstId;
  return rest.full && same ? Verdict::Full : Verdict::Partial;
}

bool KeyRangeCursor::nextBySegments(KeyRange &range) {
  constexpr int64_t kKeys = 64;
  range = {0, 0, false};
  while (true) {
    if (rest.begin >= rest.end) {
      if (range.begin < range.end)
        return true;
      if (!nextByPosition(rest))
        return false;
    }
    Interval keys{rest.begin, std::min(rest.end, rest.begin + kKeys)};
    Verdict verdict = judge(keys);
    bool full = verdict == Verdict::Full;
    bool grows = range.begin < range.end;
    // Neighbours of one kind are one range.
    if (grows && (verdict == Verdict::Hidden || full != range.full))
      return true;
    rest.begin = keys.end;
    if (verdict != Verdict::Hidden)
      range = {grows ? range.begin : keys.begin, keys.end, full};
  }
}

/// Clears what ids hide and counts what is left.
static int64_t hideOtherDocuments(const RingBlock &block, EntryAt queriesAt,
                                  Interval queries, EntryAt keysAt,
                                  Interval keys, int64_t lanes, uint8_t *seen) {
  int32_t ids[kMaxTileQueries];
  for (int64_t q = 0; q < lanes; ++q)
    ids[q] = q < queries.size()
                 ? block.querySegments.at(queriesAt.position(queries.begin + q))
                 : -1;
  int64_t pairs = 0;
  for (int64_t key = keys.begin; key < keys.end; ++key, seen += lanes) {
    int32_t id = block.keySegments.at(keysAt.position(key));
    int32_t inRow = 0;
    for (int64_t q = 0; q < lanes; ++q) {
      seen[q] &= static_cast<uint8_t>((ids[q] == id) & (id >= 0));
      inRow += seen[q];
    }
    pairs += inRow;
  }
  return pairs;
}

int64_t ring::visibleTile(const RingBlock &block, Interval queries,
                          Interval keys, int64_t lanes, uint8_t *seen) {
  if (keys.empty())
    return 0;
  if (queries.empty()) {
    std::memset(seen, 0, keys.size() * lanes);
    return 0;
  }
  assert(queries.size() <= lanes && lanes <= kMaxTileQueries &&
         "more queries than lanes");
  EntryAt queriesAt = findEntry(block.queries, queries.begin);
  EntryAt keysAt = findEntry(block.keys, keys.begin);
  assert(keys.end <= keysAt.base + keysAt.entry->size() &&
         "a key range lies in one entry");
  int64_t from[kMaxTileQueries], to[kMaxTileQueries];
  for (int64_t q = 0; q < queries.size(); ++q) {
    Interval visible = block.mask.visibleKeys(
        queriesAt.position(queries.begin + q), block.keyCount);
    from[q] = keysAt.base + keysAt.entry->countBelow(visible.begin);
    to[q] = keysAt.base + keysAt.entry->countBelow(visible.end);
  }
  // As neither `from` nor `to` decreases, the queries that see a key are those
  // from the first that ends behind it to the last that begins before it.
  int64_t pairs = 0, first = 0, last = 0;
  uint8_t *row = seen;
  for (int64_t key = keys.begin; key < keys.end; ++key, row += lanes) {
    while (first < queries.size() && to[first] <= key)
      ++first;
    while (last < queries.size() && from[last] <= key)
      ++last;
    std::memset(row, 0, lanes);
    if (first < last) {
      std::memset(row + first, 1, last - first);
      pairs += last - first;
    }
  }
  if (!block.keySegments)
    return pairs;
  return hideOtherDocuments(block, queriesAt, queries, keysAt, keys, lanes,
                            seen);
}

int64_t ring::positionOf(LayoutView view, int64_t local) {
  return findEntry(view, local).position(local);
}
