//===- Slices.cpp - The work list of a round, for kernels -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C spelling of ring/Analysis/Slices.h.
//
//===----------------------------------------------------------------------===//

#include "Allocation.h"
#include "Visibility.h"

#include <algorithm>
#include <new>
#include <type_traits>

using namespace ring;
using namespace ring::runtime;

namespace {
/// What a ring_key_cursor holds.
struct Cursor {
  KeyRangeCursor keys;
  int64_t visiblePairs = 0; ///< of the ranges so far
};
static_assert(sizeof(Cursor) <= sizeof(ring_key_cursor) &&
                  alignof(Cursor) <= alignof(ring_key_cursor) &&
                  std::is_trivially_destructible_v<Cursor>,
              "a cursor lives in the caller's ring_key_cursor");
} // namespace

static LayoutView view(const int64_t *table, int64_t entries) {
  return {reinterpret_cast<const LayoutEntry *>(table), entries};
}

static Cursor &open(ring_key_cursor *cursor) {
  return *std::launder(reinterpret_cast<Cursor *>(cursor));
}
static const Cursor &open(const ring_key_cursor *cursor) {
  return *std::launder(reinterpret_cast<const Cursor *>(cursor));
}

void ring_slices_init(ring_slices *slices, const int64_t *query_table,
                      int64_t query_entries, const int64_t *key_table,
                      int64_t key_entries, int64_t rank, int64_t owner,
                      int32_t classify, const ring_visibility *visibility) {
  LayoutView allQueries = view(query_table, query_entries);
  LayoutView allKeys = view(key_table, key_entries);
  LayoutView queries = allQueries.of(rank), keys = allKeys.of(owner);
  *slices = ring_slices{};
  slices->query_table = reinterpret_cast<const int64_t *>(queries.entries);
  slices->key_table = reinterpret_cast<const int64_t *>(keys.entries);
  slices->query_entries = queries.size;
  slices->key_entries = keys.size;
  slices->rank = rank;
  slices->owner = owner;
  slices->query_count = allQueries.sequenceLength();
  slices->key_count = allKeys.sequenceLength();
  slices->classify = classify;
  slices->visibility = *visibility;
}

int64_t ring_slices_query_ranges(const ring_slices *slices, int64_t tile) {
  return queryRangeCount(view(slices->query_table, slices->query_entries),
                         tile);
}

void ring_slices_query_range(const ring_slices *slices, int64_t tile,
                             int64_t index, int64_t *range) {
  Interval interval =
      queryRange(view(slices->query_table, slices->query_entries), tile, index);
  range[0] = interval.begin;
  range[1] = interval.end;
}

void ring_slices_keys(const ring_slices *slices, int64_t batch,
                      int64_t query_begin, int64_t query_end,
                      ring_key_cursor *cursor) {
  new (cursor)
      Cursor{KeyRangeCursor(blockOf(*slices, batch), {query_begin, query_end},
                            slices->classify != 0)};
}

int32_t ring_slices_next_keys(ring_key_cursor *cursor, int64_t *range) {
  Cursor &state = open(cursor);
  KeyRange keys;
  if (!state.keys.next(keys)) {
    countVisiblePairs(state.visiblePairs);
    state.visiblePairs = 0;
    return 0;
  }
  if (keys.full)
    state.visiblePairs += state.keys.queries().size() * (keys.end - keys.begin);
  range[0] = keys.begin;
  range[1] = keys.end;
  range[2] = keys.full ? 1 : 0;
  return 1;
}

void ring_slices_visible(ring_key_cursor *cursor, int64_t key_begin,
                         int64_t key_end, int64_t lanes, uint8_t *seen) {
  Cursor &state = open(cursor);
  state.visiblePairs += visibleTile(state.keys.block(), state.keys.queries(),
                                    {key_begin, key_end}, lanes, seen);
}

void ring_slices_query_positions(const ring_key_cursor *cursor, int64_t lanes,
                                 int64_t *positions) {
  const Cursor &state = open(cursor);
  Interval queries = state.keys.queries();
  for (int64_t lane = 0; lane < lanes; ++lane)
    positions[lane] =
        positionOf(state.keys.block().queries,
                   std::min(queries.begin + lane, queries.end - 1));
}

void ring_slices_key_positions(const ring_key_cursor *cursor, int64_t key_begin,
                               int64_t key_end, int64_t *positions) {
  const Cursor &state = open(cursor);
  for (int64_t key = key_begin; key < key_end; ++key)
    *positions++ = positionOf(state.keys.block().keys, key);
}
