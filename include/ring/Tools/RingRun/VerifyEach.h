//===- VerifyEach.h - Running a program after each pass ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_VERIFYEACH_H
#define RING_TOOLS_RINGRUN_VERIFYEACH_H

#include "ring/Tools/RingRun/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace ring::tools {

/// Runs copies of `module` on one set of inputs, each with one more optional
/// pass of the pipeline than the one before, and compares their results.
/// Returns the exit code where numbers change or a run fails, having printed
/// the pass's name; nothing where all agree.
std::optional<int> verifyEach(mlir::ModuleOp module, const RunOptions &options,
                              llvm::function_ref<void(llvm::StringRef)> say);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_VERIFYEACH_H
