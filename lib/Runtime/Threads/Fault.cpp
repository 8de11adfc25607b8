//===- Fault.cpp - A fault injected by a test -----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fault.h"

#include <sstream>

using namespace ring::runtime;

bool Fault::parse(const char *text, Fault &fault, std::string &error) {
  fault = Fault();
  if (!text || !*text)
    return true;
  std::istringstream stream(text);
  std::string kind, field;
  std::getline(stream, kind, ':');
  bool valid = true, hasRank = false, hasTransfer = false;
  if (kind == "drop")
    fault.kind = Kind::Drop;
  else if (kind == "swap")
    fault.kind = Kind::Swap;
  else if (kind == "delay")
    fault.kind = Kind::Delay;
  else
    valid = false;
  while (valid && std::getline(stream, field, ',')) {
    std::istringstream parts(field);
    std::string key;
    int64_t value = -1;
    std::getline(parts, key, '=');
    valid = bool(parts >> value) && parts.peek() == EOF && value >= 0;
    if (key == "rank") {
      fault.rank = value;
      hasRank = true;
    } else if (key == "transfer") {
      fault.transfer = value;
      hasTransfer = true;
    } else if (key == "ms") {
      fault.milliseconds = value;
    } else {
      valid = false;
    }
  }
  if (valid && hasRank && hasTransfer)
    return true;
  error = std::string("RING_FAULT is '") + text +
          "', expected drop|swap|delay:rank=R,transfer=T[,ms=M]";
  return false;
}
