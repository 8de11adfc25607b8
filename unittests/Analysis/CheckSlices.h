//===- CheckSlices.h - Work lists against their definition ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_ANALYSIS_CHECKSLICES_H
#define RING_UNITTESTS_ANALYSIS_CHECKSLICES_H

#include "BruteForce.h"

#include <gtest/gtest.h>

namespace ring::test {

std::vector<KeyRange> keyRanges(const RingBlock &block, Interval queries,
                                bool classify = true);

/// Checks what one query range sees of one block, pair by pair: ranges ascend,
/// are disjoint and hold every visible pair; what is full is full; where that
/// is promised, nothing is listed that nobody sees. Also visibleTile on each
/// range.
void checkRanges(const RingBlock &block, Interval queries);

/// checkRanges for all query ranges of at most `tile` rows.
void checkBlock(const RingBlock &block, int64_t tile);

} // namespace ring::test

#endif // RING_UNITTESTS_ANALYSIS_CHECKSLICES_H
