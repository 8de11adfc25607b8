//===- ScheduleTables.h - Checks the tables of a rank function --*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETABLES_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETABLES_H

#include "ScheduleTrace.h"

namespace mlir::ring {

/// Checks that each constant table of the work lists gives every position to
/// one of the ranks, of which there is a trace each, once. Tables that are no
/// constants are not looked at.
LogicalResult checkPartitions(ArrayRef<RankTrace> traces);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULETABLES_H
