//===- Tables.cpp - Layout tables at run time -----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostState.h"
#include "Visibility.h"

#include "ring/Analysis/Layout.h"

#include <memory>

using namespace ring;
using namespace ring::runtime;

namespace {
/// Counts the pairs of one batch entry.
class EntryPairs {
public:
  explicit EntryPairs(const RingBlock &visibility) : visibility(visibility) {
    if (visibility.keySegments)
      documents = std::make_shared<DocumentIndex>(visibility.keySegments,
                                                  visibility.keyCount);
    else
      byPosition = pairsOf(visibility.mask, visibility.keyCount);
  }

  int64_t operator()(Interval queries, Interval keys) const {
    if (!documents)
      return byPosition(queries, keys);
    int64_t pairs = 0;
    for (int64_t query = queries.begin; query < queries.end; ++query)
      pairs += documents->count(
          visibility.querySegments.at(query),
          intersect(visibility.mask.visibleKeys(query, visibility.keyCount),
                    keys));
    return pairs;
  }

private:
  RingBlock visibility;
  std::shared_ptr<const DocumentIndex> documents;
  PairCounter byPosition;
};
} // namespace

static PairCounter counterOf(const ring_visibility &visibility,
                             int64_t queryCount, int64_t keyCount) {
  int64_t batches = 1; // one stands for all where nothing differs
  for (const ring_tensor *tensor :
       {&visibility.key_segments, &visibility.lengths, &visibility.offsets})
    if (tensor->data)
      batches = tensor->sizes[0];
  std::vector<EntryPairs> entries;
  for (int64_t batch = 0; batch < batches; ++batch)
    entries.emplace_back(visibilityOf(visibility, batch, queryCount, keyCount));
  return [entries = std::move(entries)](Interval queries, Interval keys) {
    int64_t pairs = 0;
    for (const EntryPairs &entry : entries)
      pairs += entry(queries, keys);
    return pairs;
  };
}

/// Writes the entries, and empty ones of the last rank behind them.
static Result writeTable(const std::vector<LayoutEntry> &entries,
                         int64_t lastRank, const ring_tensor &table) {
  if (table.dims != 2 || table.element_bytes != 8 || table.sizes[1] != 5 ||
      table.sizes[0] < static_cast<int64_t>(entries.size()))
    return {RING_ERROR_USAGE, "a layout table with room for " +
                                  std::to_string(table.sizes[0]) +
                                  " entries, expected " +
                                  std::to_string(entries.size()) + " or more"};
  for (int64_t row = 0; row < table.sizes[0]; ++row) {
    LayoutEntry entry = row < static_cast<int64_t>(entries.size())
                            ? entries[row]
                            : LayoutEntry{lastRank, 0, 0, 0, 0};
    const int64_t fields[] = {entry.owner, entry.begin, entry.block,
                              entry.stride, entry.count};
    for (int64_t column = 0; column < 5; ++column)
      static_cast<int64_t *>(
          table.data)[row * table.strides[0] + column * table.strides[1]] =
          fields[column];
  }
  return {};
}

ring_status ring_host_tables(ring_host *host, int32_t layout,
                             int64_t granularity, int32_t ranks,
                             int64_t query_count, int64_t key_count,
                             const ring_visibility *visibility,
                             const ring_tensor *tables) {
  LayoutPair pair = makeLayouts(static_cast<LayoutKind>(layout), granularity,
                                ranks, query_count, key_count,
                                counterOf(*visibility, query_count, key_count));
  Result result = writeTable(pair.queries, ranks - 1, tables[0]);
  if (!result.failed())
    result = writeTable(pair.keys, ranks - 1, tables[1]);
  return host->conclude(result);
}

int64_t ring_padded_size(const int64_t *table, int64_t entries, int32_t ranks) {
  LayoutView view{reinterpret_cast<const LayoutEntry *>(table), entries};
  return view.paddedSize(ranks);
}

ring_status ring_host_require_equal(ring_host *host, int64_t a, int64_t b,
                                    const char *what) {
  if (a == b)
    return host->conclude({});
  return host->conclude({RING_ERROR_USAGE, std::string(what) + ": " +
                                               std::to_string(a) + " and " +
                                               std::to_string(b) +
                                               ", expected equal sizes"});
}
