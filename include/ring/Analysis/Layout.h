//===- Layout.h - Who owns which positions ----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout is a table of entries; every pass, kernel and runtime function knows
// only the table. Plain C++ without LLVM: the compiler and the runtime share
// it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_ANALYSIS_LAYOUT_H
#define RING_ANALYSIS_LAYOUT_H

#include "ring/Analysis/Mask.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ring {

/// `count` blocks of `block` consecutive positions, `stride` apart, from
/// `begin` on, all owned by `owner`. The memory layout is part of the ABI: a
/// table is an array of these, in the IR a constant of type tensor<Ex5xi64>.
struct LayoutEntry {
  int64_t owner;
  int64_t begin;
  int64_t block;
  int64_t stride; ///< equal to `block` where count is 1
  int64_t count;

  int64_t size() const { return block * count; }
  bool empty() const { return block <= 0 || count <= 0; }
  /// The highest position of an entry that is not empty.
  int64_t last() const { return begin + (count - 1) * stride + block - 1; }
  /// Position of the entry's element `index`, 0 <= index < size().
  int64_t position(int64_t index) const {
    return begin + index / block * stride + index % block;
  }
  /// Number of the entry's positions below `position`. As positions ascend
  /// within an entry this is also the index of the first one not below it.
  int64_t countBelow(int64_t position) const;
};
static_assert(sizeof(LayoutEntry) == 5 * sizeof(int64_t));

/// Non-owning view of a table. Entries are grouped by owner, owners ascending;
/// a rank's local order is the order of its entries. Entries may be empty
/// (block 0 or count 0) and are then ignored.
struct LayoutView {
  const LayoutEntry *entries = nullptr;
  int64_t size = 0;

  const LayoutEntry *begin() const { return entries; }
  const LayoutEntry *end() const { return entries + size; }
  /// The entries of one rank.
  LayoutView of(int64_t rank) const;
  /// Positions owned by `rank`.
  int64_t localSize(int64_t rank) const;
  /// Positions of all entries: the length of the sequence, for a whole table.
  int64_t sequenceLength() const;
  /// Longest local size of ranks 0..ranks-1: what local blocks are padded to.
  int64_t paddedSize(int64_t ranks) const;
};

enum class LayoutKind { Contiguous, Zigzag, Striped, Balanced };

/// Builders. Chunk k of C covers floor(k*S/C) to floor((k+1)*S/C), so any
/// length works, shorter than the number of chunks too. `ranks >= 1`,
/// `length >= 0`. No entry is empty (a rank without positions has none), and
/// neighbouring chunks of one rank are one entry.
std::vector<LayoutEntry> contiguousLayout(int64_t ranks, int64_t length);
/// 2N chunks; rank r holds chunks r and 2N-1-r, in this order.
std::vector<LayoutEntry> zigzagLayout(int64_t ranks, int64_t length);
/// Block-cyclic: position p belongs to rank (p / granularity) mod N. One entry
/// a rank, and one more where its last block is cut short.
std::vector<LayoutEntry> stripedLayout(int64_t ranks, int64_t length,
                                       int64_t granularity);
/// `owners[k]` is the owner of chunk k; there are as many chunks for each rank.
std::vector<LayoutEntry> chunkedLayout(int64_t ranks, int64_t length,
                                       const std::vector<int64_t> &owners);
/// Of `balanced`: as a rule, and where so few cannot be dealt evenly.
constexpr int64_t kBalancedChunksPerRank = 16;
constexpr int64_t kMostBalancedChunksPerRank = 64;
/// Visible pairs of the queries and the keys at these positions: what the mask
/// and, where they are known, ids, lengths and offsets let through, summed over
/// the batch.
using PairCounter = std::function<int64_t(Interval queries, Interval keys)>;
/// Counts what a positional mask lets through.
PairCounter pairsOf(const PositionalMask &mask, int64_t keyCount);
/// Owners of the chunks for `balanced`: equal counts, dealt so that the visible
/// pairs of the ranks' queries come out even, and their local sizes too: within
/// 2% or, where chunks are short, two positions. Where neighbouring chunks may
/// stay together they do. A function of its arguments only: every rank computes
/// the same.
std::vector<int64_t> balancedOwners(int64_t ranks, int64_t queryCount,
                                    int64_t keyCount, const PairCounter &pairs);

/// The tables of the queries and of the keys of one attention (equal where
/// queryCount == keyCount).
struct LayoutPair {
  std::vector<LayoutEntry> queries, keys;

  LayoutView queryView() const;
  LayoutView keyView() const;
};
LayoutPair makeLayouts(LayoutKind kind, int64_t granularity, int64_t ranks,
                       int64_t queryCount, int64_t keyCount,
                       const PairCounter &pairs);
/// The same where only positions decide what is visible.
LayoutPair makeLayouts(LayoutKind kind, int64_t granularity, int64_t ranks,
                       int64_t queryCount, int64_t keyCount,
                       const PositionalMask &mask);
/// Most entries that a table of this kind has, whatever the length is.
int64_t maxEntries(LayoutKind kind, int64_t ranks);

} // namespace ring

#endif // RING_ANALYSIS_LAYOUT_H
