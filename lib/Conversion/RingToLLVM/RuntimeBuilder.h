//===- RuntimeBuilder.h - Calls of the runtime from IR ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's C structs and functions (include/ring/Runtime/Runtime.h) as
// seen from the IR.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOLLVM_RUNTIMEBUILDER_H
#define RING_LIB_CONVERSION_RINGTOLLVM_RUNTIMEBUILDER_H

#include "../RuntimeSymbols.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ring {

/// Builds runtime calls in one function whose first argument is its context
/// (of a rank, or of the host) and whose control flow is a graph of blocks.
class RuntimeBuilder : public ImplicitLocOpBuilder {
public:
  RuntimeBuilder(func::FuncOp function, const LLVMTypeConverter &types);

  Type pointerType() { return LLVM::LLVMPointerType::get(getContext()); }
  Value context() { return function.getArgument(0); }
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value asI64(Value index);
  Value null() { return LLVM::ZeroOp::create(*this, pointerType()); }
  /// A constant C string.
  Value string(StringRef text);
  /// The address of constant bytes and a 0 behind them, made once per module
  /// and name.
  Value bytes(StringRef name, StringRef content, uint64_t alignment = 1);
  /// The address of constant i64s, made once per module and name.
  Value constants(StringRef name, ArrayRef<int64_t> values);

  /// Memory for one `type`, on the stack, made once per call of the function.
  Value slot(Type type);
  /// The same as a memref.
  Value stackMemref(MemRefType type);

  /// Calls `name` of the runtime; null where it returns nothing.
  Value call(StringRef name, Type result, ValueRange arguments);
  /// The same for a function that returns a status: leaves the function where
  /// it is bad. Continues in a new block.
  void checkedCall(StringRef name, ValueRange arguments);
  void check(Value status);

  /// `ring_tensor`s for memrefs, in one array; returns its address.
  Value tensors(ValueRange memrefs);
  /// Addresses of element [0, ..., 0] and of the sizes of a memref, as its
  /// descriptor has them, whatever its type says.
  struct DataAndSizes {
    Value data, sizes;
  };
  DataAndSizes dataAndSizes(Value memref);
  /// The memref that a ring_tensor at `address`[index] describes.
  Value memrefFrom(Value address, int64_t index, MemRefType type);

  /// Puts values into a struct on the stack, as environment of a callback.
  Value packEnvironment(ValueRange values);
  /// Takes them out again, in the callback.
  static SmallVector<Value> unpackEnvironment(ImplicitLocOpBuilder &b,
                                              const LLVMTypeConverter &types,
                                              Value address,
                                              TypeRange valueTypes);

  /// The block that ends the function with the status it is given.
  Block *exitBlock();

  /// True iff the module has something else of a name that is the runtime's;
  /// the error has been emitted.
  bool hasClash() const { return symbols.hasClash(); }

private:
  LLVM::LLVMStructType tensorType();

  func::FuncOp function;
  const LLVMTypeConverter &types;
  Block *exit = nullptr;
  RuntimeSymbols symbols;
};

/// A private function with an entry block; `name` is made unique.
func::FuncOp addCallback(ModuleOp module, StringRef name, FunctionType type,
                         Location loc);
/// The address of a function as an LLVM pointer.
Value functionAddress(ImplicitLocOpBuilder &b, func::FuncOp function);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOLLVM_RUNTIMEBUILDER_H
