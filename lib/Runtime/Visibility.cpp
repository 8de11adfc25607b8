//===- Visibility.cpp - Who sees whom, of one batch entry -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Visibility.h"

#include <algorithm>

using namespace ring;
using namespace ring::runtime;

/// The ids of one batch entry.
static SegmentIds segmentsOf(const ring_tensor &ids, int64_t batch) {
  if (!ids.data)
    return {};
  return {static_cast<const int32_t *>(ids.data) + batch * ids.strides[0],
          ids.sizes[1], ids.strides[1]};
}

/// True iff those of every batch entry are.
static bool areSorted(const ring_tensor &ids) {
  for (int64_t batch = 0; ids.data && batch < ids.sizes[0]; ++batch)
    if (!segmentsOf(ids, batch).areSorted())
      return false;
  return true;
}

void ring_visibility_init(ring_visibility *visibility, int32_t causal,
                          int64_t left, int64_t right, int64_t chunk,
                          int64_t prefix, int32_t bottom_right,
                          const ring_tensor *query_segments,
                          const ring_tensor *key_segments,
                          const ring_tensor *lengths,
                          const ring_tensor *offsets) {
  *visibility = ring_visibility{};
  visibility->causal = causal;
  visibility->bottom_right = bottom_right;
  visibility->left = left;
  visibility->right = right;
  visibility->chunk = chunk;
  visibility->prefix = prefix;
  if (query_segments)
    visibility->query_segments = *query_segments;
  if (key_segments)
    visibility->key_segments = *key_segments;
  if (lengths)
    visibility->lengths = *lengths;
  if (offsets)
    visibility->offsets = *offsets;
  visibility->sorted = areSorted(visibility->key_segments);
}

static int64_t scalarOf(const ring_tensor &values, int64_t batch) {
  return static_cast<const int32_t *>(values.data)[batch * values.strides[0]];
}

RingBlock ring::runtime::visibilityOf(const ring_visibility &visibility,
                                      int64_t batch, int64_t queryCount,
                                      int64_t keyCount) {
  RingBlock block;
  block.mask.causal = visibility.causal != 0;
  block.mask.left = visibility.left;
  block.mask.right = visibility.right;
  block.mask.chunk = visibility.chunk;
  block.mask.prefix = visibility.prefix;
  if (visibility.offsets.data)
    block.mask.shift = scalarOf(visibility.offsets, batch);
  else if (visibility.bottom_right)
    block.mask.shift = keyCount - queryCount;
  block.keyCount = keyCount;
  if (visibility.lengths.data)
    block.keyCount =
        std::clamp<int64_t>(scalarOf(visibility.lengths, batch), 0, keyCount);
  block.querySegments = segmentsOf(visibility.query_segments, batch);
  block.keySegments = segmentsOf(visibility.key_segments, batch);
  block.keySegments.sorted = visibility.sorted != 0;
  return block;
}

RingBlock ring::runtime::blockOf(const ring_slices &slices, int64_t batch) {
  RingBlock block = visibilityOf(slices.visibility, batch, slices.query_count,
                                 slices.key_count);
  auto view = [](const int64_t *table, int64_t entries) {
    return LayoutView{reinterpret_cast<const LayoutEntry *>(table), entries};
  };
  block.queries = view(slices.query_table, slices.query_entries);
  block.keys = view(slices.key_table, slices.key_entries);
  return block;
}
