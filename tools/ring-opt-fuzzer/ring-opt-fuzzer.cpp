//===- ring-opt-fuzzer.cpp - Looks for programs that break ring-opt -------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "Mutations.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <memory>
#include <string>
#include <system_error>

using namespace ring::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// What types and attributes take grows with the inputs: a new context now and
/// then.
static Session &session() {
  static std::unique_ptr<Session> present;
  static int uses = 0;
  if (!present || ++uses % 256 == 0)
    present = std::make_unique<Session>();
  return *present;
}

/// Where the last inputs are left: a crash within malloc can block its own
/// report, in which libFuzzer would leave the input.
static std::string trail;
constexpr size_t kTrailLength = 16;

static void leaveTrail(llvm::StringRef text) {
  static size_t inputs = 0;
  if (trail.empty())
    return;
  std::error_code error;
  llvm::raw_fd_ostream file(
      trail + "/" + std::to_string(inputs++ % kTrailLength), error);
  if (!error)
    file << text;
}

/// libFuzzer leaves flags with two dashes alone.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  for (int i = 1; i < *argc; ++i) {
    llvm::StringRef flag((*argv)[i]);
    if (flag.consume_front("--trail="))
      trail = flag.str();
    if (flag.consume_front("--skip="))
      for (llvm::StringRef name : llvm::split(flag, ','))
        skippedPasses.push_back(name.str());
  }
  return 0;
}

static llvm::StringRef textOf(const uint8_t *data, size_t size) {
  return llvm::StringRef(reinterpret_cast<const char *>(data), size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Session &present = session();
  present.stage = "parser";
  present.forgetErrors();
  std::string text = textOf(data, size).str();
  leaveTrail(text);
  if (auto module = present.parse(text))
    check(present, *module);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  Random random(seed);
  std::string text = textOf(data, size).str(), changed;
  switch (below(random, 8)) {
  case 0: // bytes, and words of the dictionary
    return LLVMFuzzerMutate(data, size, maxSize);
  case 1:
  case 2:
    changed = mutateText(text, random);
    break;
  default:
    changed = mutateProgram(session(), text, random);
    if (changed.empty())
      changed = mutateText(text, random);
  }
  if (changed.empty() || changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
