//===- TestArrays.h - Arrays from literals ----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_TOOLS_TESTARRAYS_H
#define RING_UNITTESTS_TOOLS_TESTARRAYS_H

#include "ring/Tools/RingRun/Array.h"

#include <gtest/gtest.h>

namespace ring::tools::test {

inline Array zeros(ElementType type, llvm::ArrayRef<int64_t> shape) {
  return llvm::cantFail(Array::allocate(type, shape));
}

/// A float array; `values` repeat until it is full.
inline Array floats(llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<double> values,
                    ElementType type = ElementType::F64) {
  Array array = zeros(type, shape);
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, values[i % values.size()]);
  return array;
}

inline Array integers(llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int32_t> values) {
  Array array = zeros(ElementType::I32, shape);
  EXPECT_EQ(array.size(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), array.dataAs<int32_t>());
  return array;
}

inline std::string messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

} // namespace ring::tools::test

#endif // RING_UNITTESTS_TOOLS_TESTARRAYS_H
