//===- DenseAttentionTest.cpp - Dense attention against known values ------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that were computed by hand or in closed form, many of them of inputs
// that published implementations got wrong.
//
//===----------------------------------------------------------------------===//

#include "TestAttention.h"

#include <cmath>

using namespace ring;
using namespace ring::tools;
using namespace ring::tools::test;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

TEST(DenseAttention, ScoresFarApartDoNotOverflow) {
  for (double far : {100.0, 1e4, 1e30}) {
    DenseResult result = scalars({1, 1}, {0, far}, {1, 3}).run();
    expectValues(result.out, {3, 3});
    expectValues(result.lse, {far, far});
    result = scalars({1}, {far, 0}, {3, 1}).run();
    expectValues(result.out, {3});
  }
}

TEST(DenseAttention, SmallScoresBehindMaskedKeys) {
  Attention attention = scalars({1}, {5, 1e9, -200, -200}, {7, 9, 1, 3});
  attention.querySegments = integers({1, 1}, {0});
  attention.keySegments = integers({1, 4}, {-1, 1, 0, 0});
  DenseResult result = attention.run();
  expectValues(result.out, {2});
  expectValues(result.lse, {-199.306853}, 1e-6);
}

TEST(DenseAttention, EqualScoresGiveTheMeanAndALogOfTheCount) {
  DenseResult result = means(1, {1, 5, 5, 5}).run();
  expectValues(result.out, {4});
  expectValues(result.lse, {1.386294}, 1e-6);
}

TEST(DenseAttention, DefaultScaleIsOfTheQuerysDepth) {
  Attention attention;
  attention.query = floats({1, 1, 1, 64}, {32}, ElementType::F16);
  attention.key = floats({1, 1, 2, 64}, {32}, ElementType::F16);
  attention.value = floats({1, 1, 2, 1}, {1, 3}, ElementType::F16);
  DenseResult result = attention.run();
  expectValues(result.out, {2});
  expectValues(result.lse, {8192.6931}, 1e-4);
  expectValues(result.scoreBound, {2 * 8192});
}

TEST(DenseAttention, SoftcapComesBeforeTheMask) {
  Attention attention = scalars({10}, {1, 0, -1}, {1, 2, 3});
  attention.lengths = integers({1}, {2});
  attention.spec.softcap = 1;
  DenseResult result = attention.run();
  expectValues(result.out, {1.268941}, 1e-6);
  expectValues(result.lse, {1.313262}, 1e-6);
  attention.spec.softcap = 30;
  result = attention.run();
  expectValues(result.out, {1.000065}, 1e-6);
  expectValues(result.lse, {9.645447}, 1e-6);
}

TEST(DenseAttention, SoftcapThenBiasThenScoreRegion) {
  Attention attention = scalars({2}, {5}, {1});
  attention.spec.softcap = 4;
  attention.bias = floats({1, 1, 1, 1}, {3});
  attention.spec.score = [](double x, int64_t, int64_t, int64_t, int64_t) {
    return 10 * x;
  };
  DenseResult result = attention.run();
  double score = 10 * (4 * std::tanh(2.5) + 3);
  expectValues(result.lse, {score});
  expectValues(result.scoreBound, {10 + score});
}

TEST(DenseAttention, HugeNegativeScoresAreNormalRows) {
  DenseResult result = scalars({1}, {-1e30, -1e30, -1e30}, {1, 2, 6}).run();
  expectValues(result.out, {3});
  expectValues(result.lse, {-1e30});

  for (double bias : {-1e4, -1e9, -2.38e38, -3.4028234e38}) {
    Attention attention = means(2, {1, 2, 6});
    attention.bias = floats({1, 1, 2, 3}, {0, 0, bias, bias, bias, bias});
    result = attention.run();
    expectValues(result.out, {1.5, 3});
    EXPECT_EQ(result.lse.at(0), std::log(2));
    EXPECT_DOUBLE_EQ(result.lse.at(1), bias + std::log(3));
  }
}

