//===- Ptxas.h - NVIDIA's assembler -----------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_TARGET_GPU_PTXAS_H
#define RING_LIB_TARGET_GPU_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::ring {

/// A ptxas that has been found and started once.
struct Ptxas {
  std::string path;
  std::string version; ///< such as "13.0"

  /// `option`, or else the environment variable RING_PTXAS; if neither is
  /// given, PATH, then the Python package nvidia-cuda-nvcc of the virtual
  /// environment in VIRTUAL_ENV, or beside the running program's build tree.
  /// The error is one line that names what was looked for.
  static llvm::Expected<Ptxas> find(llvm::StringRef option);

  struct Output {
    std::string cubin;
    std::string messages; ///< warnings, one a line
  };
  /// Assembles `ptx` for `chip`. The error names tool, version and chip.
  llvm::Expected<Output> assemble(llvm::StringRef ptx,
                                  llvm::StringRef chip) const;
};

} // namespace mlir::ring

#endif // RING_LIB_TARGET_GPU_PTXAS_H
