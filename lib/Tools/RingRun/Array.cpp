//===- Array.cpp - Typed arrays of a run ------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Array.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

using namespace ring::tools;

namespace {

struct TypeInfo {
  ElementType type;
  const char *spelling;
  int64_t width;
};

// In the order of ElementType.
constexpr TypeInfo kTypes[] = {
    {ElementType::F16, "f16", 2},  {ElementType::BF16, "bf16", 2},
    {ElementType::F32, "f32", 4},  {ElementType::F64, "f64", 8},
    {ElementType::I1, "i1", 1},    {ElementType::I8, "i8", 1},
    {ElementType::I16, "i16", 2},  {ElementType::I32, "i32", 4},
    {ElementType::I64, "i64", 8},  {ElementType::U8, "ui8", 1},
    {ElementType::U16, "ui16", 2}, {ElementType::U32, "ui32", 4},
    {ElementType::U64, "ui64", 8},
};

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The signless type that a program has for an unsigned one of a file.
ElementType signless(ElementType type) {
  switch (type) {
  case ElementType::U8:
    return ElementType::I8;
  case ElementType::U16:
    return ElementType::I16;
  case ElementType::U32:
    return ElementType::I32;
  case ElementType::U64:
    return ElementType::I64;
  default:
    return type;
  }
}

} // namespace

llvm::StringRef ring::tools::spelling(ElementType type) {
  return kTypes[static_cast<size_t>(type)].spelling;
}

llvm::Expected<ElementType>
ring::tools::parseElementType(llvm::StringRef spelling) {
  for (const TypeInfo &info : kTypes)
    if (spelling == info.spelling)
      return info.type;
  return llvm::createStringError(
      "unsupported element type '" + spelling +
      "', expected f16, bf16, f32, f64 or an integer of 1, 8, 16, 32 or 64 "
      "bits");
}

int64_t ring::tools::byteWidth(ElementType type) {
  return kTypes[static_cast<size_t>(type)].width;
}

bool ring::tools::isFloat(ElementType type) { return type <= ElementType::F64; }

std::string ring::tools::typeString(llvm::ArrayRef<int64_t> shape,
                                    ElementType type) {
  std::string text;
  for (int64_t size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + spelling(type).str();
}

//===----------------------------------------------------------------------===//
// 16-bit formats
//===----------------------------------------------------------------------===//

float ring::tools::bfloatToFloat(uint16_t bits) {
  return floatOf(uint32_t(bits) << 16);
}

uint16_t ring::tools::floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(bits >> 16 | 0x0040);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float ring::tools::halfToFloat(uint16_t bits) {
  // As float bits the value is too small by 2^(127 - 15), which a product
  // repairs for normal and subnormal numbers alike. No branch, so that loops
  // over it vectorise.
  uint32_t magnitude = uint32_t(bits & 0x7FFF) << 13;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t finite = bitsOf(floatOf(magnitude) * 0x1p112f);
  uint32_t special = 0x7F800000 | magnitude;
  return floatOf(sign | (magnitude >= 0x0F800000 ? special : finite));
}

uint16_t ring::tools::floatToHalf(float value) {
  uint32_t bits = bitsOf(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00 | (bits >> 13 & 0x03FF));
  // 65520 and above round to infinity.
  if (bits >= 0x477FF000)
    return static_cast<uint16_t>(sign | 0x7C00);
  // Below 2^-14: the sum's last bit weighs 2^-24, the subnormal step, so the
  // addition itself rounds.
  if (bits < 0x38800000) {
    float shifted = floatOf(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (bitsOf(shifted) - 0x3F000000));
  }
  bits += 0x0FFF + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((bits >> 13) - (112 << 10)));
}

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

void Array::Release::operator()(std::byte *pointer) const {
  ::operator delete[](pointer, std::align_val_t(kAlignment));
}

llvm::Expected<int64_t> ring::tools::elementCount(llvm::ArrayRef<int64_t> shape,
                                                  ElementType type) {
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return llvm::createStringError("expected sizes of at least 0, got " +
                                     typeString(shape, type));
    empty |= size == 0;
  }
  if (empty)
    return 0;
  int64_t count = 1;
  int64_t limit = INT64_MAX / byteWidth(type);
  for (int64_t size : shape) {
    if (count > limit / size)
      return llvm::createStringError("too many elements: " +
                                     typeString(shape, type));
    count *= size;
  }
  return count;
}

