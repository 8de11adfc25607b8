//===- AttentionErrorsTest.cpp - Tests of the tolerance of attentions -----===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestAttention.h"

#include <cmath>

using namespace ring::tools;
using namespace ring::tools::test;

namespace {

AttentionErrors check(const Attention &attention, const Array &out,
                      const Array *lse = nullptr) {
  return llvm::cantFail(
      checkAttention(attention.operands(), attention.spec, out, lse, 2));
}

/// One query that sees `keys` values of 1, `columns` wide.
Attention ones(int64_t keys, int64_t columns, ElementType type) {
  Attention attention;
  attention.query = floats({1, 1, 1, 1}, {0}, type);
  attention.key = floats({1, 1, keys, 1}, {0}, type);
  attention.value = floats({1, 1, keys, columns}, {1}, type);
  return attention;
}

} // namespace

TEST(AttentionErrors, SinglePrecisionIsMeasuredAgainstTheLargestValue) {
  // |q k| = 32 and score 32: s = 64, so 1e-5 * (1 + 2) * 4 is allowed.
  Attention attention = scalars({1}, {32}, {-4});
  attention.value = floats({1, 1, 1, 1}, {-4}, ElementType::F32);
  double allowed = 1e-5 * 3 * 4;
  Array out = floats({1, 1, 1, 1}, {-4 + 0.5 * allowed});
  EXPECT_NEAR(check(attention, out).out, 0.5, 1e-9);
  out.set(0, -4 - 2 * allowed);
  AttentionErrors errors = check(attention, out);
  EXPECT_NEAR(errors.out, 2, 1e-9);
  EXPECT_FALSE(errors.withinTolerance());
  EXPECT_EQ(errors.message(),
            "out [0, 0, 0, 0]: expected -4, got -4.00024, 2 times the "
            "tolerance");
}

TEST(AttentionErrors, LogSumExpGrowsWithTheScores) {
  Attention attention = scalars({1}, {32}, {1});
  Array out = floats({1, 1, 1, 1}, {1});
  double allowed = 1e-5 * (1 + 64 + 32);
  Array lse = floats({1, 1, 1}, {32 + 3 * allowed});
  AttentionErrors errors = check(attention, out, &lse);
  EXPECT_EQ(errors.out, 0);
  EXPECT_NEAR(errors.lse, 3, 1e-9);
  EXPECT_FALSE(errors.withinTolerance());
  EXPECT_EQ(errors.message(),
            "lse [0, 0, 0]: expected 32, got 32.00291, 3 times the tolerance");
  EXPECT_EQ(check(attention, out).lse, 0);
}

TEST(AttentionErrors, SixteenBitsAreMeasuredPerElement) {
  struct {
    ElementType type;
    double unit, smallest;
  } types[] = {{ElementType::BF16, 0x1p-8, 1e-38},
               {ElementType::F16, 0x1p-11, 0x1p-24}};
  for (auto [type, unit, smallest] : types) {
    // Values 3 and -1 of equal weight: ref 1, A 2; s = |q k| + |score| = 2.
    Attention attention = scalars({1}, {1, 1}, {3, -1});
    double step = 2 * unit; // of the type above 1
    Array out = floats({1, 1, 1, 1}, {1 + 4 * step}, type);
    double allowed = unit * (2 * 2 + 1) + 0x1p-22 * 2 * 2 + smallest;
    EXPECT_NEAR(check(attention, out).out, 4 * step / allowed, 1e-9);
  }
}

TEST(AttentionErrors, ManySixteenBitElementsAreMeasuredTogether) {
  // One step above 1 is 2 u off: allowed for an element (3 u), not for all.
  for (int64_t columns : {9999, 10000}) {
    Attention attention = ones(4, columns, ElementType::BF16);
    Array out = floats({1, 1, 1, columns}, {1.0078125}, ElementType::BF16);
    AttentionErrors errors = check(attention, out);
    bool together = columns >= 10000;
    EXPECT_EQ(errors.outIsRootMeanSquare, together);
    EXPECT_EQ(errors.withinTolerance(), !together);
    // spread: four terms of (1/4)^2.
    double allowed = together ? 0.475 * std::sqrt(1 + 0.25) : 3;
    EXPECT_NEAR(errors.out, 2 / allowed, 1e-9);
  }
  Attention attention = ones(4, 10000, ElementType::F32);
  Array out = floats({1, 1, 1, 10000}, {1 + 0.5e-5}, ElementType::F32);
  EXPECT_FALSE(check(attention, out).outIsRootMeanSquare);
}

