//===- VisibilityCases.h - Who sees whom, by definition ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_VISIBILITYCASES_H
#define RING_UNITTESTS_RUNTIME_VISIBILITYCASES_H

#include "RuntimeTest.h"
#include "ring/Analysis/Layout.h"

namespace ring::test {

/// A mask, and what is known at run time only. What is empty is not given.
struct VisibilityCase {
  std::string name;
  bool causal = false;
  int64_t left = INT64_MAX, right = INT64_MAX, chunk = 0, prefix = 0;
  bool bottomRight = false;
  std::vector<int32_t> lengths = {}, offsets = {}; ///< [batch]
  /// [batch][sequence][2], of which the first of two counts.
  std::vector<int32_t> querySegments = {}, keySegments = {};

  /// Borrows what the case holds.
  ring_visibility init() const;
  /// The design's definition, word for word.
  bool isVisible(int64_t batch, int64_t query, int64_t key, int64_t queryCount,
                 int64_t keyCount) const;
  int64_t batches() const {
    return lengths.empty() ? offsets.size() : lengths.size();
  }
};

/// Masks alone, and with every kind of run-time operand.
std::vector<VisibilityCase> visibilityCases(int64_t batches, int64_t queryCount,
                                            int64_t keyCount);

inline const int64_t *tableOf(const std::vector<LayoutEntry> &entries) {
  return reinterpret_cast<const int64_t *>(entries.data());
}

/// The positions of one rank in local order.
std::vector<int64_t> positionsOf(const std::vector<LayoutEntry> &layout,
                                 int64_t rank);

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_VISIBILITYCASES_H
