//===- DeviceBuilder.h - Vocabulary of the GPU kernels ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels are written in: scalars of a thread, structured control
// flow, global and shared memory, and the warp's operations of the PTX ISA.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_DEVICEBUILDER_H
#define RING_LIB_CONVERSION_RINGTOGPU_DEVICEBUILDER_H

#include "SharedTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace mlir::ring {

using Values = llvm::SmallVector<Value>;

class DeviceBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // Types and constants.
  LLVM::LLVMPointerType globalPointer() {
    return LLVM::LLVMPointerType::get(getContext(), 1);
  }
  LLVM::LLVMPointerType sharedPointer() {
    return LLVM::LLVMPointerType::get(getContext(), 3);
  }
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value truth(bool value); ///< i1
  Value negativeInfinity();

  // Integers.
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value add(Value a, int64_t b) { return b ? add(a, like(a, b)) : a; }
  Value sub(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value sub(Value a, int64_t b) { return sub(a, like(a, b)); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(*this, a, b); }
  Value mul(Value a, int64_t b) { return mul(a, like(a, b)); }
  Value band(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value band(Value a, int64_t b) { return band(a, like(a, b)); }
  Value bor(Value a, Value b) { return arith::OrIOp::create(*this, a, b); }
  Value bxor(Value a, Value b) { return arith::XOrIOp::create(*this, a, b); }
  Value bxor(Value a, int64_t b) { return b ? bxor(a, like(a, b)) : a; }
  Value bnot(Value condition) { return bxor(condition, truth(true)); }
  Value shl(Value a, int64_t b);
  Value shr(Value a, int64_t b);
  /// Unsigned division by a constant or a value.
  Value udiv(Value a, int64_t b);
  Value urem(Value a, int64_t b);
  Value udiv(Value a, Value b) { return arith::DivUIOp::create(*this, a, b); }
  Value urem(Value a, Value b) { return arith::RemUIOp::create(*this, a, b); }
  Value smin(Value a, Value b) { return arith::MinSIOp::create(*this, a, b); }
  Value smax(Value a, Value b) { return arith::MaxSIOp::create(*this, a, b); }
  Value extend(Value i32Value);   ///< signed, to i64
  Value truncate(Value i64Value); ///< to i32
  Value less(Value a, Value b);   ///< signed
  Value equal(Value a, Value b);
  Value notEqual(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value like(Value a, int64_t value);

  // f32.
  Value fadd(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value fsub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value fmul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value fma(Value a, Value b, Value c) {
    return LLVM::FMAOp::create(*this, a, b, c);
  }
  /// The larger one; a NaN is passed over.
  Value fmax(Value a, Value b) { return LLVM::MaxNumOp::create(*this, a, b); }
  Value fabs(Value a) { return LLVM::FAbsOp::create(*this, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(*this, predicate, a, b);
  }
  Value isFinite(Value x);
  Value bits(Value f32Value);
  Value fromBits(Value i32Value);
  /// 2^x, log2(x), 1/x: the hardware's, within 2 ulp; denormals count as 0.
  Value exp2(Value x) { return unary("llvm.nvvm.ex2.approx.ftz.f", x); }
  Value log2(Value x) { return unary("llvm.nvvm.lg2.approx.ftz.f", x); }
  Value reciprocal(Value x) { return unary("llvm.nvvm.rcp.approx.ftz.f", x); }
  /// tanh(x) within 2 ulp or so: a polynomial near 0, (1 - t) / (1 + t) with
  /// t = exp(-2 |x|) beyond; NaN for NaN.
  Value tanh(Value x);

  // Control flow. A loop runs from `from` to `to` (i32).
  using LoopBody = std::function<Values(Value iv, ValueRange carried)>;
  Values loop(Value from, Value to, Value step, ValueRange carried,
              const LoopBody &body);
  void loop(Value from, Value to, Value step,
            const std::function<void(Value iv)> &body);
  /// while (condition(carried)) carried = body(carried).
  Values whileLoop(ValueRange carried,
                   const std::function<Value(ValueRange)> &condition,
                   const std::function<Values(ValueRange)> &body);
  void branch(Value condition, const std::function<void()> &then,
              const std::function<void()> &otherwise = nullptr);
  Values choose(Value condition, const std::function<Values()> &then,
                const std::function<Values()> &otherwise);

  // Memory. Offsets are in bytes, i32 in shared memory and i64 in global.
  Value at(Value pointer, Value byteOffset);
  Value isNull(Value pointer);
  Value load(Type type, Value pointer, int64_t alignment = 0);
  void store(Value value, Value pointer, int64_t alignment = 0);
  /// Four elements of 32 bits, at a multiple of 16 bytes.
  Values loadFour(Type element, Value pointer);
  void storeFour(ArrayRef<Value> elements, Value pointer);

  // A thread's place.
  Value threadIdx();
  Value blockIdx(int dim);

  // Operations of a warp or block.
  void barrier() { NVVM::Barrier0Op::create(*this); }
  void syncWarp();
  void copyAsync(Value target, Value source, Value bytes);
  void commitCopies() { NVVM::CpAsyncCommitGroupOp::create(*this); }
  void waitForCopies(int64_t groupsLeft) {
    NVVM::CpAsyncWaitGroupOp::create(*this, groupsLeft);
  }
  /// Four 8x8 matrices of 16-bit elements, as i32 registers.
  Values loadMatrices(Value address, bool transposed);
  /// The value of the lane whose number differs by `mask` (f32).
  Value shuffleXor(Value value, int64_t mask);
  Value voteAll(Value condition);

  enum class Product { F16, BF16, TF32 };
  /// d = a * b + c on one m16n8k16 tile, or m16n8k8 for TF32: 4 registers of a,
  /// 2 of b (i32), 4 of c and d (f32).
  Values mma(Product product, ValueRange a, ValueRange b, ValueRange c);
  /// Two f32, rounded, in the lower and the upper half of an i32.
  Value pack(Product product, Value lower, Value upper);
  /// f16, bf16 or f32 to f32.
  Value widen(Value x);
  /// f32 to f16, bf16 or f32, rounded to the nearest.
  Value narrow(Value x, Type type);

private:
  Value unary(StringRef intrinsic, Value x);
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_DEVICEBUILDER_H
