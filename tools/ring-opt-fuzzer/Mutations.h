//===- Mutations.h - Other programs from a program --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGOPTFUZZER_MUTATIONS_H
#define RING_TOOLS_RINGOPTFUZZER_MUTATIONS_H

#include "Session.h"

#include <random>
#include <string>

namespace ring::fuzz {

using Random = std::minstd_rand;

/// Below `count`, which is positive.
inline size_t below(Random &random, size_t count) { return random() % count; }

/// Changes tokens and lines: numbers, one or all of a kind, become others and
/// the extremes; words are left out, doubled, exchanged.
std::string mutateText(llvm::StringRef text, Random &random);

/// Parses, changes ops, operands, attributes and shapes, or runs a pass, and
/// prints, mostly in the generic form. Empty where `text` is no program.
std::string mutateProgram(Session &session, llvm::StringRef text,
                          Random &random);

} // namespace ring::fuzz

#endif // RING_TOOLS_RINGOPTFUZZER_MUTATIONS_H
