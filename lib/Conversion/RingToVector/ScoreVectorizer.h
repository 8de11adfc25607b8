//===- ScoreVectorizer.h - A score region over vectors ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `score` region computes on one pair of a query and a key. A kernel has one
// key and a vector of queries at a time: what depends on the query becomes a
// vector, the rest stays scalar, where it can leave the loop over the queries.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOVECTOR_SCOREVECTORIZER_H
#define RING_LIB_CONVERSION_RINGTOVECTOR_SCOREVECTORIZER_H

#include "KernelBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::ring {

class ScoreVectorizer {
public:
  /// `captures` are those of `region` (see getScoreCaptures), in the kernel
  /// `arguments`. Constants from outside are copied into the kernel.
  ScoreVectorizer(Region &region, KernelBuilder &b, ValueRange captures,
                  ValueRange arguments);

  /// False iff there is no region.
  explicit operator bool() const { return !region.empty(); }

  /// The region's result for the scores `x`, f32 of as many lanes as there are
  /// queries in `queryIndex`; the other indices are scalars.
  Value apply(Value x, Value batch, Value head, Value queryIndex,
              Value keyIndex);

private:
  Value asVector(Value value, int64_t lanes);
  void vectorize(Operation &op, IRMapping &mapping, int64_t lanes);
  /// For ops that know no vectors: lane by lane, in a loop.
  void perLane(Operation &op, IRMapping &mapping, int64_t lanes);

  Region &region;
  KernelBuilder &b;
  IRMapping outside;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOVECTOR_SCOREVECTORIZER_H
