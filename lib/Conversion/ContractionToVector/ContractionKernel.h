//===- ContractionKernel.h - Kernels of matrix products ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONKERNEL_H
#define RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONKERNEL_H

#include "../RingToVector/KernelBuilder.h"

namespace mlir::ring {

/// The largest tile of the result that is a work item. Its rows are whole
/// registers, and whole groups of rows of the register tile.
constexpr int64_t kTileRows = 192, kTileColumns = 256;
static_assert(kTileRows % 48 == 0 && kTileColumns % 64 == 0);
/// Terms of the sums that are unpacked at once.
constexpr int64_t kTileSums = 128;

/// memref<?x...x?xT> of `rank` dimensions, any strides and offset.
MemRefType stridedType(Type element, int64_t rank);
/// f32 scratch [strip][row][column], in strips of columns that a register tile
/// walks down.
MemRefType stripsType(MLIRContext *context);

/// Converts a matrix to f32 in strips. Of a row whole registers are written,
/// whatever stands in the rest. The arguments are (stridedType(T, 2),
/// stripsType).
void buildUnpack(KernelBuilder &b, func::FuncOp function);
/// The way back, nothing but the sizes of the matrix. The arguments are
/// (stripsType, stridedType(f32, 2)).
void buildPack(KernelBuilder &b, func::FuncOp function);

/// The functions that a kernel calls.
struct Copies {
  func::FuncOp unpackLhs, unpackRhs, unpackOut, packOut;
};

/// out[batch..., row, column] += the sums over all sums of
/// lhs[batch..., sums..., row, sum] * rhs[batch..., sums..., sum, column]; with
/// `fromZero` it is = in place of +=. The arguments are (item, lhs, rhs, out,
/// rows of a tile, columns of a tile).
void buildContractionKernel(KernelBuilder &b, func::FuncOp kernel,
                            const Copies &copies, bool fromZero);
/// How many items there are for tiles of such sizes.
Value countTiles(ImplicitLocOpBuilder &b, Value count, Value tile);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONKERNEL_H
