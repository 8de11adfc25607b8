//===- StridedCopy.h - Copies between strided arrays ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_STRIDEDCOPY_H
#define RING_RUNTIME_STRIDEDCOPY_H

#include <cstdint>
#include <vector>

namespace ring::runtime {

/// One loop of a copy; strides in elements.
struct CopyAxis {
  int64_t size;
  int64_t to, from;
};

/// Copies elements of 1, 2, 4 or 8 bytes; runs that are consecutive on both
/// sides are copied as a whole. The sides do not overlap.
void copyStrided(void *to, const void *from, std::vector<CopyAxis> axes,
                 int32_t elementBytes);
/// Zeroes what copyStrided would write.
void zeroStrided(void *to, std::vector<CopyAxis> axes, int32_t elementBytes);

} // namespace ring::runtime

#endif // RING_RUNTIME_STRIDEDCOPY_H
