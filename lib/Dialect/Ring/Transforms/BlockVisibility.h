//===- BlockVisibility.h - Which blocks a rank sees -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_BLOCKVISIBILITY_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_BLOCKVISIBILITY_H

#include "ScheduleTrace.h"

namespace mlir::ring {

/// Whether any query of a rank may see any key of an owner, by the tables and
/// the positional mask of a work list. Run-time ids and lengths only hide more.
/// Where a table is no constant, or a mask by position meets run-time offsets,
/// every block may be visible.
class BlockVisibility {
public:
  explicit BlockVisibility(const WorkList &work);

  bool isVisible(int64_t rank, int64_t owner) const;

private:
  bool known = false;
  ::ring::LayoutPair tables;
  ::ring::PositionalMask mask;
  int64_t keyCount = 0;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_BLOCKVISIBILITY_H
