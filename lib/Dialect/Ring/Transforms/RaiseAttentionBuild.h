//===- RaiseAttentionBuild.h - The op that was matched ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds `ring.attention` from what was matched.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONBUILD_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONBUILD_H

#include "RaiseAttentionMatch.h"

namespace mlir::ring {

/// Builds the attention whose product with the values is `op`, and returns what
/// stands for the result of `op`. Users that only undo what the result differs
/// in from the attention's are replaced.
Value buildAttention(OpBuilder &builder, linalg::LinalgOp op,
                     const AttentionMatch &match);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONBUILD_H
