//===- Shard.cpp - Whole tensors to local ones and back -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostState.h"
#include "StridedCopy.h"
#include "ring/Analysis/Layout.h"

#include <algorithm>

using namespace ring;
using namespace ring::runtime;

namespace {

/// A checked scatter or gather. The local tensor of rank r is
/// stacked[r - first rank, ..., local position, ...].
struct Sharding {
  LayoutView table;
  int32_t dim;
  ring_tensor whole, stacked;
  bool scatter;

  int32_t firstRank; ///< of those that `stacked` has

  Result check(int32_t ranks, int32_t localRanks) const;
  void run(int64_t localIndex) const;
  /// Of the local tensor, padding included.
  int64_t localBytes() const {
    int64_t bytes = stacked.element_bytes;
    for (int32_t i = 1; i < stacked.dims; ++i)
      bytes *= stacked.sizes[i];
    return bytes;
  }

private:
  Result checkTensors(int32_t localRanks) const;
  Result checkTable(int32_t ranks) const;
  /// The axes of a part of both tensors, all but `dim`; to: the target.
  std::vector<CopyAxis> otherAxes() const;
  CopyAxis axis(int64_t size, int64_t localStride, int64_t wholeStride) const {
    return scatter ? CopyAxis{size, localStride, wholeStride}
                   : CopyAxis{size, wholeStride, localStride};
  }
};

} // namespace

static Result usage(const std::string &message) {
  return {RING_ERROR_USAGE, message};
}

Result Sharding::checkTensors(int32_t localRanks) const {
  int32_t bytes = whole.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return usage("elements of " + std::to_string(bytes) +
                 " bytes, expected 1, 2, 4 or 8");
  if (stacked.element_bytes != bytes)
    return usage("stacked elements have " +
                 std::to_string(stacked.element_bytes) +
                 " bytes, those of the whole tensor " + std::to_string(bytes));
  if (whole.dims < 1 || whole.dims >= RING_MAX_DIMS)
    return usage("whole tensor of " + std::to_string(whole.dims) +
                 " dimensions, expected 1 to " +
                 std::to_string(RING_MAX_DIMS - 1));
  if (stacked.dims != whole.dims + 1)
    return usage("stacked tensor of " + std::to_string(stacked.dims) +
                 " dimensions, expected " + std::to_string(whole.dims + 1));
  if (dim < 0 || dim >= whole.dims)
    return usage("sharded dimension " + std::to_string(dim) +
                 " of a tensor with " + std::to_string(whole.dims) +
                 " dimensions");
  if (stacked.sizes[0] != localRanks)
    return usage("stacked tensor of " + std::to_string(stacked.sizes[0]) +
                 " ranks, expected " + std::to_string(localRanks));
  for (int32_t i = 0; i < whole.dims; ++i)
    if (whole.sizes[i] < 0)
      return usage("whole tensor has size " + std::to_string(whole.sizes[i]) +
                   " in dimension " + std::to_string(i));
  for (int32_t i = 0; i < whole.dims; ++i)
    if (i != dim && stacked.sizes[i + 1] != whole.sizes[i])
      return usage("stacked tensor has size " +
                   std::to_string(stacked.sizes[i + 1]) + " in dimension " +
                   std::to_string(i + 1) + ", expected " +
                   std::to_string(whole.sizes[i]));
  return {};
}

/// Every position of the whole tensor has one place in one local tensor.
Result Sharding::checkTable(int32_t ranks) const {
  int64_t length = whole.sizes[dim], previous = 0;
  std::vector<bool> seen(length);
  int64_t total = 0;
  for (const LayoutEntry &entry : table) {
    if (entry.owner < previous || entry.owner >= ranks)
      return usage("layout entry of rank " + std::to_string(entry.owner) +
                   ", expected " + std::to_string(previous) + " to " +
                   std::to_string(ranks - 1));
    previous = entry.owner;
    if (entry.size() == 0)
      continue;
    for (int64_t i = 0; i < entry.count; ++i)
      for (int64_t j = 0; j < entry.block; ++j) {
        int64_t position = entry.begin + i * entry.stride + j;
        if (position < 0 || position >= length)
          return usage("layout position " + std::to_string(position) +
                       " outside of a dimension of size " +
                       std::to_string(length));
        if (seen[position])
          return usage("layout position " + std::to_string(position) +
                       " has two owners");
        seen[position] = true;
        ++total;
      }
  }
  if (total != length)
    return usage("the layout covers " + std::to_string(total) + " of " +
                 std::to_string(length) + " positions");
  int64_t padded = stacked.sizes[dim + 1];
  for (int32_t rank = 0; rank < ranks; ++rank)
    if (int64_t local = table.localSize(rank); local > padded)
      return usage("rank " + std::to_string(rank) + " owns " +
                   std::to_string(local) + " positions, its local tensor has " +
                   std::to_string(padded));
  return {};
}

