//===- MemoryTest.cpp - Loads, stores and addresses -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

#include <cmath>

using namespace ring::vgpu;
using namespace ring::vgpu::test;

static const std::string kThread = "%i = nvvm.read.ptx.sreg.tid.x : i32\n";

TEST(MachineMemory, ParameterByValue) {
  struct Params {
    int8_t flag;
    uint64_t out;
    uint64_t in;
    int32_t counts[3];
    int64_t stride;
    float scale;
  } params{-3, 0, 0, {10, 20, 30}, 2, 1.5f};
  Memory memory;
  std::vector<float> in(64);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = i;
  params.in = memory.copy(in);
  params.out = memory.allocate(32 * 4);
  int32_t extra = 1000;
  const std::string type =
      "!llvm.struct<(i8, ptr, ptr, array<3 x i32>, i64, f32)>";
  auto field = [&](const std::string &name, const std::string &path,
                   const std::string &of) {
    return "%p" + name + " = llvm.getelementptr inbounds %p[0, " + path +
           "] : (!llvm.ptr) -> !llvm.ptr, " + type + "\n%" + name +
           " = llvm.load %p" + name + " : !llvm.ptr -> " + of + "\n";
  };
  std::string body =
      kThread + field("flag", "0", "i8") + field("out", "1", "!llvm.ptr") +
      field("in", "2", "!llvm.ptr") + field("count", "3, 1", "i32") +
      field("stride", "4", "i64") + field("scale", "5", "f32") + R"(
    %wide = llvm.sext %i : i32 to i64
    %index = llvm.mul %wide, %stride : i64
    %from = llvm.getelementptr %in[%index] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %from : !llvm.ptr -> f32
    %scaled = llvm.fmul %x, %scale : f32
    %f = llvm.sext %flag : i8 to i32
    %s = llvm.add %f, %count : i32
    %s2 = llvm.add %s, %extra : i32
    %g = llvm.sitofp %s2 : i32 to f32
    %r = llvm.fadd %scaled, %g : f32
    %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %r, %to : f32, !llvm.ptr
)";
  ASSERT_EQ(launchText(kernelText("%p: !llvm.ptr {llvm.byval = " + type +
                                      ", llvm.align = 8 : i64}, %extra: i32",
                                  body),
                       threads(32), {&params, &extra}, memory),
            "");
  std::vector<float> got = memory.read<float>(params.out);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 2 * i * 1.5f - 3 + 20 + 1000);
}

TEST(MachineMemory, ParameterBytes) {
  std::string error;
  std::unique_ptr<KernelModule> module = KernelModule::load(
      kernelText("%a: i32, %b: !llvm.ptr, %c: !llvm.ptr {llvm.byval = "
                 "!llvm.struct<(i8, i64, i16)>}, %d: f16",
                 ""),
      error);
  ASSERT_TRUE(module) << error;
  EXPECT_EQ(module->kernels(), std::vector<std::string>{"f"});
  EXPECT_EQ(module->find("g"), nullptr);
  EXPECT_EQ(KernelModule::parameterBytes(*module->find("f")),
            (std::vector<size_t>{4, 8, 24, 2}));
}

/// Copies a value of the type from global to shared memory and back.
static void testCopy(const std::string &type, unsigned bytes) {
  Memory memory;
  std::vector<uint8_t> in(33 * bytes);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = i * 37 + i / 256;
  uint64_t pa = memory.copy(in), pr = memory.allocate(in.size());
  std::string body =
      kThread + loadAt("a", type) +
      "%s = llvm.mlir.addressof @dyn : !llvm.ptr<3>\n"
      "%sh = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i32) -> "
      "!llvm.ptr<3>, " +
      type + "\nllvm.store %a, %sh : " + type +
      ", !llvm.ptr<3>\n"
      "%generic = llvm.addrspacecast %sh : !llvm.ptr<3> to !llvm.ptr\n"
      "%b = llvm.load %generic : !llvm.ptr -> " +
      type + "\n" + storeAt("%b", type);
  EXPECT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>", body,
                                  kDynamic),
                       threads(33, in.size()), {&pa, &pr}, memory),
            "")
      << type;
  EXPECT_EQ(memory.read<uint8_t>(pr), in) << type;
}

