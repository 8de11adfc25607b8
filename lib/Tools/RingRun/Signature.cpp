//===- Signature.cpp - Arguments and results of a program -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Signature.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace ring::tools {

bool Signature::isStatic() const {
  return llvm::none_of(shape, [](int64_t size) { return size < 0; });
}

static std::optional<ElementType> elementType(Type type) {
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF64())
    return ElementType::F64;
  if (type.isSignlessInteger(1))
    return ElementType::I1;
  if (type.isSignlessInteger(8))
    return ElementType::I8;
  if (type.isSignlessInteger(16))
    return ElementType::I16;
  if (type.isSignlessInteger(32))
    return ElementType::I32;
  if (type.isSignlessInteger(64))
    return ElementType::I64;
  return std::nullopt;
}

/// What memory a value is part of.
static Value source(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

/// How many arguments come before those that the function writes, which are
/// results in memory of the caller's.
static unsigned inputCount(func::FuncOp function) {
  unsigned count = function.getNumArguments();
  function.walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (isa<MemoryEffects::Write>(effect.getEffect()) && effect.getValue())
        if (auto argument = dyn_cast<BlockArgument>(source(effect.getValue()));
            argument && argument.getOwner() == &function.front() &&
            isa<MemRefType>(argument.getType()))
          count = std::min(count, argument.getArgNumber());
  });
  return count;
}

LogicalResult readSignatures(func::FuncOp function,
                             std::vector<Signature> &arguments,
                             std::vector<Signature> &results) {
  auto read = [&](Type type, std::vector<Signature> &into) -> LogicalResult {
    auto shaped = dyn_cast<ShapedType>(type);
    std::optional<ElementType> element;
    if (shaped && shaped.hasRank() && isa<TensorType, MemRefType>(type))
      element = elementType(shaped.getElementType());
    if (!element)
      return function.emitError("cannot pass ")
             << type << ", expected tensors of numbers";
    into.push_back({*element, shaped.getShape().vec()});
    return success();
  };
  unsigned inputs = inputCount(function);
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(read(type, index < inputs ? arguments : results)))
      return failure();
  for (Type type : function.getResultTypes())
    if (failed(read(type, results)))
      return failure();
  return success();
}

std::vector<int64_t> descriptor(const Array &array) {
  int64_t rank = array.rank();
  std::vector<int64_t> words(3 + 2 * rank);
  auto address =
      reinterpret_cast<int64_t>(const_cast<std::byte *>(array.data()));
  words[0] = words[1] = address;
  int64_t stride = 1;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    words[3 + dim] = array.dim(dim);
    words[3 + rank + dim] = stride;
    stride *= array.dim(dim);
  }
  return words;
}

} // namespace ring::tools
