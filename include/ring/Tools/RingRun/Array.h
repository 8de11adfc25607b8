//===- Array.h - Typed arrays of a run --------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs and results of a run: dense row-major arrays with the element
// types that tensors of a program have, and the conversions between the 16-bit
// formats and float.
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_ARRAY_H
#define RING_TOOLS_RINGRUN_ARRAY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ring::tools {

/// Element types of arrays. I1 takes one byte, 0 or 1. Programs know no
/// unsigned types: those exist for the files that hold them, see `coerce`.
enum class ElementType : uint8_t {
  F16,
  BF16,
  F32,
  F64,
  I1,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64
};

/// "bf16", "i32", "ui16": as MLIR spells it.
llvm::StringRef spelling(ElementType type);
/// The type with this MLIR spelling, an error where arrays cannot hold it.
llvm::Expected<ElementType> parseElementType(llvm::StringRef spelling);
/// Bytes of one element.
int64_t byteWidth(ElementType type);
bool isFloat(ElementType type);

/// "1x2x256x64xbf16"; negative sizes are spelled "?".
std::string typeString(llvm::ArrayRef<int64_t> shape, ElementType type);

/// IEEE binary16 and bfloat16, as bit patterns. Conversions from float round
/// to nearest, ties to even; too large values become infinite; a NaN stays a
/// NaN, quieted.
float halfToFloat(uint16_t bits);
float bfloatToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

/// A dense row-major array that owns its elements, in a buffer aligned to 64
/// bytes. Rank 0 holds one element. Copies copy the elements.
class Array {
public:
  static constexpr size_t kAlignment = 64;

  /// The empty array, f32 of shape [0].
  Array() = default;
  Array(const Array &other);
  Array(Array &&other) = default;
  Array &operator=(const Array &other);
  Array &operator=(Array &&other) = default;

  /// An array of zeros. Fails on a negative size and where the memory cannot
  /// be had.
  static llvm::Expected<Array> allocate(ElementType type,
                                        llvm::ArrayRef<int64_t> shape);

  ElementType elementType() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t dim(int64_t axis) const { return sizes[axis]; }
  /// Number of elements.
  int64_t size() const { return count; }
  int64_t sizeInBytes() const { return count * byteWidth(type); }
  std::string typeString() const { return tools::typeString(sizes, type); }

  std::byte *data() { return buffer.get(); }
  const std::byte *data() const { return buffer.get(); }
  /// The elements as T, which has to be the storage type: uint16_t for f16 and
  /// bf16, uint8_t for i1.
  template <typename T> T *dataAs() {
    return reinterpret_cast<T *>(buffer.get());
  }
  template <typename T> const T *dataAs() const {
    return reinterpret_cast<const T *>(buffer.get());
  }

  /// Element `index` in row-major order. 64-bit integers beyond 2^53 are
  /// rounded by `at`; `integerAt` is exact and for integer types only (u64
  /// wraps).
  double at(int64_t index) const;
  int64_t integerAt(int64_t index) const;
  /// Writes a float array's element: rounded to f32 first where the type is
  /// narrower.
  void set(int64_t index, double value);
  /// Converts elements [begin, begin + length) of a float array.
  void toDouble(int64_t begin, int64_t length, double *result) const;

  /// The same bits under another type of the same width.
  void reinterpretAs(ElementType other);

private:
  struct Release {
    void operator()(std::byte *pointer) const;
  };

  ElementType type = ElementType::F32;
  std::vector<int64_t> sizes = {0};
  int64_t count = 0;
  std::unique_ptr<std::byte[], Release> buffer;
};

/// Number of elements of a shape, an error where a size is negative or the
/// bytes do not fit 63 bits.
llvm::Expected<int64_t> elementCount(llvm::ArrayRef<int64_t> shape,
                                     ElementType type);

/// Makes a read array fit what a program expects. Sizes must agree; a negative
/// expected size fits any. Types must agree, except that unsigned integers are
/// taken for signless ones of their width and ui16 for the bits of bf16, as
/// `writeNpy` leaves them. Anything else is refused: "input 1: expected
/// 1x2x256x64xbf16, got 1x2x256x32xf32 in FILE", where `what` is "input 1".
llvm::Error coerce(Array &array, ElementType type,
                   llvm::ArrayRef<int64_t> shape, llvm::StringRef what,
                   llvm::StringRef file);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_ARRAY_H
