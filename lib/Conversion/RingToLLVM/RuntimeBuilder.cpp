//===- RuntimeBuilder.cpp - Calls of the runtime from IR ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeBuilder.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace mlir::ring;

/// RING_MAX_DIMS of include/ring/Runtime/Runtime.h.
static constexpr int64_t kMaxDims = 6;

RuntimeBuilder::RuntimeBuilder(func::FuncOp function,
                               const LLVMTypeConverter &types)
    : ImplicitLocOpBuilder(function.getLoc(), function.getContext()),
      function(function), types(types) {}

Value RuntimeBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}
Value RuntimeBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
}
Value RuntimeBuilder::asI64(Value index) {
  return arith::IndexCastOp::create(*this, getI64Type(), index);
}

static bool isOfArray(LLVM::GlobalOp global, LLVM::LLVMArrayType type) {
  return global.getConstant() && global.getType() == type;
}

Value RuntimeBuilder::string(StringRef text) {
  return bytes(("ring_string_" + text).str(), text);
}

Value RuntimeBuilder::bytes(StringRef name, StringRef content,
                            uint64_t alignment) {
  auto module = function->getParentOfType<ModuleOp>();
  std::string terminated = content.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(getI8Type(), terminated.size());
  if (!symbols.find<LLVM::GlobalOp>(
          module, name, [&](auto global) { return isOfArray(global, type); })) {
    auto b = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(b, getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           getStringAttr(terminated), /*alignment=*/alignment);
  }
  return LLVM::AddressOfOp::create(*this, pointerType(), name);
}

Value RuntimeBuilder::stackMemref(MemRefType type) {
  InsertionGuard guard(*this);
  setInsertionPointToStart(&function.front());
  return memref::AllocaOp::create(*this, type, getI64IntegerAttr(8));
}

Value RuntimeBuilder::constants(StringRef name, ArrayRef<int64_t> values) {
  auto module = function->getParentOfType<ModuleOp>();
  int64_t count = values.size();
  auto type = LLVM::LLVMArrayType::get(getI64Type(), count);
  if (!symbols.find<LLVM::GlobalOp>(
          module, name, [&](auto global) { return isOfArray(global, type); })) {
    auto b = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(
        b, getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
        DenseElementsAttr::get(RankedTensorType::get({count}, getI64Type()),
                               values));
  }
  return LLVM::AddressOfOp::create(*this, pointerType(), name);
}

Value RuntimeBuilder::slot(Type type) {
  InsertionGuard guard(*this);
  setInsertionPointToStart(&function.front());
  Value one = i64(1);
  return LLVM::AllocaOp::create(*this, pointerType(), type, one,
                                /*alignment=*/8);
}

Value RuntimeBuilder::call(StringRef name, Type result, ValueRange arguments) {
  auto module = function->getParentOfType<ModuleOp>();
  auto type = getFunctionType(arguments.getTypes(),
                              result ? TypeRange(result) : TypeRange());
  symbols.declare(module, getLoc(), name, type);
  auto op = func::CallOp::create(*this, name, type.getResults(), arguments);
  return result ? op.getResult(0) : Value();
}

Block *RuntimeBuilder::exitBlock() {
  if (!exit) {
    exit = new Block();
    function.getBody().push_back(exit);
    exit->addArgument(getI32Type(), getLoc());
  }
  return exit;
}

void RuntimeBuilder::check(Value status) {
  Value bad =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, status, i32(0));
  Block *current = getInsertionBlock();
  Block *rest = current->splitBlock(getInsertionPoint());
  setInsertionPointToEnd(current);
  cf::CondBranchOp::create(*this, bad, exitBlock(), ValueRange(status), rest,
                           ValueRange());
  setInsertionPointToStart(rest);
}

void RuntimeBuilder::checkedCall(StringRef name, ValueRange arguments) {
  check(call(name, getI32Type(), arguments));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

LLVM::LLVMStructType RuntimeBuilder::tensorType() {
  Type sizes = LLVM::LLVMArrayType::get(getI64Type(), kMaxDims);
  return LLVM::LLVMStructType::getLiteral(
      getContext(), {pointerType(), getI32Type(), getI32Type(), sizes, sizes});
}

Value RuntimeBuilder::tensors(ValueRange memrefs) {
  LLVM::LLVMStructType type = tensorType();
  Value array = slot(LLVM::LLVMArrayType::get(type, memrefs.size()));
  for (auto [index, memref] : llvm::enumerate(memrefs)) {
    auto memrefType = cast<MemRefType>(memref.getType());
    int64_t bytes = llvm::divideCeil(memrefType.getElementTypeBitWidth(), 8);
    Value descriptorValue = UnrealizedConversionCastOp::create(
                                *this, types.convertType(memrefType), memref)
                                .getResult(0);
    MemRefDescriptor descriptor(descriptorValue);
    Value base = descriptor.bufferPtr(*this, getLoc(), types, memrefType);
    Value tensor = LLVM::PoisonOp::create(*this, type);
    auto set = [&](Value value, ArrayRef<int64_t> position) {
      tensor = LLVM::InsertValueOp::create(*this, tensor, value, position);
    };
    set(base, {0});
    set(i32(memrefType.getRank()), {1});
    set(i32(bytes), {2});
    for (int64_t dim = 0; dim < kMaxDims; ++dim) {
      bool real = dim < memrefType.getRank();
      set(real ? descriptor.size(*this, getLoc(), dim) : i64(1), {3, dim});
      set(real ? descriptor.stride(*this, getLoc(), dim) : i64(0), {4, dim});
    }
    Value place = LLVM::GEPOp::create(
        *this, pointerType(), type, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(*this, tensor, place);
  }
  return array;
}

RuntimeBuilder::DataAndSizes RuntimeBuilder::dataAndSizes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value value =
      UnrealizedConversionCastOp::create(*this, types.convertType(type), memref)
          .getResult(0);
  MemRefDescriptor descriptor(value);
  DataAndSizes result;
  result.data = descriptor.bufferPtr(*this, getLoc(), types, type);
  Type array = LLVM::LLVMArrayType::get(getI64Type(), type.getRank());
  result.sizes = slot(array);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value place =
        LLVM::GEPOp::create(*this, pointerType(), getI64Type(), result.sizes,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(dim)});
    LLVM::StoreOp::create(*this, descriptor.size(*this, getLoc(), dim), place);
  }
  return result;
}

