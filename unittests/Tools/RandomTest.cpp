//===- RandomTest.cpp - Tests of random inputs ----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Random.h"

#include "TestArrays.h"

#include <cmath>

using namespace ring::tools;
using namespace ring::tools::test;

namespace {

Array sample(int64_t count, uint64_t seed, unsigned argument,
             ElementType type = ElementType::F64) {
  Array array = zeros(type, {count});
  llvm::cantFail(fillNormal(array, seed, argument));
  return array;
}

} // namespace

TEST(Random, HasTheMomentsOfTheNormalDistribution) {
  constexpr int64_t kCount = 200001; // odd: the last pair is half used
  Array array = sample(kCount, 1, 0);
  double moments[5] = {};
  int64_t beyondTwo = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double x = array.at(i), power = 1;
    for (double &moment : moments) {
      moment += power / kCount;
      power *= x;
    }
    beyondTwo += std::fabs(x) > 2;
  }
  // Five standard errors each.
  EXPECT_NEAR(moments[1], 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2. / kCount));
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15. / kCount));
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96. / kCount));
  EXPECT_NEAR(beyondTwo / double(kCount), 0.0455003, 0.0024);
}

TEST(Random, IsAFunctionOfSeedArgumentAndElement) {
  // From an independent implementation in Python.
  Array array = sample(5, 7, 2);
  EXPECT_NEAR(array.at(0), 1.3785241607049503, 1e-12);
  EXPECT_NEAR(array.at(1), -0.24868250783838391, 1e-12);
  EXPECT_NEAR(array.at(2), 0.14665921620926087, 1e-12);
  EXPECT_NEAR(array.at(3), -0.5837358911138828, 1e-12);

  Array longer = sample(1000, 7, 2);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(array.at(i), longer.at(i));
  Array bfloat = sample(5, 7, 2, ElementType::BF16);
  EXPECT_EQ(bfloat.at(0), bfloatToFloat(floatToBfloat(float(array.at(0)))));
}

TEST(Random, StreamsOfNeighboursAreUnrelated) {
  constexpr int64_t kCount = 20000;
  Array first = sample(kCount, 7, 2);
  for (auto [seed, argument] : {std::pair(7, 3), {8, 2}, {7, 1}, {9, 0}}) {
    Array second = sample(kCount, seed, argument);
    // The stream may not be a shifted copy either.
    for (int64_t shift = -4; shift <= 4; ++shift) {
      double correlation = 0;
      for (int64_t i = 4; i < kCount - 4; ++i)
        correlation += first.at(i) * second.at(i + shift) / kCount;
      EXPECT_NEAR(correlation, 0, 5 / std::sqrt(kCount));
    }
  }
}

TEST(Random, RefusesIntegers) {
  Array array = zeros(ElementType::I32, {4});
  EXPECT_EQ(messageOf(fillNormal(array, 1, 3)),
            "input 3: random values need a floating-point type, got 4xi32");
}
