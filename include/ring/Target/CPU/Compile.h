//===- Compile.h - Machine code from the LLVM dialect -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TARGET_CPU_COMPILE_H
#define RING_TARGET_CPU_COMPILE_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace mlir::ring {

/// The machine that code is made for: a CPU as `-march` spells it, or
/// "native".
struct CPUTarget {
  std::string cpu = "native";

  /// Fails where LLVM does not know the CPU.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine() const;
};

/// Bits of the widest vector register that pays on `machine`: 128, 256 or 512.
int64_t vectorBits(const llvm::TargetMachine &machine);

/// Compiles a module in the LLVM dialect into this process. Runtime functions
/// are those linked into the process.
llvm::Expected<std::unique_ptr<ExecutionEngine>>
jitCompile(ModuleOp module, std::unique_ptr<llvm::TargetMachine> machine);

/// Writes an object file. It needs libring_runtime when it is linked.
llvm::Error writeObject(ModuleOp module, llvm::TargetMachine &machine,
                        llvm::StringRef path);

} // namespace mlir::ring

#endif // RING_TARGET_CPU_COMPILE_H
