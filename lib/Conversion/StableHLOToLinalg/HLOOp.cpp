//===- HLOOp.cpp - A StableHLO op in generic form -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HLOOp.h"

#include "../UnlinkedOp.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::ring;

bool HLOOp::isHLO(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return !op->isRegistered() && (dialect == "stablehlo" || dialect == "chlo");
}

StringRef HLOOp::name() const {
  StringRef whole = op->getName().getStringRef();
  whole.consume_front("stablehlo.");
  return whole;
}

InFlightDiagnostic HLOOp::error() const { return emitNamedError(op); }

LogicalResult HLOOp::check(int64_t operands, int64_t results,
                           ArrayRef<StringRef> known) const {
  if (operands >= 0 && op->getNumOperands() != operands)
    return error() << "has " << op->getNumOperands() << " operands, expected "
                   << operands;
  if (results >= 0 && op->getNumResults() != results)
    return error() << "has " << op->getNumResults() << " results, expected "
                   << results;
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() ||
        !tensor.getElementType().isSignlessIntOrFloat())
      return error() << "is of type " << type
                     << ", expected tensors of static shape, of floats or "
                        "signless integers";
  }
  return checkAttributes(op, known);
}

FailureOr<SmallVector<int64_t>> HLOOp::integers(StringRef attribute) const {
  Attribute value = op->getAttr(attribute);
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(value))
    return SmallVector<int64_t>(array.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(value);
      dense && dense.getElementType().isInteger(64))
    return SmallVector<int64_t>(dense.getValues<int64_t>());
  return error() << "has no list of integers '" << attribute << "'";
}

FailureOr<int64_t> HLOOp::integer(StringRef attribute) const {
  if (auto value = op->getAttrOfType<IntegerAttr>(attribute);
      value && value.getType().isInteger(64))
    return value.getInt();
  return error() << "has no integer '" << attribute << "'";
}

FailureOr<StringRef> HLOOp::text(StringRef attribute) const {
  auto opaque = op->getAttrOfType<OpaqueAttr>(attribute);
  if (!opaque || opaque.getDialectNamespace() != "stablehlo")
    return error() << "has no attribute of StableHLO '" << attribute << "'";
  return opaque.getAttrData();
}

FailureOr<StringRef> HLOOp::keyword(StringRef attribute, StringRef kind) const {
  FailureOr<StringRef> data = text(attribute);
  if (failed(data))
    return failure();
  StringRef rest = *data;
  if (rest.consume_front(kind) && rest.consume_front(" "))
    return rest.trim();
  return error() << "has the attribute '" << attribute << "' of '" << *data
                 << "', expected '" << kind << "' and a word";
}

FailureOr<llvm::StringMap<SmallVector<int64_t>>>
HLOOp::fields(StringRef attribute, StringRef kind,
              ArrayRef<StringRef> known) const {
  FailureOr<StringRef> data = text(attribute);
  if (failed(data))
    return failure();
  auto misread = [&] {
    return error() << "has the attribute '" << attribute << "' of '" << *data
                   << "', which is not understood";
  };
  StringRef rest = *data;
  if (!rest.consume_front(kind) || !rest.consume_front("<") ||
      !rest.consume_back(">"))
    return misread();
  llvm::StringMap<SmallVector<int64_t>> result;
  for (rest = rest.trim(); !rest.empty();
       rest.consume_front(","), rest = rest.ltrim()) {
    auto [key, value] = rest.split('=');
    key = key.trim();
    rest = value.ltrim();
    bool list = rest.consume_front("[");
    StringRef numbers =
        rest.take_until([&](char c) { return list ? c == ']' : c == ','; });
    rest = rest.drop_front(numbers.size());
    if (!llvm::is_contained(known, key) || result.contains(key) ||
        (list && !rest.consume_front("]")))
      return misread();
    rest = rest.ltrim();
    if (!rest.empty() && !rest.starts_with(","))
      return misread();
    SmallVector<int64_t> &parsed = result[key];
    SmallVector<StringRef> parts;
    numbers.trim().split(parts, ',', -1, /*KeepEmpty=*/list);
    for (StringRef part : parts) {
      if (list && parts.size() == 1 && part.empty())
        break;
      if (part.trim().getAsInteger(10, parsed.emplace_back()))
        return misread();
    }
  }
  return result;
}
