//===- AttentionErrors.cpp - Errors of an attention -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/AttentionErrors.h"

#include "AttentionShapes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace ring::tools;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Elements from which the root mean square is judged too.
constexpr int64_t kRootMeanSquareCount = 10000;

/// Rounding of a result's type.
struct Rounding {
  bool narrow = false; ///< 16 bits
  double unit = 0;
  double smallest = 0;
};

Rounding roundingOf(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return {true, 0x1p-8, 1e-38};
  case ElementType::F16:
    return {true, 0x1p-11, 0x1p-24};
  default:
    return {};
  }
}

/// Largest finite |v|, 1e-30 at least.
double largestMagnitude(const Array &array) {
  double largest = 1e-30;
  for (int64_t i = 0; i < array.size(); ++i) {
    double magnitude = std::fabs(array.at(i));
    if (std::isfinite(magnitude) && magnitude > largest)
      largest = magnitude;
  }
  return largest;
}

/// |got - expected| / allowed, infinite where that is no number.
double errorOf(double got, double expected, double allowed) {
  if (std::isnan(expected) && !std::isfinite(got))
    return 0;
  double error = std::fabs(got - expected) / allowed;
  return std::isnan(error) ? kInfinity : error;
}

double lseErrorOf(double got, double expected, double scoreBound) {
  if (got == expected)
    return 0; // both -inf
  double finite = std::isfinite(expected) ? std::fabs(expected) : 0;
  return errorOf(got, expected, 1e-5 * (1 + scoreBound + finite));
}

/// What one row contributes. Rows are combined in order, so the result does
/// not depend on the threads.
struct RowErrors {
  double worstOut = -1, worstLse = -1;
  int64_t worstColumn = 0;
  double got = 0, expected = 0;       ///< out at worstColumn
  double gotLse = 0, expectedLse = 0; ///< lse
  int64_t finite = 0;                 ///< elements in the sums
  double differences = 0, squares = 0, spread = 0;
};

RowErrors rowErrors(const double *got, const double *expected,
                    const double *magnitude, const double *spread,
                    int64_t columns, double scoreBound, double largestValue,
                    const Rounding &rounding) {
  RowErrors row;
  double wide = 1e-5 * (1 + scoreBound / 32) * largestValue;
  for (int64_t c = 0; c < columns; ++c) {
    double allowed = wide;
    if (rounding.narrow)
      allowed = rounding.unit * (2 * magnitude[c] + std::fabs(expected[c])) +
                0x1p-22 * scoreBound * magnitude[c] + rounding.smallest;
    double error = errorOf(got[c], expected[c], allowed);
    if (error > row.worstOut) {
      row.worstOut = error;
      row.worstColumn = c;
      row.got = got[c];
      row.expected = expected[c];
    }
    if (!std::isfinite(got[c]) || !std::isfinite(expected[c]))
      continue;
    ++row.finite;
    row.differences += (got[c] - expected[c]) * (got[c] - expected[c]);
    row.squares += expected[c] * expected[c];
    row.spread += spread[c];
  }
  return row;
}

void append(llvm::raw_ostream &stream, const char *name, double error,
            const AttentionErrors::Worst &worst) {
  stream << name << " [";
  for (size_t axis = 0; axis < worst.index.size(); ++axis)
    stream << (axis ? ", " : "") << worst.index[axis];
  stream << llvm::format("]: expected %.9g, got %.9g, %.3g times the tolerance",
                         worst.expected, worst.got, error);
}

} // namespace

std::string AttentionErrors::message() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  bool outFirst = out >= lse;
  if (outFirst && outIsRootMeanSquare)
    stream << llvm::format("out: root mean square error %.3g times the "
                           "tolerance",
                           out);
  else if (outFirst)
    append(stream, "out", out, worstOut);
  else
    append(stream, "lse", lse, worstLse);
  return text;
}

