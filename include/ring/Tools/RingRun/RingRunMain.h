//===- RingRunMain.h - The ring-run tool ------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_RINGRUNMAIN_H
#define RING_TOOLS_RINGRUN_RINGRUNMAIN_H

namespace ring::tools {

/// Exit codes of ring-run.
enum ExitCode { Right = 0, WrongNumbers = 1, Usage = 2, Refused = 3 };

int ringRunMain(int argc, char **argv);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_RINGRUNMAIN_H