Result Sharding::check(int32_t ranks, int32_t localRanks) const {
  Result result = checkTensors(localRanks);
  return result.failed() ? result : checkTable(ranks);
}

std::vector<CopyAxis> Sharding::otherAxes() const {
  std::vector<CopyAxis> axes;
  for (int32_t i = 0; i < whole.dims; ++i)
    if (i != dim)
      axes.push_back(
          axis(whole.sizes[i], stacked.strides[i + 1], whole.strides[i]));
  return axes;
}

void Sharding::run(int64_t localIndex) const {
  // What has no elements may have no memory, and so no addresses either.
  if (std::any_of(stacked.sizes, stacked.sizes + stacked.dims,
                  [](int64_t size) { return size == 0; }))
    return;
  int32_t bytes = whole.element_bytes;
  int64_t localStride = stacked.strides[dim + 1];
  int64_t wholeStride = whole.strides[dim];
  char *local = static_cast<char *>(stacked.data) +
                localIndex * stacked.strides[0] * bytes;
  int64_t next = 0; // local position
  for (const LayoutEntry &entry : table.of(firstRank + localIndex)) {
    if (entry.size() == 0)
      continue;
    // An entry is two loops: over its blocks and within a block.
    std::vector<CopyAxis> axes = otherAxes();
    axes.push_back(axis(entry.count, localStride * entry.block,
                        wholeStride * entry.stride));
    axes.push_back(axis(entry.block, localStride, wholeStride));
    char *inLocal = local + next * localStride * bytes;
    char *inWhole =
        static_cast<char *>(whole.data) + entry.begin * wholeStride * bytes;
    if (scatter)
      copyStrided(inLocal, inWhole, std::move(axes), bytes);
    else
      copyStrided(inWhole, inLocal, std::move(axes), bytes);
    next += entry.size();
  }
  if (!scatter)
    return;
  std::vector<CopyAxis> axes = otherAxes();
  axes.push_back(axis(stacked.sizes[dim + 1] - next, localStride, 0));
  zeroStrided(local + next * localStride * bytes, std::move(axes), bytes);
}

/// Ranks are copied side by side by the pool: they write different elements.
static ring_status runSharding(ring_host *host, const Sharding &sharding) {
  Result result = host->checkProcess();
  if (!result.failed())
    result = sharding.check(host->options.ranks, host->localRanks());
  if (result.failed())
    return host->conclude(result);
  host->pool->run(
      host->localRanks(),
      [](void *opaque, int64_t localIndex) {
        static_cast<const Sharding *>(opaque)->run(localIndex);
      },
      const_cast<Sharding *>(&sharding), nullptr);
  host->localBytes += sharding.localBytes();
  return host->conclude({});
}

ring_status ring_host_scatter(ring_host *host, const int64_t *table,
                              int64_t entries, int32_t dim,
                              const ring_tensor *whole,
                              const ring_tensor *stacked) {
  return runSharding(host,
                     {{reinterpret_cast<const LayoutEntry *>(table), entries},
                      dim,
                      *whole,
                      *stacked,
                      /*scatter=*/true,
                      host->firstRank()});
}

ring_status ring_host_gather(ring_host *host, const int64_t *table,
                             int64_t entries, int32_t dim,
                             const ring_tensor *stacked,
                             const ring_tensor *whole) {
  return runSharding(host,
                     {{reinterpret_cast<const LayoutEntry *>(table), entries},
                      dim,
                      *whole,
                      *stacked,
                      /*scatter=*/false,
                      host->firstRank()});
}
