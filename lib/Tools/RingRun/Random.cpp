//===- Random.cpp - Reproducible random inputs ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Random.h"

#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace ring::tools;

namespace {

class SplitMix64 {
public:
  explicit SplitMix64(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

  /// Uniform in (0, 1], so that its logarithm is finite.
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

private:
  uint64_t state;
};

} // namespace

llvm::Error ring::tools::fillNormal(Array &array, uint64_t seed,
                                    unsigned argument) {
  if (!isFloat(array.elementType()))
    return llvm::createStringError(
        "input " + llvm::Twine(argument) +
        ": random values need a floating-point type, got " +
        array.typeString());
  // Neighbouring seeds and arguments must not give shifted copies of one
  // stream, so the start of a stream is itself random.
  SplitMix64 generator(SplitMix64(SplitMix64(seed).next() + argument).next());
  constexpr double kTwoPi = 6.283185307179586476925;
  for (int64_t i = 0; i < array.size(); i += 2) {
    double radius = std::sqrt(-2 * std::log(generator.uniform()));
    double angle = kTwoPi * generator.uniform();
    array.set(i, radius * std::cos(angle));
    if (i + 1 < array.size())
      array.set(i + 1, radius * std::sin(angle));
  }
  return llvm::Error::success();
}
