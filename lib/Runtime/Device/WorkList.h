//===- WorkList.h - What a kernel computes in a round -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slices of a round as the items and ranges that a kernel reads (Device.h).
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_WORKLIST_H
#define RING_RUNTIME_DEVICE_WORKLIST_H

#include "../Transport.h"
#include "ring/Runtime/Device.h"

#include <vector>

namespace ring::runtime {

/// Positions on a GPU are below this, so that sums of two fit 32 bits.
constexpr int64_t kPositionLimit = int64_t(1) << 30;

/// How work is cut.
struct WorkShape {
  int64_t batch;
  int64_t queryTile, keyTile;
  int64_t headBlocks; ///< thread blocks of an item
  int64_t processors; ///< to keep busy
};

struct WorkList {
  std::vector<ring_attention_item> items;
  /// Those that put together what several items of the first list left as
  /// partial states: a second launch.
  std::vector<ring_attention_item> merges;
  std::vector<ring_attention_range> ranges;
  int64_t partials = 0; ///< partial states
};

/// Most partial states that a list has.
int64_t mostPartials(const WorkShape &shape);

/// Makes the list of a round, the longest items first. `states` has a byte for
/// each tile of each batch entry, [batch][query ranges], 1 where an earlier
/// round left a state, and is brought up to date. In the last round every tile
/// has an item, also one that sees nothing. RING_ERROR_USAGE where positions
/// do not fit.
Result makeWorkList(const ring_slices &slices, const WorkShape &shape,
                    bool last, std::vector<uint8_t> &states, WorkList &list);

/// Visible pairs of one batch entry in a round: what the kernels of the CPU
/// would count, for one head.
int64_t countVisible(const ring_slices &slices, int64_t batch);

/// The mask as kernels read it. RING_ERROR_USAGE where it does not fit.
Result fillMask(const ring_slices &slices, int64_t batch,
                ring_attention_params &params);

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_WORKLIST_H
