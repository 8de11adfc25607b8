//===- Schedule.h - Rounds, transfers, balance ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of a ring: in round t the rank at ring place x works on the
// keys and values of the rank at place (x - t) mod N. Plain C++ without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef RING_ANALYSIS_SCHEDULE_H
#define RING_ANALYSIS_SCHEDULE_H

#include "ring/Analysis/Layout.h"
#include "ring/Analysis/Slices.h"

#include <optional>
#include <vector>

namespace ring {

/// The order of the ranks around the ring: `order[x]` is the rank at place x.
class RingOrder {
public:
  /// The identity order of `ranks` ranks.
  explicit RingOrder(int64_t ranks);
  /// `order` must be a permutation of 0..N-1 (see isPermutation).
  explicit RingOrder(std::vector<int64_t> order);

  static bool isPermutation(const std::vector<int64_t> &order);

  int64_t size() const { return static_cast<int64_t>(order.size()); }
  /// The rank whose keys and values `rank` holds in round `round`.
  int64_t owner(int64_t rank, int64_t round) const;
  /// The neighbour that `rank` sends to.
  int64_t successor(int64_t rank) const;
  int64_t predecessor(int64_t rank) const;

private:
  std::vector<int64_t> order, place;
};

/// Counts of one attention on one ring (design: "Rounds").
struct RingCounts {
  int64_t rounds = 1;       ///< R = 1 + the farthest round with a visible pair
  int64_t transfers = 0;    ///< R - 1
  int64_t visiblePairs = 0; ///< of one (batch, head)
  double balance = 1;       ///< busiest rank / mean
  double roundBalance = 1;  ///< sum over rounds of the busiest rank / mean
  std::vector<int64_t> pairsOfRank;
};

/// `pairs[rank][round]`: visible pairs that `rank` computes in `round`, for
/// rounds 0..N-1.
std::vector<std::vector<int64_t>>
visiblePairsByRound(const PositionalMask &mask, LayoutView queries,
                    LayoutView keys, int64_t keyCount, const RingOrder &order);

RingCounts countRing(const PositionalMask &mask, LayoutView queries,
                     LayoutView keys, int64_t keyCount, const RingOrder &order);

/// Slots that travel in flight: min(prefetchDistance + 1, transfers).
int64_t slotCount(int64_t prefetchDistance, int64_t transfers);

/// transfers * batch * kvHeads * paddedKeys * (depth + valueDepth) * bytes;
/// nothing where that is more than int64_t holds.
std::optional<int64_t> bytesPerRank(int64_t transfers, int64_t batch,
                                    int64_t kvHeads, int64_t paddedKeys,
                                    int64_t depth, int64_t valueDepth,
                                    int64_t elementBytes);

} // namespace ring

#endif // RING_ANALYSIS_SCHEDULE_H
