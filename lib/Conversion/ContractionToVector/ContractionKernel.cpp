//===- ContractionKernel.cpp - Kernels of matrix products -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionKernel.h"

using namespace mlir;
using namespace mlir::ring;

MemRefType mlir::ring::stridedType(Type element, int64_t rank) {
  SmallVector<int64_t> dynamic(rank, ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(element.getContext(),
                                       ShapedType::kDynamic, dynamic);
  return MemRefType::get(dynamic, element, layout);
}

MemRefType mlir::ring::stripsType(MLIRContext *context) {
  int64_t dynamic = ShapedType::kDynamic;
  auto layout = StridedLayoutAttr::get(context, dynamic, {dynamic, dynamic, 1});
  return MemRefType::get({dynamic, dynamic, dynamic}, Float32Type::get(context),
                         layout);
}

Value mlir::ring::countTiles(ImplicitLocOpBuilder &b, Value count, Value tile) {
  return arith::CeilDivUIOp::create(b, count, tile);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// A memref of two dimensions, taken apart.
struct Matrix {
  KernelBuilder &b;
  Value memref, base, offset, rows, columns, rowStride, columnStride;

  Matrix(KernelBuilder &b, Value memref) : b(b), memref(memref) {
    auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
    base = metadata.getBaseBuffer();
    offset = metadata.getOffset();
    rows = metadata.getSizes()[0];
    columns = metadata.getSizes()[1];
    rowStride = metadata.getStrides()[0];
    columnStride = metadata.getStrides()[1];
  }

  Value isOne(Value stride) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, stride,
                                 b.index(1));
  }
  /// `length` elements side by side, from the one `at` strides of `stride` on.
  Value line(Value at, Value stride, Value length) {
    auto layout =
        StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1});
    auto type = MemRefType::get(
        {ShapedType::kDynamic},
        cast<MemRefType>(memref.getType()).getElementType(), layout);
    return memref::ReinterpretCastOp::create(
        b, type, base, OpFoldResult(b.add(offset, b.mul(at, stride))),
        ArrayRef<OpFoldResult>{length},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }
  Value row(Value r) { return line(r, rowStride, columns); }
  Value column(Value c) { return line(c, columnStride, rows); }
};
} // namespace

/// `count` rounded down to whole registers.
static Value wholeRegisters(KernelBuilder &b, Value count) {
  Value rest = arith::RemUIOp::create(b, count, b.index(b.plan.registerLanes));
  return b.sub(count, rest);
}

namespace {
/// A strip of `strips`, of which `width` columns are those of a matrix from
/// `first` on.
struct Strip {
  Value strips, index, first, width;
};
} // namespace

static void forStrips(KernelBuilder &b, Value columns, Value strips,
                      const std::function<void(const Strip &)> &body) {
  Value widest = b.dim(strips, 2);
  b.loop(b.index(0), countTiles(b, columns, widest), 1, [&](Value index) {
    Value first = b.mul(index, widest);
    body({strips, index, first, b.min(widest, b.sub(columns, first))});
  });
}

/// Calls `whole` for each register of a row of `columns`, `rest` for what is
/// left, with a mask of it.
static void
forRegisters(KernelBuilder &b, Value columns,
             const std::function<void(Value column)> &whole,
             const std::function<void(Value column, Value mask)> &rest) {
  Value end = wholeRegisters(b, columns);
  b.loop(b.index(0), end, b.plan.registerLanes, whole);
  Value left = b.sub(columns, end);
  Value some =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, left, b.index(0));
  b.branch(some, [&] {
    auto type = b.vectorOf(b.plan.registerLanes, b.getI1Type());
    rest(end, vector::CreateMaskOp::create(b, type, left));
  });
}

/// Element by element, rows from `first` on.
static void unpackScalars(KernelBuilder &b, Value first, const Matrix &source,
                          Value target) {
  b.loop(first, source.rows, 1, [&](Value r) {
    forStrips(b, source.columns, target, [&](const Strip &strip) {
      b.loop(b.index(0), strip.width, 1, [&](Value c) {
        Value value = memref::LoadOp::create(
            b, source.memref, ValueRange{r, b.add(strip.first, c)});
        memref::StoreOp::create(b, b.widen(value), target,
                                ValueRange{strip.index, r, c});
      });
    });
  });
}

