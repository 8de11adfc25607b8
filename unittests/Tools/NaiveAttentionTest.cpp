//===- NaiveAttentionTest.cpp - Dense attention against its definition ----===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocked, packed, threaded computation against the plainest possible one,
// over random attentions with every clause and sizes that are no multiple of
// any tile.
//
//===----------------------------------------------------------------------===//

#include "TestAttention.h"

#include "ring/Tools/RingRun/Random.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace ring;
using namespace ring::tools;
using namespace ring::tools::test;

namespace {

Array normal(ElementType type, llvm::ArrayRef<int64_t> shape, unsigned seed) {
  Array array = zeros(type, shape);
  llvm::cantFail(fillNormal(array, seed, 0));
  return array;
}

double score(double x, int64_t batch, int64_t head, int64_t i, int64_t j) {
  return x + static_cast<double>(j - i) / (8 << head) +
         static_cast<double>(batch);
}

struct Draw {
  Attention attention;
  std::string name;
};

Draw draw(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t n) -> int64_t { return random() % n; };
  Draw result;
  Attention &a = result.attention;
  int64_t batch = 1 + below(2), kvHeads = 1 + below(2);
  int64_t heads = kvHeads * (1 + below(3));
  int64_t sq = 1 + below(70), sk = 1 + below(90);
  int64_t depth = 1 + below(20), dv = 1 + below(20);
  ElementType types[] = {ElementType::F16, ElementType::BF16, ElementType::F32,
                         ElementType::F64};
  ElementType type = types[below(4)];
  a.query = normal(type, {batch, heads, sq, depth}, seed);
  a.key = normal(type, {batch, kvHeads, sk, depth}, seed + 1);
  a.value = normal(type, {batch, kvHeads, sk, dv}, seed + 2);
  auto with = [&](const char *feature) {
    bool yes = below(3) == 0;
    if (yes)
      result.name += std::string(" ") + feature;
    return yes;
  };
  if (with("bias"))
    a.bias = normal(
        ElementType::F32,
        {below(2) ? batch : 1, below(2) ? heads : 1, below(2) ? sq : 1, sk},
        seed + 3);
  if (with("segments")) {
    a.querySegments = zeros(ElementType::I32, {batch, sq});
    a.keySegments = zeros(ElementType::I32, {batch, sk});
    for (Array *ids : {&*a.querySegments, &*a.keySegments})
      for (int64_t i = 0; i < ids->size(); ++i)
        ids->dataAs<int32_t>()[i] = static_cast<int32_t>(below(4)) - 1;
  }
  auto perBatch = [&](std::optional<Array> &array) {
    array = zeros(ElementType::I32, {batch});
    for (int64_t i = 0; i < batch; ++i)
      array->dataAs<int32_t>()[i] = static_cast<int32_t>(below(sk + 1));
  };
  if (with("lengths"))
    perBatch(a.lengths);
  if (with("offsets"))
    perBatch(a.offsets);
  else if (with("bottom_right"))
    a.spec.mask.shift = sk - sq;
  if (with("sinks"))
    a.sinks = normal(ElementType::F32, {heads}, seed + 4);
  a.spec.mask.causal = with("causal");
  if (a.spec.mask.causal && with("prefix"))
    a.spec.mask.prefix = below(sk + 1);
  if (with("left"))
    a.spec.mask.left = below(sk);
  if (with("right"))
    a.spec.mask.right = below(sk);
  if (with("chunk"))
    a.spec.mask.chunk = 1 + below(sk);
  if (with("scale"))
    a.spec.scale = -0.5;
  if (with("softcap"))
    a.spec.softcap = 2.5;
  if (with("score"))
    a.spec.score = score;
  return result;
}

bool visible(const Attention &a, int64_t b, int64_t i, int64_t j) {
  const PositionalMask &mask = a.spec.mask;
  int64_t p = i + (a.offsets ? a.offsets->integerAt(b) : mask.shift);
  if (mask.causal && j > p && j >= mask.prefix)
    return false;
  if (mask.left != PositionalMask::kUnbounded && j < p - mask.left)
    return false;
  if (mask.right != PositionalMask::kUnbounded && j > p + mask.right)
    return false;
  auto chunkOf = [&](int64_t x) {
    return std::floor(static_cast<double>(x) / static_cast<double>(mask.chunk));
  };
  if (mask.chunk && chunkOf(p) != chunkOf(j))
    return false;
  if (a.lengths && j >= a.lengths->integerAt(b))
    return false;
  if (!a.querySegments)
    return true;
  int64_t id = a.querySegments->integerAt(b * a.query.dim(2) + i);
  return id >= 0 && id == a.keySegments->integerAt(b * a.key.dim(2) + j);
}