TEST(MachineMemory, Types) {
  testCopy("i8", 1);
  testCopy("i16", 2);
  testCopy("bf16", 2);
  testCopy("i32", 4);
  testCopy("f64", 8);
  testCopy("!llvm.ptr", 8);
  testCopy("vector<2xf16>", 4);
  testCopy("vector<4xi8>", 4);
  testCopy("vector<2xi8>", 2);
  testCopy("vector<8xbf16>", 16);
  testCopy("vector<4xf32>", 16);
  testCopy("vector<2xi64>", 16);
  testCopy("vector<8xf32>", 32);
  testCopy("!llvm.struct<(i32, i32)>", 8);
  testCopy("!llvm.array<3 x vector<2xbf16>>", 12);
}

TEST(MachineMemory, Vectors) {
  // Elements in and out, packed or not; a shuffle; bits as another type.
  std::vector<uint32_t> a{0x12345678, 0x9abcdef0, 0};
  auto run = [&](const std::string &body) {
    return apply<uint32_t, uint32_t>("i32", "i32", body, {a});
  };
  EXPECT_EQ(run(R"(
    %v = llvm.bitcast %a : i32 to vector<2xi16>
    %s = llvm.shufflevector %v, %v [1, 2] : vector<2xi16>
    %r = llvm.bitcast %s : vector<2xi16> to i32)"),
            (std::vector<uint32_t>{0x56781234, 0xdef09abc, 0}));
  EXPECT_EQ(run(R"(
    %two = llvm.mlir.constant(2 : i32) : i32
    %b = llvm.mlir.constant(-1 : i8) : i8
    %v = llvm.bitcast %a : i32 to vector<4xi8>
    %w = llvm.insertelement %b, %v[%two : i32] : vector<4xi8>
    %r = llvm.bitcast %w : vector<4xi8> to i32)"),
            (std::vector<uint32_t>{0x12ff5678, 0x9affdef0, 0x00ff0000}));
  EXPECT_EQ(run(R"(
    %v = llvm.bitcast %a : i32 to vector<4xi8>
    %e = llvm.extractelement %v[%i : i32] : vector<4xi8>
    %r = llvm.zext %e : i8 to i32)"),
            (std::vector<uint32_t>{0x78, 0xde, 0}));
  EXPECT_EQ(run(R"(
    %k = llvm.mlir.constant(-7 : i32) : i32
    %z = llvm.mlir.zero : vector<4xi32>
    %w = llvm.insertelement %k, %z[%i : i32] : vector<4xi32>
    %c = llvm.mlir.constant(dense<[1, 2, 3, 4]> : vector<4xi32>) : vector<4xi32>
    %s = llvm.add %w, %c : vector<4xi32>
    %one = llvm.mlir.constant(1 : i32) : i32
    %r = llvm.extractelement %s[%one : i32] : vector<4xi32>)"),
            (std::vector<uint32_t>{2, uint32_t(-5), 2}));
  EXPECT_EQ(run(R"(
    %x = llvm.zext %a : i32 to i64
    %h = llvm.mlir.constant(4294967296 : i64) : i64
    %y = llvm.mul %x, %h : i64
    %v = llvm.bitcast %y : i64 to vector<2xi32>
    %one = llvm.mlir.constant(1 : i32) : i32
    %r = llvm.extractelement %v[%one : i32] : vector<2xi32>)"),
            a);
  // Arithmetic on packed halves: 1 + 1 and 2 + 2.
  EXPECT_EQ((apply<uint32_t, uint32_t>(
                "vector<2xf16>", "vector<2xf16>",
                "%r = llvm.fadd %a, %a : vector<2xf16>",
                {std::vector<uint32_t>{0x40003c00, 0xc0000000}})),
            (std::vector<uint32_t>{0x44004000, 0xc4000000}));
  EXPECT_EQ((apply<uint32_t, uint32_t>(
                "vector<2xbf16>", "vector<2xbf16>", R"(
    %c = llvm.mlir.constant(dense<[1.0, 2.0]> : vector<2xbf16>) : vector<2xbf16>
    %p = llvm.fcmp "ogt" %a, %c : vector<2xbf16>
    %r = llvm.select %p, %a, %c : vector<2xi1>, vector<2xbf16>)",
                {std::vector<uint32_t>{0x40404040, 0x3f803f80}})),
            (std::vector<uint32_t>{0x40404040, 0x40003f80}));
}