/// Row by row, so that memory is read in the order in which it lies.
static void unpackRows(KernelBuilder &b, Matrix &source, Value target) {
  int64_t lanes = b.plan.registerLanes;
  b.loop(b.index(0), source.rows, 1, [&](Value r) {
    Value row = source.row(r);
    VectorType type =
        b.vectorOf(lanes, cast<MemRefType>(row.getType()).getElementType());
    forStrips(b, source.columns, target, [&](const Strip &strip) {
      forRegisters(
          b, strip.width,
          [&](Value c) {
            Value part = b.load(row, b.add(strip.first, c), lanes);
            b.store(b.widen(part), target, {strip.index, r, c});
          },
          [&](Value c, Value mask) {
            Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
            Value part = vector::MaskedLoadOp::create(
                b, type, row, b.add(strip.first, c), mask, zero);
            b.store(b.widen(part), target, {strip.index, r, c});
          });
    });
  });
}

/// Where columns lie side by side: square blocks are transposed in registers. A
/// block that is not all there repeats the last column.
static void unpackColumns(KernelBuilder &b, Matrix &source, Value target) {
  int64_t lanes = b.plan.registerLanes;
  Value end = wholeRegisters(b, source.rows);
  Value last = b.sub(source.columns, b.index(1));
  forStrips(b, source.columns, target, [&](const Strip &strip) {
    b.loop(b.index(0), strip.width, lanes, [&](Value c) {
      SmallVector<Value> columns;
      for (int64_t i = 0; i < lanes; ++i) {
        Value column = b.add(b.add(strip.first, c), i);
        columns.push_back(source.column(b.min(column, last)));
      }
      b.loop(b.index(0), end, lanes, [&](Value r) {
        SmallVector<Value> block;
        for (Value column : columns)
          block.push_back(b.widen(b.load(column, r, lanes)));
        block = b.transposed(std::move(block));
        for (int64_t i = 0; i < lanes; ++i)
          b.store(block[i], target, {strip.index, b.add(r, i), c});
      });
    });
  });
  unpackScalars(b, end, source, target);
}

void mlir::ring::buildUnpack(KernelBuilder &b, func::FuncOp function) {
  Matrix source(b, function.getArgument(0));
  Value target = function.getArgument(1);
  b.branch(
      source.isOne(source.columnStride), [&] { unpackRows(b, source, target); },
      [&] {
        b.branch(
            source.isOne(source.rowStride),
            [&] { unpackColumns(b, source, target); },
            [&] { unpackScalars(b, b.index(0), source, target); });
      });
  func::ReturnOp::create(b);
}

