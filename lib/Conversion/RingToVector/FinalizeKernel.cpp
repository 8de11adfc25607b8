//===- FinalizeKernel.cpp - Kernels on the rows of a state ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

namespace {
/// Rows of one (batch, head): a work item of the kernels here.
struct Rows {
  Value batch, head, count;

  Rows(KernelBuilder &b, Value item, Value acc) {
    int64_t heads = cast<MemRefType>(acc.getType()).getDimSize(1);
    batch = arith::DivUIOp::create(b, item, b.index(heads));
    head = arith::RemUIOp::create(b, item, b.index(heads));
    count = b.dim(acc, 2);
  }
};
} // namespace

/// One row of f32 scratch of a whole tile's layout, [1][padded columns].
static Value rowScratch(KernelBuilder &b, int64_t columns) {
  return b.scratch({1, b.padded(columns)});
}

/// Applies `body` to each register of a scratch row.
static void forRegisters(KernelBuilder &b, int64_t columns,
                         const std::function<void(Value)> &body) {
  b.loop(b.index(0), b.index(b.padded(columns)), b.plan.registerLanes, body);
}

static Value inAllLanes(KernelBuilder &b, Value scalar) {
  return vector::BroadcastOp::create(b, b.vectorOf(b.plan.registerLanes),
                                     scalar);
}

void mlir::ring::buildFinalizeKernel(FinalizeOp op, KernelBuilder &b,
                                     func::FuncOp kernel) {
  auto argument = [&](OpOperand &operand) -> Value {
    return kernel.getArgument(operand.getOperandNumber() + 1);
  };
  auto optional = [&](MutableOperandRange operand) -> Value {
    return operand.empty() ? Value() : argument(operand[0]);
  };
  Value acc = argument(op.getAccMutable()), max = argument(op.getMaxMutable()),
        sum = argument(op.getSumMutable()), out = argument(op.getOutMutable());
  Value sinks = optional(op.getSinksMutable()),
        mean = optional(op.getMeanMutable()),
        lse = optional(op.getLseMutable());
  int64_t heads = cast<MemRefType>(acc.getType()).getDimSize(1);
  int64_t columns = cast<MemRefType>(acc.getType()).getDimSize(3);
  Rows rows(b, kernel.getArgument(0), acc);
  Value row = rowScratch(b, columns);
  b.loop(b.index(0), rows.count, 1, [&](Value r) {
    SmallVector<Value> at = {rows.batch, rows.head, r};
    Value total = memref::LoadOp::create(b, sum, at);
    Value maximum = memref::LoadOp::create(b, max, at);
    // A query that saw nothing has sum 0.
    Value nothing =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, b.f32(0.0f));
    Value decay;
    if (sinks) {
      Value sink = memref::LoadOp::create(b, sinks, rows.head);
      Value raised = b.vmax(sink, maximum);
      Value base = b.guardEmpty(inAllLanes(b, raised));
      decay = b.exp(b.vsub(inAllLanes(b, maximum), base));
      Value ofSink = b.exp(b.vsub(inAllLanes(b, sink), base));
      auto lane = [&](Value vector) -> Value {
        return vector::ExtractOp::create(b, vector, 0);
      };
      total = b.vadd(b.vmul(total, lane(decay)), lane(ofSink));
      maximum = raised;
    }
    // There acc is 0: divided by 0 it gives NaN, by anything else 0.
    bool nan = op.getEmptyRows() == EmptyRows::NaN;
    Value divisor =
        inAllLanes(b, arith::SelectOp::create(b, nothing,
                                              b.f32(nan ? 0.0f : 1.0f), total));
    b.unpackRows(acc, rows.batch, rows.head, r, b.index(1), columns, row);
    forRegisters(b, columns, [&](Value c) {
      Value sum = b.load(row, {b.index(0), c}, b.plan.registerLanes);
      if (decay)
        sum = b.vmul(sum, decay);
      b.store(arith::DivFOp::create(b, sum, divisor), row, {b.index(0), c});
    });
    if (mean)
      b.branch(nothing, [&] {
        int64_t meanHeads = cast<MemRefType>(mean.getType()).getDimSize(1);
        Value head =
            arith::DivUIOp::create(b, rows.head, b.index(heads / meanHeads));
        b.loop(b.index(0), b.index(columns), 1, [&](Value c) {
          Value value =
              memref::LoadOp::create(b, mean, ValueRange{rows.batch, head, c});
          memref::StoreOp::create(b, value, row, ValueRange{b.index(0), c});
        });
      });
    b.packRows(row, out, rows.batch, rows.head, r, b.index(1), columns);
    if (lse) {
      Value logarithm = b.log(total);
      memref::StoreOp::create(b, b.vadd(maximum, logarithm), lse, at);
    }
  });
  func::ReturnOp::create(b);
}

