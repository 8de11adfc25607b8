//===- TilePlan.h - The shape of a GPU kernel's tiles -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that an attention kernel takes from its chip is counted here: registers,
// shared memory, tile sizes. The kernel is built to the plan, and a test
// compares what ptxas reports with it.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_TILEPLAN_H
#define RING_LIB_CONVERSION_RINGTOGPU_TILEPLAN_H

#include "SharedTile.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::ring {

/// What a thread block may have.
struct ChipLimits {
  int64_t sharedBytes; ///< dynamic, of a block
  int64_t multiprocessorSharedBytes;
  int64_t multiprocessorRegisters;

  /// Nothing for a chip that no kernel is made for.
  static std::optional<ChipLimits> of(llvm::StringRef chip);
};

/// What the plan depends on, of one attention.
struct AttentionShape {
  int64_t elementBytes; ///< of query, key and value: 2 or 4
  int64_t depth, valueDepth;
  int64_t heads, kvHeads;
  /// More than a scale is done to each score: softcap, bias, `score`.
  bool transformsScores;
  /// What is done is long: a `score` region.
  bool hasScoreRegion;
};

struct GPUTilePlan {
  AttentionShape shape;
  int64_t warps;
  int64_t rowTiles; ///< tiles of 16 rows of a warp
  int64_t keyTile;  ///< keys met at once
  int64_t stages;   ///< buffers for tiles of K, and as many for V
  int64_t pack;     ///< heads of a group in the rows of one tile

  int64_t threads() const { return 32 * warps; }
  int64_t rows() const { return 16 * rowTiles * warps; }
  /// Queries of an item.
  int64_t queryTile() const { return rows() / pack; }
  int64_t headBlocks() const { return shape.heads / pack; }

  // Tiles of 8 columns.
  int64_t scoreTiles() const { return keyTile / 8; }
  int64_t valueTiles() const;

  SharedTile queries() const {
    return {rows(), shape.depth, shape.elementBytes};
  }
  SharedTile keys() const { return {keyTile, shape.depth, shape.elementBytes}; }
  SharedTile values() const {
    return {keyTile, 8 * valueTiles(), shape.elementBytes};
  }

  // Shared memory, in this order.
  int64_t queriesOffset() const { return 0; }
  int64_t keysOffset() const { return queries().bytes(); }
  int64_t valuesOffset() const {
    return keysOffset() + stages * keys().bytes();
  }
  /// Per row of the tile: lower, upper, segment id, position (i32 each).
  int64_t rowInfoOffset() const {
    return valuesOffset() + stages * values().bytes();
  }
  /// Per key of the tile: position, segment id (i32 each).
  int64_t keyInfoOffset() const { return rowInfoOffset() + 16 * rows(); }
  /// Per warp: what the kernel keeps here rather than in registers.
  int64_t warpInfoOffset() const { return keyInfoOffset() + 8 * keyTile; }
  static constexpr int64_t kWarpInfoBytes = 24;
  int64_t sharedBytes() const {
    return warpInfoOffset() + kWarpInfoBytes * warps;
  }

  /// Of one tile: per thread the accumulators and, of each of its rows, maximum
  /// and sum.
  int64_t stateRegisters() const { return rowTiles * (4 * valueTiles() + 4); }
  int64_t stateFloats() const { return stateRegisters() * threads(); }

  /// Registers that a thread is expected to need. ptxas uses what there is to
  /// overlap more, so this only says what fits without spilling.
  int64_t registers() const;
  /// Of a thread, whatever the chip.
  static constexpr int64_t kMostRegisters = 255;

  /// "queries 64 x heads 2, keys 64, 4 warps of 32 rows, ..."
  std::string describe() const;
};

/// The plan for an attention on a chip; nothing, and why with the numbers,
/// where none fits.
std::optional<GPUTilePlan> planTiles(const AttentionShape &shape,
                                     const ChipLimits &limits,
                                     std::string &why);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_TILEPLAN_H