void mlir::ring::buildPack(KernelBuilder &b, func::FuncOp function) {
  int64_t lanes = b.plan.registerLanes;
  Value source = function.getArgument(0);
  Matrix target(b, function.getArgument(1));
  auto rows = [&](Value r, const Strip &strip) {
    Value row = target.row(r);
    forRegisters(
        b, strip.width,
        [&](Value c) {
          b.store(b.load(source, {strip.index, r, c}, lanes), row,
                  b.add(strip.first, c));
        },
        [&](Value c, Value mask) {
          vector::MaskedStoreOp::create(
              b, row, b.add(strip.first, c), mask,
              b.load(source, {strip.index, r, c}, lanes));
        });
  };
  auto scalars = [&](Value r, const Strip &strip) {
    b.loop(b.index(0), strip.width, 1, [&](Value c) {
      Value value =
          memref::LoadOp::create(b, source, ValueRange{strip.index, r, c});
      memref::StoreOp::create(b, value, target.memref,
                              ValueRange{r, b.add(strip.first, c)});
    });
  };
  auto with = [&](const std::function<void(Value, const Strip &)> &body) {
    b.loop(b.index(0), target.rows, 1, [&](Value r) {
      forStrips(b, target.columns, source,
                [&](const Strip &strip) { body(r, strip); });
    });
  };
  b.branch(
      target.isOne(target.columnStride), [&] { with(rows); },
      [&] { with(scalars); });
  func::ReturnOp::create(b);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
/// One work item: a tile of the result.
class ContractionKernel {
public:
  ContractionKernel(KernelBuilder &b, func::FuncOp kernel, const Copies &copies,
                    bool fromZero)
      : b(b), kernel(kernel), copies(copies), fromZero(fromZero),
        lhs(kernel.getArgument(1)), rhs(kernel.getArgument(2)),
        out(kernel.getArgument(3)) {}

  void build();

private:
  void decodeItem();
  void zeroRows(Value scratch, Value from);
  /// Sums over the outer sums from the `depth`-th on.
  void sumOuter(SmallVector<Value> &outer, int64_t depth);
  void sumInner(ArrayRef<Value> outer);
  void multiply(Value strip, Value sums, int64_t registers);
  /// rows x columns of `memref` from [leading..., row, column] on.
  Value tile(Value memref, ArrayRef<Value> leading, Value row, Value column,
             Value rows, Value columns);
  void copy(func::FuncOp function, Value source, Value target);
  Value asStrips(Value scratch) {
    return memref::CastOp::create(b, stripsType(b.getContext()), scratch);
  }

  KernelBuilder &b;
  func::FuncOp kernel;
  const Copies &copies;
  bool fromZero;
  Value lhs, rhs, out;
  SmallVector<Value> batch;
  Value firstRow, firstColumn, rows, columns;
  Value paddedRows; ///< `rows` rounded up to those of a register tile
  /// f32: the tile of lhs in one strip, those of rhs and of the result in
  /// strips as wide as the register tile. Rows beyond `rows` are zeros,
  /// computed on and never stored.
  Value lhsTile, rhsTile, outTile;
};
} // namespace

/// item = ((batch, tile of rows), tile of columns), the last one running first.
void ContractionKernel::decodeItem() {
  Value item = kernel.getArgument(0), tileRows = kernel.getArgument(4),
        tileColumns = kernel.getArgument(5);
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  auto next = [&](Value count) -> Value {
    Value index = arith::RemUIOp::create(b, item, count);
    item = arith::DivUIOp::create(b, item, count);
    return index;
  };
  auto part = [&](int64_t dim, Value size, Value &first, Value &count) {
    Value all = b.dim(out, dim);
    first = b.mul(next(countTiles(b, all, size)), size);
    count = b.min(size, b.sub(all, first));
  };
  part(rank - 1, tileColumns, firstColumn, columns);
  part(rank - 2, tileRows, firstRow, rows);
  batch.resize(rank - 2);
  for (int64_t dim = rank - 3; dim >= 0; --dim)
    batch[dim] = next(b.dim(out, dim));
  Value group = b.index(b.plan.registerRows);
  paddedRows = b.mul(countTiles(b, rows, group), group);
}

void ContractionKernel::zeroRows(Value scratch, Value from) {
  int64_t lanes = b.plan.registerLanes;
  ArrayRef<int64_t> shape = cast<MemRefType>(scratch.getType()).getShape();
  b.loop(b.index(0), b.index(shape[0]), 1, [&](Value strip) {
    b.loop(from, paddedRows, 1, [&](Value r) {
      b.loop(b.index(0), b.index(shape[2]), lanes, [&](Value c) {
        b.store(b.splat(0.0f, lanes), scratch, {strip, r, c});
      });
    });
  });
}

Value ContractionKernel::tile(Value memref, ArrayRef<Value> leading, Value row,
                              Value column, Value tileRows, Value tileColumns) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  SmallVector<Value> first(leading);
  first.append({row, column});
  Value offset = metadata.getOffset();
  for (auto [index, stride] : llvm::zip_equal(first, metadata.getStrides()))
    offset = b.add(offset, b.mul(index, stride));
  ValueRange strides = metadata.getStrides().take_back(2);
  return memref::ReinterpretCastOp::create(
      b, stridedType(cast<MemRefType>(memref.getType()).getElementType(), 2),
      metadata.getBaseBuffer(), OpFoldResult(offset),
      ArrayRef<OpFoldResult>{tileRows, tileColumns},
      ArrayRef<OpFoldResult>{strides[0], strides[1]});
}

void ContractionKernel::copy(func::FuncOp function, Value source,
                             Value target) {
  func::CallOp::create(b, function, ValueRange{source, target});
}

