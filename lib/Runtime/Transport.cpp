//===- Transport.cpp - How blocks travel between ranks --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace ring::runtime;

Result ring::runtime::peerFailed(const Failure &failure) {
  return {RING_ERROR_PEER, "rank " + std::to_string(failure.rank) +
                               " failed first (" + failure.message + ")"};
}

Watch ring::runtime::deadlineWatch(double deadline, std::string what) {
  auto end = Clock::now() + std::chrono::duration<double>(deadline);
  return [=]() -> Result {
    if (Clock::now() <= end)
      return {};
    return {RING_ERROR_TIMEOUT, what + " within " + formatSeconds(deadline)};
  };
}

std::string ring::runtime::formatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s", seconds);
  return text;
}

/// The fields of a description.
static std::vector<std::string> fieldsOf(const std::string &description) {
  constexpr char kSeparator[] = "; ";
  std::vector<std::string> fields;
  for (size_t begin = 0; begin < description.size();) {
    size_t end =
        std::min(description.find(kSeparator, begin), description.size());
    fields.push_back(description.substr(begin, end - begin));
    begin = end + std::strlen(kSeparator);
  }
  return fields;
}

/// "'these' and 'those'": the fields that only one of the two has.
static std::string differenceOf(const std::string &a, const std::string &b) {
  std::vector<std::string> ofA = fieldsOf(a), ofB = fieldsOf(b);
  auto onlyIn = [](const std::vector<std::string> &mine,
                   const std::vector<std::string> &others) {
    std::string only;
    for (const std::string &field : mine)
      if (std::find(others.begin(), others.end(), field) == others.end())
        only += (only.empty() ? "" : "; ") + field;
    return only;
  };
  return "'" + onlyIn(ofA, ofB) + "' and '" + onlyIn(ofB, ofA) + "'";
}

std::string ring::runtime::describeMismatch(int32_t rankA, const Program &a,
                                            int32_t rankB, const Program &b) {
  char fingerprints[64];
  std::snprintf(fingerprints, sizeof(fingerprints),
                "fingerprints %016" PRIx64 " and %016" PRIx64, a.fingerprint,
                b.fingerprint);
  std::string message = "rank " + std::to_string(rankA) + " and rank " +
                        std::to_string(rankB) + " run different programs";
  if (a.description != b.description)
    message += ": " + differenceOf(a.description, b.description);
  return message + " (" + fingerprints + ")";
}
