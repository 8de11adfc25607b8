//===- RaiseAttentionIndex.h - Composed tensor indices ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a tensor is read, in terms of loop variables.
//
// Reshapes split and merge dimensions, so an index is kept as the mixed-radix
// digits of the variables that it is made of. Collapsing concatenates digits,
// expanding splits them, transposing permutes indices, and two spellings of
// the same index have the same digits.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONINDEX_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONINDEX_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::ring {

/// The digit `(variable floordiv divisor) mod size` of a loop variable. `size`
/// is `ShapedType::kDynamic` where it is not known; such a digit is the
/// variable's most significant one.
struct Digit {
  unsigned variable;
  int64_t divisor;
  int64_t size;

  bool operator==(const Digit &other) const {
    return variable == other.variable && divisor == other.divisor &&
           size == other.size;
  }
  bool operator<(const Digit &other) const;
};

/// An index into one dimension: its digits, the most significant first. Digits
/// of size 1 are left out and neighbours of one variable are merged, so the
/// index 0 of a unit dimension is empty.
using Index = SmallVector<Digit, 2>;
using Indices = SmallVector<Index, 4>;

/// The index of a whole variable.
Index wholeVariable(unsigned variable, int64_t size);

/// The index into the dimension that dimensions with `indices` collapse to.
Index concatenate(ArrayRef<Index> indices);

/// The indices into dimensions of `sizes` that a dimension with `index` is
/// expanded to. Nothing where the sizes cut across digits, or where a dynamic
/// size is not the outermost.
std::optional<Indices> split(const Index &index, ArrayRef<int64_t> sizes);

/// `index floordiv divisor`; nothing where the divisor cuts across digits.
std::optional<Index> divide(const Index &index, int64_t divisor);

/// Number of values of `index`, or `ShapedType::kDynamic`.
int64_t getSize(const Index &index);

/// True iff the digits of `indices` together are each variable of `whole`,
/// complete and once.
bool tile(ArrayRef<Index> indices, const Index &whole);

/// Splits digits of both sides until no digit of one side is a part of one of
/// the other. False where the two sides then are not the same digits in some
/// order, or where a size is dynamic or 0.
bool refineToCommonDigits(Indices &source, Indices &target);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONINDEX_H
