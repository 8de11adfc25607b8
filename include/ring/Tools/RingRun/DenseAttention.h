//===- DenseAttention.h - Dense float64 attention ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `ring.attention` on whole tensors in float64, with every clause: what
// programs are checked against. Query rows are streamed in blocks, so the
// memory it needs does not grow with Sq * Sk.
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_DENSEATTENTION_H
#define RING_TOOLS_RINGRUN_DENSEATTENTION_H

#include "ring/Analysis/Mask.h"
#include "ring/Tools/RingRun/Array.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <optional>

namespace ring::tools {

/// What a row that sees nothing gives: 0, the mean of V over all Sk keys, NaN.
enum class EmptyRows { Zero, Uniform, NaN };

/// The attributes and the region of a `ring.attention`.
struct AttentionSpec {
  /// Its `shift` stands for `align`; with `offsets` it must be 0.
  PositionalMask mask;
  std::optional<double> scale; ///< default: 1 / sqrt(d)
  std::optional<double> softcap;
  EmptyRows emptyRows = EmptyRows::Zero;
  /// The `score` region, (score, batch, head, query, key) -> score, with
  /// indices into the whole sequences. Called for visible pairs only, from
  /// several threads at once.
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
};

/// The operands of a `ring.attention`; those of absent clauses are null.
struct AttentionOperands {
  const Array *query = nullptr; ///< [batch, heads, Sq, d], any float type
  const Array *key = nullptr;   ///< [batch, kv_heads, Sk, d]
  const Array *value = nullptr; ///< [batch, kv_heads, Sk, dv]
  const Array *bias = nullptr;  ///< [1|batch, 1|heads, 1|Sq, Sk]
  const Array *querySegments = nullptr; ///< [batch, Sq], i32
  const Array *keySegments = nullptr;   ///< [batch, Sk], i32
  const Array *lengths = nullptr;       ///< [batch], i32
  const Array *offsets = nullptr;       ///< [batch], i32
  const Array *sinks = nullptr;         ///< [heads]
};

/// Consecutive query rows of one head. The arrays live as long as the visitor's
/// call.
struct RowBlock {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t firstRow = 0;
  int64_t rows = 0;
  int64_t valueStride = 0; ///< doubles from one row of the first three to the
                           ///< next, at least dv
  const double *out = nullptr;
  const double *magnitude = nullptr; ///< the same attention applied to |V|
  const double *spread = nullptr;    ///< sum of (p v)^2
  const double *lse = nullptr;
  /// Largest scale * sum |q k| + |score| over the keys that matter to the row,
  /// those within 32 of its largest score.
  const double *scoreBound = nullptr;
};

/// Computes every row and hands the blocks to `visit`, in no particular order
/// and from up to `threads` threads at once (0: one per core). Fails where the
/// shapes or types do not make a `ring.attention`.
///
/// Non-finite numbers: a masked key or value never leaks. An element of out is
/// NaN where the row sees a key whose value is not finite there, all of the
/// row and its lse where it sees a score (or has a sink) that is NaN or +inf.
/// A score of -inf has weight 0, and a row with no other score is one that
/// sees nothing: its lse is -inf or the sink, its out what `emptyRows` says.
llvm::Error forEachRowBlock(const AttentionOperands &operands,
                            const AttentionSpec &spec, unsigned threads,
                            llvm::function_ref<void(const RowBlock &)> visit);

/// All rows at once, f64 arrays.
struct DenseResult {
  Array out;        ///< [batch, heads, Sq, dv]
  Array lse;        ///< [batch, heads, Sq], natural logarithm
  Array magnitude;  ///< [batch, heads, Sq, dv]
  Array spread;     ///< [batch, heads, Sq, dv]
  Array scoreBound; ///< [batch, heads, Sq]
};
llvm::Expected<DenseResult> denseAttention(const AttentionOperands &operands,
                                           const AttentionSpec &spec,
                                           unsigned threads = 0);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_DENSEATTENTION_H