void expectByDefinition(const Attention &a, const DenseResult &result) {
  int64_t heads = a.query.dim(1), sq = a.query.dim(2), depth = a.query.dim(3);
  int64_t kvHeads = a.key.dim(1), sk = a.key.dim(2), dv = a.value.dim(3);
  double scale = a.spec.scale.value_or(1 / std::sqrt(double(depth)));
  for (int64_t line = 0; line < a.query.dim(0) * heads * sq; ++line) {
    int64_t i = line % sq, h = line / sq % heads, b = line / sq / heads;
    int64_t kvHead = b * kvHeads + h / (heads / kvHeads);
    std::vector<double> p(sk, 0), size(sk, 0), s(sk, -kInf);
    double top = a.sinks ? a.sinks->at(h) : -kInf, topScore = -kInf;
    for (int64_t j = 0; j < sk; ++j) {
      if (!visible(a, b, i, j))
        continue;
      double dot = 0;
      for (int64_t c = 0; c < depth; ++c) {
        double product = a.query.at(line * depth + c) *
                         a.key.at((kvHead * sk + j) * depth + c);
        dot += product;
        size[j] += std::fabs(scale * product);
      }
      s[j] = scale * dot;
      if (a.spec.softcap)
        s[j] = *a.spec.softcap * std::tanh(s[j] / *a.spec.softcap);
      if (a.bias) {
        auto at = [&](int64_t axis, int64_t x) {
          return a.bias->dim(axis) == 1 ? 0 : x;
        };
        s[j] += a.bias->at(
            ((at(0, b) * a.bias->dim(1) + at(1, h)) * a.bias->dim(2) +
             at(2, i)) *
                sk +
            j);
      }
      if (a.spec.score)
        s[j] = score(s[j], b, h, i, j);
      topScore = std::max(topScore, s[j]);
      top = std::max(top, s[j]);
    }
    double total = a.sinks ? std::exp(a.sinks->at(h) - top) : 0, bound = 0;
    for (int64_t j = 0; j < sk; ++j) {
      if (s[j] == -kInf)
        continue;
      p[j] = std::exp(s[j] - top);
      total += p[j];
      if (s[j] >= topScore - 32)
        bound = std::max(bound, size[j] + std::fabs(s[j]));
    }
    double lse = top == -kInf ? -kInf : top + std::log(total);
    if (lse == -kInf)
      ASSERT_EQ(result.lse.at(line), lse);
    else
      ASSERT_NEAR(result.lse.at(line), lse, 1e-11);
    ASSERT_NEAR(result.scoreBound.at(line), bound, 1e-11);
    for (int64_t c = 0; c < dv; ++c) {
      double out = 0, magnitude = 0, spread = 0;
      for (int64_t j = 0; j < sk && total > 0; ++j) {
        double term = p[j] / total * a.value.at((kvHead * sk + j) * dv + c);
        out += term;
        magnitude += std::fabs(term);
        spread += term * term;
      }
      ASSERT_NEAR(result.out.at(line * dv + c), out, 1e-12);
      ASSERT_NEAR(result.magnitude.at(line * dv + c), magnitude, 1e-12);
      ASSERT_NEAR(result.spread.at(line * dv + c), spread, 1e-12);
    }
  }
}

} // namespace

TEST(NaiveAttention, EveryClauseByDefinition) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Draw drawn = draw(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + drawn.name);
    expectByDefinition(drawn.attention, drawn.attention.run());
    if (HasFatalFailure())
      return;
  }
}

TEST(NaiveAttention, ThreadsChangeNoBit) {
  Attention attention;
  attention.query = normal(ElementType::F32, {2, 4, 150, 16}, 1);
  attention.key = normal(ElementType::F32, {2, 2, 150, 16}, 2);
  attention.value = normal(ElementType::F32, {2, 2, 150, 24}, 3);
  attention.spec.mask.causal = true;
  DenseResult one = attention.run(1);
  for (unsigned threads : {0, 2, 7}) {
    DenseResult many = attention.run(threads);
    EXPECT_EQ(memcmp(one.out.data(), many.out.data(), one.out.sizeInBytes()),
              0);
    EXPECT_EQ(memcmp(one.lse.data(), many.lse.data(), one.lse.sizeInBytes()),
              0);
  }
}