Value RuntimeBuilder::memrefFrom(Value address, int64_t index,
                                 MemRefType memrefType) {
  LLVM::LLVMStructType type = tensorType();
  Value place =
      LLVM::GEPOp::create(*this, pointerType(), type, address,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  Value tensor = LLVM::LoadOp::create(*this, type, place);
  auto get = [&](ArrayRef<int64_t> position) -> Value {
    return LLVM::ExtractValueOp::create(*this, tensor, position);
  };
  auto descriptor =
      MemRefDescriptor::poison(*this, getLoc(), types.convertType(memrefType));
  Value data = get({0});
  descriptor.setAllocatedPtr(*this, getLoc(), data);
  descriptor.setAlignedPtr(*this, getLoc(), data);
  descriptor.setOffset(*this, getLoc(), i64(0));
  for (int64_t dim = 0; dim < memrefType.getRank(); ++dim) {
    descriptor.setSize(*this, getLoc(), dim, get({3, dim}));
    descriptor.setStride(*this, getLoc(), dim, get({4, dim}));
  }
  Value value = descriptor;
  return UnrealizedConversionCastOp::create(*this, memrefType, value)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

static LLVM::LLVMStructType environmentType(MLIRContext *context,
                                            const LLVMTypeConverter &types,
                                            TypeRange valueTypes) {
  SmallVector<Type> fields;
  for (Type type : valueTypes)
    fields.push_back(types.convertType(type));
  return LLVM::LLVMStructType::getLiteral(context, fields);
}

/// `value` in the type that the conversion to LLVM gives it.
static Value converted(ImplicitLocOpBuilder &b, const LLVMTypeConverter &types,
                       Value value) {
  Type type = types.convertType(value.getType());
  if (type == value.getType())
    return value;
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

Value RuntimeBuilder::packEnvironment(ValueRange values) {
  LLVM::LLVMStructType type =
      environmentType(getContext(), types, values.getTypes());
  Value address = slot(type);
  Value environment = LLVM::PoisonOp::create(*this, type);
  for (auto [index, value] : llvm::enumerate(values))
    environment = LLVM::InsertValueOp::create(*this, environment,
                                              converted(*this, types, value),
                                              static_cast<int64_t>(index));
  LLVM::StoreOp::create(*this, environment, address);
  return address;
}

SmallVector<Value>
RuntimeBuilder::unpackEnvironment(ImplicitLocOpBuilder &b,
                                  const LLVMTypeConverter &types, Value address,
                                  TypeRange valueTypes) {
  LLVM::LLVMStructType type =
      environmentType(b.getContext(), types, valueTypes);
  Value environment = LLVM::LoadOp::create(b, type, address);
  SmallVector<Value> values;
  for (auto [index, valueType] : llvm::enumerate(valueTypes)) {
    Value field = LLVM::ExtractValueOp::create(b, environment,
                                               static_cast<int64_t>(index));
    values.push_back(
        field.getType() == valueType
            ? field
            : UnrealizedConversionCastOp::create(b, valueType, field)
                  .getResult(0));
  }
  return values;
}

func::FuncOp mlir::ring::addCallback(ModuleOp module, StringRef name,
                                     FunctionType type, Location loc) {
  auto function = func::FuncOp::create(loc, name, type);
  function.setPrivate();
  SymbolTable(module).insert(function);
  function.addEntryBlock();
  return function;
}

Value mlir::ring::functionAddress(ImplicitLocOpBuilder &b,
                                  func::FuncOp function) {
  Value constant = func::ConstantOp::create(b, function.getFunctionType(),
                                            FlatSymbolRefAttr::get(function));
  return UnrealizedConversionCastOp::create(
             b, LLVM::LLVMPointerType::get(b.getContext()), constant)
      .getResult(0);
}
