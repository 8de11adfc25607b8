//===- Sanitize.h - Checked memory accesses in generated code ---*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_CPU_SANITIZE_H
#define RING_TARGET_CPU_SANITIZE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::ring {

/// What checks the memory accesses of generated code. Checked code calls the
/// sanitizer's runtime, so the process that runs it has to hold that.
enum class Sanitizer { None, Address, Thread };

/// The one that this process is built with (RING_SANITIZE).
constexpr Sanitizer kProcessSanitizer =
    LLVM_ADDRESS_SANITIZER_BUILD  ? Sanitizer::Address
    : LLVM_THREAD_SANITIZER_BUILD ? Sanitizer::Thread
                                  : Sanitizer::None;

/// Makes `module`, which is optimized already, check its accesses.
///
/// Address: heap, stack and freed memory. Constants get no red zones, since
/// they need constructors to run. Thread: also masked accesses and those of
/// wide vectors, which LLVM's pass leaves out.
void sanitize(llvm::Module &module, llvm::TargetMachine *machine,
              Sanitizer sanitizer);

} // namespace mlir::ring

#endif // RING_TARGET_CPU_SANITIZE_H
