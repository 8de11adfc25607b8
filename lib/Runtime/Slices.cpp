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

#include "ring/Analysis/Slices.h"
#include "Fatal.h"
#include "ring/Runtime/Runtime.h"

#include <algorithm>
#include <cinttypes>
#include <new>
#include <type_traits>

using namespace ring;
using namespace ring::runtime;

namespace {
/// What a ring_key_cursor holds.
struct Cursor {
  RingBlock block;
  Interval queries;
  KeyRangeCursor keys;
};
static_assert(sizeof(Cursor) <= sizeof(ring_key_cursor) &&
                  alignof(Cursor) <= alignof(ring_key_cursor) &&
                  std::is_trivially_destructible_v<Cursor>,
              "a cursor lives in the caller's ring_key_cursor");
} // namespace

static LayoutView view(const int64_t *table, int64_t entries) {
  return {reinterpret_cast<const LayoutEntry *>(table), entries};
}

/// The block as the batch entry sees it.
static RingBlock blockOf(const ring_slices &slices, int64_t batch) {
  RingBlock block;
  block.mask.causal = slices.causal != 0;
  block.mask.left = slices.left;
  block.mask.right = slices.right;
  block.mask.chunk = slices.chunk;
  block.mask.prefix = slices.prefix;
  block.mask.shift = slices.offsets ? slices.offsets[batch] : slices.shift;
  block.queries = view(slices.query_table, slices.query_entries);
  block.keys = view(slices.key_table, slices.key_entries);
  block.keyCount = slices.key_count;
  if (slices.lengths)
    block.keyCount =
        std::clamp<int64_t>(slices.lengths[batch], 0, slices.key_count);
  return block;
}

/// The table gives every position of the sequence one place.
static int64_t sequenceLength(LayoutView table) {
  int64_t length = 0;
  for (const LayoutEntry &entry : table)
    length += entry.size();
  return length;
}

void ring_slices_init(ring_slices *slices, const int64_t *query_table,
                      int64_t query_entries, const int64_t *key_table,
                      int64_t key_entries, int64_t rank, int64_t owner,
                      int32_t classify, int32_t causal, int64_t left,
                      int64_t right, int64_t chunk, int64_t prefix,
                      int32_t bottom_right) {
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
  slices->query_count = sequenceLength(allQueries);
  slices->key_count = sequenceLength(allKeys);
  slices->causal = causal;
  slices->classify = classify;
  slices->left = left;
  slices->right = right;
  slices->chunk = chunk;
  slices->prefix = prefix;
  slices->shift = bottom_right ? slices->key_count - slices->query_count : 0;
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
  // Equal ids are no interval of keys: to leave them out would be wrong.
  if (slices->query_segments || slices->key_segments)
    fatal("ring_slices_keys does not support segments (batch entry %" PRId64
          ")",
          batch);
  RingBlock block = blockOf(*slices, batch);
  Interval queries{query_begin, query_end};
  new (cursor) Cursor{block, queries,
                      KeyRangeCursor(block, queries, slices->classify != 0)};
}

int32_t ring_slices_next_keys(ring_key_cursor *cursor, int64_t *range) {
  KeyRange keys;
  if (!std::launder(reinterpret_cast<Cursor *>(cursor))->keys.next(keys))
    return 0;
  range[0] = keys.begin;
  range[1] = keys.end;
  range[2] = keys.full ? 1 : 0;
  return 1;
}

void ring_slices_bounds(const ring_key_cursor *cursor, int64_t key_begin,
                        int64_t key_end, int64_t lanes, int32_t *begin,
                        int32_t *end) {
  const Cursor &state = *std::launder(reinterpret_cast<const Cursor *>(cursor));
  int64_t count = state.queries.size();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Interval keys{key_begin, key_begin};
    if (lane < count)
      keys = visibleLocalKeys(state.block, state.queries.begin + lane,
                              {key_begin, key_end});
    if (keys.empty())
      keys = {key_begin, key_begin};
    begin[lane] = static_cast<int32_t>(keys.begin);
    end[lane] = static_cast<int32_t>(keys.end);
  }
}
