//===- SharedTile.cpp - A swizzled tile in shared memory ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir::ring;

SharedTile::SharedTile(int64_t rows, int64_t columns, int64_t elementBytes)
    : rowCount(rows),
      chunkCount(llvm::alignTo(
          llvm::divideCeil(columns * elementBytes, kChunkBytes), 2)) {}

/// Of 128 bytes: all banks once.
static constexpr int64_t kBankChunks = 8;

int64_t SharedTile::panelChunks() const {
  return std::min(kBankChunks, chunkCount & -chunkCount);
}

int64_t SharedTile::panelBytes() const {
  int64_t bytes = rowCount * panelRowBytes();
  return panelChunks() == kBankChunks ? bytes : bytes + panelRowBytes();
}

int64_t SharedTile::swizzleShift() const {
  // Rows that share 128 bytes get the same number.
  return llvm::Log2_64(kBankChunks / panelChunks());
}

int64_t SharedTile::offset(int64_t row, int64_t chunk) const {
  int64_t width = panelChunks();
  int64_t permuted =
      (chunk % width) ^ ((row >> swizzleShift()) & swizzleMask());
  return chunk / width * panelBytes() + row * panelRowBytes() +
         permuted * kChunkBytes;
}
