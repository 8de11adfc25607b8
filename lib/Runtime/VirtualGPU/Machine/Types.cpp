//===- Types.cpp - How values lie in registers and memory -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ring::vgpu;

std::optional<Scalar> ring::vgpu::scalarOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return Scalar{Scalar::Kind::Pointer, 64};
  if (type.isBF16())
    return Scalar{Scalar::Kind::BFloat, 16};
  if (type.isF16() || type.isF32() || type.isF64())
    return Scalar{Scalar::Kind::Float, type.getIntOrFloatBitWidth()};
  if (type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
      type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
      type.isSignlessInteger(64))
    return Scalar{Scalar::Kind::Int, type.getIntOrFloatBitWidth()};
  return std::nullopt;
}

Type ring::vgpu::elementOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

unsigned ring::vgpu::elementCount(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

unsigned ring::vgpu::packing(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  std::optional<Scalar> element = scalarOf(elementOf(type));
  if (!vector || !element || (element->bits != 8 && element->bits != 16) ||
      vector.getNumElements() * element->bits % 32)
    return 0;
  return 32 / element->bits;
}

/// The elements of a struct or an array.
static SmallVector<Type> partsOf(Type type) {
  if (auto record = dyn_cast<LLVM::LLVMStructType>(type))
    return SmallVector<Type>(record.getBody());
  auto array = cast<LLVM::LLVMArrayType>(type);
  return SmallVector<Type>(array.getNumElements(), array.getElementType());
}

bool ring::vgpu::shapeOf(Type type, SmallVectorImpl<RegisterShape> &registers,
                         uint32_t offset) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    std::optional<Scalar> element = scalarOf(vector.getElementType());
    if (!element || vector.getRank() != 1 || vector.isScalable())
      return false;
    unsigned pack = packing(type);
    uint32_t bytes = pack ? 4 : element->bytes();
    unsigned count = vector.getNumElements() / std::max(pack, 1u);
    for (unsigned i = 0; i < count; ++i)
      registers.push_back({element->isWide(), offset + i * bytes, bytes});
    return true;
  }
  if (std::optional<Scalar> scalar = scalarOf(type)) {
    registers.push_back({scalar->isWide(), offset, scalar->bytes()});
    return true;
  }
  if (!isa<LLVM::LLVMStructType, LLVM::LLVMArrayType>(type))
    return false;
  if (auto record = dyn_cast<LLVM::LLVMStructType>(type);
      record && record.isOpaque())
    return false;
  for (unsigned i = 0, count = partsOf(type).size(); i < count; ++i) {
    Type part;
    uint64_t at = offsetOf(type, i, part);
    if (!shapeOf(part, registers, offset + at))
      return false;
  }
  return true;
}

uint64_t ring::vgpu::alignOf(Type type) {
  if (isa<VectorType>(type))
    return llvm::PowerOf2Ceil(sizeOf(type));
  if (std::optional<Scalar> scalar = scalarOf(type))
    return scalar->bytes();
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return alignOf(array.getElementType());
  auto record = dyn_cast<LLVM::LLVMStructType>(type);
  if (!record || record.isPacked())
    return 1;
  uint64_t align = 1;
  for (Type part : record.getBody())
    align = std::max(align, alignOf(part));
  return align;
}

uint64_t ring::vgpu::sizeOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    std::optional<Scalar> element = scalarOf(vector.getElementType());
    uint64_t bytes = element ? element->bytes() * vector.getNumElements() : 0;
    return llvm::PowerOf2Ceil(bytes);
  }
  if (std::optional<Scalar> scalar = scalarOf(type))
    return scalar->bytes();
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return array.getNumElements() * sizeOf(array.getElementType());
  auto record = dyn_cast<LLVM::LLVMStructType>(type);
  if (!record || record.getBody().empty())
    return 0;
  Type last;
  uint64_t begin = offsetOf(type, record.getBody().size() - 1, last);
  return llvm::alignTo(begin + sizeOf(last), alignOf(type));
}

uint64_t ring::vgpu::offsetOf(Type type, unsigned index, Type &element) {
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type)) {
    element = array.getElementType();
    return index * sizeOf(element);
  }
  auto record = cast<LLVM::LLVMStructType>(type);
  uint64_t offset = 0;
  for (auto [i, part] : llvm::enumerate(record.getBody())) {
    if (!record.isPacked())
      offset = llvm::alignTo(offset, alignOf(part));
    element = part;
    if (i == index)
      return offset;
    offset += sizeOf(part);
  }
  return offset;
}

std::pair<unsigned, unsigned> ring::vgpu::registersOf(Type type, unsigned index,
                                                      Type &element) {
  SmallVector<Type> parts = partsOf(type);
  unsigned first = 0;
  for (unsigned i = 0;; ++i) {
    SmallVector<RegisterShape> registers;
    shapeOf(parts[i], registers);
    if (i == index) {
      element = parts[i];
      return {first, registers.size()};
    }
    first += registers.size();
  }
}
