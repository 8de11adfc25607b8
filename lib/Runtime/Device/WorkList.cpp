//===- WorkList.cpp - What a kernel computes in a round -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include "../Visibility.h"

#include <algorithm>

using namespace ring;
using namespace ring::runtime;

/// A partial state is written and read once: below this many key tiles that
/// costs more than it saves.
constexpr int64_t kLeastTilesOfPart = 2;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
/// Finds the entries of local indices that ascend.
class EntryWalk {
public:
  explicit EntryWalk(LayoutView view) : view(view) {}

  /// `local` is not below that of the last call.
  ring_device_entry at(int64_t local) {
    while (local >= base + view.entries[entry].size())
      base += view.entries[entry++].size();
    const LayoutEntry &found = view.entries[entry];
    return {static_cast<int32_t>(base), static_cast<int32_t>(found.begin),
            static_cast<int32_t>(found.block),
            static_cast<int32_t>(found.stride)};
  }

private:
  LayoutView view;
  int64_t entry = 0, base = 0;
};

/// An item, before it is known whether it is split.
struct Tile {
  ring_attention_item item;
  int64_t keyTiles; ///< that it visits
};

class Lister {
public:
  Lister(const ring_slices &slices, const WorkShape &shape, bool last,
         std::vector<uint8_t> &states, WorkList &list)
      : slices(slices), shape(shape), last(last), states(states), list(list) {}

  void run();

private:
  void listBatch(int64_t batch, int64_t tileCount);
  /// Appends the ranges of the queries; returns the key tiles in them.
  int64_t listRanges(const RingBlock &block, Interval queries);
  void split(const Tile &tile, int64_t parts);

  const ring_slices &slices;
  const WorkShape &shape;
  bool last;
  std::vector<uint8_t> &states;
  WorkList &list;
  std::vector<Tile> tiles;
};
} // namespace

int64_t Lister::listRanges(const RingBlock &block, Interval queries) {
  KeyRangeCursor cursor(block, queries, slices.classify != 0);
  EntryWalk keys(block.keys);
  KeyRange range;
  int64_t keyTiles = 0;
  while (cursor.next(range)) {
    list.ranges.push_back({static_cast<int32_t>(range.begin),
                           static_cast<int32_t>(range.end), range.full ? 1 : 0,
                           0, keys.at(range.begin)});
    keyTiles += ceilDiv(range.end - range.begin, shape.keyTile);
  }
  return keyTiles;
}

void Lister::listBatch(int64_t batch, int64_t tileCount) {
  RingBlock block = blockOf(slices, batch);
  EntryWalk queries(block.queries);
  for (int64_t index = 0; index < tileCount; ++index) {
    Interval range = queryRange(block.queries, shape.queryTile, index);
    auto rangeBegin = static_cast<int32_t>(list.ranges.size());
    int64_t keyTiles = listRanges(block, range);
    int64_t tile = batch * tileCount + index;
    if (keyTiles == 0 && !last)
      continue;
    ring_attention_item item = {};
    item.batch = static_cast<int32_t>(batch);
    item.query_begin = static_cast<int32_t>(range.begin);
    item.query_end = static_cast<int32_t>(range.end);
    item.range_begin = rangeBegin;
    item.range_end = static_cast<int32_t>(list.ranges.size());
    item.tile = static_cast<int32_t>(tile);
    item.fresh = states[tile] ? 0 : 1;
    item.target = last ? RING_TARGET_RESULT : RING_TARGET_STATE;
    item.shift = static_cast<int32_t>(block.mask.shift);
    item.key_count = static_cast<int32_t>(block.keyCount);
    item.queries = queries.at(range.begin);
    states[tile] = 1;
    tiles.push_back({item, keyTiles});
  }
}

/// Cuts the tile's ranges at multiples of the key tile into `parts` parts of
/// about equal length.
void Lister::split(const Tile &tile, int64_t parts) {
  const std::vector<ring_attention_range> ranges(
      list.ranges.begin() + tile.item.range_begin,
      list.ranges.begin() + tile.item.range_end);
  ring_attention_item merge = tile.item;
  merge.range_begin = merge.range_end = 0;
  merge.merge_begin = static_cast<int32_t>(list.partials);
  size_t current = 0;
  int64_t done = 0; // key tiles of the ranges before, and of `current`'s part
  int64_t begin = ranges.front().begin;
  for (int64_t part = 0; part < parts; ++part) {
    ring_attention_item item = tile.item;
    item.fresh = 1;
    item.target = static_cast<int32_t>(list.partials++);
    item.range_begin = static_cast<int32_t>(list.ranges.size());
    int64_t end = tile.keyTiles * (part + 1) / parts;
    while (done < end) {
      ring_attention_range range = ranges[current];
      int64_t left = ceilDiv(range.end - begin, shape.keyTile);
      int64_t taken = std::min(left, end - done);
      range.begin = static_cast<int32_t>(begin);
      if (taken < left)
        range.end = static_cast<int32_t>(begin + taken * shape.keyTile);
      list.ranges.push_back(range);
      done += taken;
      begin = range.end;
      if (taken == left && ++current < ranges.size())
        begin = ranges[current].begin;
    }
    item.range_end = static_cast<int32_t>(list.ranges.size());
    list.items.push_back(item);
  }
  merge.merge_end = static_cast<int32_t>(list.partials);
  list.merges.push_back(merge);
}

