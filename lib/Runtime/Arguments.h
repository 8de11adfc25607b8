//===- Arguments.h - Is this what was compiled for? -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_ARGUMENTS_H
#define RING_RUNTIME_ARGUMENTS_H

#include "Transport.h"

namespace ring::runtime {

/// RING_ERROR_MISMATCH unless a program for `compiled` ranks may run on a ring
/// of `ranks`.
Result checkRanks(int32_t compiled, int32_t ranks);

/// What ring_check_argument says. Generated code trusts the static sizes of its
/// types and would read or write past the end of a smaller tensor.
Result checkArgument(int32_t argument, const void *data, int32_t dims,
                     const int64_t *sizes, const int64_t *expected);

} // namespace ring::runtime

#endif // RING_RUNTIME_ARGUMENTS_H
