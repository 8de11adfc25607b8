//===- SharedTile.h - A swizzled tile in shared memory ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of 16-byte chunks. They lie in panels of up to 8 chunks (128 bytes, all
// banks of shared memory once), and within a row of a panel the chunks are
// permuted by exclusive or with a number of the row. Eight consecutive rows of
// one chunk column, which is what ldmatrix reads at a time, are then in eight
// different groups of four banks; so are the rows that one cp.async of a warp
// writes.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H
#define RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H

#include <cstdint>

namespace mlir::ring {

class SharedTile {
public:
  static constexpr int64_t kChunkBytes = 16;
  static constexpr int64_t kPanelChunks = 8;

  /// `rows` (a multiple of 8) of `columns` elements, rounded up to whole pairs
  /// of chunks: what one step of a matrix product takes.
  SharedTile(int64_t rows, int64_t columns, int64_t elementBytes);

  int64_t rows() const { return rowCount; }
  /// Chunks of a row, a multiple of 2.
  int64_t chunks() const { return chunkCount; }
  int64_t bytes() const;

  /// Chunks of a row of the panel that holds `chunk`: 8, or 2 or 4 in the last.
  int64_t panelChunks(int64_t chunk) const;
  /// Offset of the panel that holds `chunk`.
  int64_t panelOffset(int64_t chunk) const;
  /// What the chunks of a row are permuted by, in a panel of so many chunks:
  /// (row >> shift) & mask.
  static int64_t swizzleShift(int64_t panelChunks);
  static int64_t swizzleMask(int64_t panelChunks) { return panelChunks - 1; }

  /// Byte offset of chunk `chunk` of row `row`.
  int64_t offset(int64_t row, int64_t chunk) const;

private:
  int64_t rowCount, chunkCount;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H
