//===- TestAttention.h - Attentions from literals ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_TOOLS_TESTATTENTION_H
#define RING_UNITTESTS_TOOLS_TESTATTENTION_H

#include "TestArrays.h"

#include "ring/Tools/RingRun/AttentionErrors.h"

#include <cmath>
#include <limits>

namespace ring::tools::test {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An attention that owns its operands.
struct Attention {
  Array query, key, value;
  std::optional<Array> bias, querySegments, keySegments, lengths, offsets,
      sinks;
  AttentionSpec spec;

  AttentionOperands operands() const {
    auto pointer = [](const std::optional<Array> &array) {
      return array ? &*array : nullptr;
    };
    return {&query,
            &key,
            &value,
            pointer(bias),
            pointer(querySegments),
            pointer(keySegments),
            pointer(lengths),
            pointer(offsets),
            pointer(sinks)};
  }
  DenseResult run(unsigned threads = 2) const {
    return llvm::cantFail(denseAttention(operands(), spec, threads));
  }
};

/// One batch entry, one head, head sizes 1, scale 1.
inline Attention scalars(llvm::ArrayRef<double> query,
                         llvm::ArrayRef<double> key,
                         llvm::ArrayRef<double> value) {
  Attention attention;
  int64_t sq = query.size(), sk = key.size();
  attention.query = floats({1, 1, sq, 1}, query);
  attention.key = floats({1, 1, sk, 1}, key);
  attention.value = floats({1, 1, sk, 1}, value);
  attention.spec.scale = 1;
  return attention;
}

/// The same with q = 0, so that all visible keys weigh the same, and k = 0.
inline Attention means(int64_t sq, llvm::ArrayRef<double> value) {
  return scalars(std::vector<double>(sq, 0),
                 std::vector<double>(value.size(), 0), value);
}

/// NaN and infinities are equal to themselves, numbers within `tolerance`.
inline void expectValues(const Array &got, llvm::ArrayRef<double> expected,
                         double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(got.at(i))) << got.at(i);
    else if (std::isinf(expected[i]))
      EXPECT_EQ(got.at(i), expected[i]);
    else
      EXPECT_NEAR(got.at(i), expected[i], tolerance);
  }
}

} // namespace ring::tools::test

#endif // RING_UNITTESTS_TOOLS_TESTATTENTION_H
