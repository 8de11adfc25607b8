//===- BruteForce.h - Masks and layouts pair by pair ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of the design, one pair and one position at a time: what the
// closed forms are compared with.
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_ANALYSIS_BRUTEFORCE_H
#define RING_UNITTESTS_ANALYSIS_BRUTEFORCE_H

#include "ring/Analysis/Layout.h"
#include "ring/Analysis/Mask.h"
#include "ring/Analysis/Slices.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ring::test {

/// The mask's definition for one pair of indices; no bound near the limits of
/// int64_t.
bool visible(const PositionalMask &mask, int64_t query, int64_t key);

struct NamedMask {
  std::string name;
  PositionalMask mask;
};
/// Every kind of mask, alone and combined, with shifts of both signs.
std::vector<NamedMask> masksFor(int64_t queryCount, int64_t keyCount);

struct NamedLayout {
  std::string name;
  LayoutKind kind;
  int64_t granularity;
};
const std::vector<NamedLayout> &layouts();

/// 1, N-1, N, 2N-1, 2N, and lengths that no number of chunks divides.
std::vector<int64_t> awkwardLengths(int64_t ranks);

/// The positions of `view` in local order.
std::vector<int64_t> positionsOf(LayoutView view);

/// The definition for two positions of a block: by the mask, below the key
/// count, and in one document.
bool sees(const RingBlock &block, int64_t query, int64_t key);

/// Pairs of a block that are visible by position, pair by pair.
int64_t countPairs(const RingBlock &block);

/// The ids of queries and of keys.
struct NamedIds {
  std::string name;
  std::vector<int32_t> queries, keys;
};
/// Packed documents, sorted and not, with padding, without, of padding only,
/// one for all, and ids at the limits.
std::vector<NamedIds> idsFor(int64_t queryCount, int64_t keyCount);

/// Ids with other numbers between them, and what reads them.
class StridedIds {
public:
  StridedIds(const std::vector<int32_t> &ids, int64_t stride);
  SegmentIds view() const;

private:
  std::vector<int32_t> memory;
  int64_t count, stride;
};

} // namespace ring::test

#endif // RING_UNITTESTS_ANALYSIS_BRUTEFORCE_H
