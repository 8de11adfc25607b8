//===- ResultShapes.h - Sizes of results, before a run ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_RESULTSHAPES_H
#define RING_TOOLS_RINGRUN_RESULTSHAPES_H

#include "ring/Tools/RingRun/Signature.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ring::tools {

/// The caller of a compiled program allocates its results, so their sizes have
/// to be known before it runs. Where they are dynamic they are found from those
/// of the arguments, by folding `tensor.dim` through the function.
class ResultShapes {
public:
  /// Looks at a function on tensors, which may change afterwards.
  explicit ResultShapes(mlir::func::FuncOp function);

  /// The signatures of the results for arguments of these shapes. An error
  /// where a size depends on more than shapes.
  llvm::Expected<std::vector<Signature>>
  resolve(const std::vector<Array> &arguments) const;

private:
  /// A copy that returns sizes, as index, of each dynamic dimension of each
  /// result.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Signature> results;
};

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_RESULTSHAPES_H
