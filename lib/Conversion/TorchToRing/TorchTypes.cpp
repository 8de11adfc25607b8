//===- TorchTypes.cpp - Types and constants of torch ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TorchTypes.h"

#include "../UnlinkedOp.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::ring;

StringRef mlir::ring::getTorchText(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return opaque && opaque.getDialectNamespace() == "torch"
             ? StringRef(opaque.getTypeData())
             : StringRef();
}

RankedTensorType mlir::ring::toTensor(Type type) {
  StringRef text = getTorchText(type);
  if (!text.consume_front("vtensor<[") || !text.consume_back(">"))
    return {};
  auto [sizes, element] = text.split("],");
  SmallVector<int64_t> shape;
  SmallVector<StringRef> parts;
  sizes.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (part.trim() == "?")
      shape.push_back(ShapedType::kDynamic);
    else if (part.trim().getAsInteger(10, shape.emplace_back()) ||
             shape.back() < 0)
      return {};
  }
  Builder b(type.getContext());
  Type elementType = llvm::StringSwitch<Type>(element.trim())
                         .Case("f64", b.getF64Type())
                         .Case("f32", b.getF32Type())
                         .Case("f16", b.getF16Type())
                         .Case("bf16", b.getBF16Type())
                         .Case("si64", b.getI64Type())
                         .Case("si32", b.getI32Type())
                         .Case("i1", b.getI1Type())
                         .Default(Type());
  return elementType ? RankedTensorType::get(shape, elementType)
                     : RankedTensorType();
}

bool mlir::ring::isTorch(Operation *op) {
  return !op->isRegistered() && op->getName().getDialectNamespace() == "torch";
}

Operation *mlir::ring::getTorchOperand(Operation *op, unsigned i,
                                       StringRef name) {
  if (i >= op->getNumOperands())
    return nullptr;
  Operation *def = op->getOperand(i).getDefiningOp();
  return def && isTorch(def) && def->getName().stripDialect() == name ? def
                                                                      : nullptr;
}

std::optional<int64_t> mlir::ring::getTorchInteger(Operation *op, unsigned i) {
  if (Operation *def = getTorchOperand(op, i, "constant.int"))
    if (auto value = def->getAttrOfType<IntegerAttr>("value"))
      return value.getInt();
  return std::nullopt;
}

std::optional<double> mlir::ring::getTorchNumber(Operation *op, unsigned i) {
  if (Operation *def = getTorchOperand(op, i, "constant.float"))
    if (auto value = def->getAttrOfType<FloatAttr>("value"))
      return value.getValueAsDouble();
  if (Operation *def = getTorchOperand(op, i, "constant.bool"))
    if (auto value = def->getAttrOfType<BoolAttr>("value"))
      return value.getValue();
  if (Operation *def = getTorchOperand(op, i, "aten.Int.bool"))
    return getTorchNumber(def, 0);
  if (std::optional<int64_t> value = getTorchInteger(op, i))
    return static_cast<double>(*value);
  return std::nullopt;
}

/// Ops on values change nothing else: what writes in place has a name that ends
/// in an underscore, and no result of other types than these.
static bool isValueOp(Operation *op) {
  StringRef name = op->getName().stripDialect();
  auto called = op->getAttrOfType<StringAttr>("name");
  if (name == "operator" && called)
    name = called.getValue();
  name.consume_front("torch.");
  name.consume_front("aten.");
  return op->getNumRegions() == 0 && op->getNumResults() != 0 &&
         !name.split('.').first.ends_with("_") &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           StringRef text = getTorchText(type);
           return text.starts_with("vtensor<") || text.starts_with("list<") ||
                  llvm::is_contained({"int", "float", "bool", "none", "Device",
                                      "str", "number"},
                                     text);
         });
}

void mlir::ring::eraseDeadTorchOps(Block &block) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.getOperations()))) {
    if (!isTorch(&op))
      continue;
    StringRef name = op.getName().stripDialect();
    if (name == "aten._assert_tensor_metadata" && op.getNumResults() == 0)
      op.erase();
    else if (op.use_empty() && isValueOp(&op))
      op.erase();
  }
}

FailureOr<SmallVector<RankedTensorType>>
mlir::ring::attentionInputs(Operation *op) {
  SmallVector<RankedTensorType> types;
  for (unsigned i : {0, 1, 2}) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type || type.getRank() != 4)
      return emitNamedError(op)
             << "has an operand of type " << op->getOperand(i).getType()
             << ", expected [batch, heads, positions, channels]";
    types.push_back(type);
  }
  return types;
}
