//===- ScheduleDifference.h - Steps of one attention ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEDIFFERENCE_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEDIFFERENCE_H

#include "ScheduleTrace.h"

namespace mlir::ring {

/// What must not change from one step of an attention to the next, and did;
/// empty if nothing. Key and value are not looked at: which arguments they are
/// depends on what all ranks send.
StringRef findDifference(ComputeEvent a, const WorkList &workA, ComputeEvent b,
                         const WorkList &workB);

/// The same of what turns a state into a result.
StringRef findDifference(FinalizeEvent a, FinalizeEvent b);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_SCHEDULEDIFFERENCE_H
