//===- ArithmeticTest.cpp - What each lane computes alone -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace ring::vgpu;
using namespace ring::vgpu::test;

static std::string binary(const std::string &op, const std::string &type) {
  return "%r = " + op + " %a, %b : " + type;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Awkward values first; a count that leaves the last warp partly empty.
template <class U> static std::vector<U> integers(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<U> values{
      0, 1,  U(~U(0)), U(U(1) << (sizeof(U) * 8 - 1)), U(U(~U(0)) >> 1),
      7, 31, 33};
  while (values.size() < 75)
    values.push_back(static_cast<U>(random()) >> random() % (sizeof(U) * 8));
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

template <class U, class I> static void testIntegers(const std::string &type) {
  constexpr unsigned bits = sizeof(U) * 8;
  const std::vector<U> a = integers<U>(1), b = integers<U>(2),
                       c = integers<U>(3);
  std::vector<U> positive = b, shift = b;
  for (U &value : positive)
    value = value ? value : 3;
  for (U &value : shift)
    value %= bits;

  auto check = [&](const std::string &op, auto expected,
                   const std::vector<U> &right) {
    std::vector<U> got = apply<U, U>(type, type, binary(op, type), {a, right});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], static_cast<U>(expected(a[i], right[i])))
          << op << " " << type << " " << +a[i] << " " << +right[i];
  };
  check("llvm.add", [](U x, U y) { return U(x + y); }, b);
  check("llvm.sub", [](U x, U y) { return U(x - y); }, b);
  check("llvm.mul", [](U x, U y) { return U(uint64_t(x) * y); }, b);
  check("llvm.udiv", [](U x, U y) { return U(x / y); }, positive);
  check("llvm.urem", [](U x, U y) { return U(x % y); }, positive);
  auto divide = [](U x, U y) {
    return I(y) == -1 ? I(U(0) - x) : I(I(x) / I(y));
  };
  check("llvm.sdiv", divide, positive);
  check(
      "llvm.srem", [](U x, U y) { return I(y) == -1 ? I(0) : I(I(x) % I(y)); },
      positive);
  check("llvm.and", [](U x, U y) { return U(x & y); }, b);
  check("llvm.or", [](U x, U y) { return U(x | y); }, b);
  check("llvm.xor", [](U x, U y) { return U(x ^ y); }, b);
  check("llvm.shl", [](U x, U y) { return U(uint64_t(x) << y); }, shift);
  check("llvm.lshr", [](U x, U y) { return U(x >> y); }, shift);
  check("llvm.ashr", [](U x, U y) { return I(I(x) >> y); }, shift);

  auto call = [&](const std::string &name, auto expected) {
    std::vector<U> got = apply<U, U>(type, type,
                                     "%r = llvm.intr." + name + "(%a, %b) : (" +
                                         type + ", " + type + ") -> " + type,
                                     {a, b});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], static_cast<U>(expected(a[i], b[i]))) << name << type;
  };
  call("smax", [](U x, U y) { return std::max(I(x), I(y)); });
  call("smin", [](U x, U y) { return std::min(I(x), I(y)); });
  call("umax", [](U x, U y) { return std::max(x, y); });
  call("umin", [](U x, U y) { return std::min(x, y); });

  auto unary = [&](const std::string &body, auto expected) {
    std::vector<U> got = apply<U, U>(type, type, body, {a});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], static_cast<U>(expected(a[i]))) << body << +a[i];
  };
  const std::string to = ") : (" + type + ") -> " + type;
  unary("%r = \"llvm.intr.abs\"(%a) <{is_int_min_poison = false}> : (" + type +
            ") -> " + type,
        [](U x) { return I(x) < 0 ? U(0) - x : x; });
  unary("%r = llvm.intr.ctpop(%a" + to,
        [](U x) { return __builtin_popcountll(x); });
  unary("%r = \"llvm.intr.ctlz\"(%a) <{is_zero_poison = false}> : (" + type +
            ") -> " + type,
        [](U x) { return x ? __builtin_clzll(x) - (64 - bits) : bits; });
  unary("%r = \"llvm.intr.cttz\"(%a) <{is_zero_poison = false}> : (" + type +
            ") -> " + type,
        [](U x) { return x ? unsigned(__builtin_ctzll(x)) : bits; });
  unary("%r = llvm.intr.bitreverse(%a" + to, [](U x) {
    U result = 0;
    for (unsigned i = 0; i < bits; ++i)
      result |= U(x >> i & 1) << (bits - 1 - i);
    return result;
  });

  auto compare = [&](const std::string &predicate, auto expected) {
    std::vector<uint8_t> got = apply<uint8_t, U>(
        "i1", type, "%r = llvm.icmp \"" + predicate + "\" %a, %b : " + type,
        {a, b});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], expected(a[i], b[i])) << predicate << type;
    got = apply<uint8_t, U>(
        "i1", type, "%r = llvm.icmp \"" + predicate + "\" %a, %a : " + type,
        {a});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], expected(a[i], a[i])) << predicate << type;
  };
  compare("eq", [](U x, U y) { return x == y; });
  compare("ne", [](U x, U y) { return x != y; });
  compare("slt", [](U x, U y) { return I(x) < I(y); });
  compare("sle", [](U x, U y) { return I(x) <= I(y); });
  compare("sgt", [](U x, U y) { return I(x) > I(y); });
  compare("sge", [](U x, U y) { return I(x) >= I(y); });
  compare("ult", [](U x, U y) { return x < y; });
  compare("ule", [](U x, U y) { return x <= y; });
  compare("ugt", [](U x, U y) { return x > y; });
  compare("uge", [](U x, U y) { return x >= y; });
}

