//===- Compare.cpp - Comparing a result with a file -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Compare.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace ring::tools;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// By how much the difference exceeds `allowed`; not positive iff the elements
/// agree, infinite where one of them is not finite.
double excess(double got, double expected, double allowed) {
  if (std::isnan(expected) && std::isnan(got))
    return 0;
  if (!std::isfinite(expected) || !std::isfinite(got))
    return got == expected ? 0 : kInfinity;
  return std::fabs(got - expected) - allowed;
}

double element(const Array &array, int64_t index, bool bfloatBits) {
  return bfloatBits ? bfloatToFloat(array.dataAs<uint16_t>()[index])
                    : array.at(index);
}

} // namespace

std::string Comparison::message() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << mismatches << " of " << elements << " elements differ";
  if (!equal()) {
    stream << ", worst at [";
    for (size_t axis = 0; axis < worst.size(); ++axis)
      stream << (axis ? ", " : "") << worst[axis];
    stream << llvm::format("]: expected %.9g, got %.9g (allowed %.3g)",
                           expected, got, allowed);
  }
  return text;
}

llvm::Expected<Comparison> ring::tools::compare(const Array &got,
                                                const Array &expected,
                                                double atol, double rtol,
                                                llvm::StringRef what,
                                                const OwnPositions *own) {
  if (got.shape() != expected.shape())
    return llvm::createStringError(what + ": expected " +
                                   expected.typeString() + ", got " +
                                   got.typeString());
  bool gotBits = got.elementType() == ElementType::U16 &&
                 expected.elementType() == ElementType::BF16;
  bool expectedBits = expected.elementType() == ElementType::U16 &&
                      got.elementType() == ElementType::BF16;
  bool exact = atol == 0 && rtol == 0 && !isFloat(got.elementType()) &&
               !isFloat(expected.elementType());

  Comparison result;
  int64_t stride = 1; // of the dimension of `own`
  for (int64_t axis = own ? own->dim + 1 : got.rank(); axis < got.rank();
       ++axis)
    stride *= got.dim(axis);
  double worstExcess = 0;
  int64_t worst = -1;
  for (int64_t i = 0; i < got.size(); ++i) {
    if (own && !own->has[i / stride % got.dim(own->dim)])
      continue;
    ++result.elements;
    double x = element(got, i, gotBits);
    double y = element(expected, i, expectedBits);
    double allowed = atol + rtol * std::fabs(y);
    double over = excess(x, y, allowed);
    // Different 64-bit integers may be the same double.
    if (exact && over <= 0 && got.integerAt(i) != expected.integerAt(i))
      over = std::numeric_limits<double>::min();
    if (over <= 0)
      continue;
    ++result.mismatches;
    if (over <= worstExcess)
      continue;
    worstExcess = over;
    worst = i;
    result.got = x;
    result.expected = y;
    result.allowed = allowed;
  }
  if (worst >= 0) {
    result.worst.resize(got.rank());
    for (int64_t axis = got.rank() - 1; axis >= 0; --axis) {
      result.worst[axis] = worst % got.dim(axis);
      worst /= got.dim(axis);
    }
  }
  return result;
}
