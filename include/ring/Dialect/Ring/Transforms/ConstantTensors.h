//===- ConstantTensors.h - Tensors that follow from constants ---*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks compute positions, document ids and masks with the ops that they
// have for data. What such ops give is often known at compile time: here it is
// evaluated, element by element, with the ops' own folders.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_CONSTANTTENSORS_H
#define RING_DIALECT_RING_TRANSFORMS_CONSTANTTENSORS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace mlir::ring {

/// The elements of an `arith.constant`, in a resource or not, read in place.
class ConstantElements {
public:
  /// Nothing where `value` is no constant of integers or floats, or one in a
  /// resource whose bytes are not understood.
  static std::optional<ConstantElements> get(Value value);

  RankedTensorType getType() const { return type; }
  /// The bits of an element, by its place in row-major order. Equal bits are
  /// equal elements.
  uint64_t getBits(int64_t place) const;
  /// The element with these bits, an IntegerAttr or FloatAttr.
  Attribute getElement(uint64_t bits) const;

private:
  RankedTensorType type;
  DenseElementsAttr dense;
  ArrayRef<char> bytes;
  unsigned width = 0;
};

/// Evaluates scalar ops by their folders, without touching the program.
class ScalarFolder {
public:
  ScalarFolder() = default;
  ScalarFolder(const ScalarFolder &) = delete;
  ~ScalarFolder();

  /// What a pure op of one result gives for these operands; null where it is
  /// not known.
  Attribute fold(Operation *op, ArrayRef<Attribute> operands);

private:
  /// Copies whose operands are arguments, so that folders see constants only.
  llvm::DenseMap<Operation *, Operation *> copies;
  Block arguments;
};

/// Tensors that follow from constants alone. Remembers what it has evaluated,
/// so the program must not change meanwhile.
class ConstantTensors {
public:
  /// Longer ones are not evaluated: that takes microseconds for each element.
  static constexpr int64_t kMostElements = int64_t(1) << 17;

  /// The elements of `tensor` in row-major order; null where they do not follow
  /// from constants, or where something is not understood.
  const std::vector<Attribute> *evaluate(Value tensor);

  /// Evaluates scalars in the region of an op as well.
  ScalarFolder &getFolder() { return folder; }

private:
  class Body;

  bool evaluate(Value tensor, std::vector<Attribute> &elements);
  bool evaluate(linalg::LinalgOp op, unsigned result,
                std::vector<Attribute> &elements);

  ScalarFolder folder;
  llvm::DenseMap<Value, std::unique_ptr<std::vector<Attribute>>> known;
};

} // namespace mlir::ring

#endif // RING_DIALECT_RING_TRANSFORMS_CONSTANTTENSORS_H
