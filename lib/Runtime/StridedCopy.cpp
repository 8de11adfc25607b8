//===- StridedCopy.cpp - Copies between strided arrays --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace ring::runtime;

/// Turns the axes into as few as possible, the one with the smallest stride of
/// the target innermost. False where there is nothing to copy.
static bool simplify(std::vector<CopyAxis> &axes) {
  for (const CopyAxis &axis : axes)
    if (axis.size <= 0)
      return false;
  axes.erase(
      std::remove_if(axes.begin(), axes.end(),
                     [](const CopyAxis &axis) { return axis.size == 1; }),
      axes.end());
  std::sort(axes.begin(), axes.end(), [](const CopyAxis &a, const CopyAxis &b) {
    return std::abs(a.to) > std::abs(b.to);
  });
  for (size_t i = axes.size(); i-- > 1;) {
    CopyAxis &outer = axes[i - 1];
    const CopyAxis &inner = axes[i];
    if (outer.to != inner.to * inner.size ||
        outer.from != inner.from * inner.size)
      continue;
    outer = {outer.size * inner.size, inner.to, inner.from};
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(i));
  }
  return true;
}

/// Runs `run(to, from, innermost axis)` for every innermost loop.
template <typename Run>
static void walk(char *to, const char *from, const CopyAxis *axes, size_t count,
                 int64_t bytes, Run run) {
  if (count == 1)
    return run(to, from, *axes);
  for (int64_t i = 0; i < axes->size; ++i)
    walk(to + i * axes->to * bytes, from + i * axes->from * bytes, axes + 1,
         count - 1, bytes, run);
}

template <int64_t Bytes>
static void copy(char *to, const char *from,
                 const std::vector<CopyAxis> &axes) {
  walk(to, from, axes.data(), axes.size(), Bytes,
       [](char *to, const char *from, const CopyAxis &axis) {
         if (axis.to == 1 && axis.from == 1) {
           std::memcpy(to, from, axis.size * Bytes);
           return;
         }
         for (int64_t i = 0; i < axis.size; ++i)
           std::memcpy(to + i * axis.to * Bytes, from + i * axis.from * Bytes,
                       Bytes);
       });
}

void ring::runtime::copyStrided(void *to, const void *from,
                                std::vector<CopyAxis> axes,
                                int32_t elementBytes) {
  if (!simplify(axes))
    return;
  if (axes.empty())
    axes.push_back({1, 1, 1});
  auto *target = static_cast<char *>(to);
  auto *source = static_cast<const char *>(from);
  switch (elementBytes) {
  case 1:
    return copy<1>(target, source, axes);
  case 2:
    return copy<2>(target, source, axes);
  case 4:
    return copy<4>(target, source, axes);
  default:
    return copy<8>(target, source, axes);
  }
}

void ring::runtime::zeroStrided(void *to, std::vector<CopyAxis> axes,
                                int32_t elementBytes) {
  for (CopyAxis &axis : axes)
    axis.from = axis.to; // the source is not read
  if (!simplify(axes))
    return;
  if (axes.empty())
    axes.push_back({1, 1, 1});
  auto *target = static_cast<char *>(to);
  walk(target, target, axes.data(), axes.size(), elementBytes,
       [elementBytes](char *to, const char *, const CopyAxis &axis) {
         if (axis.to == 1) {
           std::memset(to, 0, axis.size * elementBytes);
           return;
         }
         for (int64_t i = 0; i < axis.size; ++i)
           std::memset(to + i * axis.to * elementBytes, 0, elementBytes);
       });
}