TEST(MachineMemory, SharedGlobals) {
  // Three blocks of shared memory that do not overlap, the dynamic one last.
  Memory memory;
  uint64_t pr = memory.allocate(4 * 4);
  std::string globals =
      "llvm.mlir.global external @x() {addr_space = 3 : i32} : !llvm.array<3 x "
      "i8>\nllvm.mlir.global external @y() {addr_space = 3 : i32, alignment = "
      "64 : i64} : !llvm.array<5 x i32>\n" +
      kDynamic +
      "llvm.mlir.global external @dyn2() {addr_space = 3 : i32} : "
      "!llvm.array<0 x f32>\n";
  std::string body = kThread;
  for (std::string name : {"x", "y", "dyn", "dyn2"})
    body += "%" + name + " = llvm.mlir.addressof @" + name +
            " : !llvm.ptr<3>\n%n" + name + " = llvm.ptrtoint %" + name +
            " : !llvm.ptr<3> to i32\n";
  body += R"(
    %u = llvm.mlir.undef : !llvm.struct<(i32, i32, i32, i32)>
    %v0 = llvm.insertvalue %nx, %u[0] : !llvm.struct<(i32, i32, i32, i32)>
    %v1 = llvm.insertvalue %ny, %v0[1] : !llvm.struct<(i32, i32, i32, i32)>
    %v2 = llvm.insertvalue %ndyn, %v1[2] : !llvm.struct<(i32, i32, i32, i32)>
    %v3 = llvm.insertvalue %ndyn2, %v2[3] : !llvm.struct<(i32, i32, i32, i32)>
    llvm.store %v3, %pr : !llvm.struct<(i32, i32, i32, i32)>, !llvm.ptr<1>
)";
  ASSERT_EQ(launchText(kernelText("%pr: !llvm.ptr<1>", body, globals),
                       threads(1, 64), {&pr}, memory),
            "");
  std::vector<uint32_t> at = memory.read<uint32_t>(pr);
  EXPECT_EQ(at[0] % (256 * 1024), 0u);
  EXPECT_EQ(at[1] - at[0], 64u);
  EXPECT_EQ(at[2] - at[0], 96u); // 84 bytes, to a multiple of 16
  EXPECT_EQ(at[3], at[2]);
}

TEST(MachineMemory, ConstantGlobals) {
  Memory memory;
  uint64_t pr = memory.allocate(6 * 4);
  std::string globals =
      "llvm.mlir.global private constant @t(dense<[1.5, 2.5, 3.5]> : "
      "tensor<3xf32>) {addr_space = 4 : i32} : !llvm.array<3 x f32>\n"
      "llvm.mlir.global private constant @u(dense<[7, 8, 9]> : "
      "tensor<3xi16>) : !llvm.array<3 x i16>\n";
  std::string body = kThread + R"(
    %three = llvm.mlir.constant(3 : i32) : i32
    %j = llvm.urem %i, %three : i32
    %t = llvm.mlir.addressof @t : !llvm.ptr<4>
    %at = llvm.getelementptr %t[0, %j] : (!llvm.ptr<4>, i32) -> !llvm.ptr<4>, !llvm.array<3 x f32>
    %x = llvm.load %at : !llvm.ptr<4> -> f32
    %u = llvm.mlir.addressof @u : !llvm.ptr
    %atu = llvm.getelementptr %u[0, %j] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.array<3 x i16>
    %y = llvm.load %atu : !llvm.ptr -> i16
    %z = llvm.uitofp %y : i16 to f32
    %r = llvm.fadd %x, %z : f32
)" + storeAt("%r", "f32");
  ASSERT_EQ(launchText(kernelText("%pr: !llvm.ptr<1>", body, globals),
                       threads(6), {&pr}, memory),
            "");
  EXPECT_EQ(memory.read<float>(pr),
            (std::vector<float>{8.5, 10.5, 12.5, 8.5, 10.5, 12.5}));
}

// Each thread has memory of its own at the same address.
TEST(MachineMemory, Alloca) {
  std::vector<uint32_t> a(40);
  for (uint32_t i = 0; i < 40; ++i)
    a[i] = i * i;
  EXPECT_EQ((apply<uint32_t, uint32_t>("i32", "i32", R"(
    %n = llvm.mlir.constant(4 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %other = llvm.alloca %one x i64 : (i32) -> !llvm.ptr
    %p = llvm.alloca %n x i32 : (i32) -> !llvm.ptr
    %three = llvm.mlir.constant(3 : i32) : i32
    %k = llvm.and %i, %three : i32
    %at = llvm.getelementptr %p[%k] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %w = llvm.mlir.constant(-1 : i64) : i64
    llvm.store %a, %at : i32, !llvm.ptr
    llvm.store %w, %other : i64, !llvm.ptr
    nvvm.barrier0
    %r = llvm.load %at : !llvm.ptr -> i32)",
                                       {a})),
            a);
}

