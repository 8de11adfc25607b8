//===- RaiseAttentionIndex.cpp - Composed tensor indices ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionIndex.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;
using namespace mlir::ring;

bool Digit::operator<(const Digit &other) const {
  return std::tie(variable, divisor, size) <
         std::tie(other.variable, other.divisor, other.size);
}

/// Appends a less significant digit and keeps the index canonical.
static void append(Index &index, const Digit &digit) {
  if (digit.size == 1)
    return;
  if (!index.empty() && ShapedType::isStatic(digit.size)) {
    Digit &last = index.back();
    if (last.variable == digit.variable &&
        last.divisor == digit.divisor * digit.size) {
      last.divisor = digit.divisor;
      if (ShapedType::isStatic(last.size))
        last.size *= digit.size;
      return;
    }
  }
  index.push_back(digit);
}

Index mlir::ring::wholeVariable(unsigned variable, int64_t size) {
  Index index;
  append(index, {variable, 1, size});
  return index;
}

Index mlir::ring::concatenate(ArrayRef<Index> indices) {
  Index result;
  for (const Index &index : indices)
    for (const Digit &digit : index)
      append(result, digit);
  return result;
}

/// Takes the least significant digits of `size` values off `index`.
static std::optional<Index> takeInnermost(Index &index, int64_t size) {
  SmallVector<Digit> taken;
  while (size != 1) {
    if (index.empty())
      return std::nullopt;
    Digit &last = index.back();
    bool dynamic = ShapedType::isDynamic(last.size);
    if (last.size == 0)
      return std::nullopt;
    if (!dynamic && size % last.size == 0) {
      size /= last.size;
      taken.push_back(last);
      index.pop_back();
      continue;
    }
    // Below another digit, the remainder of a dynamic one would not be the
    // remainder of the whole.
    if (dynamic ? index.size() != 1 : last.size % size != 0)
      return std::nullopt;
    taken.push_back({last.variable, last.divisor, size});
    last.divisor *= size;
    if (!dynamic)
      last.size /= size;
    size = 1;
  }
  Index result;
  for (const Digit &digit : llvm::reverse(taken))
    append(result, digit);
  return result;
}

std::optional<Indices> mlir::ring::split(const Index &index,
                                         ArrayRef<int64_t> sizes) {
  Indices result(sizes.size());
  Index rest = index;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (ShapedType::isDynamic(sizes[i])) {
      if (llvm::any_of(sizes.take_front(i), [](int64_t s) { return s != 1; }))
        return std::nullopt;
      result[i] = std::move(rest);
      return result;
    }
    std::optional<Index> part = takeInnermost(rest, sizes[i]);
    if (!part)
      return std::nullopt;
    result[i] = std::move(*part);
  }
  if (!rest.empty())
    return std::nullopt;
  return result;
}

std::optional<Index> mlir::ring::divide(const Index &index, int64_t divisor) {
  Index rest = index;
  if (!takeInnermost(rest, divisor))
    return std::nullopt;
  return rest;
}

int64_t mlir::ring::getSize(const Index &index) {
  int64_t size = 1;
  for (const Digit &digit : index) {
    if (ShapedType::isDynamic(digit.size))
      return ShapedType::kDynamic;
    size *= digit.size;
  }
  return size;
}

bool mlir::ring::tile(ArrayRef<Index> indices, const Index &whole) {
  SmallVector<Digit> digits;
  for (const Index &index : indices)
    llvm::append_range(digits, index);
  llvm::sort(digits, [](const Digit &a, const Digit &b) {
    return std::tie(a.variable, b.divisor) < std::tie(b.variable, a.divisor);
  });
  Index tiled;
  for (const Digit &digit : digits)
    append(tiled, digit);
  Index sorted = whole;
  llvm::sort(sorted);
  return tiled == sorted;
}

/// Splits each digit of `indices` where one of `cuts` ends inside it.
static bool splitAt(Indices &indices, ArrayRef<Digit> cuts) {
  for (Index &index : indices) {
    Index pieces;
    for (const Digit &digit : index) {
      SmallVector<int64_t> bounds = {digit.divisor, digit.divisor * digit.size};
      for (const Digit &cut : cuts)
        if (cut.variable == digit.variable)
          for (int64_t bound : {cut.divisor, cut.divisor * cut.size})
            if (bound > bounds[0] && bound < digit.divisor * digit.size)
              bounds.push_back(bound);
      llvm::sort(bounds);
      bounds.erase(llvm::unique(bounds), bounds.end());
      for (size_t i = bounds.size() - 1; i-- > 0;) {
        if (bounds[i + 1] % bounds[i] != 0)
          return false;
        pieces.push_back(
            {digit.variable, bounds[i], bounds[i + 1] / bounds[i]});
      }
    }
    index = std::move(pieces);
  }
  return true;
}

bool mlir::ring::refineToCommonDigits(Indices &source, Indices &target) {
  auto flatten = [](const Indices &indices) {
    SmallVector<Digit> digits;
    for (const Index &index : indices)
      llvm::append_range(digits, index);
    return digits;
  };
  SmallVector<Digit> cuts = flatten(source);
  llvm::append_range(cuts, flatten(target));
  if (llvm::any_of(cuts, [](const Digit &digit) {
        return ShapedType::isDynamic(digit.size) || digit.size == 0;
      }))
    return false;
  if (!splitAt(source, cuts) || !splitAt(target, cuts))
    return false;
  SmallVector<Digit> sourceDigits = flatten(source);
  SmallVector<Digit> targetDigits = flatten(target);
  llvm::sort(sourceDigits);
  llvm::sort(targetDigits);
  return sourceDigits == targetDigits &&
         llvm::adjacent_find(sourceDigits) == sourceDigits.end();
}
