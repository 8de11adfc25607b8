//===- SharedTile.cpp - A swizzled tile in shared memory ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir::ring;

SharedTile::SharedTile(int64_t rows, int64_t columns, int64_t elementBytes)
    : rowCount(rows),
      chunkCount(llvm::alignTo(
          llvm::divideCeil(columns * elementBytes, kChunkBytes), 2)) {}

int64_t SharedTile::panelChunks(int64_t chunk) const {
  int64_t rest = chunkCount - chunk / kPanelChunks * kPanelChunks;
  return rest >= kPanelChunks ? kPanelChunks : llvm::PowerOf2Ceil(rest);
}

int64_t SharedTile::panelOffset(int64_t chunk) const {
  return chunk / kPanelChunks * kPanelChunks * kChunkBytes * rowCount;
}

int64_t SharedTile::bytes() const {
  int64_t last = chunkCount - 1;
  return panelOffset(last) + panelChunks(last) * kChunkBytes * rowCount;
}

int64_t SharedTile::swizzleShift(int64_t panelChunks) {
  // Rows that share 128 bytes get the same number.
  return llvm::Log2_64(kPanelChunks / panelChunks);
}

int64_t SharedTile::offset(int64_t row, int64_t chunk) const {
  int64_t width = panelChunks(chunk);
  int64_t permuted = (chunk % kPanelChunks) ^
                     ((row >> swizzleShift(width)) & swizzleMask(width));
  return panelOffset(chunk) + (row * width + permuted) * kChunkBytes;
}