llvm::Expected<AttentionErrors>
ring::tools::checkAttention(const AttentionOperands &operands,
                            const AttentionSpec &spec, const Array &out,
                            const Array *lse, unsigned threads,
                            const std::vector<bool> *queries) {
  llvm::Expected<AttentionShapes> shapes = attentionShapes(operands, spec);
  if (!shapes)
    return shapes.takeError();
  auto expectShape = [](const Array &array, llvm::ArrayRef<int64_t> shape,
                        ElementType type, const char *name) -> llvm::Error {
    if (array.shape() == shape && isFloat(array.elementType()))
      return llvm::Error::success();
    return llvm::createStringError(llvm::Twine("attention result ") + name +
                                   ": expected " + typeString(shape, type) +
                                   ", got " + array.typeString());
  };
  int64_t heads = shapes->heads, sq = shapes->sq, dv = shapes->valueDepth;
  if (llvm::Error error = expectShape(out, {shapes->batch, heads, sq, dv},
                                      operands.query->elementType(), "out"))
    return error;
  if (lse)
    if (llvm::Error error = expectShape(*lse, {shapes->batch, heads, sq},
                                        ElementType::F32, "lse"))
      return error;

  Rounding rounding = roundingOf(out.elementType());
  double largestValue = largestMagnitude(*operands.value);
  std::vector<RowErrors> rows(shapes->batch * heads * sq);
  auto visit = [&](const RowBlock &block) {
    std::vector<double> got(dv);
    int64_t first = (block.batch * heads + block.head) * sq + block.firstRow;
    for (int64_t r = 0; r < block.rows; ++r) {
      if (queries && !(*queries)[block.firstRow + r])
        continue;
      out.toDouble((first + r) * dv, dv, got.data());
      int64_t at = r * block.valueStride;
      RowErrors row = rowErrors(got.data(), block.out + at,
                                block.magnitude + at, block.spread + at, dv,
                                block.scoreBound[r], largestValue, rounding);
      if (lse) {
        row.gotLse = lse->at(first + r);
        row.expectedLse = block.lse[r];
        row.worstLse =
            lseErrorOf(row.gotLse, row.expectedLse, block.scoreBound[r]);
      }
      rows[first + r] = row;
    }
  };
  if (llvm::Error error = forEachRowBlock(operands, spec, threads, visit))
    return error;

  AttentionErrors errors;
  int64_t outRow = -1, lseRow = -1;
  RowErrors sums;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowErrors &row = rows[i];
    if (row.worstOut > errors.out || (outRow < 0 && row.worstOut == 0)) {
      errors.out = row.worstOut;
      outRow = static_cast<int64_t>(i);
    }
    if (row.worstLse > errors.lse || (lseRow < 0 && row.worstLse == 0)) {
      errors.lse = row.worstLse;
      lseRow = static_cast<int64_t>(i);
    }
    sums.finite += row.finite;
    sums.differences += row.differences;
    sums.squares += row.squares;
    sums.spread += row.spread;
  }
  auto indexOf = [&](int64_t row) {
    return std::vector<int64_t>{row / (heads * sq), row / sq % heads, row % sq};
  };
  if (outRow >= 0) {
    errors.worstOut = {indexOf(outRow), rows[outRow].got,
                       rows[outRow].expected};
    errors.worstOut.index.push_back(rows[outRow].worstColumn);
  }
  if (lseRow >= 0)
    errors.worstLse = {indexOf(lseRow), rows[lseRow].gotLse,
                       rows[lseRow].expectedLse};

  if (rounding.narrow && sums.finite >= kRootMeanSquareCount) {
    double count = static_cast<double>(sums.finite);
    double allowed = 0.475 * rounding.unit *
                         std::sqrt(sums.squares / count + sums.spread / count) +
                     rounding.smallest;
    double error = std::sqrt(sums.differences / count) / allowed;
    if (error > errors.out) {
      errors.out = error;
      errors.outIsRootMeanSquare = true;
    }
  }
  return errors;
}
