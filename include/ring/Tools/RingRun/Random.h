//===- Random.h - Reproducible random inputs --------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_RANDOM_H
#define RING_TOOLS_RINGRUN_RANDOM_H

#include "ring/Tools/RingRun/Array.h"

namespace ring::tools {

/// Fills a float array with samples of the standard normal distribution, a
/// function of the seed, the argument's index and the element's only, the same
/// on every platform up to the last bit of the C library's log and cos.
///
/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) makes uniform numbers, one
/// stream per (seed, argument), and the Box-Muller transform makes each pair
/// of them a pair of normal ones, which are rounded to the element type.
///
/// Fails on integer elements, for which nothing is normal: "input 3: random
/// values need a floating-point type, got 4xi32".
llvm::Error fillNormal(Array &array, uint64_t seed, unsigned argument);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_RANDOM_H