TEST(MachineArithmetic, Integers8) { testIntegers<uint8_t, int8_t>("i8"); }
TEST(MachineArithmetic, Integers16) { testIntegers<uint16_t, int16_t>("i16"); }
TEST(MachineArithmetic, Integers32) { testIntegers<uint32_t, int32_t>("i32"); }
TEST(MachineArithmetic, Integers64) { testIntegers<uint64_t, int64_t>("i64"); }

template <class U> static void testFunnel(const std::string &type) {
  constexpr unsigned bits = sizeof(U) * 8;
  std::vector<U> a = integers<U>(4), b = integers<U>(5), c = integers<U>(6);
  for (bool left : {true, false}) {
    std::vector<U> got =
        apply<U, U>(type, type,
                    std::string("%r = llvm.intr.") + (left ? "fshl" : "fshr") +
                        "(%a, %b, %c) : (" + type + ", " + type + ", " + type +
                        ") -> " + type,
                    {a, b, c});
    for (size_t i = 0; i < a.size(); ++i) {
      unsigned shift = c[i] % bits;
      auto bit = [&](unsigned at) {
        return at < bits ? b[i] >> at & 1 : a[i] >> (at - bits) & 1;
      };
      U expected = 0;
      for (unsigned k = 0; k < bits; ++k)
        expected |= U(bit(left ? k + bits - shift : k + shift)) << k;
      ASSERT_EQ(got[i], expected) << left << " " << shift;
    }
  }
}
TEST(MachineArithmetic, FunnelShifts) {
  testFunnel<uint32_t>("i32");
  testFunnel<uint64_t>("i64");
}

// A shift by the width or more is 0, or the sign, in PTX.
TEST(MachineArithmetic, ShiftsByTooMuch) {
  std::vector<uint32_t> a{0x80000001, 0x80000001, 5}, b{32, 40, 0xffffffff};
  EXPECT_EQ((apply<uint32_t, uint32_t>("i32", "i32", binary("llvm.shl", "i32"),
                                       {a, b})),
            (std::vector<uint32_t>{0, 0, 0}));
  EXPECT_EQ((apply<uint32_t, uint32_t>("i32", "i32", binary("llvm.ashr", "i32"),
                                       {a, b})),
            (std::vector<uint32_t>{~0u, ~0u, 0}));
}