TEST(DenseAttention, SmallWeightsAreKept) {
  std::vector<double> key(4097, 0), value(4097, 1);
  key[0] = 19;
  value[0] = 0;
  DenseResult result = scalars({1}, key, value).run();
  expectValues(result.out, {4096 / (std::exp(19) + 4096)}, 1e-16);
  EXPECT_NEAR(result.out.at(0), 2.2949e-05, 1e-9);
}

TEST(DenseAttention, SinksAreOneMoreLogitOfEachHead) {
  Attention attention;
  attention.query = floats({1, 2, 1, 1}, {0});
  attention.key = floats({1, 1, 2, 1}, {0});
  attention.value = floats({1, 1, 2, 1}, {3, 9});
  attention.spec.scale = 100; // the sink is not scaled
  attention.spec.softcap = 1; // nor capped
  attention.sinks = floats({2}, {std::log(2), std::log(10)});
  DenseResult result = attention.run();
  expectValues(result.out, {3, 1});
  expectValues(result.lse, {std::log(4), std::log(12)});

  attention.lengths = integers({1}, {0});
  result = attention.run();
  expectValues(result.out, {0, 0});
  expectValues(result.lse, {std::log(2), std::log(10)});

  attention.lengths = std::nullopt;
  attention.sinks = floats({2}, {1e5});
  result = attention.run();
  expectValues(result.out, {0, 0});
  expectValues(result.lse, {1e5, 1e5});
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

TEST(DenseAttention, CausalAlignsTopLeftOrBottomRight) {
  Attention attention = means(2, {0, 1, 2, 3, 4});
  attention.spec.mask.causal = true;
  expectValues(attention.run().out, {0, 0.5});
  attention.spec.mask.shift = 3;
  expectValues(attention.run().out, {1.5, 2});
}

TEST(DenseAttention, RowsAboveABottomRightMaskAreEmpty) {
  Attention attention = means(5, {10, 20});
  attention.spec.mask.causal = true;
  attention.spec.mask.shift = -3;
  DenseResult result = attention.run();
  expectValues(result.out, {0, 0, 0, 10, 15});
  expectValues(result.lse, {-kInf, -kInf, -kInf, 0, 0.693147}, 1e-6);
}

TEST(DenseAttention, WindowsAreInclusive) {
  Attention attention = means(6, {0, 1, 2, 3, 4, 5});
  attention.spec.mask.left = 2;
  attention.spec.mask.right = 0;
  expectValues(attention.run().out, {0, 0.5, 1, 2, 3, 4});
  attention.spec.mask.left = 0; // 0 is not "none"
  expectValues(attention.run().out, {0, 1, 2, 3, 4, 5});
  attention.spec.mask.right = 1;
  expectValues(attention.run().out, {0.5, 1.5, 2.5, 3.5, 4.5, 5});
}

TEST(DenseAttention, ChunksAndPrefix) {
  Attention attention = means(6, {0, 1, 2, 3, 4, 5});
  attention.spec.mask.chunk = 4;
  expectValues(attention.run().out, {1.5, 1.5, 1.5, 1.5, 4.5, 4.5});
  attention.spec.mask.causal = true;
  expectValues(attention.run().out, {0, 0.5, 1, 1.5, 4, 4.5});
  attention.spec.mask.prefix = 2; // chunk still applies
  expectValues(attention.run().out, {0.5, 0.5, 1, 1.5, 4, 4.5});
}

TEST(DenseAttention, DocumentsSeeThemselvesOnly) {
  Attention attention = means(6, {0, 1, 2, 3, 4, 5});
  attention.querySegments = integers({1, 6}, {0, 0, 0, 1, 1, 2});
  attention.keySegments = attention.querySegments;
  attention.spec.mask.causal = true;
  expectValues(attention.run().out, {0, 0.5, 1, 3, 3.5, 5});
}

TEST(DenseAttention, NegativeIdsArePadding) {
  Attention attention;
  std::vector<double> tokens;
  for (double token : {1, 1, 1, 1, 2, 2, 2, 100})
    tokens.insert(tokens.end(), 8, token);
  attention.query = attention.key = attention.value =
      floats({1, 1, 8, 8}, tokens);
  attention.querySegments = integers({1, 8}, {0, 0, 0, 0, 0, 0, 0, -1});
  attention.keySegments = attention.querySegments;
  DenseResult result = attention.run();
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_NEAR(result.out.at(i),
                i < 32   ? 1.926949
                : i < 56 ? 1.995364
                         : 0,
                1e-6);
  EXPECT_EQ(result.lse.at(7), -kInf);
}

TEST(DenseAttention, OffsetsMoveEachBatchEntry) {
  Attention attention;
  std::vector<double> value(40);
  for (int i = 0; i < 40; ++i)
    value[i] = i;
  attention.query = floats({3, 1, 1, 1}, {0});
  attention.key = floats({3, 1, 40, 1}, {0});
  attention.value = floats({3, 1, 40, 1}, value);
  attention.spec.mask.causal = true;
  attention.offsets = integers({3}, {0, 17, 39});
  std::vector<double> logs = {0, std::log(18), std::log(40)};
  expectValues(attention.run().out, {0, 8.5, 19.5});
  expectValues(attention.run().lse, logs);
  attention.lengths = integers({3}, {1, 18, 40});
  expectValues(attention.run().out, {0, 8.5, 19.5});
  attention.lengths = integers({3}, {40, 5, 0}); // and lengths alone cut
  expectValues(attention.run().out, {0, 2, 0});
}

TEST(DenseAttention, GroupedHeadsShareAKeyValueHead) {
  Attention attention;
  attention.query = floats({1, 4, 1, 1}, {0});
  attention.key = floats({1, 2, 3, 1}, {0});
  attention.value = floats({1, 2, 3, 1}, {0, 0, 0, 1, 1, 1});
  expectValues(attention.run().out, {0, 0, 1, 1});
}

TEST(DenseAttention, EmptyRowsAreZeroOrTheMeanOrNaN) {
  Attention attention = means(3, {2, -4, 5});
  attention.lengths = integers({1}, {1});
  attention.spec.mask.causal = true;
  attention.spec.mask.shift = -1;
  expectValues(attention.run().out, {0, 2, 2});
  attention.spec.emptyRows = EmptyRows::NaN;
  expectValues(attention.run().out, {kNaN, 2, 2});
  attention.spec.emptyRows = EmptyRows::Uniform;
  DenseResult result = attention.run();
  expectValues(result.out, {1, 2, 2});
  expectValues(result.magnitude, {11.0 / 3, 2, 2});
  expectValues(result.spread, {45.0 / 9, 4, 4});
  expectValues(result.lse, {-kInf, 0, 0});

  // The mean is over all keys, whatever they hold.
  attention.value = floats({1, 1, 3, 1}, {2, kInf, 5});
  expectValues(attention.run().out, {kNaN, 2, 2});
}

//===----------------------------------------------------------------------===//
// Values that are not finite
//===----------------------------------------------------------------------===//

TEST(DenseAttention, MaskedValuesNeverLeak) {
  for (double poison : {double(kNaN), kInf, -kInf}) {
    Attention attention = means(3, {1, 2, poison});
    attention.spec.mask.causal = true;
    DenseResult result = attention.run();
    expectValues(result.out, {1, 1.5, kNaN});
    expectValues(result.lse, {0, std::log(2), std::log(3)});

    attention = scalars({1, 1}, {1, poison}, {3, poison});
    attention.lengths = integers({1}, {1});
    expectValues(attention.run().out, {3, 3});
    attention.lengths = std::nullopt;
    attention.querySegments = integers({1, 2}, {4, -1});
    attention.keySegments = integers({1, 2}, {4, 5});
    result = attention.run();
    expectValues(result.out, {3, 0});
    expectValues(result.lse, {1, -kInf});
  }
}

TEST(DenseAttention, OnlyTheColumnOfABadValueIsNaN) {
  Attention attention = means(1, {1, 2});
  attention.value = floats({1, 1, 2, 3}, {1, kInf, 3, 5, 6, 7});
  expectValues(attention.run().out, {3, kNaN, 5});
}

TEST(DenseAttention, SeenNaNAndInfinityMakeTheRowNaN) {
  for (double poison : {double(kNaN), kInf}) {
    DenseResult result = scalars({1, 0}, {1, poison}, {3, 4}).run();
    expectValues(result.out, {kNaN, kNaN}); // 0 * inf too
    expectValues(result.lse, {kNaN, kNaN});
  }
  DenseResult result = scalars({1}, {kNaN}, {3}).run();
  expectValues(result.out, {kNaN});
  expectValues(result.lse, {kNaN});
  result = scalars({1}, {-kInf, 2}, {3, 4}).run();
  expectValues(result.out, {4});
  expectValues(result.lse, {2});
  result = scalars({1}, {-kInf, -kInf}, {3, 4}).run();
  expectValues(result.out, {0});
  expectValues(result.lse, {-kInf});
}

//===----------------------------------------------------------------------===//
// Operands that do not fit
//===----------------------------------------------------------------------===//

TEST(DenseAttention, RefusesOperandsThatDoNotFit) {
  Attention good;
  good.query = floats({2, 4, 3, 8}, {0});
  good.key = floats({2, 2, 5, 8}, {0});
  good.value = floats({2, 2, 5, 6}, {0});
  auto refusal = [&](auto change) {
    Attention attention = good;
    change(attention);
    return messageOf(
        denseAttention(attention.operands(), attention.spec).takeError());
  };
  EXPECT_EQ(refusal([](Attention &) {}), "");
  EXPECT_EQ(refusal([](Attention &a) { a.key = floats({2, 2, 5, 4}, {0}); }),
            "attention operand key: expected 2x?x?x8x(f16|bf16|f32|f64), got "
            "2x2x5x4xf64");
  EXPECT_EQ(refusal([](Attention &a) { a.value = floats({2, 2, 6, 6}, {0}); }),
            "attention operand value: expected 2x2x5x?x(f16|bf16|f32|f64), got "
            "2x2x6x6xf64");
  EXPECT_EQ(refusal([](Attention &a) {
              a.key = floats({2, 3, 5, 8}, {0});
              a.value = floats({2, 3, 5, 6}, {0});
            }),
            "attention operand key: expected a number of heads that divides "
            "the query's 4, got 3");
  EXPECT_EQ(refusal([](Attention &a) {
              a.key = floats({2, 0, 5, 8}, {0});
              a.value = floats({2, 0, 5, 6}, {0});
            }),
            "attention operand key: expected a number of heads that divides "
            "the query's 4, got 0");
  EXPECT_EQ(refusal([](Attention &a) { a.bias = floats({1, 4, 2, 5}, {0}); }),
            "attention operand bias: expected 1x4x3x5x(f16|bf16|f32|f64), got "
            "1x4x2x5xf64");
  EXPECT_EQ(refusal([](Attention &a) { a.lengths = floats({2}, {0}); }),
            "attention operand lengths: expected 2xi32, got 2xf64");
  EXPECT_EQ(refusal([](Attention &a) { a.sinks = floats({2}, {0}); }),
            "attention operand sinks: expected 4x(f16|bf16|f32|f64), got "
            "2xf64");
  EXPECT_EQ(refusal([](Attention &a) {
              a.querySegments = zeros(ElementType::I32, {2, 3});
            }),
            "attention operand segments: expected the query's and the key's, "
            "got one");
  EXPECT_EQ(refusal([](Attention &a) {
              a.offsets = integers({2}, {0, 0});
              a.spec.mask.shift = 2;
            }),
            "attention operand offsets: excludes an aligned mask, got shift 2");
}

TEST(DenseAttention, EmptySequences) {
  Attention attention = means(2, {});
  DenseResult result = attention.run();
  expectValues(result.out, {0, 0});
  expectValues(result.lse, {-kInf, -kInf});
  attention = means(0, {1, 2});
  EXPECT_EQ(attention.run().out.size(), 0);
}
