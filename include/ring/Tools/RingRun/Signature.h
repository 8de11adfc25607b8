//===- Signature.h - Arguments and results of a program ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_SIGNATURE_H
#define RING_TOOLS_RINGRUN_SIGNATURE_H

#include "ring/Tools/RingRun/Array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ring::tools {

/// Element type and shape of an argument or a result; a dynamic size is
/// negative.
struct Signature {
  ElementType type;
  std::vector<int64_t> shape;

  bool isStatic() const;
};

/// Signatures of a function on tensors, or on memrefs: then results are what it
/// writes, its last arguments. An error at the function where a type cannot be
/// passed.
mlir::LogicalResult readSignatures(mlir::func::FuncOp function,
                                   std::vector<Signature> &arguments,
                                   std::vector<Signature> &results);

/// The words of a strided memref descriptor for the array: {allocated, aligned,
/// offset, sizes, strides}.
std::vector<int64_t> descriptor(const Array &array);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_SIGNATURE_H
