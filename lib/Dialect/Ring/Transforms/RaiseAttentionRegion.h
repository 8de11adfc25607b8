//===- RaiseAttentionRegion.h - Masks of ring.attention ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONREGION_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONREGION_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

namespace mlir::ring {

/// Where the score region of an attention without a mask, or else its bias,
/// hides pairs by -inf as follows from positions, makes that its mask. What the
/// region or the bias does beside stays. True iff there is a mask then.
bool raiseMask(AttentionOp op);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONREGION_H