llvm::Expected<Array> Array::allocate(ElementType type,
                                      llvm::ArrayRef<int64_t> shape) {
  llvm::Expected<int64_t> count = elementCount(shape, type);
  if (!count)
    return count.takeError();
  Array array;
  array.type = type;
  array.sizes.assign(shape.begin(), shape.end());
  array.count = *count;
  size_t bytes = std::max<size_t>(array.sizeInBytes(), 1);
  array.buffer.reset(static_cast<std::byte *>(
      ::operator new[](bytes, std::align_val_t(kAlignment), std::nothrow)));
  if (!array.buffer)
    return llvm::createStringError("no memory for " + array.typeString() +
                                   ": " + llvm::Twine(bytes) + " bytes");
  std::memset(array.buffer.get(), 0, bytes);
  return array;
}

Array::Array(const Array &other)
    : type(other.type), sizes(other.sizes), count(other.count) {
  if (!other.buffer)
    return;
  size_t bytes = std::max<size_t>(sizeInBytes(), 1);
  buffer.reset(static_cast<std::byte *>(
      ::operator new[](bytes, std::align_val_t(kAlignment))));
  std::memcpy(buffer.get(), other.buffer.get(), bytes);
}

Array &Array::operator=(const Array &other) {
  return *this = Array(other); // the copy is complete before this one goes
}

double Array::at(int64_t index) const {
  switch (type) {
  case ElementType::F16:
    return halfToFloat(dataAs<uint16_t>()[index]);
  case ElementType::BF16:
    return bfloatToFloat(dataAs<uint16_t>()[index]);
  case ElementType::F32:
    return dataAs<float>()[index];
  case ElementType::F64:
    return dataAs<double>()[index];
  case ElementType::U64:
    return static_cast<double>(dataAs<uint64_t>()[index]);
  default:
    return static_cast<double>(integerAt(index));
  }
}

int64_t Array::integerAt(int64_t index) const {
  switch (type) {
  case ElementType::I1:
  case ElementType::U8:
    return dataAs<uint8_t>()[index];
  case ElementType::I8:
    return dataAs<int8_t>()[index];
  case ElementType::I16:
    return dataAs<int16_t>()[index];
  case ElementType::U16:
    return dataAs<uint16_t>()[index];
  case ElementType::I32:
    return dataAs<int32_t>()[index];
  case ElementType::U32:
    return dataAs<uint32_t>()[index];
  default:
    assert(!isFloat(type) && "integerAt of a float array");
    return dataAs<int64_t>()[index];
  }
}

void Array::set(int64_t index, double value) {
  assert(isFloat(type) && "set of an integer array");
  switch (type) {
  case ElementType::F16:
    dataAs<uint16_t>()[index] = floatToHalf(static_cast<float>(value));
    break;
  case ElementType::BF16:
    dataAs<uint16_t>()[index] = floatToBfloat(static_cast<float>(value));
    break;
  case ElementType::F32:
    dataAs<float>()[index] = static_cast<float>(value);
    break;
  default:
    dataAs<double>()[index] = value;
    break;
  }
}

void Array::toDouble(int64_t begin, int64_t length, double *result) const {
  assert(isFloat(type) && "toDouble of an integer array");
  auto convert = [&](auto *source, auto toFloat) {
    for (int64_t i = 0; i < length; ++i)
      result[i] = toFloat(source[begin + i]);
  };
  switch (type) {
  case ElementType::F16:
    return convert(dataAs<uint16_t>(), halfToFloat);
  case ElementType::BF16:
    return convert(dataAs<uint16_t>(), bfloatToFloat);
  case ElementType::F32:
    return convert(dataAs<float>(), [](float x) { return x; });
  default:
    return convert(dataAs<double>(), [](double x) { return x; });
  }
}

void Array::reinterpretAs(ElementType other) {
  assert(byteWidth(other) == byteWidth(type) && "widths differ");
  type = other;
}

llvm::Error ring::tools::coerce(Array &array, ElementType type,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::StringRef what, llvm::StringRef file) {
  auto sizeFits = [](int64_t expected, int64_t got) {
    return expected < 0 || expected == got;
  };
  bool shapeFits =
      shape.size() == array.shape().size() &&
      std::equal(shape.begin(), shape.end(), array.shape().begin(), sizeFits);
  ElementType got = array.elementType();
  bool bfloatBits = got == ElementType::U16 && type == ElementType::BF16;
  if (!shapeFits || (got != type && signless(got) != type && !bfloatBits))
    return llvm::createStringError(what + ": expected " +
                                   typeString(shape, type) + ", got " +
                                   array.typeString() + " in " + file);
  array.reinterpretAs(type);
  return llvm::Error::success();
}
