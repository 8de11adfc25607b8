//===- Float.h - The arithmetic of PTX on one lane --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions and functions with the rounding of the PTX ISA. A NaN that an
// operation makes is the canonical one of its type.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_FLOAT_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_FLOAT_H

#include <cmath>
#include <cstdint>

// Compiled for several instruction sets: internal linkage keeps the linker from
// taking one for another.
namespace {

inline float asFloat(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t asBits(float value) {
  return __builtin_bit_cast(uint32_t, value);
}
inline double asDouble(uint64_t bits) {
  return __builtin_bit_cast(double, bits);
}
inline uint64_t asBits(double value) {
  return __builtin_bit_cast(uint64_t, value);
}

/// The canonical NaN instead of any other.
inline float canonical(float x) { return x == x ? x : asFloat(0x7fffffff); }

inline float halfToFloat(uint32_t h) {
  uint32_t sign = (h & 0x8000) << 16, exponent = (h >> 10) & 0x1f,
           mantissa = h & 0x3ff;
  // Subnormals and zero: mantissa * 2^-24, exact.
  float small = static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24f;
  uint32_t normal = ((exponent + 112) << 23) | (mantissa << 13);
  uint32_t special = 0x7f800000 | (mantissa << 13);
  uint32_t bits = exponent == 0    ? asBits(small)
                  : exponent == 31 ? special
                                   : normal;
  return asFloat(bits | sign);
}

/// Round to nearest even.
inline uint32_t floatToHalf(float value) {
  uint32_t bits = asBits(value), sign = (bits >> 16) & 0x8000,
           magnitude = bits & 0x7fffffff;
  // From 65520 on, the nearest is infinity.
  uint32_t rounded =
      (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Below 2^-14 the result counts in steps of 2^-24; adding 0.5 has f32 round
  // there.
  uint32_t small = asBits(asFloat(magnitude) + 0.5f) - asBits(0.5f);
  uint32_t result = magnitude > 0x7f800000    ? 0x7fff
                    : magnitude >= 0x477ff000 ? 0x7c00 | sign
                    : magnitude < 0x38800000  ? small | sign
                                              : rounded | sign;
  return result;
}

inline float bfloatToFloat(uint32_t b) { return asFloat(b << 16); }

/// Round to nearest even.
inline uint32_t floatToBFloat(float value) {
  uint32_t bits = asBits(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded;
}

/// A double whose last bit says that it is not exact, and which so rounds to
/// any narrower type as the exact a + b would.
inline double addToOdd(double a, double b) {
  double sum = a + b, back = sum - a;
  double error = (a - (sum - back)) + (b - back);
  uint64_t bits = asBits(sum);
  if (error != 0 && !(bits & 1) && std::isfinite(sum))
    bits += (error > 0) == (sum > 0) ? 1 : -1;
  return asDouble(bits);
}
/// A float that rounds to a 16-bit type as the double would.
inline float toOddFloat(double value) {
  float result = static_cast<float>(value);
  uint32_t bits = asBits(result);
  if (static_cast<double>(result) != value && !(bits & 1) &&
      std::isfinite(result))
    bits += (static_cast<double>(result) < value) == (value > 0) ? 1 : -1;
  return asFloat(bits);
}
/// a * b + c for operands of 16 bits, to be rounded to 16 bits.
inline float fmaOf16(float a, float b, float c) {
  return toOddFloat(
      addToOdd(static_cast<double>(a) * static_cast<double>(b), c));
}

inline float flush(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

/// 2^x within one unit in the last place, also where the result is subnormal:
/// x = n + r with |r| <= 1/2, and a polynomial in double for 2^r.
inline float exp2Of(float x) {
  double clamped = x < -160.0f ? -160.0 : x > 130.0f ? 130.0 : x;
  // Rounds to an integer, which then is in the last bits.
  double shifted = clamped + 0x1.8p52;
  double r = clamped - (shifted - 0x1.8p52);
  double p = 1.525273380405984e-5;
  p = p * r + 1.5403530393381608e-4;
  p = p * r + 1.3333558146428443e-3;
  p = p * r + 9.618129107628477e-3;
  p = p * r + 5.550410866482158e-2;
  p = p * r + 0.2402265069591007;
  p = p * r + 0.6931471805599453;
  p = p * r + 1.0;
  uint64_t scale = (asBits(shifted) + 1023) << 52;
  float result = static_cast<float>(p * asDouble(scale));
  return x == x ? result : asFloat(0x7fffffff);
}

/// max and min of PTX: a number wins over NaN, and +0 is more than -0.
inline float maxOf(float a, float b) {
  float zero = asFloat(asBits(a) & asBits(b));
  float most = a > b ? a : b > a ? b : zero;
  return a == a ? (b == b ? most : a) : canonical(b);
}
inline float minOf(float a, float b) {
  float zero = asFloat(asBits(a) | asBits(b));
  float least = a < b ? a : b < a ? b : zero;
  return a == a ? (b == b ? least : a) : canonical(b);
}
/// max.NaN and min.NaN.
inline float maximumOf(float a, float b) {
  return a == a && b == b ? maxOf(a, b) : asFloat(0x7fffffff);
}
inline float minimumOf(float a, float b) {
  return a == a && b == b ? minOf(a, b) : asFloat(0x7fffffff);
}

/// cvt.rna.tf32: nearest, ties away from zero; the low 13 bits are 0.
inline uint32_t floatToTf32(float value) {
  uint32_t bits = asBits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fffffff & ~0x1fffu;
  if ((bits & 0x7fffffff) == 0x7f800000)
    return bits;
  return (bits + 0x1000) & ~0x1fffu;
}

/// cvt.rzi: what is out of range becomes the nearest integer of the type, NaN
/// 0.
template <class Int, class Real> inline Int toInteger(Real value) {
  constexpr bool isSigned = Int(-1) < Int(0);
  constexpr int bits = sizeof(Int) * 8 - (isSigned ? 1 : 0);
  const Real limit = std::ldexp(Real(1), bits);
  const Int most = static_cast<Int>(~uint64_t(0) >> (64 - bits));
  if (value != value)
    return 0;
  if (value >= limit)
    return most;
  if (isSigned ? value < -limit : value <= Real(-1))
    return isSigned ? static_cast<Int>(-most - 1) : 0;
  return static_cast<Int>(value);
}

} // namespace

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_FLOAT_H
