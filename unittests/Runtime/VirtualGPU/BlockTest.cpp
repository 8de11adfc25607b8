//===- BlockTest.cpp - Barriers and asynchronous copies -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

#include <numeric>

using namespace ring::vgpu;
using namespace ring::vgpu::test;

static const std::string kStart =
    "%i = nvvm.read.ptx.sreg.tid.x : i32\n"
    "%w = nvvm.read.ptx.sreg.warpid : i32\n"
    "%s = llvm.mlir.addressof @dyn : !llvm.ptr<3>\n";
static std::string constant(const std::string &name, int64_t value) {
  return "%" + name + " = llvm.mlir.constant(" + std::to_string(value) +
         " : i32) : i32\n";
}
/// %atNAME: element %INDEX of shared memory.
static std::string sharedAt(const std::string &name, const std::string &index,
                            const std::string &type = "i32") {
  return "%at" + name + " = llvm.getelementptr %s[" + index +
         "] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, " + type + "\n";
}

// Neighbouring warps exchange values, again and again.
TEST(MachineBlock, Barriers) {
  for (std::string barrier :
       {"nvvm.barrier0", "nvvm.barrier", "nvvm.barrier id = %id",
        "nvvm.barrier id = %id number_of_threads = %all"}) {
    constexpr uint32_t count = 96;
    Memory memory;
    uint64_t pr = memory.allocate(count * 4);
    std::string body = kStart + constant("one", 1) + constant("id", 3) +
                       constant("all", count) + constant("thirty", 33) +
                       constant("zero", 0) + constant("five", 5) + R"(
    %n0 = llvm.add %i, %thirty : i32
    %n = llvm.urem %n0, %all : i32
)" + sharedAt("me", "%i") +
                       sharedAt("other", "%n") + R"(
    llvm.br ^loop(%zero, %i : i32, i32)
  ^loop(%k: i32, %v: i32):
    llvm.store %v, %atme : i32, !llvm.ptr<3>
)" + barrier + R"(
    %x = llvm.load %atother : !llvm.ptr<3> -> i32
)" + barrier + R"(
    %v1 = llvm.add %x, %one : i32
    %k1 = llvm.add %k, %one : i32
    %more = llvm.icmp "ult" %k1, %five : i32
    llvm.cond_br %more, ^loop(%k1, %v1 : i32, i32), ^end
  ^end:
)" + storeAt("%v1", "i32");
    ASSERT_EQ(launchText(kernelText("%pr: !llvm.ptr<1>", body, kDynamic),
                         threads(count, count * 4), {&pr}, memory),
              "");
    std::vector<uint32_t> got = memory.read<uint32_t>(pr);
    for (uint32_t i = 0; i < count; ++i)
      EXPECT_EQ(got[i], (i + 33 * 5) % count + 5);
  }
}

// One warp fills slots for another: full and empty barriers of two warps, each
// awaited by one side and only reached by the other.
TEST(MachineBlock, ProducerAndConsumer) {
  Memory memory;
  std::vector<uint32_t> in(32 * 6);
  std::iota(in.begin(), in.end(), 100);
  uint64_t pa = memory.copy(in), pr = memory.allocate(in.size() * 4);
  std::string body = kStart + constant("zero", 0) + constant("one", 1) +
                     constant("two", 2) + constant("four", 4) +
                     constant("six", 6) + constant("n", 64) +
                     constant("lanes", 32) + constant("mask", 31) + R"(
    %lane = llvm.and %i, %mask : i32
    %p = llvm.icmp "eq" %w, %zero : i32
    llvm.cond_br %p, ^produce(%zero : i32), ^first
  ^produce(%k: i32):
    %slot = llvm.and %k, %one : i32
    %empty = llvm.add %slot, %one : i32
    %full = llvm.add %empty, %two : i32
    nvvm.barrier id = %empty number_of_threads = %n
    %b0 = llvm.mul %slot, %lanes : i32
    %b1 = llvm.add %b0, %lane : i32
)" + sharedAt("p", "%b1") +
                     R"(
    %e0 = llvm.mul %k, %lanes : i32
    %e1 = llvm.add %e0, %lane : i32
    %from = llvm.getelementptr %pa[%e1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %from : !llvm.ptr<1> -> i32
    llvm.store %v, %atp : i32, !llvm.ptr<3>
    nvvm.barrier.arrive id = %full number_of_threads = %n
    %k1 = llvm.add %k, %one : i32
    %more = llvm.icmp "ult" %k1, %six : i32
    llvm.cond_br %more, ^produce(%k1 : i32), ^drain(%zero : i32)
  // What the consumer announces last is taken, so that nothing is left over.
  ^drain(%d: i32):
    %de = llvm.add %d, %one : i32
    nvvm.barrier id = %de number_of_threads = %n
    %dm = llvm.icmp "ult" %de, %two : i32
    llvm.cond_br %dm, ^drain(%de : i32), ^end
  ^first:
    nvvm.barrier.arrive id = %one number_of_threads = %n
    nvvm.barrier.arrive id = %two number_of_threads = %n
    llvm.br ^consume(%zero : i32)
  ^consume(%c: i32):
    %cslot = llvm.and %c, %one : i32
    %cempty = llvm.add %cslot, %one : i32
    %cfull = llvm.add %cempty, %two : i32
    nvvm.barrier id = %cfull number_of_threads = %n
    %xor = llvm.xor %lane, %mask : i32
    %d0 = llvm.mul %cslot, %lanes : i32
    %d1 = llvm.add %d0, %xor : i32
)" + sharedAt("c", "%d1") +
                     R"(
    %x = llvm.load %atc : !llvm.ptr<3> -> i32
    nvvm.barrier.arrive id = %cempty number_of_threads = %n
    %f0 = llvm.mul %c, %lanes : i32
    %f1 = llvm.add %f0, %lane : i32
    %to = llvm.getelementptr %pr[%f1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %x, %to : i32, !llvm.ptr<1>
    %c1 = llvm.add %c, %one : i32
    %cmore = llvm.icmp "ult" %c1, %six : i32
    llvm.cond_br %cmore, ^consume(%c1 : i32), ^end
  ^end:
)";
  ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>", body,
                                  kDynamic),
                       threads(64, 256), {&pa, &pr}, memory),
            "");
  std::vector<uint32_t> got = memory.read<uint32_t>(pr);
  for (uint32_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], in[i ^ 31]);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

