//===- Execute.h - Running a compiled program -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_EXECUTE_H
#define RING_TOOLS_RINGRUN_EXECUTE_H

#include "ring/Runtime/Host.h"
#include "ring/Tools/RingRun/Program.h"

#include <memory>

namespace ring::tools {

/// The program's arguments: from `--input`, else random numbers.
llvm::Expected<std::vector<Array>> makeArguments(const Program &program,
                                                 const RunOptions &options);

using HostPointer = std::unique_ptr<ring_host, decltype(&ring_host_destroy)>;
/// A host for the program's ranks, as the options ask for.
llvm::Expected<HostPointer> makeHost(const Program &program,
                                     const RunOptions &options);

/// Results are in fresh arrays. The error has code `invalid_argument` where the
/// arguments do not fit the program or one another.
struct RunOutcome {
  std::vector<Array> results;
  double seconds = 0; ///< of the ranks; of the call where none ran
};
llvm::Expected<RunOutcome> runProgram(Program &program, ring_host *host,
                                      const std::vector<Array> &arguments);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_EXECUTE_H