/// Adds the products of the unpacked tiles to the first `registers` registers
/// of columns of a strip of the result.
void ContractionKernel::multiply(Value strip, Value sums, int64_t registers) {
  int64_t group = b.plan.registerRows, lanes = b.plan.registerLanes;
  Value zero = b.index(0);
  b.loop(zero, paddedRows, group, [&](Value r) {
    SmallVector<Value> rowOf, columnOf, acc;
    for (int64_t i = 0; i < group; ++i)
      rowOf.push_back(b.add(r, i));
    for (int64_t j = 0; j < registers; ++j)
      columnOf.push_back(b.index(j * lanes));
    for (Value row : rowOf)
      for (Value column : columnOf)
        acc.push_back(b.load(outTile, {strip, row, column}, lanes));
    acc = b.loop(zero, sums, 1, acc, [&](Value k, ValueRange carried) {
      SmallVector<Value> right, next;
      for (Value column : columnOf)
        right.push_back(b.load(rhsTile, {strip, k, column}, lanes));
      for (Value row : rowOf) {
        Value left = b.broadcast(lhsTile, {zero, row, k}, lanes);
        for (Value factor : right)
          next.push_back(b.fma(left, factor, carried[next.size()]));
      }
      return next;
    });
    for (auto [index, sum] : llvm::enumerate(acc))
      b.store(sum, outTile,
              {strip, rowOf[index / registers], columnOf[index % registers]});
  });
}

void ContractionKernel::sumInner(ArrayRef<Value> outer) {
  int64_t rank = cast<MemRefType>(lhs.getType()).getRank();
  int64_t lanes = b.plan.registerLanes, widest = b.plan.lanes / lanes;
  Value all = b.dim(lhs, rank - 1);
  SmallVector<Value> leading(batch);
  llvm::append_range(leading, outer);
  b.loop(b.index(0), all, kTileSums, [&](Value first) {
    Value sums = b.min(b.index(kTileSums), b.sub(all, first));
    copy(copies.unpackLhs, tile(lhs, leading, firstRow, first, rows, sums),
         asStrips(lhsTile));
    copy(copies.unpackRhs,
         tile(rhs, leading, first, firstColumn, sums, columns),
         asStrips(rhsTile));
    forStrips(b, columns, outTile, [&](const Strip &strip) {
      // No more registers than the strip has columns for.
      std::function<void(int64_t)> choose = [&](int64_t registers) {
        if (registers == widest)
          return multiply(strip.index, sums, registers);
        Value fits =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ule, strip.width,
                                  b.index(registers * lanes));
        b.branch(
            fits, [&] { multiply(strip.index, sums, registers); },
            [&] { choose(registers + 1); });
      };
      choose(1);
    });
  });
}

void ContractionKernel::sumOuter(SmallVector<Value> &outer, int64_t depth) {
  int64_t batches = batch.size();
  if (batches + depth + 2 == cast<MemRefType>(lhs.getType()).getRank())
    return sumInner(outer);
  b.loop(b.index(0), b.dim(lhs, batches + depth), 1, [&](Value index) {
    outer.push_back(index);
    sumOuter(outer, depth + 1);
    outer.pop_back();
  });
}

void ContractionKernel::build() {
  decodeItem();
  int64_t strips = kTileColumns / b.plan.lanes;
  lhsTile = b.scratch({1, kTileRows, kTileSums});
  rhsTile = b.scratch({strips, kTileSums, b.plan.lanes});
  outTile = b.scratch({strips, kTileRows, b.plan.lanes});
  Value target = tile(out, batch, firstRow, firstColumn, rows, columns);
  zeroRows(lhsTile, rows);
  zeroRows(outTile, fromZero ? b.index(0) : rows);
  if (!fromZero)
    copy(copies.unpackOut, target, asStrips(outTile));
  SmallVector<Value> outer;
  sumOuter(outer, 0);
  copy(copies.packOut, asStrips(outTile), target);
  func::ReturnOp::create(b);
}

void mlir::ring::buildContractionKernel(KernelBuilder &b, func::FuncOp kernel,
                                        const Copies &copies, bool fromZero) {
  ContractionKernel(b, kernel, copies, fromZero).build();
}
