//===- ring-run.cpp - Runs a function as a ring of ranks ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/RingRunMain.h"

int main(int argc, char **argv) { return ring::tools::ringRunMain(argc, argv); }
