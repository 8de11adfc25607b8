//===- Types.h - How values lie in registers and memory ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes and alignments are those of NVPTX, whatever a module's data layout
// says.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_TYPES_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_TYPES_H

#include "Program.h"

#include "mlir/IR/BuiltinTypes.h"

namespace ring::vgpu {

/// A number or a pointer that is known here.
struct Scalar {
  enum class Kind { Int, Float, BFloat, Pointer } kind;
  unsigned bits;

  bool isWide() const { return bits == 64; }
  unsigned bytes() const { return (bits + 7) / 8; }
};
std::optional<Scalar> scalarOf(mlir::Type type);

/// The type of the elements of a vector, or a scalar itself.
mlir::Type elementOf(mlir::Type type);
/// How many; 1 for a scalar.
unsigned elementCount(mlir::Type type);
/// Elements in one narrow register of a vector; 0 where each has its own.
unsigned packing(mlir::Type type);

/// One register of a value.
struct RegisterShape {
  bool isWide;
  uint32_t offset, bytes; ///< where it lies in memory
};
/// False for a type that is not known.
bool shapeOf(mlir::Type type, llvm::SmallVectorImpl<RegisterShape> &registers,
             uint32_t offset = 0);
/// Of types that shapeOf knows, and arrays without elements.
uint64_t sizeOf(mlir::Type type);
uint64_t alignOf(mlir::Type type);
/// Where a struct's or an array's element lies, and the element's type.
uint64_t offsetOf(mlir::Type type, unsigned index, mlir::Type &element);
/// The first register of an element, and how many it has.
std::pair<unsigned, unsigned> registersOf(mlir::Type type, unsigned index,
                                          mlir::Type &element);

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_TYPES_H
