//===- LocalFunction.h - The function of the ranks --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_LOCALFUNCTION_H
#define RING_DIALECT_RING_TRANSFORMS_LOCALFUNCTION_H

#include "FeedForward.h"
#include "LocalPart.h"

namespace mlir::ring {

/// Builds the function that does `part` on a rank's own positions, and calls it
/// at the end of `host`, whose uses of what it gives are replaced. `example` is
/// a scatter of the sequence. The feed-forwards run in blocks of
/// `blockLength` positions. The function is in no module yet.
func::FuncOp
buildLocalFunction(func::FuncOp host, StringRef name, LocalPart &part,
                   const SequencePropagation &propagation, ScatterOp example,
                   ArrayRef<FeedForward> feedForwards, int64_t blockLength);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_LOCALFUNCTION_H
