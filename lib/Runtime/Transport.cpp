//===- Transport.cpp - How blocks travel between ranks --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport.h"

#include <cstdio>

using namespace ring::runtime;

Result ring::runtime::peerFailed(const Failure &failure) {
  return {RING_ERROR_PEER, "rank " + std::to_string(failure.rank) +
                               " failed first (" + failure.message + ")"};
}

std::string ring::runtime::formatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s", seconds);
  return text;
}
