//===- ArrayTest.cpp - Tests of arrays and 16-bit formats -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestArrays.h"

#include <cmath>
#include <limits>

using namespace ring::tools;
using namespace ring::tools::test;

namespace {

struct Format {
  const char *name;
  float (*toFloat)(uint16_t);
  uint16_t (*fromFloat)(float);
  int mantissaBits;
  int exponentBias;
  uint16_t infinity;
};

const Format kFormats[] = {
    {"f16", halfToFloat, floatToHalf, 10, 15, 0x7C00},
    {"bf16", bfloatToFloat, floatToBfloat, 7, 127, 0x7F80},
};

/// The value of positive finite bits, by the definition of the format.
double valueByDefinition(const Format &format, uint16_t bits) {
  int exponent = bits >> format.mantissaBits;
  int mantissa = bits & ((1 << format.mantissaBits) - 1);
  if (exponent > 0)
    mantissa += 1 << format.mantissaBits;
  int power = std::max(exponent, 1) - format.exponentBias - format.mantissaBits;
  return std::ldexp(mantissa, power);
}

} // namespace

TEST(Array, EveryFiniteSixteenBitValueIsExactInFloat) {
  for (const Format &format : kFormats) {
    SCOPED_TRACE(format.name);
    for (uint32_t bits = 0; bits < format.infinity; ++bits) {
      double value = valueByDefinition(format, bits);
      ASSERT_EQ(format.toFloat(bits), value) << bits;
      ASSERT_EQ(format.toFloat(bits | 0x8000), -value) << bits;
      ASSERT_EQ(format.fromFloat(static_cast<float>(value)), bits);
      ASSERT_EQ(format.fromFloat(static_cast<float>(-value)), bits | 0x8000);
    }
  }
}

TEST(Array, EveryMidpointRoundsToEvenAndItsNeighboursToNearest) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Format &format : kFormats) {
    SCOPED_TRACE(format.name);
    for (uint32_t low = 0; low < format.infinity; ++low) {
      uint32_t high = low + 1; // the last one is infinity
      double value = valueByDefinition(format, low);
      // The largest number's upper neighbour would be one step above.
      double next = high < format.infinity
                        ? valueByDefinition(format, high)
                        : 2 * value - valueByDefinition(format, low - 1);
      double middle = (value + next) / 2;
      float m = static_cast<float>(middle);
      ASSERT_EQ(m, middle);
      ASSERT_EQ(format.fromFloat(m), low % 2 ? high : low) << low;
      ASSERT_EQ(format.fromFloat(std::nextafter(m, 0.f)), low) << low;
      ASSERT_EQ(format.fromFloat(std::nextafter(m, kInf)), high) << low;
      ASSERT_EQ(format.fromFloat(-m), 0x8000 | (low % 2 ? high : low)) << low;
    }
  }
}

TEST(Array, InfinitiesAndNaNsSurviveSixteenBits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Format &format : kFormats) {
    SCOPED_TRACE(format.name);
    EXPECT_EQ(format.fromFloat(kInf), format.infinity);
    EXPECT_EQ(format.fromFloat(-kInf), format.infinity | 0x8000);
    EXPECT_EQ(format.toFloat(format.infinity), kInf);
    EXPECT_EQ(format.fromFloat(std::numeric_limits<float>::max()),
              format.infinity);
    for (uint32_t bits = format.infinity + 1; bits < 0x8000; ++bits) {
      ASSERT_TRUE(std::isnan(format.toFloat(bits))) << bits;
      ASSERT_TRUE(std::isnan(
          format.toFloat(format.fromFloat(format.toFloat(bits | 0x8000)))))
          << bits;
    }
    // A payload in the low bits only must not be cut down to infinity.
    uint32_t payload = 0x7F800001;
    float nan;
    memcpy(&nan, &payload, sizeof(nan));
    EXPECT_TRUE(std::isnan(format.toFloat(format.fromFloat(nan))));
  }
}

TEST(Array, IsZeroedAlignedAndCopiedByValue) {
  Array array = zeros(ElementType::F32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % Array::kAlignment, 0u);
  EXPECT_EQ(array.size(), 15);
  EXPECT_EQ(array.sizeInBytes(), 60);
  for (int64_t i = 0; i < array.size(); ++i)
    EXPECT_EQ(array.at(i), 0);
  Array copy = array;
  copy.set(7, 2.5);
  EXPECT_EQ(array.at(7), 0);
  EXPECT_EQ(copy.at(7), 2.5);
  array = copy;
  EXPECT_EQ(array.at(7), 2.5);
  EXPECT_EQ(zeros(ElementType::F16, {}).size(), 1);
  EXPECT_EQ(zeros(ElementType::F16, {4, 0, 2}).size(), 0);
}

