//===- KernelBuilder.h - Vocabulary of the CPU kernels ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels are written in: vectors of queries, scratch memory, packing,
// exp, and the runtime's work list.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOVECTOR_KERNELBUILDER_H
#define RING_LIB_CONVERSION_RINGTOVECTOR_KERNELBUILDER_H

#include "../RuntimeSymbols.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace mlir::ring {

/// The shape of the register and cache blocking.
struct TilePlan {
  int64_t registerLanes;    ///< f32 lanes of one vector register
  int64_t lanes;            ///< queries of a register tile
  int64_t queryTile;        ///< queries of a work item, a multiple of lanes
  int64_t keyTile;          ///< keys met at once
  int64_t registerRows = 6; ///< keys, or value columns, of a register tile

  /// 6 rows of `lanes` accumulators, one vector of queries and one broadcast
  /// fill the register file: 4 of 32 registers a row in AVX-512, 2 of 16 else.
  static TilePlan get(int64_t vectorBits, int64_t keyTile);
};

/// Builds the body of one kernel.
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  KernelBuilder(Location loc, func::FuncOp kernel, const TilePlan &plan);

  const TilePlan plan;

  // Types and constants.
  VectorType vectorOf(int64_t lanes, Type element = {});
  Value index(int64_t value);
  Value f32(float value);
  Value splat(float value, int64_t lanes);

  // Arithmetic on index values.
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(*this, a, b); }
  Value min(Value a, Value b) { return arith::MinSIOp::create(*this, a, b); }
  Value dim(Value memref, int64_t dim);

  /// A loop from `from` to `to`; `body` gets the induction variable and the
  /// carried values and returns their next.
  using LoopBody =
      std::function<SmallVector<Value>(Value iv, ValueRange carried)>;
  SmallVector<Value> loop(Value from, Value to, int64_t step,
                          ValueRange carried, const LoopBody &body);
  void loop(Value from, Value to, int64_t step,
            const std::function<void(Value iv)> &body);
  void branch(Value condition, const std::function<void()> &then,
              const std::function<void()> &otherwise = nullptr);

  /// 64-byte aligned scratch of a work item, on the stack of its thread.
  Value scratch(ArrayRef<int64_t> shape, Type element = {});
  /// The same for a struct of the runtime.
  Value scratchForStruct(int64_t bytes);
  int64_t scratchBytes() const { return bytesOfScratch; }

  Value load(Value memref, ValueRange indices, int64_t lanes);
  void store(Value vector, Value memref, ValueRange indices);
  /// The scalar at `indices` in all lanes.
  Value broadcast(Value memref, ValueRange indices, int64_t lanes);

  // Vectors of f32.
  Value vadd(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value vsub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value vmul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value fma(Value a, Value b, Value c) {
    return vector::FMAOp::create(*this, a, b, c);
  }
  /// a > b ? a : b; a NaN in `a` is passed over, one instruction on x86.
  Value vmax(Value a, Value b);
  /// exp(x) for x <= 0 within 2 ulp; 0 below 2^-126 (so no denormals), NaN for
  /// NaN. 2^f on [-0.5, 0.5] is a minimax polynomial of degree 6.
  Value exp(Value x);
  /// tanh(x) within 2 ulp; 1 with the sign of x for infinities, NaN for NaN. A
  /// minimax polynomial near 0, (1 - t) / (1 + t) with t = exp(-2 |x|) beyond.
  Value tanh(Value x);
  /// log(x) of a scalar within 2 ulp for normal x; -inf for 0, x itself for inf
  /// and NaN. Not for negative or denormal x, which no sum of weights is.
  Value log(Value x);
  /// Where a maximum is -inf nothing was seen, and 0 is subtracted instead:
  /// -inf - (-inf) would be NaN.
  Value guardEmpty(Value max);
  /// f16, bf16 or f32, scalar or vector, to f32.
  Value widen(Value value);

  /// Converts `count` rows of `columns` values of a 4-d memref, from row `row`
  /// of (batch, head) on, to f32 in `target` [rows][columns rounded up to
  /// lanes of a register]; the columns beyond are zeroed. Any strides.
  void unpackRows(Value source, Value batch, Value head, Value row, Value count,
                  int64_t columns, Value target);
  /// The way back, from f32 to the element type of `target`.
  void packRows(Value source, Value target, Value batch, Value head, Value row,
                Value count, int64_t columns);
  /// target[c][r] = source[r][c] for static sizes, multiples of the lanes of a
  /// register.
  void transpose(Value source, Value target, int64_t rows, int64_t columns);
  /// The transpose of a square block of registers.
  SmallVector<Value> transposed(SmallVector<Value> block);

  /// `columns` rounded up to whole registers.
  int64_t padded(int64_t columns) const;

  // The work list (include/ring/Runtime/Runtime.h).
  Value pointer(Value memref);
  Value callRuntime(StringRef name, Type result, ValueRange arguments);
  /// True iff the module has something else of a name that is the runtime's;
  /// the error has been emitted.
  bool hasClash() const { return symbols.hasClash(); }

private:
  Value loadRow(Value rowView, Value column, int64_t lanes, Value mask);
  void storeRow(Value vector, Value rowView, Value column, Value mask);
  /// One contiguous row of a 4-d memref whose last stride is 1.
  Value rowView(Value source, Value batch, Value head, Value row,
                int64_t columns);
  Value hasUnitStride(Value source);
  Value narrow(Value value, Type element);
  /// A mask of the first `count` lanes of a register.
  Value laneMask(int64_t count);

  func::FuncOp kernel;
  int64_t bytesOfScratch = 0;
  RuntimeSymbols symbols;
};

/// Fills the kernels' bodies. The arguments are (item, operands of the op) and,
/// for the first, `captures`: the values from outside that its `score` region
/// uses and that are no constants.
void buildOnlineAttentionKernel(OnlineAttentionOp op, KernelBuilder &b,
                                func::FuncOp kernel, ValueRange captures);
void buildFinalizeKernel(FinalizeOp op, KernelBuilder &b, func::FuncOp kernel);
void buildMergeKernel(MergeOp op, KernelBuilder &b, func::FuncOp kernel);
/// Of a fill of an accumulator.
void buildFillKernel(linalg::FillOp op, KernelBuilder &b, func::FuncOp kernel);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOVECTOR_KERNELBUILDER_H
