//===- Matrix.cpp - mma.sync and ldmatrix ---------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which element of a matrix which lane holds where is that of the PTX ISA,
// "Matrix multiply-accumulate operation using mma instruction". The order in
// which a product is summed is left open there; here it is one fused
// multiply-add after the other with k ascending, starting from C, so each step
// rounds once to f32 and the factors' product is exact.
//
//===----------------------------------------------------------------------===//

#include "Matrix.h"

#include "Access.h"
#include "Block.h"
#include "Handlers.h"

#include <cstring>

using namespace ring::vgpu;

void ring::vgpu::runMatrixProduct(Warp &warp, const Inst &inst) {
  if (!warp.gatherAll(inst))
    return;
  const MatrixShape shape = MatrixShape::decode(inst.imm);
  const unsigned k = shape.k, inA = shape.wordsOfA(), inB = shape.wordsOfB();
  const uint32_t *operands = &warp.block.program.operands[inst.list];
  const LaneFunctions &functions = laneFunctions();
  // A word holds `pack` neighbours along k.
  const unsigned pack = shape.type == Factor::TF32 ? 1 : 2;
  float a[16 * 16], b[16 * 8], c[16 * 8], wide[2 * kLanes];

  // Words of A: rows g and g + 8, then the same 4 * pack columns further on.
  for (unsigned word = 0; word < inA; ++word) {
    functions.widen(shape.type, warp.at<uint32_t>(operands[4 + word]), kLanes,
                    wide);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane / 4 + 8 * (word & 1),
               col = lane % 4 * pack + 4 * pack * (word / 2);
      for (unsigned i = 0; i < pack; ++i)
        a[row * k + col + i] = wide[lane * pack + i];
    }
  }
  for (unsigned word = 0; word < inB; ++word) {
    functions.widen(shape.type, warp.at<uint32_t>(operands[4 + inA + word]),
                    kLanes, wide);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < pack; ++i)
        b[(lane % 4 * pack + 4 * pack * word + i) * 8 + lane / 4] =
            wide[lane * pack + i];
  }
  auto placeOfC = [](unsigned lane, unsigned i) {
    return (lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2;
  };
  for (unsigned i = 0; i < 4; ++i) {
    const float *in = warp.at<float>(operands[4 + inA + inB + i]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      c[placeOfC(lane, i)] = in[lane];
  }
  functions.product(a, b, c, k);
  for (unsigned i = 0; i < 4; ++i) {
    float *out = warp.at<float>(operands[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      out[lane] = c[placeOfC(lane, i)];
  }
}

void ring::vgpu::runLoadMatrix(Warp &warp, const Inst &inst) {
  if (!warp.gatherAll(inst))
    return;
  Block &block = warp.block;
  const unsigned count = inst.imm & 7;
  const bool isTransposed = inst.imm >> 8 & 1;
  const uint32_t *operands = &block.program.operands[inst.list];
  const auto *addresses = warp.at<uint64_t>(operands[count]);
  constexpr uint32_t kRowBytes = 16;
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    uint16_t elements[8][8];
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = matrix * 8 + row;
      uint32_t offset;
      std::string why;
      if (!checkAlignment(warp, inst, lane, addresses[lane], kRowBytes,
                          "ldmatrix reads") ||
          !sharedOffset(warp, inst, lane, addresses[lane], kRowBytes,
                        DeviceMemory::Access::Read, offset))
        return;
      if (!block.shared.read({warp.index, SharedMemory::kWholeWarp}, offset,
                             kRowBytes, why))
        return warp.fault(inst, lane, std::move(why));
      std::memcpy(elements[row], block.shared.data(offset), kRowBytes);
    }
    uint32_t *out = warp.at<uint32_t>(operands[matrix]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane / 4, col = lane % 4 * 2;
      uint32_t low = isTransposed ? elements[col][row] : elements[row][col];
      uint32_t high =
          isTransposed ? elements[col + 1][row] : elements[row][col + 1];
      out[lane] = high << 16 | low;
    }
  }
}
