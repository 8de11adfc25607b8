//===- Fatal.h - The last message of a process ------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_FATAL_H
#define RING_RUNTIME_FATAL_H

namespace ring::runtime {

/// Prints one line and ends the process: for errors in calls that have no
/// status to return, where going on would give wrong numbers.
[[noreturn]] __attribute__((format(printf, 1, 2))) void
fatal(const char *format, ...);

} // namespace ring::runtime

#endif // RING_RUNTIME_FATAL_H
