//===- CompareTest.cpp - Tests of comparing arrays ------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Compare.h"

#include "TestArrays.h"

#include <limits>

using namespace ring::tools;
using namespace ring::tools::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t mismatches(double got, double expected, double atol, double rtol) {
  return llvm::cantFail(compare(floats({}, {got}), floats({}, {expected}), atol,
                                rtol, "result 0"))
      .mismatches;
}

} // namespace

TEST(Compare, AllowsAtolPlusRtolTimesExpected) {
  EXPECT_EQ(mismatches(1.5, 1, 0.5, 0), 0);
  EXPECT_EQ(mismatches(1.5, 1, 0.25, 0.25), 0);
  EXPECT_EQ(mismatches(1.5, 1, 0.25, 0.24), 1);
  EXPECT_EQ(mismatches(1, 1, 0, 0), 0);
  EXPECT_EQ(mismatches(-0.0, 0, 0, 0), 0);
  // Relative to what is expected, not to what was got.
  EXPECT_EQ(mismatches(2, 1, 0, 0.5), 1);
  EXPECT_EQ(mismatches(1, 2, 0, 0.5), 0);
}

TEST(Compare, NonFiniteValuesMustAgreeWhateverTheTolerance) {
  for (double atol : {0.0, 1e300, kInf}) {
    EXPECT_EQ(mismatches(kNaN, kNaN, atol, 1), 0);
    EXPECT_EQ(mismatches(kInf, kInf, atol, 1), 0);
    EXPECT_EQ(mismatches(-kInf, -kInf, atol, 1), 0);
    for (auto [got, expected] : {std::pair(kInf, -kInf),
                                 {0.0, kInf},
                                 {0.0, kNaN},
                                 {kNaN, 0.0},
                                 {-kInf, 0.0},
                                 {kNaN, kInf}}) {
      EXPECT_EQ(mismatches(got, expected, atol, 1), 1)
          << got << " " << expected;
    }
  }
}

TEST(Compare, NamesTheWorstElement) {
  Array expected = floats({2, 3, 4}, {0.5});
  Array got = expected;
  got.set(3, 0.75);
  got.set(12 + 4 + 2, 0.125);
  got.set(20, 0.5625);
  Comparison result = llvm::cantFail(compare(got, expected, 0.125, 0, "r"));
  EXPECT_FALSE(result.equal());
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.worst, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(result.message(), "2 of 24 elements differ, worst at [1, 1, 2]: "
                              "expected 0.5, got 0.125 (allowed 0.125)");
  got.set(0, kNaN);
  result = llvm::cantFail(compare(got, expected, 0.125, 0, "r"));
  EXPECT_EQ(result.worst, (std::vector<int64_t>{0, 0, 0}));
}

TEST(Compare, OwnPositionsOnly) {
  Array expected = floats({2, 3, 2}, {0}), got = floats({2, 3, 2}, {0});
  got.set(3, 1);  // [0, 1, 1]
  got.set(10, 1); // [1, 2, 0]
  auto compared = [&](OwnPositions own) {
    return llvm::cantFail(compare(got, expected, 0, 0, "result 0", &own));
  };
  Comparison middle = compared({1, {false, true, false}});
  EXPECT_EQ(middle.elements, 4);
  EXPECT_EQ(middle.mismatches, 1);
  EXPECT_EQ(middle.worst, (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(compared({1, {true, false, false}}).mismatches, 0);
  EXPECT_EQ(compared({1, {true, true, true}}).mismatches, 2);
  EXPECT_EQ(compared({0, {false, true}}).mismatches, 1);
  EXPECT_EQ(compared({2, {false, true}}).elements, 6);
}

TEST(Compare, TypesMayDifferShapesMayNot) {
  Array bfloat = floats({2}, {1, -2}, ElementType::BF16);
  Array single = floats({2}, {1, -2}, ElementType::F32);
  EXPECT_TRUE(llvm::cantFail(compare(bfloat, single, 0, 0, "r")).equal());
  Array bits = bfloat;
  bits.reinterpretAs(ElementType::U16);
  EXPECT_TRUE(llvm::cantFail(compare(bfloat, bits, 0, 0, "r")).equal());
  EXPECT_TRUE(llvm::cantFail(compare(bits, bfloat, 0, 0, "r")).equal());
  EXPECT_FALSE(llvm::cantFail(compare(single, bits, 0, 0, "r")).equal());
  EXPECT_EQ(messageOf(compare(single, floats({1, 2}, {0}, ElementType::F32), 0,
                              0, "result 0")
                          .takeError()),
            "result 0: expected 1x2xf32, got 2xf32");
  EXPECT_TRUE(
      llvm::cantFail(compare(floats({0}, {0}), floats({0}, {0}), 0, 0, "r"))
          .equal());
}

TEST(Compare, LargeIntegersAreExact) {
  Array a = zeros(ElementType::I64, {2}), b = a;
  a.dataAs<int64_t>()[1] = int64_t(1) << 60;
  b.dataAs<int64_t>()[1] = (int64_t(1) << 60) + 1;
  EXPECT_EQ(llvm::cantFail(compare(a, b, 0, 0, "r")).mismatches, 1);
  EXPECT_EQ(llvm::cantFail(compare(a, a, 0, 0, "r")).mismatches, 0);
}
