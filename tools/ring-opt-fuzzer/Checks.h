//===- Checks.h - What holds of every program -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGOPTFUZZER_CHECKS_H
#define RING_TOOLS_RINGOPTFUZZER_CHECKS_H

#include "Session.h"

#include "mlir/Pass/PassManager.h"

#include <functional>
#include <vector>

namespace ring::fuzz {

/// A pass with options, or a few of them.
struct Step {
  std::string name;
  std::function<void(mlir::OpPassManager &)> populate;
};

/// Names of passes to leave out, set before anything else is called.
extern std::vector<std::string> skippedPasses;

/// Each of our passes, and the way from form 0 to form 4.
const std::vector<Step> &singlePasses();
const std::vector<Step> &pipeline();

/// Runs a step without the pass manager's verifier.
mlir::LogicalResult run(const Step &step, mlir::ModuleOp module);

/// Ends the process where one of these does not hold:
/// - what verifies prints and parses again, with the same ops of ours, in the
///   generic form and in the custom one;
/// - a pass that succeeds leaves a program that verifies, and, but for the
///   conversions, changes nothing where it runs again;
/// - a pass that fails has said why.
void check(Session &session, mlir::ModuleOp module);

} // namespace ring::fuzz

#endif // RING_TOOLS_RINGOPTFUZZER_CHECKS_H