TEST(MachineBlock, AsyncCopies) {
  for (unsigned bytes : {4, 8, 16}) {
    Memory memory;
    std::vector<uint8_t> in(64 * bytes);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = i + 1;
    uint64_t pa = memory.copy(in), pr = memory.allocate(in.size());
    const std::string size = std::to_string(bytes),
                      type = "!llvm.array<" + size + " x i8>",
                      words = bytes == 4   ? "i32"
                              : bytes == 8 ? "i64"
                                           : "vector<4xi32>";
    // Thread i copies to place i ^ 1, and reads what its neighbour copied.
    std::string body = kStart + constant("one", 1) +
                       "%n = llvm.xor %i, %one : i32\n"
                       "%from = llvm.getelementptr %pa[%i] : (!llvm.ptr<1>, "
                       "i32) -> !llvm.ptr<1>, " +
                       type + "\n" + sharedAt("n", "%n", type) +
                       sharedAt("i", "%i", type) +
                       "nvvm.cp.async.shared.global %atn, %from, " + size +
                       ", cache = " + (bytes == 16 ? "cg" : "ca") +
                       " : !llvm.ptr<3>, !llvm.ptr<1>\n"
                       "nvvm.cp.async.commit.group\n"
                       "nvvm.cp.async.wait.group 0\n"
                       "nvvm.barrier0\n"
                       "%v = llvm.load %ati : !llvm.ptr<3> -> " +
                       words + "\n" + storeAt("%v", words);
    ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>",
                                    body, kDynamic),
                         threads(64, in.size()), {&pa, &pr}, memory),
              "");
    std::vector<uint8_t> got = memory.read<uint8_t>(pr);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], in[i ^ bytes]);
  }
}

// What is not copied is 0, and with nothing to copy the source may be anywhere.
TEST(MachineBlock, AsyncCopiesFillWithZeros) {
  Memory memory;
  std::vector<uint8_t> in(16 * 17 - 15, 0xee);
  uint64_t pa = memory.copy(in), pr = memory.allocate(17 * 16);
  std::string body = kStart + R"(
    %from = llvm.getelementptr %pa[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<16 x i8>
)" + sharedAt("i", "%i", "!llvm.array<16 x i8>") +
                     constant("m", 16) + R"(
    %n0 = llvm.sub %m, %i : i32
    nvvm.cp.async.shared.global %ati, %from, 16, cache = cg, %n0 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %v = llvm.load %ati : !llvm.ptr<3> -> vector<4xi32>
)" + storeAt("%v", "vector<4xi32>");
  ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>", body,
                                  kDynamic),
                       threads(17, 17 * 16), {&pa, &pr}, memory),
            "");
  std::vector<uint8_t> got = memory.read<uint8_t>(pr);
  for (unsigned i = 0; i < 17; ++i)
    for (unsigned byte = 0; byte < 16; ++byte)
      EXPECT_EQ(got[i * 16 + byte], byte < 16 - i ? 0xee : 0);
}

// Three groups in flight; waiting for all but n makes the oldest arrive, and a
// source is read when its group arrives and not before.
TEST(MachineBlock, AsyncGroups) {
  Memory memory;
  uint64_t pa = memory.copy(std::vector<uint32_t>{1, 2, 3}),
           pr = memory.allocate(4 * 4);
  std::string body = kStart + constant("k", 50);
  for (int i = 0; i < 3; ++i) {
    std::string n = std::to_string(i);
    body += "%from" + n + " = llvm.getelementptr %pa[" + n +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%to" + n +
            " = llvm.getelementptr %s[" + n +
            "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32\n"
            "nvvm.cp.async.shared.global %to" +
            n + ", %from" + n +
            ", 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>\n"
            "nvvm.cp.async.commit.group\n";
  }
  body += R"(
    nvvm.cp.async.wait.group 2
    llvm.store %k, %from0 : i32, !llvm.ptr<1>
    %a = llvm.load %to0 : !llvm.ptr<3> -> i32
    llvm.store %k, %from1 : i32, !llvm.ptr<1>
    nvvm.cp.async.wait.group 1
    %b = llvm.load %to1 : !llvm.ptr<3> -> i32
    nvvm.cp.async.wait.group 0
    %c = llvm.load %to2 : !llvm.ptr<3> -> i32
)";
  for (int i = 0; i < 3; ++i)
    body += "%r" + std::to_string(i) + " = llvm.getelementptr %pr[" +
            std::to_string(i) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\nllvm.store %" + "abc"[i] +
            ", %r" + std::to_string(i) + " : i32, !llvm.ptr<1>\n";
  ASSERT_EQ(launchText(kernelText("%pa: !llvm.ptr<1>, %pr: !llvm.ptr<1>", body,
                                  kDynamic),
                       threads(1, 12), {&pa, &pr}, memory),
            "");
  EXPECT_EQ(memory.read<uint32_t>(pr), (std::vector<uint32_t>{1, 50, 3, 0}));
}
