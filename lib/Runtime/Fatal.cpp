//===- Fatal.cpp - The last message of a process --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fatal.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

void ring::runtime::fatal(const char *format, ...) {
  va_list values;
  va_start(values, format);
  std::fputs("ring runtime: error: ", stderr);
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  va_end(values);
  std::abort();
}