TEST(MachineMemory, Atomics) {
  // 100 threads in each of 6 blocks add to one place in each way.
  Memory memory;
  std::vector<int32_t> start{5, 0, -1, 0, 7, 7, 7, 7, 0};
  uint64_t pa = memory.copy(start), pf = memory.copy(std::vector<float>{0.5f});
  std::string body = kThread + R"(
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %k = llvm.mlir.constant(100 : i32) : i32
    %m = llvm.mul %b, %k : i32
    %n0 = llvm.add %m, %i : i32
    %half = llvm.mlir.constant(300 : i32) : i32
    %n = llvm.sub %n0, %half : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %f1 = llvm.mlir.constant(1.0 : f32) : f32
    %mask = llvm.mlir.constant(-9 : i32) : i32
    %bit = llvm.mlir.constant(64 : i32) : i32
)";
  const char *ops[] = {"add", "_or", "_and", "_xor",
                       "max", "min", "umax", "umin"};
  const char *values[] = {"one", "bit", "mask", "one", "n", "n", "n", "n"};
  for (int i = 0; i < 8; ++i) {
    std::string n = std::to_string(i);
    body += "%p" + n + " = llvm.getelementptr %pa[" + n +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%o" + n +
            " = llvm.atomicrmw " + ops[i] + " %p" + n + ", %" + values[i] +
            " monotonic : !llvm.ptr<1>, i32\n";
  }
  body += R"(
    %of = llvm.atomicrmw fadd %pf, %f1 monotonic : !llvm.ptr<1>, f32
    %p8 = llvm.getelementptr %pa[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    llvm.br ^try(%zero : i32)
  ^try(%seen: i32):
    %new = llvm.add %seen, %one : i32
    %cas = llvm.cmpxchg %p8, %seen, %new acq_rel monotonic : !llvm.ptr<1>, i32
    %old = llvm.extractvalue %cas[0] : !llvm.struct<(i32, i1)>
    %ok = llvm.extractvalue %cas[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %ok, ^end, ^try(%old : i32)
  ^end:
)";
  LaunchShape shape = threads(100);
  shape.grid = {6, 1, 1};
  ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pf: !llvm.ptr<1>", body),
                       shape, {&pa, &pf}, memory),
            "");
  EXPECT_EQ(memory.read<int32_t>(pa),
            (std::vector<int32_t>{605, 64, -9, 0, 299, -300, -1, 0, 600}));
  EXPECT_EQ(memory.read<float>(pf)[0], 600.5f);
}

TEST(MachineMemory, AtomicsInSharedMemory) {
  Memory memory;
  uint64_t pr = memory.allocate(4);
  std::string body = kThread + R"(
    %s = llvm.mlir.addressof @dyn : !llvm.ptr<3>
    %zero = llvm.mlir.constant(0 : i32) : i32
    %p = llvm.icmp "eq" %i, %zero : i32
    llvm.cond_br %p, ^first, ^all
  ^first:
    llvm.store %zero, %s : i32, !llvm.ptr<3>
    llvm.br ^all
  ^all:
    nvvm.barrier0
    %o = llvm.atomicrmw add %s, %i monotonic : !llvm.ptr<3>, i32
    nvvm.barrier0
    llvm.cond_br %p, ^last, ^end
  ^last:
    %r = llvm.load %s : !llvm.ptr<3> -> i32
    llvm.store %r, %pr : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
)";
  ASSERT_EQ(launchText(kernelText("%pr: !llvm.ptr<1>", body, kDynamic),
                       threads(100, 4), {&pr}, memory),
            "");
  EXPECT_EQ(memory.read<uint32_t>(pr)[0], 4950u);
}

// Every block of a grid, on however many threads of the host.
TEST(MachineMemory, Grid) {
  Memory memory;
  uint64_t pr = memory.allocate(5 * 7 * 3 * 4);
  std::string body = R"(
    %x = nvvm.read.ptx.sreg.ctaid.x : i32
    %y = nvvm.read.ptx.sreg.ctaid.y : i32
    %z = nvvm.read.ptx.sreg.ctaid.z : i32
    %nx = nvvm.read.ptx.sreg.nctaid.x : i32
    %ny = nvvm.read.ptx.sreg.nctaid.y : i32
    %a = llvm.mul %z, %ny : i32
    %b = llvm.add %a, %y : i32
    %c = llvm.mul %b, %nx : i32
    %i = llvm.add %c, %x : i32
)" + storeAt("%i", "i32");
  LaunchShape shape = threads(1);
  shape.grid = {5, 7, 3};
  ASSERT_EQ(
      launchText(kernelText("%pr: !llvm.ptr<1>", body), shape, {&pr}, memory),
      "");
  std::vector<uint32_t> got = memory.read<uint32_t>(pr);
  for (uint32_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], i);
}
