//===- Fault.h - A fault injected by a test ---------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_THREADS_FAULT_H
#define RING_RUNTIME_THREADS_FAULT_H

#include <cstdint>
#include <string>

namespace ring::runtime {

/// What RING_FAULT asks for (Host.h documents it).
struct Fault {
  enum class Kind { None, Drop, Swap, Delay };

  Kind kind = Kind::None;
  int64_t rank = 0;
  int64_t transfer = 0;
  int64_t milliseconds = 100;

  /// False and a message where `text` is not well formed. NULL or empty text
  /// is no fault.
  static bool parse(const char *text, Fault &fault, std::string &error);

  bool hits(Kind wanted, int32_t sender, int64_t number) const {
    return kind == wanted && rank == sender && transfer == number;
  }
};

} // namespace ring::runtime

#endif // RING_RUNTIME_THREADS_FAULT_H
