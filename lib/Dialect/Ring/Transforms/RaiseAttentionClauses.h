//===- RaiseAttentionClauses.h - Lengths and documents ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conditions of data that `ring.attention` has clauses for: then blocks that
// see nothing are left out.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONCLAUSES_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONCLAUSES_H

#include "RaiseAttentionData.h"

namespace mlir::ring {

/// Keys below `bound + shift` are visible, of each batch entry.
struct LengthsMatch {
  ScalarProgram program;
  unsigned bound;
  int64_t shift;
  Index batch;
  int64_t keys;
};

std::optional<LengthsMatch> matchLengths(ExprContext &context,
                                         const AttentionIndices &at,
                                         const OperandRead &query,
                                         const HidingCondition &hiding);

/// The lengths, [batch] of i32, from 0 to the number of keys.
Value buildLengths(OpBuilder &builder, Location loc, const LengthsMatch &match);

/// Pairs of equal ids are visible, of each batch entry.
struct SegmentsMatch {
  ScalarProgram queryProgram, keyProgram;
  unsigned queryId, keyId;
  Index batch, query, key;
  Type type;
};

std::optional<SegmentsMatch> matchSegments(ExprContext &context,
                                           const AttentionIndices &at,
                                           const OperandRead &query,
                                           const HidingCondition &hiding);

/// Ids of i32 that are equal where those of any integer type are, and are not
/// negative: of queries, [batch, Sq], and of keys, [batch, Sk].
std::pair<Value, Value> buildSegments(OpBuilder &builder, Location loc,
                                      const SegmentsMatch &match);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONCLAUSES_H