TEST(MachineArithmetic, PermuteBytes) {
  std::vector<uint32_t> a{0x83828180, 0x03020100}, b{0x07060504, 0x87868584},
      c{0x7531, 0x4f8c};
  EXPECT_EQ((apply<uint32_t, uint32_t>(
                "i32", "i32",
                "%r = nvvm.prmt #nvvm.permute_mode<default> %c, %a, %b : i32",
                {a, b, c})),
            // Bit 3 of a nibble: the byte's sign, eight times.
            (std::vector<uint32_t>{0x07058381, 0x84ff00ff}));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

template <class F> static std::vector<F> floats(unsigned seed, double range) {
  std::mt19937_64 random(seed);
  using Limits = std::numeric_limits<F>;
  std::vector<F> values{F(0),
                        F(-0.0),
                        F(1),
                        F(-1),
                        F(0.5),
                        F(2.5),
                        F(-3.5),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::max(),
                        Limits::denorm_min(),
                        Limits::min()};
  std::normal_distribution<double> normal(0, range);
  while (values.size() < 77)
    values.push_back(static_cast<F>(normal(random)));
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

/// Equal bits, or NaN both.
template <class F> static bool same(F a, F b) {
  return std::isnan(a) ? std::isnan(b)
                       : a == b && std::signbit(a) == std::signbit(b);
}

template <class F> static void testFloats(const std::string &type) {
  const std::vector<F> a = floats<F>(1, 4), b = floats<F>(2, 4),
                       c = floats<F>(3, 4);
  auto check = [&](const std::string &body, auto expected) {
    std::vector<F> got = apply<F, F>(type, type, body, {a, b, c});
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(same(got[i], F(expected(a[i], b[i], c[i]))))
          << body << " of " << a[i] << ", " << b[i] << ", " << c[i] << ": "
          << got[i];
  };
  auto call = [&](const std::string &name, int count) {
    std::string text = "%r = llvm.intr." + name + "(%a", types = type;
    for (int i = 1; i < count; ++i) {
      text += std::string(", %") + "abc"[i];
      types += ", " + type;
    }
    return text + ") : (" + types + ") -> " + type;
  };
  check(binary("llvm.fadd", type), [](F x, F y, F) { return x + y; });
  check(binary("llvm.fsub", type), [](F x, F y, F) { return x - y; });
  check(binary("llvm.fmul", type), [](F x, F y, F) { return x * y; });
  check(binary("llvm.fdiv", type), [](F x, F y, F) { return x / y; });
  check(binary("llvm.frem", type), [](F x, F y, F) { return std::fmod(x, y); });
  check("%r = llvm.fneg %a : " + type, [](F x, F, F) { return -x; });
  check(call("fabs", 1), [](F x, F, F) { return std::fabs(x); });
  check(call("fma", 3), [](F x, F y, F z) { return std::fma(x, y, z); });
  check(call("fmuladd", 3), [](F x, F y, F z) { return std::fma(x, y, z); });
  check(call("sqrt", 1), [](F x, F, F) { return std::sqrt(x); });
  check(call("floor", 1), [](F x, F, F) { return std::floor(x); });
  check(call("ceil", 1), [](F x, F, F) { return std::ceil(x); });
  check(call("trunc", 1), [](F x, F, F) { return std::trunc(x); });
  check(call("roundeven", 1), [](F x, F, F) { return std::nearbyint(x); });
  check(call("rint", 1), [](F x, F, F) { return std::nearbyint(x); });
  check(call("copysign", 2), [](F x, F y, F) { return std::copysign(x, y); });
  // +0 is more than -0; maxnum takes the number, maximum the NaN.
  auto most = [](F x, F y) {
    return x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
  };
  auto least = [](F x, F y) {
    return x == y ? (std::signbit(x) ? x : y) : x < y ? x : y;
  };
  check(call("maxnum", 2), [&](F x, F y, F) {
    return std::isnan(x) ? y : std::isnan(y) ? x : most(x, y);
  });
  check(call("minnum", 2), [&](F x, F y, F) {
    return std::isnan(x) ? y : std::isnan(y) ? x : least(x, y);
  });
  check(call("maximum", 2), [&](F x, F y, F) {
    return std::isnan(x) || std::isnan(y) ? x + y : most(x, y);
  });
  check(call("minimum", 2), [&](F x, F y, F) {
    return std::isnan(x) || std::isnan(y) ? x + y : least(x, y);
  });

  auto compare = [&](const std::string &predicate, auto expected) {
    for (bool itself : {false, true}) {
      const std::vector<F> &right = itself ? a : b;
      std::vector<uint8_t> got = apply<uint8_t, F>(
          "i1", type, "%r = llvm.fcmp \"" + predicate + "\" %a, %b : " + type,
          {a, right});
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(got[i], expected(a[i], right[i]))
            << predicate << " " << a[i] << " " << right[i];
    }
  };
  auto isUnordered = [](F x, F y) { return std::isnan(x) || std::isnan(y); };
  auto both = [&](const std::string &name, auto expected) {
    compare("o" + name,
            [=](F x, F y) { return !isUnordered(x, y) && expected(x, y); });
    compare("u" + name,
            [=](F x, F y) { return isUnordered(x, y) || expected(x, y); });
  };
  both("eq", [](F x, F y) { return x == y; });
  both("ne", [](F x, F y) { return x != y; });
  both("lt", [](F x, F y) { return x < y; });
  both("le", [](F x, F y) { return x <= y; });
  both("gt", [](F x, F y) { return x > y; });
  both("ge", [](F x, F y) { return x >= y; });
  compare("ord", [=](F x, F y) { return !isUnordered(x, y); });
  compare("uno", isUnordered);
  compare("_true", [](F, F) { return true; });
  compare("_false", [](F, F) { return false; });
}
TEST(MachineArithmetic, Floats32) { testFloats<float>("f32"); }
TEST(MachineArithmetic, Floats64) { testFloats<double>("f64"); }

TEST(MachineArithmetic, FunctionsOfFloats) {
  std::vector<float> a = floats<float>(1, 30);
  auto call = [&](const std::string &body) {
    return apply<float, float>("f32", "f32", body, {a});
  };
  auto intrinsic = [&](const std::string &name) {
    return call("%r = llvm.call_intrinsic \"" + name + "\"(%a) : (f32) -> f32");
  };
  auto flush = [](double x) {
    return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
  };
  auto isNear = [](float got, double exact) {
    auto nearest = static_cast<float>(exact);
    if (std::isnan(exact) || std::isinf(nearest) || nearest == 0)
      return same(got, nearest);
    // Two units in the last place.
    int exponent = std::max(std::ilogb(nearest), -126);
    return std::fabs(got - exact) <= 2 * std::ldexp(1.0, exponent - 23);
  };
  auto check = [&](const std::vector<float> &got, auto expected) {
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(isNear(got[i], expected(a[i]))) << a[i] << " " << got[i];
  };
  auto power = [](double x) { return std::exp2(x); };
  auto powerFtz = [&](double x) { return flush(std::exp2(flush(x))); };
  check(call("%r = llvm.intr.exp2(%a) : (f32) -> f32"), power);
  check(intrinsic("llvm.nvvm.ex2.approx.f"), power);
  check(intrinsic("llvm.nvvm.ex2.approx.ftz.f"), powerFtz);
  check(intrinsic("llvm.nvvm.lg2.approx.f"),
        [](double x) { return std::log2(x); });
  check(intrinsic("llvm.nvvm.lg2.approx.ftz.f"),
        [&](double x) { return std::log2(flush(x)); });
  auto reciprocal = [&](double x) { return flush(1 / flush(x)); };
  check(intrinsic("llvm.nvvm.rcp.approx.ftz.f"), reciprocal);
  check(call("%r = nvvm.rcp.approx.ftz.f %a : f32"), reciprocal);
  check(intrinsic("llvm.nvvm.rsqrt.approx.ftz.f"),
        [&](double x) { return 1 / std::sqrt(flush(x)); });
  check(call("%r = llvm.intr.exp(%a) : (f32) -> f32"),
        [](double x) { return std::exp(x); });
  check(call("%r = llvm.intr.log(%a) : (f32) -> f32"),
        [](double x) { return std::log(x); });
}

// Every value of ex2 that is a power of two is exact, and minus infinity is 0.
TEST(MachineArithmetic, PowersOfTwo) {
  std::vector<float> a, expected;
  for (int i = -152; i <= 129; ++i) {
    a.push_back(static_cast<float>(i));
    expected.push_back(std::ldexp(1.0f, i));
  }
  a.push_back(-std::numeric_limits<float>::infinity());
  expected.push_back(0.0f);
  EXPECT_EQ((apply<float, float>(
                "f32", "f32",
                "%r = llvm.call_intrinsic \"llvm.nvvm.ex2.approx.f\"(%a) : "
                "(f32) -> f32",
                {a})),
            expected);
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

namespace {
/// A 16-bit float's layout; finds the nearest by looking at all.
struct Format {
  std::string type;
  int exponentBits, mantissaBits;

  double value(uint16_t bits) const {
    int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1),
        mantissa = bits & ((1 << mantissaBits) - 1),
        bias = (1 << (exponentBits - 1)) - 1;
    double magnitude = exponent == 0
                           ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                       : exponent == (1 << exponentBits) - 1
                           ? (mantissa ? NAN : INFINITY)
                           : std::ldexp(mantissa + (1 << mantissaBits),
                                        exponent - bias - mantissaBits);
    return bits >> 15 ? -magnitude : magnitude;
  }
  /// Nearest, ties to the even mantissa. A value past the largest is that of
  /// one more step.
  uint16_t nearest(__float128 exact, bool isNegativeZero = false) const {
    if (exact != exact)
      return 0x7fff;
    bool isNegative = exact < 0 || isNegativeZero;
    __float128 magnitude = exact < 0 ? -exact : exact;
    uint16_t infinity = ((1 << exponentBits) - 1) << mantissaBits;
    // The largest magnitude that is not more.
    uint16_t low = 0, high = infinity;
    while (high - low > 1) {
      uint16_t middle = low + (high - low) / 2;
      (magnitude < __float128(value(middle)) ? high : low) = middle;
    }
    __float128 below = value(low), above = high == infinity
                                               ? 2 * below - value(low - 1)
                                               : __float128(value(high));
    uint16_t result = low;
    if (magnitude - below > above - magnitude ||
        (magnitude - below == above - magnitude && low % 2))
      result = high;
    return result | (isNegative ? 0x8000 : 0);
  }
};
const Format kHalf{"f16", 5, 10}, kBFloat{"bf16", 8, 7};
} // namespace

static std::vector<uint16_t> bits16(unsigned seed, const Format &format) {
  std::mt19937 random(seed);
  std::vector<uint16_t> values{0, 0x8000, 1, 0x8001, 0x7fff};
  std::normal_distribution<double> normal(0, 3);
  while (values.size() < 200)
    values.push_back(format.nearest(normal(random)));
  while (values.size() < 400)
    values.push_back(random());
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

static void testFloats16(const Format &format) {
  std::vector<uint16_t> a = bits16(1, format), b = bits16(2, format),
                        c = bits16(3, format);
  const std::string &type = format.type;
  auto check = [&](const std::string &body, auto expected) {
    std::vector<uint16_t> got =
        apply<uint16_t, uint16_t>(type, type, body, {a, b, c});
    for (size_t i = 0; i < a.size(); ++i) {
      double x = format.value(a[i]), y = format.value(b[i]),
             z = format.value(c[i]);
      // What is too far apart does not fit into 113 bits.
      double ratio = std::fabs(x * y / z);
      if (std::isfinite(ratio) && ratio != 0 &&
          std::abs(std::ilogb(ratio)) > 80)
        continue;
      __float128 exact = expected(__float128(x), __float128(y), __float128(z));
      if (exact == 0) // the sign of 0 is that of IEEE, see the floats above
        EXPECT_EQ(got[i] & 0x7fff, 0);
      else
        EXPECT_EQ(got[i], format.nearest(exact))
            << body << " " << x << " " << y << " " << z;
    }
  };
  using Q = __float128;
  check(binary("llvm.fadd", type), [](Q x, Q y, Q) { return x + y; });
  check(binary("llvm.fsub", type), [](Q x, Q y, Q) { return x - y; });
  check(binary("llvm.fmul", type), [](Q x, Q y, Q) { return x * y; });
  check("%r = llvm.intr.fma(%a, %b, %c) : (" + type + ", " + type + ", " +
            type + ") -> " + type,
        [](Q x, Q y, Q z) { return x * y + z; });
  std::vector<uint16_t> negated =
      apply<uint16_t, uint16_t>(type, type, "%r = llvm.fneg %a : " + type, {a});
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(negated[i], a[i] ^ 0x8000);
}

TEST(MachineArithmetic, Halves) { testFloats16(kHalf); }
TEST(MachineArithmetic, BFloats) { testFloats16(kBFloat); }

static void testConversions16(const Format &format) {
  const std::string &type = format.type;
  // Every value widens exactly.
  std::vector<uint16_t> all;
  for (unsigned first = 0; first < 65536; first += 1024) {
    all.resize(1024);
    for (unsigned i = 0; i < 1024; ++i)
      all[i] = first + i;
    std::vector<float> wide = apply<float, uint16_t>(
        "f32", type, "%r = llvm.fpext %a : " + type + " to f32", {all});
    for (unsigned i = 0; i < 1024; ++i)
      ASSERT_TRUE(same(wide[i], float(format.value(all[i])))) << all[i];
  }
  // Neighbours, the middles between them, and next to these.
  std::vector<float> from;
  std::mt19937 random(5);
  for (int i = 0; i < 250; ++i) {
    uint16_t bits = random() & 0x7fff;
    double low = format.value(bits), high = format.value(bits + 1);
    auto middle = static_cast<float>((low + high) / 2);
    for (float x : {middle, std::nextafter(middle, 0.0f),
                    std::nextafter(middle, INFINITY), -middle})
      if (std::isfinite(x))
        from.push_back(x);
  }
  from.resize(std::min<size_t>(from.size(), 900));
  for (float x : {65504.0f, 65519.9f, 65520.0f, 3.4e38f, INFINITY, -INFINITY,
                  NAN, 1e-30f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f})
    from.push_back(x);
  std::vector<uint16_t> narrow = apply<uint16_t, float>(
      type, "f32", "%r = llvm.fptrunc %a : f32 to " + type, {from});
  std::vector<double> from64(from.begin(), from.end());
  // Just above a middle, by less than f32 can tell.
  for (size_t i = 0; i < from64.size(); i += 3)
    from64[i] *= 1 + 0x1p-50;
  std::vector<uint16_t> narrow64 = apply<uint16_t, double>(
      type, "f64", "%r = llvm.fptrunc %a : f64 to " + type, {from64});
  for (size_t i = 0; i < from.size(); ++i) {
    auto expected = [&](double x) {
      return std::isinf(x) ? format.nearest(x > 0 ? 1e300 : -1e300)
                           : format.nearest(x, x == 0 && std::signbit(x));
    };
    EXPECT_EQ(narrow[i], expected(from[i])) << from[i];
    EXPECT_EQ(narrow64[i], expected(from64[i])) << from64[i];
  }
  // Two at once; the first becomes the upper half.
  std::vector<float> other(from.rbegin(), from.rend());
  std::string packed = "vector<2x" + type + ">";
  std::vector<uint32_t> pairs = apply<uint32_t, float>(
      packed, "f32",
      "%r = nvvm.convert.f32x2.to." + type +
          "x2 %a, %b {rnd = #nvvm.fp_rnd_mode<rn>} : " + packed,
      {from, other});
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(pairs[i] >> 16, narrow[i]);
    EXPECT_EQ(pairs[i] & 0xffff, narrow[from.size() - 1 - i]);
  }
}
TEST(MachineArithmetic, ConversionsOfHalves) { testConversions16(kHalf); }
TEST(MachineArithmetic, ConversionsOfBFloats) { testConversions16(kBFloat); }

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

TEST(MachineArithmetic, Tf32) {
  std::vector<uint32_t> bits{0x3f800000, 0x3f800fff, 0x3f801000, 0xbf803000,
                             0x3f802fff, 0x7f800000, 0x00001000};
  std::vector<float> from(bits.size());
  std::memcpy(from.data(), bits.data(), 4 * bits.size());
  // Ties go away from zero.
  EXPECT_EQ(
      (apply<uint32_t, float>("i32", "f32",
                              "%r = nvvm.convert.float.to.tf32 %a {rnd = "
                              "#nvvm.fp_rnd_mode<rna>}",
                              {from})),
      (std::vector<uint32_t>{0x3f800000, 0x3f800000, 0x3f802000, 0xbf804000,
                             0x3f802000, 0x7f800000, 0x00002000}));
}

// cvt.rzi saturates, and NaN is 0.
TEST(MachineArithmetic, FloatsToIntegers) {
  std::vector<float> a{1.9f, -1.9f, 3e9f,  -3e9f,        5e9f,
                       NAN,  -0.5f, 1e30f, 2147483520.0f};
  auto convert = [&](auto zero, const std::string &op,
                     const std::string &type) {
    using T = decltype(zero);
    return apply<T, float>(type, "f32", "%r = " + op + " %a : f32 to " + type,
                           {a});
  };
  constexpr int32_t most = 0x7fffffff;
  EXPECT_EQ(convert(int32_t(), "llvm.fptosi", "i32"),
            (std::vector<int32_t>{1, -1, most, -most - 1, most, 0, 0, most,
                                  2147483520}));
  EXPECT_EQ(convert(uint32_t(), "llvm.fptoui", "i32"),
            (std::vector<uint32_t>{1, 0, 3000000000u, 0, ~0u, 0, 0, ~0u,
                                   2147483520u}));
  EXPECT_EQ(convert(int64_t(), "llvm.fptosi", "i64"),
            (std::vector<int64_t>{1, -1, 3000000000, -3000000000, 5000000000, 0,
                                  0, INT64_MAX, 2147483520}));
  EXPECT_EQ(convert(uint64_t(), "llvm.fptoui", "i64"),
            (std::vector<uint64_t>{1, 0, 3000000000, 0, 5000000000, 0, 0,
                                   UINT64_MAX, 2147483520}));
  EXPECT_EQ(convert(int16_t(), "llvm.fptosi", "i16")[1], -1);
}

TEST(MachineArithmetic, IntegersToFloats) {
  std::vector<uint32_t> a = integers<uint32_t>(9);
  auto signs = apply<float, uint32_t>("f32", "i32",
                                      "%r = llvm.sitofp %a : i32 to f32", {a});
  auto plain = apply<float, uint32_t>("f32", "i32",
                                      "%r = llvm.uitofp %a : i32 to f32", {a});
  auto halves = apply<uint16_t, uint32_t>(
      "bf16", "i32", "%r = llvm.sitofp %a : i32 to bf16", {a});
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(signs[i], static_cast<float>(static_cast<int32_t>(a[i])));
    EXPECT_EQ(plain[i], static_cast<float>(a[i]));
    EXPECT_EQ(halves[i], kBFloat.nearest(static_cast<int32_t>(a[i])));
  }
  std::vector<uint64_t> wide = integers<uint64_t>(10);
  auto doubles = apply<double, uint64_t>(
      "f64", "i64", "%r = llvm.sitofp %a : i64 to f64", {wide});
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_EQ(doubles[i], static_cast<double>(static_cast<int64_t>(wide[i])));
  std::vector<uint8_t> bytes = integers<uint8_t>(11);
  auto small = apply<float, uint8_t>(
      "f32", "i8", "%r = llvm.sitofp %a : i8 to f32", {bytes});
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_EQ(small[i], static_cast<int8_t>(bytes[i]));
}

TEST(MachineArithmetic, Widths) {
  std::vector<uint32_t> a = integers<uint32_t>(12);
  auto check = [&](auto zero, const std::string &body, auto expected) {
    using T = decltype(zero);
    std::string type = "i" + std::to_string(8 * sizeof(T));
    std::vector<T> got = apply<T, uint32_t>(type, "i32", body, {a});
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(got[i], static_cast<T>(expected(a[i]))) << body;
  };
  check(uint64_t(), "%r = llvm.zext %a : i32 to i64",
        [](uint32_t x) { return uint64_t(x); });
  check(uint64_t(), "%r = llvm.sext %a : i32 to i64",
        [](uint32_t x) { return int64_t(int32_t(x)); });
  check(uint64_t(),
        "%s = llvm.trunc %a : i32 to i8\n%r = llvm.sext %s : i8 to i64",
        [](uint32_t x) { return int64_t(int8_t(x)); });
  check(uint32_t(),
        "%s = llvm.trunc %a : i32 to i1\n%r = llvm.sext %s : i1 to i32",
        [](uint32_t x) { return x & 1 ? ~0u : 0u; });
  check(uint32_t(),
        "%s = llvm.zext %a : i32 to i64\n%m = llvm.mul %s, %s : i64\n"
        "%r = llvm.trunc %m : i64 to i32",
        [](uint32_t x) { return x * x; });
  check(uint16_t(), "%r = llvm.trunc %a : i32 to i16",
        [](uint32_t x) { return x; });
}
