//===- AttentionErrors.h - Errors of an attention ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_ATTENTIONERRORS_H
#define RING_TOOLS_RINGRUN_ATTENTIONERRORS_H

#include "ring/Tools/RingRun/DenseAttention.h"

namespace ring::tools {

/// Errors of an attention's results as multiples of the tolerance: right iff
/// both are at most 1.
struct AttentionErrors {
  double out = 0;
  double lse = 0;

  /// The element of out, respectively lse, that is furthest off, with both
  /// values; no index where nothing is off at all.
  struct Worst {
    std::vector<int64_t> index;
    double got = 0;
    double expected = 0;
  };
  Worst worstOut;
  Worst worstLse;
  /// True where `out` is the root mean square's, not that of an element.
  bool outIsRootMeanSquare = false;

  bool withinTolerance() const { return out <= 1 && lse <= 1; }
  /// "out [0, 1, 5, 3]: expected 0.5, got 0.75, 12.5 times the tolerance".
  std::string message() const;
};

/// Compares `out` and `lse` (may be null) with dense float64 attention of the
/// operands, rows streamed, `threads` as in `forEachRowBlock`.
///
/// With s = scoreBound, A = magnitude, u the unit roundoff of out's type (2^-8
/// bf16, 2^-11 f16), the tolerance is
///   out, f32 or f64: 1e-5 (1 + s/32) max|V|, per element;
///   out, 16 bits: u (2 A + |ref|) + 2^-22 s A + the smallest number, per
///     element, and with 10,000 finite elements or more also the root mean
///     square: 0.475 u sqrt(mean ref^2 + mean spread) + the smallest number;
///   lse: 1e-5 (1 + s + |ref|).
/// Where the reference is NaN, any value that is not finite is right; -inf of
/// lse is right only for -inf. With `queries` only those that it has, [Sq].
///
/// Fails where the operands do not make a `ring.attention` or the results do
/// not have its shapes.
llvm::Expected<AttentionErrors>
checkAttention(const AttentionOperands &operands, const AttentionSpec &spec,
               const Array &out, const Array *lse, unsigned threads = 0,
               const std::vector<bool> *queries = nullptr);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_ATTENTIONERRORS_H
