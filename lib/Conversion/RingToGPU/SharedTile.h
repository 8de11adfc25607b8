//===- SharedTile.h - A swizzled tile in shared memory ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of 16-byte chunks. They lie in panels of 8, 4 or 2 chunks, and within a
// row of a panel the chunks are permuted by exclusive or with a number of the
// row. Eight consecutive rows of one chunk column, which is what ldmatrix reads
// at a time, are then in eight different groups of four banks. Narrow panels
// begin where the last one's row would have ended, so that the chunks of one
// row, which consecutive lanes write, are in different banks too.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H
#define RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H

#include <cstdint>

namespace mlir::ring {

class SharedTile {
public:
  static constexpr int64_t kChunkBytes = 16;

  /// `rows` (a multiple of 8) of `columns` elements, rounded up to whole pairs
  /// of chunks: what one step of a matrix product takes.
  SharedTile(int64_t rows, int64_t columns, int64_t elementBytes);

  int64_t rows() const { return rowCount; }
  /// Chunks of a row, a multiple of 2.
  int64_t chunks() const { return chunkCount; }
  int64_t bytes() const { return chunkCount / panelChunks() * panelBytes(); }

  /// Chunks of a row of a panel: 8, or the power of two that divides theirs.
  int64_t panelChunks() const;
  int64_t panelRowBytes() const { return panelChunks() * kChunkBytes; }
  int64_t panelBytes() const;
  /// A row's chunks are permuted by (row >> swizzleShift) & swizzleMask.
  int64_t swizzleShift() const;
  int64_t swizzleMask() const { return panelChunks() - 1; }

  /// Byte offset of chunk `chunk` of row `row`.
  int64_t offset(int64_t row, int64_t chunk) const;

private:
  int64_t rowCount, chunkCount;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_SHAREDTILE_H
