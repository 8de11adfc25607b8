//===- Arguments.cpp - Is this what was compiled for? ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

using namespace ring::runtime;

Result ring::runtime::checkRanks(int32_t compiled, int32_t ranks) {
  if (compiled == ranks)
    return {};
  return {RING_ERROR_MISMATCH,
          "program compiled for " + std::to_string(compiled) +
              " ranks started on " + std::to_string(ranks)};
}

Result ring::runtime::checkArgument(int32_t argument, const void *data,
                                    int32_t dims, const int64_t *sizes,
                                    const int64_t *expected) {
  std::string name = "argument " + std::to_string(argument);
  bool empty = false;
  for (int32_t dim = 0; dim < dims; ++dim) {
    bool fits =
        expected[dim] < 0 ? sizes[dim] >= 0 : sizes[dim] == expected[dim];
    if (!fits)
      return {RING_ERROR_USAGE,
              name + " has size " + std::to_string(sizes[dim]) +
                  " in dimension " + std::to_string(dim) + ", expected " +
                  (expected[dim] < 0 ? std::string("0 or more")
                                     : std::to_string(expected[dim]))};
    empty |= sizes[dim] == 0;
  }
  if (!data && !empty)
    return {RING_ERROR_USAGE, name + " has elements and no memory"};
  return {};
}
