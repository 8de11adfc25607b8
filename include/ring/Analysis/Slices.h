//===- Slices.h - The work list of a round ----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one rank computes in one round: for each range of its own queries the
// ranges of the visiting keys that it may see, each full (every pair visible,
// no mask needed) or partial. Ranges that see nothing do not appear. All
// indices here are local: queries within `rank`'s block, keys within `owner`'s.
//
// The list is enumerated, never stored: its memory does not grow with the
// sequence. Plain C++ without LLVM: the compiler and the runtime share it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_ANALYSIS_SLICES_H
#define RING_ANALYSIS_SLICES_H

#include "ring/Analysis/Layout.h"
#include "ring/Analysis/Mask.h"
#include "ring/Analysis/Segments.h"

namespace ring {

/// One (query block, key block) pair of a ring.
struct RingBlock {
  PositionalMask mask;
  LayoutView queries; ///< the rank's entries only
  LayoutView keys;    ///< the owner's entries only
  /// Keys at and beyond it are invisible: Sk, or less where a batch entry is
  /// shorter.
  int64_t keyCount = 0;
  /// Both or neither; of the whole sequences, and known at run time only.
  SegmentIds querySegments = {}, keySegments = {};
};

/// A range of local keys within one layout entry.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool full = false;
};

/// Number of query ranges of at most `tile` rows; no range crosses an entry.
int64_t queryRangeCount(LayoutView queries, int64_t tile);
/// The `index`-th of them.
Interval queryRange(LayoutView queries, int64_t tile, int64_t index);

/// Enumerates the key ranges of one query range, which lies in one entry.
/// `classify` false: what a program without ring-classify-blocks computes,
/// every key of the block, partial.
///
/// Where the queries are consecutive, and ids are sorted or not given, each key
/// of a range is seen by one of them. Where queries are blocks apart, a partial
/// range also holds the keys between those that two neighbouring blocks see.
/// Where ids are not sorted, the smallest and the largest id of 64 keys decide
/// about the 64.
class KeyRangeCursor {
public:
  KeyRangeCursor(const RingBlock &block, Interval queryRange, bool classify);
  /// Writes the next non-empty range; false at the end. Ranges ascend and are
  /// disjoint.
  bool next(KeyRange &range);

  const RingBlock &block() const { return ringBlock; }
  Interval queries() const { return queryRange; }

private:
  enum class Verdict { Hidden, Partial, Full };

  void restrictToSegments();
  /// Of consecutive keys of `rest`, by the ids.
  Verdict judge(Interval keys) const;
  bool nextByPosition(KeyRange &range);
  bool nextBySegments(KeyRange &range);

  RingBlock ringBlock;
  Interval queryRange;
  Interval any;          ///< key positions that some query of the range sees
  Interval full;         ///< key positions that every query of the range sees
  int64_t entry = 0;     ///< index into block.keys
  int64_t entryBase = 0; ///< local index of that entry's first key
  int part = 0;          ///< 0, 1, 2: before, within, after `full`
  // Of the queries' documents, where ids have to be compared tile by tile.
  bool compareIds = false;
  bool oneDocument = false; ///< all queries have the id `firstId`
  int32_t firstId = 0, lastId = -1;
  KeyRange rest; ///< what is left of a range by position
};

/// Most queries of a tile (see visibleTile).
constexpr int64_t kMaxTileQueries = 256;

/// Which pairs of a tile are visible, by positions and ids: seen[k * lanes + q]
/// is 1 where query `queries.begin` + q sees key `keys.begin` + k, else 0, also
/// for q from queries.size() to `lanes` (at most kMaxTileQueries). Queries and
/// keys each lie in one entry. Returns the number of visible pairs.
int64_t visibleTile(const RingBlock &block, Interval queries, Interval keys,
                    int64_t lanes, uint8_t *seen);

/// The position in the whole sequence of local index `local`.
int64_t positionOf(LayoutView view, int64_t local);

/// Exact number of (query, key) pairs of the block that are visible by position
/// (segments are not looked at). Time: constant for two entries of our layouts;
/// with chunks the least of their chunks, their blocks, their queries and a
/// stride, so at most about the square root of the length.
int64_t visiblePairs(const RingBlock &block);
/// How often that looks at a block or a chunk, at most, for those pairs of
/// entries for which it is often; up to INT64_MAX. Entries of no layout of ours
/// can make it as much as they have blocks.
int64_t countingSteps(const RingBlock &block);

} // namespace ring

#endif // RING_ANALYSIS_SLICES_H