TEST(Array, RefusesShapesThatNoMemoryHolds) {
  auto refusal = [](ElementType type, llvm::ArrayRef<int64_t> shape) {
    return messageOf(Array::allocate(type, shape).takeError());
  };
  EXPECT_EQ(refusal(ElementType::F32, {2, -1}),
            "expected sizes of at least 0, got 2x?xf32");
  EXPECT_EQ(refusal(ElementType::F64, {int64_t(1) << 40, int64_t(1) << 20}),
            "too many elements: 1099511627776x1048576xf64");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // A sanitizer's allocator ends the process instead.
  EXPECT_EQ(refusal(ElementType::I8, {int64_t(1) << 62}),
            "no memory for 4611686018427387904xi8: 4611686018427387904 bytes");
#endif
}

TEST(Array, ReadsEveryElementType) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64,
        ElementType::I1, ElementType::I8, ElementType::I16, ElementType::I32,
        ElementType::I64, ElementType::U8, ElementType::U16, ElementType::U32,
        ElementType::U64}) {
    SCOPED_TRACE(spelling(type).str());
    Array array = zeros(type, {2});
    ASSERT_EQ(array.sizeInBytes(), 2 * byteWidth(type));
    if (isFloat(type)) {
      array.set(1, -1.5);
      EXPECT_EQ(array.at(1), -1.5);
      double both[2];
      array.toDouble(0, 2, both);
      EXPECT_EQ(both[1], -1.5);
    } else {
      array.data()[byteWidth(type)] = std::byte(1); // little-endian one
      EXPECT_EQ(array.at(1), 1);
      EXPECT_EQ(array.integerAt(1), 1);
      memset(array.data(), 0xFF, byteWidth(type));
      bool isSigned = type >= ElementType::I8 && type <= ElementType::I64;
      EXPECT_EQ(array.at(0) < 0, isSigned);
    }
    EXPECT_EQ(array.at(0) != 0, !isFloat(type));
    EXPECT_EQ(llvm::cantFail(parseElementType(spelling(type))), type);
  }
  EXPECT_EQ(messageOf(parseElementType("f8E4M3FN").takeError()),
            "unsupported element type 'f8E4M3FN', expected f16, bf16, f32, f64 "
            "or an integer of 1, 8, 16, 32 or 64 bits");
}

TEST(Array, CoerceTakesBitsAndRefusesEverythingElse) {
  auto coerced = [](ElementType from, llvm::ArrayRef<int64_t> fromShape,
                    ElementType to, llvm::ArrayRef<int64_t> toShape) {
    Array array = zeros(from, fromShape);
    std::string message =
        messageOf(coerce(array, to, toShape, "input 1", "k.npy"));
    EXPECT_EQ(array.elementType(), message.empty() ? to : from);
    return message;
  };
  using T = ElementType;
  EXPECT_EQ(coerced(T::U16, {2, 3}, T::BF16, {2, 3}), "");
  EXPECT_EQ(coerced(T::BF16, {2, 3}, T::BF16, {2, -1}), "");
  EXPECT_EQ(coerced(T::U32, {2}, T::I32, {2}), "");
  EXPECT_EQ(coerced(T::U16, {2}, T::I16, {2}), "");
  EXPECT_EQ(coerced(T::F32, {1, 2, 256, 32}, T::BF16, {1, 2, 256, 64}),
            "input 1: expected 1x2x256x64xbf16, got 1x2x256x32xf32 in k.npy");
  EXPECT_EQ(coerced(T::F32, {2, 3}, T::F32, {-1, 4}),
            "input 1: expected ?x4xf32, got 2x3xf32 in k.npy");
  EXPECT_EQ(coerced(T::F32, {2, 1}, T::F32, {2}),
            "input 1: expected 2xf32, got 2x1xf32 in k.npy");
  EXPECT_EQ(coerced(T::I64, {2}, T::I32, {2}),
            "input 1: expected 2xi32, got 2xi64 in k.npy");
  EXPECT_EQ(coerced(T::I16, {2}, T::BF16, {2}),
            "input 1: expected 2xbf16, got 2xi16 in k.npy");
  EXPECT_EQ(coerced(T::U16, {}, T::F16, {}),
            "input 1: expected f16, got ui16 in k.npy");
}