void mlir::ring::buildMergeKernel(MergeOp op, KernelBuilder &b,
                                  func::FuncOp kernel) {
  Value otherAcc = kernel.getArgument(1), otherMax = kernel.getArgument(2),
        otherSum = kernel.getArgument(3), acc = kernel.getArgument(4),
        max = kernel.getArgument(5), sum = kernel.getArgument(6);
  int64_t columns = cast<MemRefType>(acc.getType()).getDimSize(3);
  int64_t lanes = b.plan.registerLanes;
  Rows rows(b, kernel.getArgument(0), acc);
  Value mine = rowScratch(b, columns), theirs = rowScratch(b, columns);
  float infinity = std::numeric_limits<float>::infinity();
  b.loop(b.index(0), rows.count, 1, [&](Value r) {
    SmallVector<Value> at = {rows.batch, rows.head, r};
    Value theirMax = memref::LoadOp::create(b, otherMax, at);
    Value something = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                            theirMax, b.f32(-infinity));
    // Merging with the identity is skipped: it changes no bit.
    b.branch(something, [&] {
      Value myMax = memref::LoadOp::create(b, max, at);
      Value newMax = b.vmax(theirMax, myMax);
      Value base = inAllLanes(b, newMax);
      Value myDecay = b.exp(b.vsub(inAllLanes(b, myMax), base));
      Value theirDecay = b.exp(b.vsub(inAllLanes(b, theirMax), base));
      b.unpackRows(acc, rows.batch, rows.head, r, b.index(1), columns, mine);
      b.unpackRows(otherAcc, rows.batch, rows.head, r, b.index(1), columns,
                   theirs);
      forRegisters(b, columns, [&](Value c) {
        SmallVector<Value> here = {b.index(0), c};
        Value scaled = b.vmul(b.load(mine, here, lanes), myDecay);
        b.store(b.fma(b.load(theirs, here, lanes), theirDecay, scaled), mine,
                here);
      });
      b.packRows(mine, acc, rows.batch, rows.head, r, b.index(1), columns);
      auto lane = [&](Value vector) -> Value {
        return vector::ExtractOp::create(b, vector, 0);
      };
      Value mySum = memref::LoadOp::create(b, sum, at);
      Value theirSum = memref::LoadOp::create(b, otherSum, at);
      Value total = b.vadd(b.vmul(mySum, lane(myDecay)),
                           b.vmul(theirSum, lane(theirDecay)));
      memref::StoreOp::create(b, total, sum, at);
      memref::StoreOp::create(b, newMax, max, at);
    });
  });
  func::ReturnOp::create(b);
}

void mlir::ring::buildFillKernel(linalg::FillOp op, KernelBuilder &b,
                                 func::FuncOp kernel) {
  Value content = kernel.getArgument(1), acc = kernel.getArgument(2);
  int64_t columns = cast<MemRefType>(acc.getType()).getDimSize(3);
  Rows rows(b, kernel.getArgument(0), acc);
  Value row = rowScratch(b, columns);
  Value everywhere = inAllLanes(b, content);
  forRegisters(b, columns,
               [&](Value c) { b.store(everywhere, row, {b.index(0), c}); });
  b.loop(b.index(0), rows.count, 1, [&](Value r) {
    b.packRows(row, acc, rows.batch, rows.head, r, b.index(1), columns);
  });
  func::ReturnOp::create(b);
}
