//===- MemrefCopy.cpp - Copies between strided memrefs --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Runtime/Runtime.h"

#include "StridedCopy.h"

using namespace ring::runtime;

namespace {
/// MLIR's unranked memref: its rank and the address of its descriptor,
/// {allocated, aligned, offset, sizes[rank], strides[rank]}.
struct UnrankedMemref {
  int64_t rank;
  const int64_t *descriptor;

  char *data(int64_t elementBytes) const {
    return reinterpret_cast<char *>(descriptor[1]) +
           descriptor[2] * elementBytes;
  }
  int64_t size(int64_t dim) const { return descriptor[3 + dim]; }
  int64_t stride(int64_t dim) const { return descriptor[3 + rank + dim]; }
};
} // namespace

extern "C" void memrefCopy(int64_t element_bytes, const void *source,
                           const void *target) {
  auto *from = static_cast<const UnrankedMemref *>(source);
  auto *to = static_cast<const UnrankedMemref *>(target);
  std::vector<CopyAxis> axes;
  for (int64_t dim = 0; dim < from->rank; ++dim)
    axes.push_back({from->size(dim), to->stride(dim), from->stride(dim)});
  copyStrided(to->data(element_bytes), from->data(element_bytes),
              std::move(axes), static_cast<int32_t>(element_bytes));
}
