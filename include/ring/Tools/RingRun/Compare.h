//===- Compare.h - Comparing a result with a file ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_COMPARE_H
#define RING_TOOLS_RINGRUN_COMPARE_H

#include "ring/Tools/RingRun/Array.h"

namespace ring::tools {

/// Outcome of `compare`. The worst element is the one whose difference exceeds
/// what is allowed most; the first of them in row-major order.
struct Comparison {
  int64_t elements = 0;
  int64_t mismatches = 0;
  /// Below: only where there are mismatches.
  std::vector<int64_t> worst; ///< one index per dimension
  double got = 0;
  double expected = 0;
  double allowed = 0; ///< atol + rtol * |expected|

  bool equal() const { return mismatches == 0; }
  /// "2 of 24 elements differ, worst at [0, 1, 3]: expected 0.5, got 0.75
  /// (allowed 1e-05)".
  std::string message() const;
};

/// The positions along one dimension that are there to be compared.
struct OwnPositions {
  int64_t dim = 0;
  std::vector<bool> has;
};

/// Compares element by element: `|got - expected| <= atol + rtol * |expected|`,
/// in float64. NaN agrees with NaN only, an infinity with the same infinity
/// only, whatever the tolerances. Two integer arrays are compared exactly
/// where both tolerances are 0. Element types may differ (a bf16 result and an
/// f32 file, say); ui16 next to bf16 is taken for bf16 bits. Fails where the
/// shapes differ: "result 0: expected 2x4xf32, got 2x3xf32", where `what` is
/// "result 0". With `own` its positions only.
llvm::Expected<Comparison> compare(const Array &got, const Array &expected,
                                   double atol, double rtol,
                                   llvm::StringRef what,
                                   const OwnPositions *own = nullptr);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_COMPARE_H
