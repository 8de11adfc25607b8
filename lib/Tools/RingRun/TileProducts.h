//===- TileProducts.h - Inner loops of dense attention ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two products that dense float64 attention spends its time in, for one
// query row and one tile, in versions for the processors it may run on.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_TOOLS_RINGRUN_TILEPRODUCTS_H
#define RING_LIB_TOOLS_RINGRUN_TILEPRODUCTS_H

#include <cstdint>

namespace ring::tools {

/// Keys of a score tile.
constexpr int64_t kTileKeys = 16;
/// Value columns that are accumulated at once; value rows are padded to it.
constexpr int64_t kTileColumns = 8;

struct TileProducts {
  /// scores[j] = sum_c q[c] k[c][j], sizes[j] = sum_c |q[c] k[c][j]| for
  /// j < kTileKeys. `keys` is [depth, kTileKeys].
  void (*scores)(const double *query, const double *keys, int64_t depth,
                 double *scores, double *sizes);
  /// out[c] += sum_j w[j] v[j][c], and the same with |v| and with (w v)^2 to
  /// magnitude and spread. `values` is [keys, columns], columns a multiple of
  /// kTileColumns.
  void (*accumulate)(const double *weights, const double *values, int64_t keys,
                     int64_t columns, double *out, double *magnitude,
                     double *spread);
};

/// The version for this processor.
const TileProducts &tileProducts();

} // namespace ring::tools

#endif // RING_LIB_TOOLS_RINGRUN_TILEPRODUCTS_H
