//===- Refusal.cpp - Saying what is not supported -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/Refusal.h"

using namespace mlir;

static constexpr llvm::StringLiteral kBefore = "feature '";
static constexpr llvm::StringLiteral kAfter = "' is not supported ";

InFlightDiagnostic mlir::ring::refuse(Operation *op, StringRef feature,
                                      StringRef where) {
  return op->emitError() << kBefore << feature << kAfter << where;
}

InFlightDiagnostic mlir::ring::refuse(Location location, StringRef feature,
                                      StringRef where) {
  return emitError(location) << kBefore << feature << kAfter << where;
}

StringRef mlir::ring::refusedFeature(StringRef message) {
  auto [before, rest] = message.split(kBefore);
  auto [feature, after] = rest.split(kAfter);
  return after.empty() ? StringRef() : feature;
}