TEST(AttentionErrors, NonFiniteValuesBelongWhereTheReferenceIsNaN) {
  Attention attention = means(2, {1, kNaN});
  attention.spec.mask.causal = true;
  for (double value : {double(kNaN), kInf, -kInf})
    EXPECT_EQ(check(attention, floats({1, 1, 2, 1}, {1, value})).out, 0);
  EXPECT_EQ(check(attention, floats({1, 1, 2, 1}, {1, 1})).out, kInf);
  EXPECT_EQ(check(attention, floats({1, 1, 2, 1}, {kNaN, kNaN})).out, kInf);
  EXPECT_EQ(check(attention, floats({1, 1, 2, 1}, {kInf, kNaN})).out, kInf);
}

TEST(AttentionErrors, EmptyRowsNeedExactlyMinusInfinity) {
  Attention attention = means(2, {1, 2});
  attention.lengths = integers({1}, {0});
  Array out = floats({1, 1, 2, 1}, {0});
  auto lseError = [&](double value) {
    Array lse = floats({1, 1, 2}, {-kInf, value});
    return check(attention, out, &lse).lse;
  };
  EXPECT_EQ(lseError(-kInf), 0);
  for (double wrong : {-1e30, 0.0, kInf, double(kNaN)})
    EXPECT_EQ(lseError(wrong), kInf) << wrong;
  Array lse = floats({1, 1, 2}, {-kInf});
  EXPECT_GT(check(attention, floats({1, 1, 2, 1}, {1e-3}), &lse).out, 1);
  // And -inf nowhere else.
  attention.lengths = std::nullopt;
  EXPECT_EQ(check(attention, floats({1, 1, 2, 1}, {1.5}), &lse).lse, kInf);
}

TEST(AttentionErrors, NamesTheWorstElement) {
  Attention attention;
  attention.query = floats({2, 2, 40, 3}, {0});
  attention.key = floats({2, 1, 50, 3}, {0});
  attention.value = floats({2, 1, 50, 5}, {2});
  Array out = floats({2, 2, 40, 5}, {2}),
        lse = floats({2, 2, 40}, {std::log(50)});
  AttentionErrors errors = check(attention, out, &lse);
  EXPECT_LT(errors.out, 1e-9);
  EXPECT_TRUE(errors.withinTolerance());
  out.set(((1 * 2 + 0) * 40 + 37) * 5 + 4, 2.5);
  lse.set((0 * 2 + 1) * 40 + 39, 5);
  errors = check(attention, out, &lse);
  EXPECT_EQ(errors.worstOut.index, (std::vector<int64_t>{1, 0, 37, 4}));
  EXPECT_EQ(errors.worstOut.got, 2.5);
  EXPECT_NEAR(errors.worstOut.expected, 2, 1e-12);
  EXPECT_EQ(errors.worstLse.index, (std::vector<int64_t>{0, 1, 39}));
  EXPECT_EQ(errors.worstLse.got, 5);
}

TEST(AttentionErrors, OwnQueriesOnly) {
  Attention attention = ones(4, 1, ElementType::F32);
  attention.query = floats({1, 1, 3, 1}, {1}, ElementType::F32);
  Array out = floats({1, 1, 3, 1}, {1, 7, 1});
  auto outError = [&](std::vector<bool> queries) {
    return llvm::cantFail(checkAttention(attention.operands(), attention.spec,
                                         out, nullptr, 1, &queries))
        .out;
  };
  EXPECT_LE(outError({true, false, true}), 1);
  EXPECT_GT(outError({false, true, false}), 1);
  EXPECT_EQ(outError({false, false, false}), 0);
}

TEST(AttentionErrors, RefusesResultsOfAnotherShape) {
  Attention attention = scalars({1, 2}, {1}, {1});
  auto refusal = [&](const Array &out, const Array *lse) {
    return messageOf(
        checkAttention(attention.operands(), attention.spec, out, lse)
            .takeError());
  };
  Array out = floats({1, 1, 2, 1}, {1}), lse = floats({1, 1, 2}, {1});
  EXPECT_EQ(refusal(out, &lse), "");
  EXPECT_EQ(refusal(floats({1, 1, 1, 1}, {1}), nullptr),
            "attention result out: expected 1x1x2x1xf64, got 1x1x1x1xf64");
  EXPECT_EQ(refusal(out, &out),
            "attention result lse: expected 1x1x2xf32, got 1x1x2x1xf64");
}
