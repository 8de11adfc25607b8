//===- Visibility.h - Who sees whom, of one batch entry ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VISIBILITY_H
#define RING_RUNTIME_VISIBILITY_H

#include "ring/Analysis/Slices.h"
#include "ring/Runtime/Runtime.h"

namespace ring::runtime {

/// A block without tables: mask, keyCount and ids as batch entry `batch` has
/// them, in sequences of `queryCount` and `keyCount` positions.
RingBlock visibilityOf(const ring_visibility &visibility, int64_t batch,
                       int64_t queryCount, int64_t keyCount);

/// The block of a round as batch entry `batch` sees it.
RingBlock blockOf(const ring_slices &slices, int64_t batch);

} // namespace ring::runtime

#endif // RING_RUNTIME_VISIBILITY_H
