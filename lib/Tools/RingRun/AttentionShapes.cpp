//===- AttentionShapes.cpp - Sizes of an attention --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionShapes.h"

#include "llvm/ADT/Twine.h"

using namespace ring::tools;

namespace {

/// A size that may be spelled 1 instead, for broadcasting.
constexpr int64_t kAny = -1;

llvm::Error fail(llvm::StringRef operand, const llvm::Twine &message) {
  return llvm::createStringError("attention operand " + operand + ": " +
                                 message);
}

/// Checks an operand that may be absent; kAny fits every size.
llvm::Error check(const Array *array, llvm::StringRef name,
                  llvm::ArrayRef<int64_t> shape, bool isIds) {
  if (!array)
    return llvm::Error::success();
  bool typeFits = isIds ? array->elementType() == ElementType::I32
                        : isFloat(array->elementType());
  bool shapeFits = array->rank() == static_cast<int64_t>(shape.size());
  std::string expected;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    expected += (shape[axis] == kAny ? "?" : std::to_string(shape[axis])) + "x";
    shapeFits =
        shapeFits && (shape[axis] == kAny || shape[axis] == array->dim(axis));
  }
  if (typeFits && shapeFits)
    return llvm::Error::success();
  return fail(name, "expected " + expected +
                        (isIds ? "i32" : "(f16|bf16|f32|f64)") + ", got " +
                        array->typeString());
}

} // namespace

llvm::Expected<AttentionShapes>
ring::tools::attentionShapes(const AttentionOperands &operands,
                             const AttentionSpec &spec) {
  if (!operands.query || !operands.key || !operands.value)
    return llvm::createStringError(
        "attention needs the operands query, key and value");
  const Array &query = *operands.query, &key = *operands.key,
              &value = *operands.value;
  auto rank4 = {kAny, kAny, kAny, kAny};
  if (llvm::Error error = check(&query, "query", rank4, false))
    return error;
  AttentionShapes s;
  s.batch = query.dim(0);
  s.heads = query.dim(1);
  s.sq = query.dim(2);
  s.depth = query.dim(3);
  if (llvm::Error error =
          check(&key, "key", {s.batch, kAny, kAny, s.depth}, false))
    return error;
  s.kvHeads = key.dim(1);
  s.sk = key.dim(2);
  if (llvm::Error error =
          check(&value, "value", {s.batch, s.kvHeads, s.sk, kAny}, false))
    return error;
  s.valueDepth = value.dim(3);
  if (s.kvHeads == 0 || s.heads % s.kvHeads != 0)
    return fail("key", "expected a number of heads that divides the query's " +
                           llvm::Twine(s.heads) + ", got " +
                           llvm::Twine(s.kvHeads));

  if (const Array *bias = operands.bias) {
    auto oneOr = [&](int64_t axis, int64_t size) {
      return bias->rank() == 4 && bias->dim(axis) == 1 ? 1 : size;
    };
    int64_t shape[] = {oneOr(0, s.batch), oneOr(1, s.heads), oneOr(2, s.sq),
                       s.sk};
    if (llvm::Error error = check(bias, "bias", shape, false))
      return error;
  }
  if (!operands.querySegments != !operands.keySegments)
    return fail("segments", "expected the query's and the key's, got one");
  struct Optional {
    const Array *array;
    const char *name;
    std::vector<int64_t> shape;
    bool isIds;
  };
  const Optional optionals[] = {
      {operands.querySegments, "query segments", {s.batch, s.sq}, true},
      {operands.keySegments, "key segments", {s.batch, s.sk}, true},
      {operands.lengths, "lengths", {s.batch}, true},
      {operands.offsets, "offsets", {s.batch}, true},
      {operands.sinks, "sinks", {s.heads}, false}};
  for (const Optional &optional : optionals)
    if (llvm::Error error = check(optional.array, optional.name, optional.shape,
                                  optional.isIds))
      return error;
  if (operands.offsets && spec.mask.shift != 0)
    return fail("offsets", "excludes an aligned mask, got shift " +
                               llvm::Twine(spec.mask.shift));
  return s;
}
