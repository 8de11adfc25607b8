//===- MatrixTest.cpp - mma.sync and ldmatrix -----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of fragments are written down here from the PTX ISA, element by
// element, and not from what any kernel does.
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

#include <cmath>
#include <random>

using namespace ring::vgpu;
using namespace ring::vgpu::test;

namespace {
enum class Type { F16, BF16, TF32 };
/// An element of a fragment in its matrix.
struct Place {
  unsigned row, col;
};
} // namespace

/// Element i of lane's part of A.
static Place placeOfA(Type type, unsigned k, unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, inGroup = lane % 4;
  if (type == Type::TF32) {
    // m16n8k4: a0, a1; m16n8k8: a0 to a3.
    unsigned row = i % 2 == 0 ? group : group + 8;
    return {row, i < 2 ? inGroup : inGroup + 4};
  }
  if (k == 8)
    return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
  // m16n8k16
  bool isUpper = i < 2 || (4 <= i && i < 6);
  unsigned col = inGroup * 2 + (i & 1);
  return {isUpper ? group : group + 8, i >= 4 ? col + 8 : col};
}
static Place placeOfB(Type type, unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, inGroup = lane % 4;
  if (type == Type::TF32)
    return {i == 0 ? inGroup : inGroup + 4, group};
  unsigned row = inGroup * 2 + (i & 1);
  return {i >= 2 ? row + 8 : row, group};
}
static Place placeOfC(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, inGroup = lane % 4;
  return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
}

static uint32_t encode(Type type, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (type == Type::BF16)
    return bits >> 16;
  if (type == Type::TF32)
    return bits;
  // Of values that f16 has, normal ones and 0.
  if (value == 0)
    return bits >> 16;
  return (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) |
         (bits >> 13 & 0x3ff);
}

static std::string list(const std::string &name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + name + std::to_string(i);
  return text;
}

/// Loads %NAME0 ... of a lane, which lie one after another.
static std::string loads(const std::string &name, unsigned count,
                         const std::string &type) {
  std::string array =
                  "!llvm.array<" + std::to_string(count) + " x " + type + ">",
              text;
  for (unsigned i = 0; i < count; ++i) {
    std::string n = name + std::to_string(i);
    text += "%at" + n + " = llvm.getelementptr %p" + name + "[%i, " +
            std::to_string(i) + "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, " +
            array + "\n%" + n + " = llvm.load %at" + n + " : !llvm.ptr<1> -> " +
            type + "\n";
  }
  return text;
}

/// The kernel of one product.
static std::string product(Type type, unsigned k) {
  const bool isTf32 = type == Type::TF32;
  const unsigned inA = isTf32 ? k / 2 : k / 4, inB = inA / 2;
  std::string word = type == Type::F16 ? "vector<2xf16>" : "i32",
              ptx = type == Type::BF16 ? "bf16" : "tf32";
  std::string body = "%i = nvvm.read.ptx.sreg.tid.x : i32\n" +
                     loads("a", inA, word) + loads("b", inB, word) +
                     loads("c", 4, "f32");
  body += "%d = nvvm.mma.sync A[" + list("a", inA) + "] B[" + list("b", inB) +
          "] C[" + list("c", 4) +
          "] {layoutA = #nvvm.mma_layout<row>, "
          "layoutB = #nvvm.mma_layout<col>, ";
  if (type != Type::F16)
    body += "multiplicandAPtxType = #nvvm.mma_type<" + ptx +
            ">, multiplicandBPtxType = #nvvm.mma_type<" + ptx + ">, ";
  const std::string four = "!llvm.struct<(f32, f32, f32, f32)>";
  body += "shape = #nvvm.shape<m = 16, n = 8, k = " + std::to_string(k) +
          ">} : (" + word + ", " + word + ", f32) -> " + four + "\n" +
          storeAt("%d", four);
  return kernelText("%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: "
                    "!llvm.ptr<1>, %pr: !llvm.ptr<1>",
                    body);
}