void Lister::run() {
  int64_t tileCount = ring_slices_query_ranges(&slices, shape.queryTile);
  for (int64_t batch = 0; batch < shape.batch; ++batch)
    listBatch(batch, tileCount);
  std::sort(tiles.begin(), tiles.end(), [](const Tile &a, const Tile &b) {
    return a.keyTiles != b.keyTiles ? a.keyTiles > b.keyTiles
                                    : a.item.tile < b.item.tile;
  });
  int64_t keyTiles = 0;
  for (const Tile &tile : tiles)
    keyTiles += tile.keyTiles;
  auto count = static_cast<int64_t>(tiles.size());
  bool few = count * shape.headBlocks < shape.processors;
  int64_t tilesOfPart =
      std::max(kLeastTilesOfPart,
               ceilDiv(keyTiles * shape.headBlocks, shape.processors));
  for (const Tile &tile : tiles) {
    int64_t parts = few ? ceilDiv(tile.keyTiles, tilesOfPart) : 1;
    if (parts > 1)
      split(tile, parts);
    else
      list.items.push_back(tile.item);
  }
}

int64_t ring::runtime::mostPartials(const WorkShape &shape) {
  // Tiles are fewer than processors / headBlocks, and so are whole parts.
  return 2 * ceilDiv(shape.processors, shape.headBlocks);
}

static std::string limitText() {
  return ", expected less than " + std::to_string(kPositionLimit) + " on a GPU";
}

Result ring::runtime::makeWorkList(const ring_slices &slices,
                                   const WorkShape &shape, bool last,
                                   std::vector<uint8_t> &states,
                                   WorkList &list) {
  int64_t tiles = ring_slices_query_ranges(&slices, shape.queryTile);
  if (slices.key_count >= kPositionLimit || tiles * shape.batch >= INT32_MAX)
    return {RING_ERROR_USAGE, std::to_string(slices.key_count) + " keys and " +
                                  std::to_string(tiles * shape.batch) +
                                  " query tiles" + limitText()};
  for (int64_t batch = 0; batch < shape.batch; ++batch) {
    int64_t shift = visibilityOf(slices.visibility, batch, slices.query_count,
                                 slices.key_count)
                        .mask.shift;
    if (std::max(shift, -shift) + slices.query_count >= kPositionLimit)
      return {RING_ERROR_USAGE, std::to_string(slices.query_count) +
                                    " queries shifted by " +
                                    std::to_string(shift) + limitText()};
  }
  Lister(slices, shape, last, states, list).run();
  return {};
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

/// Visible pairs where the keys of each document are consecutive.
static int64_t countSorted(const RingBlock &block) {
  int64_t pairs = 0;
  int32_t lastId = -1;
  Interval document{0, 0};
  for (const LayoutEntry &queries : block.queries)
    for (int64_t i = 0; i < queries.size(); ++i) {
      int64_t position = queries.position(i);
      int32_t id = block.querySegments.at(position);
      if (id < 0)
        continue;
      if (id != lastId)
        document = block.keySegments.positionsOf(id, id);
      lastId = id;
      Interval seen =
          intersect(block.mask.visibleKeys(position, block.keyCount), document);
      if (seen.empty())
        continue;
      for (const LayoutEntry &keys : block.keys)
        if (!keys.empty())
          pairs += keys.countBelow(seen.end) - keys.countBelow(seen.begin);
    }
  return pairs;
}

/// Visible pairs where every id has to be looked at.
static int64_t countUnsorted(const RingBlock &block) {
  constexpr int64_t kQueries = 64, kKeys = 64;
  std::vector<uint8_t> seen(kQueries * kKeys);
  int64_t pairs = 0;
  for (int64_t i = 0; i < queryRangeCount(block.queries, kQueries); ++i) {
    Interval queries = queryRange(block.queries, kQueries, i);
    KeyRangeCursor cursor(block, queries, /*classify=*/true);
    KeyRange range;
    while (cursor.next(range)) {
      if (range.full) {
        pairs += queries.size() * (range.end - range.begin);
        continue;
      }
      for (int64_t begin = range.begin; begin < range.end; begin += kKeys)
        pairs += visibleTile(block, queries,
                             {begin, std::min(begin + kKeys, range.end)},
                             kQueries, seen.data());
    }
  }
  return pairs;
}

int64_t ring::runtime::countVisible(const ring_slices &slices, int64_t batch) {
  RingBlock block = blockOf(slices, batch);
  if (!block.keySegments)
    return visiblePairs(block);
  return block.keySegments.sorted ? countSorted(block) : countUnsorted(block);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Result ring::runtime::fillMask(const ring_slices &slices, int64_t batch,
                               ring_attention_params &params) {
  const ring_visibility &mask = slices.visibility;
  // Positions are between -kPositionLimit and kPositionLimit, so what is as
  // far away as that hides nothing, but for queries before the first key.
  bool before = false;
  for (int64_t i = 0; i < batch; ++i)
    before |=
        visibilityOf(mask, i, slices.query_count, slices.key_count).mask.shift <
        0;
  if (mask.right >= kPositionLimit && mask.right < 2 * kPositionLimit && before)
    return {RING_ERROR_USAGE, "a window of " + std::to_string(mask.right) +
                                  " keys to the right" + limitText()};
  auto orUnbounded = [](int64_t distance) {
    return distance >= kPositionLimit ? INT32_MAX
                                      : static_cast<int32_t>(distance);
  };
  params.causal = mask.causal;
  params.left = orUnbounded(mask.left);
  params.right = orUnbounded(mask.right);
  params.chunk = static_cast<int32_t>(std::min(mask.chunk, kPositionLimit));
  params.prefix = static_cast<int32_t>(std::min(mask.prefix, slices.key_count));
  return {};
}