/// Random products; each element has to be the chain of fused multiply-adds
/// with k ascending.
static void testProduct(Type type, unsigned k) {
  const unsigned pack = type == Type::TF32 ? 1 : 2;
  const unsigned inA = k / (2 * pack), inB = inA / 2;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  auto draw = [&](unsigned count) {
    std::vector<float> values(count);
    for (float &value : values) {
      // What bf16 and f16 and tf32 all have.
      uint32_t bits;
      value = normal(random);
      std::memcpy(&bits, &value, 4);
      bits &= 0xffff0000;
      std::memcpy(&value, &bits, 4);
      if (std::fabs(value) < 0x1p-13f)
        value = 0;
    }
    return values;
  };
  std::vector<float> a = draw(16 * k), b = draw(k * 8), c(16 * 8);
  for (float &value : c)
    value = normal(random);

  std::vector<uint32_t> fragmentA(32 * inA), fragmentB(32 * inB);
  std::vector<float> fragmentC(32 * 4);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < inA * pack; ++i) {
      Place at = placeOfA(type, k, lane, i);
      fragmentA[lane * inA + i / pack] |= encode(type, a[at.row * k + at.col])
                                          << 16 * (i % pack);
    }
    for (unsigned i = 0; i < inB * pack; ++i) {
      Place at = placeOfB(type, lane, i);
      fragmentB[lane * inB + i / pack] |= encode(type, b[at.row * 8 + at.col])
                                          << 16 * (i % pack);
    }
    for (unsigned i = 0; i < 4; ++i) {
      Place at = placeOfC(lane, i);
      fragmentC[lane * 4 + i] = c[at.row * 8 + at.col];
    }
  }
  if (type == Type::TF32) // ignored
    for (size_t i = 0; i < fragmentA.size(); ++i)
      fragmentA[i] |= random() & 0x1fff;

  Memory memory;
  uint64_t pa = memory.copy(fragmentA), pb = memory.copy(fragmentB),
           pc = memory.copy(fragmentC), pr = memory.allocate(32 * 4 * 4);
  ASSERT_EQ(
      launchText(product(type, k), threads(32), {&pa, &pb, &pc, &pr}, memory),
      "");
  std::vector<float> got = memory.read<float>(pr);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      Place at = placeOfC(lane, i);
      float sum = c[at.row * 8 + at.col];
      for (unsigned j = 0; j < k; ++j)
        sum = std::fma(a[at.row * k + j], b[j * 8 + at.col], sum);
      EXPECT_EQ(got[lane * 4 + i], sum) << lane << " " << i;
    }
  }
}

TEST(MachineMatrix, ProductF16K16) { testProduct(Type::F16, 16); }
TEST(MachineMatrix, ProductF16K8) { testProduct(Type::F16, 8); }
TEST(MachineMatrix, ProductBF16K16) { testProduct(Type::BF16, 16); }
TEST(MachineMatrix, ProductBF16K8) { testProduct(Type::BF16, 8); }
TEST(MachineMatrix, ProductTF32K8) { testProduct(Type::TF32, 8); }
TEST(MachineMatrix, ProductTF32K4) { testProduct(Type::TF32, 4); }

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

static void testLoadMatrix(unsigned count, bool isTransposed) {
  // Row r of matrix m is at 48 * (8 * m + r), and holds 100 * m + 10 * r + col.
  const std::string num = std::to_string(count);
  std::string result = count == 1   ? "i32"
                       : count == 2 ? "!llvm.struct<(i32, i32)>"
                                    : "!llvm.struct<(i32, i32, i32, i32)>";
  std::string body = R"(
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %full = llvm.mlir.constant(-1 : i32) : i32
    %stride = llvm.mlir.constant(48 : i32) : i32
    %s = llvm.mlir.addressof @dyn : !llvm.ptr<3>
    %offset = llvm.mul %i, %stride : i32
    %row = llvm.getelementptr %s[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %from = llvm.getelementptr %pa[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<8xi16>
    %v = llvm.load %from : !llvm.ptr<1> -> vector<8xi16>
    llvm.store %v, %row : vector<8xi16>, !llvm.ptr<3>
    nvvm.bar.warp.sync %full : i32
    %m = nvvm.ldmatrix %row {num = )" +
                     num + R"( : i32, layout = #nvvm.mma_layout<)" +
                     (isTransposed ? "col" : "row") +
                     R"(>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>,
      eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> )" +
                     result + "\n" + storeAt("%m", result);
  Memory memory;
  std::vector<uint16_t> rows(32 * 8);
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned col = 0; col < 8; ++col)
      rows[row * 8 + col] = 100 * (row / 8) + 10 * (row % 8) + col;
  uint64_t pa = memory.copy(rows), pr = memory.allocate(32 * count * 4);
  ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>", body,
                                  kDynamic),
                       threads(32, 32 * 48), {&pa, &pr}, memory),
            "");
  std::vector<uint16_t> got = memory.read<uint16_t>(pr);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < count; ++matrix)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane / 4, col = 2 * (lane % 4) + half;
        if (isTransposed)
          std::swap(row, col);
        EXPECT_EQ(got[(lane * count + matrix) * 2 + half],
                  100 * matrix + 10 * row + col);
      }
}

TEST(MachineMatrix, LoadMatrix) {
  for (unsigned count : {1, 2, 4})
    testLoadMatrix(count, /*isTransposed=*/false);
}
TEST(MachineMatrix, LoadMatrixTransposed) {
  for (unsigned count : {1, 2, 4})
    testLoadMatrix(count, /*isTransposed=*/true);
}
