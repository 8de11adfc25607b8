//===- FaultTest.cpp - What the virtual GPU reports -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

#include <cstdlib>

using namespace ring::vgpu;
using namespace ring::vgpu::test;

static std::string constant(const std::string &name, int64_t value) {
  return "%" + name + " = llvm.mlir.constant(" + std::to_string(value) +
         " : i32) : i32\n";
}

static const std::string kStart =
    "%i = nvvm.read.ptx.sreg.tid.x : i32\n"
    "%w = nvvm.read.ptx.sreg.warpid : i32\n"
    "%s = llvm.mlir.addressof @dyn : !llvm.ptr<3>\n" +
    constant("zero", 0) + constant("one", 1) + constant("two", 2) +
    constant("all", -1) +
    "%me = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, "
    "i32) -> !llvm.ptr<3>, i32\n";

/// The report of a kernel with 512 bytes of shared memory and a pointer %g to
/// 256 bytes of global memory.
static std::string report(const std::string &body, uint32_t count = 32,
                          uint32_t blocks = 1) {
  Memory memory;
  uint64_t g = memory.allocate(256);
  LaunchShape shape = threads(count, 512);
  shape.grid = {blocks, 1, 1};
  return launchText(kernelText("%g: !llvm.ptr<1>", kStart + body, kDynamic),
                    shape, {&g}, memory);
}

/// Contains each of the parts.
static void expect(const std::string &text,
                   std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos)
        << "no '" << part << "' in: " << text;
}

/// Shared memory %atNAME = %s + OFFSET bytes.
static std::string at(const std::string &name, const std::string &offset) {
  return "%at" + name + " = llvm.getelementptr %s[" + offset +
         "] : (!llvm.ptr<3>" +
         (offset[0] == '%' ? std::string(", i32") : std::string()) +
         ") -> !llvm.ptr<3>, i8\n";
}

/// Only where `condition`, %NAME of which is made up here.
static std::string onlyIf(const std::string &name, const std::string &condition,
                          const std::string &body) {
  return "%c" + name + " = " + condition + "\nllvm.cond_br %c" + name + ", ^" +
         name + ", ^end" + name + "\n^" + name + ":\n" + body + "llvm.br ^end" +
         name + "\n^end" + name + ":\n";
}

static const std::string kStoreMe = "llvm.store %i, %me : i32, !llvm.ptr<3>\n";
static const std::string kSyncWarp = "nvvm.bar.warp.sync %all : i32\n";
static std::string loadMatrix(const std::string &address) {
  return "%matrix = nvvm.ldmatrix " + address +
         " {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = "
         "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
         "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32\n";
}
static std::string copyAsync(const std::string &to, const std::string &from,
                             int bytes) {
  return "nvvm.cp.async.shared.global " + to + ", " + from + ", " +
         std::to_string(bytes) + ", cache = ca : !llvm.ptr<3>, !llvm.ptr<1>\n";
}
static const std::string kCommit = "nvvm.cp.async.commit.group\n",
                         kWait = "nvvm.cp.async.wait.group 0\n";

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

TEST(MachineFault, SaysWhereAndWhat) {
  std::string text = report(R"(
    %far = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %x = llvm.load %far : !llvm.ptr<1> -> i32
)",
                            80);
  expect(text, {"kernel 'f', block (0, 0, 0), thread 64: reads 4 bytes of "
                "global memory at 0x7000000011",
                ": not allocated", "llvm.load", "kernels:"});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  Fault fault{"k", {1, 2, 3}, -1, "", "went wrong"};
  EXPECT_EQ(fault.text(), "kernel 'k', block (1, 2, 3): went wrong");
  fault.thread = 7;
  fault.op = "op (place)";
  EXPECT_EQ(fault.text(),
            "kernel 'k', block (1, 2, 3), thread 7: went wrong, at op (place)");
}

// However the blocks are spread over threads of the host.
TEST(MachineFault, FirstBlockIsReported) {
  std::string body = R"(
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %k = llvm.mlir.constant(37 : i32) : i32
    %far = llvm.getelementptr %g[4096] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %p = llvm.icmp "uge" %b, %k : i32
    llvm.cond_br %p, ^wrong, ^end
  ^wrong:
    llvm.store %b, %far : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
)";
  for (int i = 0; i < 20; ++i)
    expect(report(body, 32, 100), {"block (37, 0, 0), thread 0: writes 4"});
}

TEST(MachineFault, Global) {
  auto kernel = [](const std::string &op) {
    return "%far = llvm.getelementptr %g[-4] : (!llvm.ptr<1>) -> "
           "!llvm.ptr<1>, i8\n" +
           op;
  };
  expect(report(kernel("llvm.store %i, %far : i32, !llvm.ptr<1>\n")),
         {"thread 0: writes 4 bytes of global memory"});
  expect(report(kernel("%x = llvm.atomicrmw add %far, %i monotonic : "
                       "!llvm.ptr<1>, i32\n")),
         {"updates 4 bytes of global memory"});
  expect(report(kernel(copyAsync("%me", "%far", 4))),
         {"reads 4 bytes of global memory", "cp.async"});
  // The last lanes of a vector that is mostly inside.
  expect(report("%v = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> "
                "!llvm.ptr<1>, vector<4xi32>\n"
                "%x = llvm.load %v : !llvm.ptr<1> -> vector<4xi32>\n"),
         {"thread 16: reads 16 bytes"});
}

TEST(MachineFault, Misaligned) {
  auto access = [](const std::string &offset, const std::string &type,
                   const std::string &attributes = "") {
    return "%odd = llvm.getelementptr %g[" + offset +
           "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n%x = llvm.load %odd" +
           attributes + " : !llvm.ptr<1> -> " + type + "\n";
  };
  expect(report(access("2", "f32")),
         {"thread 0: misaligned: reads at 0x", "no multiple of 4"});
  expect(report(access("8", "vector<4xf32>")), {"no multiple of 16"});
  EXPECT_EQ(report(access("8", "vector<4xf32>", " {alignment = 8 : i64}")), "");
  expect(report(access("4", "vector<4xf32>", " {alignment = 8 : i64}")),
         {"no multiple of 8"});
  expect(report(at("x", "6") + "llvm.store %i, %atx : i32, !llvm.ptr<3>\n", 1),
         {"misaligned: writes at", "no multiple of 4"});
  expect(report(at("x", "8") + copyAsync("%atx", "%g", 16), 1),
         {"misaligned: cp.async writes at", "no multiple of 16"});
  expect(report("%odd = llvm.getelementptr %g[8] : (!llvm.ptr<1>) -> "
                "!llvm.ptr<1>, i8\n" +
                    copyAsync("%s", "%odd", 16),
                1),
         {"misaligned: cp.async reads at", "no multiple of 16"});
  expect(report(kStoreMe + kSyncWarp + loadMatrix("%me")),
         {"thread 1: misaligned: ldmatrix reads at", "no multiple of 16"});
}

TEST(MachineFault, OtherSpaces) {
  auto kernel = [](const std::string &body) {
    Memory memory;
    uint64_t params[2] = {};
    return launchText(
        kernelText("%p: !llvm.ptr {llvm.byval = !llvm.struct<(i64, i64)>}",
                   constant("one", 1) +
                       "%l = llvm.alloca %one x i64 : (i32) -> !llvm.ptr\n"
                       "%t = llvm.mlir.addressof @t : !llvm.ptr\n" +
                       body,
                   "llvm.mlir.global constant @t(dense<[1, 2]> : "
                   "tensor<2xi32>) : !llvm.array<2 x i32>\n"),
        threads(1), {&params}, memory);
  };
  auto access = [](const std::string &base, int offset, bool stores) {
    return "%q = llvm.getelementptr %" + base + "[" + std::to_string(offset) +
           "] : (!llvm.ptr) -> !llvm.ptr, i8\n" +
           (stores ? "llvm.store %one, %q : i32, !llvm.ptr\n"
                   : "%x = llvm.load %q : !llvm.ptr -> i32\n");
  };
  EXPECT_EQ(kernel(access("p", 12, false)), "");
  expect(kernel(access("p", 16, false)),
         {"reads 4 bytes of the parameters at offset 16, out of bounds"});
  expect(kernel(access("p", 0, true)),
         {"writes 4 bytes of the parameters, which are only read"});
  EXPECT_EQ(kernel(access("l", 4, true)), "");
  expect(kernel(access("l", 8, true)),
         {"writes 4 bytes of local memory at offset 8, out of bounds"});
  expect(kernel(access("l", -4, false)),
         {"local memory at offset -4, out of bounds"});
  expect(kernel(access("t", 8, false)), {"constant memory", "out of bounds"});
  expect(kernel(access("t", 4, true)), {"constant memory", "only read"});
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

TEST(MachineFault, SharedOutOfBounds) {
  expect(report(at("x", "512") + "%x = llvm.load %atx : !llvm.ptr<3> -> i32\n"),
         {"thread 0: reads 4 bytes of shared memory at offset 512, out of "
          "bounds: the block has 512 bytes"});
  expect(report(at("x", "-4") + "llvm.store %i, %atx : i32, !llvm.ptr<3>\n"),
         {"writes 4 bytes of shared memory at offset -4, out of bounds"});
  expect(report(at("x", "504") + "llvm.store %v, %atx {alignment = 8 : i64} : "
                                 "vector<4xi32>, !llvm.ptr<3>\n",
                1)
             .substr(0, 4),
         {"load"}); // %v is not defined: the text itself is wrong
  expect(report("%v = llvm.mlir.zero : vector<4xi32>\n" + at("x", "504") +
                    "llvm.store %v, %atx {alignment = 8 : i64} : "
                    "vector<4xi32>, !llvm.ptr<3>\n",
                1),
         {"writes 16 bytes of shared memory at offset 504"});
  expect(report(at("x", "512") + copyAsync("%atx", "%g", 4), 1),
         {"writes 4 bytes of shared memory at offset 512", "cp.async"});
  expect(report(at("x", "512") + loadMatrix("%atx")),
         {"reads 16 bytes of shared memory at offset 512", "ldmatrix"});
}

TEST(MachineFault, SharedNotWritten) {
  expect(report("%x = llvm.load %me : !llvm.ptr<3> -> i32\n"),
         {"thread 0: reads shared memory at offset 0, which no thread of the "
          "block has written",
          "llvm.load"});
  expect(report(onlyIf("a", "llvm.icmp \"ne\" %i, %two : i32", kStoreMe) +
                "%x = llvm.load %me : !llvm.ptr<3> -> i32\n"),
         {"thread 2: reads shared memory at offset 8"});
  expect(report(loadMatrix("%s")),
         {"reads shared memory at offset 0", "ldmatrix"});
  expect(report("%x = llvm.atomicrmw add %me, %i monotonic : !llvm.ptr<3>, "
                "i32\n"),
         {"reads shared memory at offset 0, which no"});
}

TEST(MachineFault, SharedMemoryIsFreshInEachBlock) {
  expect(report("%b = nvvm.read.ptx.sreg.ctaid.x : i32\n" +
                    onlyIf("a", "llvm.icmp \"eq\" %b, %zero : i32", kStoreMe) +
                    "%x = llvm.load %me : !llvm.ptr<3> -> i32\n",
                32, 2),
         {"block (1, 0, 0), thread 0: reads shared memory at offset 0, which "
          "no"});
}

static const std::string kNext =
    "%n0 = llvm.add %i, %one : i32\n" + constant("count", 64) +
    "%n = llvm.urem %n0, %count : i32\n"
    "%next = llvm.getelementptr %s[%n] : (!llvm.ptr<3>, i32) -> "
    "!llvm.ptr<3>, i32\n";
static const std::string kLoadNext =
    "%x = llvm.load %next : !llvm.ptr<3> -> i32\n";

TEST(MachineFault, RaceOfAReadWithAWriteBefore) {
  // Thread 31 reads what a lane of another warp wrote; thread 0 what thread 1
  // of the same warp did.
  EXPECT_EQ(report(kNext + kStoreMe + "nvvm.barrier0\n" + kLoadNext, 64), "");
  expect(report(kNext + kStoreMe + kLoadNext, 64),
         {"thread 0: race: reads shared memory at offset 4, which thread 1 "
          "wrote with no barrier between"});
  expect(report(kNext +
                    onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32", kStoreMe) +
                    onlyIf("b", "llvm.icmp \"eq\" %w, %one : i32",
                           "%other = llvm.load %s : !llvm.ptr<3> -> i32\n"),
                64),
         {"thread 32: race: reads shared memory at offset 0, which thread 0 "
          "wrote with no barrier between"});
}

TEST(MachineFault, RaceInAWarp) {
  const std::string next = kNext + constant("last", 31);
  std::string read =
      onlyIf("a", "llvm.icmp \"ult\" %i, %last : i32", kLoadNext);
  expect(report(next + kStoreMe + read),
         {"thread 0: race: reads shared memory at offset 4, which thread 1"});
  EXPECT_EQ(report(next + kStoreMe + kSyncWarp + read), "");
  // A shuffle orders no memory.
  expect(report(next + kStoreMe +
                "%shuffled = nvvm.shfl.sync bfly %all, %i, %one, %last : i32 "
                "-> i32\n" +
                read),
         {"race: reads"});
  // ldmatrix gives a row to other lanes than the one that names it.
  std::string row = "%at16 = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i32) "
                    "-> !llvm.ptr<3>, vector<4xi32>\n"
                    "%v = llvm.mlir.zero : vector<4xi32>\n"
                    "llvm.store %v, %at16 : vector<4xi32>, !llvm.ptr<3>\n";
  EXPECT_EQ(report(row + kSyncWarp + loadMatrix("%at16")), "");
  expect(report(row + loadMatrix("%at16")),
         {"thread 0: race: reads shared memory at offset 0, which thread 0",
          "ldmatrix"});
}

TEST(MachineFault, RaceOfAWriteWithAReadBefore) {
  std::string body = kNext + kStoreMe + "nvvm.barrier0\n" + kLoadNext;
  EXPECT_EQ(report(body + "nvvm.barrier0\n" + kStoreMe, 64), "");
  // Warp 1 comes last to the barrier and goes on at once, so thread 63 has read
  // what thread 0 overwrites.
  expect(report(body + kSyncWarp +
                    onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32", kStoreMe),
                64),
         {"thread 0: race: writes shared memory at offset 0, which thread 63 "
          "read with no barrier between"});
  // Of several readers in the warp one is the writer itself.
  const std::string all = kStoreMe + "nvvm.barrier0\n"
                                     "%x = llvm.load %s : !llvm.ptr<3> -> "
                                     "i32\n";
  expect(
      report(all + onlyIf("a", "llvm.icmp \"eq\" %i, %zero : i32", kStoreMe)),
      {"thread 0: race: writes shared memory at offset 0, which warp 0 "
       "read"});
  expect(report(all + kSyncWarp +
                    onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32",
                           "llvm.store %two, %s : i32, !llvm.ptr<3>\n"),
                64),
         {"thread 0: race: writes shared memory at offset 0, which warp 1 "
          "read"});
}

TEST(MachineFault, RaceOfTwoWrites) {
  expect(report("llvm.store %i, %s : i32, !llvm.ptr<3>\n"),
         {"thread 1: race: writes shared memory at offset 0, which thread 0 "
          "wrote"});
  // All write the same value.
  EXPECT_EQ(report("llvm.store %two, %s : i32, !llvm.ptr<3>\n"), "");
  expect(report("llvm.store %w, %s : i32, !llvm.ptr<3>\n", 64),
         {"thread 32: race: writes shared memory at offset 0, which thread 31 "
          "wrote"});
  // Neighbours in one word are no race.
  EXPECT_EQ(report("%h = llvm.trunc %i : i32 to i16\n"
                   "%ath = llvm.getelementptr %s[%i] : (!llvm.ptr<3>, i32) -> "
                   "!llvm.ptr<3>, i16\nllvm.store %h, %ath : i16, "
                   "!llvm.ptr<3>\n",
                   64),
            "");
  // An atomic operation and a plain one; two atomic ones are none.
  expect(report("llvm.store %two, %s : i32, !llvm.ptr<3>\nnvvm.barrier0\n"
                "%x = llvm.atomicrmw add %s, %one monotonic : !llvm.ptr<3>, "
                "i32\n%y = llvm.load %s : !llvm.ptr<3> -> i32\n"),
         {"thread 0: race: reads shared memory at offset 0, which thread 31 "
          "wrote"});
}

// Barriers of two warps leave a third one out: neither does it learn what they
// did, nor they what it did, though it has synchronised its own lanes since.
TEST(MachineFault, BarrierOfOthersOrdersNothing) {
  auto body = [](const std::string &first, const std::string &reader) {
    return constant("pair", 64) + constant("id", 5) +
           onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32",
                  kStoreMe + kSyncWarp) +
           "%inPair = llvm.sub %w, %" + first + " : i32\n" +
           onlyIf("b", "llvm.icmp \"ult\" %inPair, %two : i32",
                  "nvvm.barrier id = %id number_of_threads = %pair\n") +
           onlyIf("c", "llvm.icmp \"eq\" %w, %" + reader + " : i32",
                  "%x = llvm.load %s : !llvm.ptr<3> -> i32\n");
  };
  EXPECT_EQ(report(body("zero", "one"), 96), "");
  expect(report(body("zero", "two"), 96),
         {"thread 64: race: reads shared memory at offset 0, which thread 0"});
  expect(report(body("one", "one"), 96),
         {"thread 32: race: reads shared memory at offset 0, which thread 0"});
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

TEST(MachineFault, AsyncCopyNotWaitedFor) {
  const std::string pending =
      "reads shared memory at offset 0, which a cp.async of thread 0 has yet "
      "to write: it has not been waited for";
  const std::string copy = onlyIf("a", "llvm.icmp \"eq\" %i, %zero : i32",
                                  copyAsync("%s", "%g", 16));
  const std::string read = "%x = llvm.load %s : !llvm.ptr<3> -> i32\n";
  auto check = [&](const std::string &before, const std::string &reading) {
    expect(report(copy + before + reading), {pending.c_str()});
  };
  check("", read);
  check(kCommit + "nvvm.barrier0\n", read);
  check(kCommit + "nvvm.barrier0\n", loadMatrix("%s"));
  check(kWait + "nvvm.barrier0\n", read); // in no group
  check(kCommit + "nvvm.cp.async.wait.group 1\nnvvm.barrier0\n", read);
  expect(report(copy + kCommit + kWait + read),
         {"thread 1: race: reads shared memory at offset 0, which thread 0 "
          "wrote"});
  EXPECT_EQ(report(copy + kCommit + kWait + "nvvm.barrier0\n" + read), "");
  // The barrier has to come after the wait.
  expect(report(copy + kCommit + "nvvm.barrier0\n" + kWait + read),
         {"thread 1: race: reads"});
  // Another thread's wait does not help: thread 0 of the two waits later.
  expect(report(copy + kCommit +
                onlyIf("b", "llvm.icmp \"ne\" %i, %zero : i32", kWait) +
                "nvvm.barrier0\n" + read),
         {pending.c_str()});
}

TEST(MachineFault, AsyncCopyOverwrites) {
  const std::string copy = copyAsync("%me", "%g", 4);
  // What others have yet to read.
  std::string readers = kNext + kStoreMe + "nvvm.barrier0\n" + kLoadNext;
  expect(report(readers + kSyncWarp +
                    onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32", copy),
                64),
         {"thread 0: race: overwrites shared memory at offset 0, which thread "
          "63 read with no barrier between"});
  EXPECT_EQ(report(readers + "nvvm.barrier0\n" + copy, 64), "");
  // What another copy has yet to write.
  expect(report(copy + kCommit + copy, 1),
         {"overwrites shared memory at offset 0, which a cp.async of thread 0 "
          "has yet to write"});
  expect(report(copy + kCommit + kStoreMe, 1),
         {"writes shared memory at offset 0, which a cp.async of thread 0 has "
          "yet to write"});
  expect(report(copy + kCommit + "nvvm.barrier0\n" + kStoreMe, 1),
         {"writes shared memory at offset 0, which a cp.async of thread 0 has "
          "yet to write"});
  EXPECT_EQ(report(copy + kCommit + kWait + copy, 1), "");
  // Left behind at the end: nobody saw it.
  EXPECT_EQ(report(copy + kCommit, 1), "");
  expect(report("nvvm.cp.async.shared.global %s, %g, 4, cache = ca, %count : "
                "!llvm.ptr<3>, !llvm.ptr<1>, i32\n",
                1)
             .substr(0, 4),
         {"load"});
  expect(report(constant("count", 5) +
                    "nvvm.cp.async.shared.global %s, %g, 4, cache = ca, "
                    "%count : !llvm.ptr<3>, !llvm.ptr<1>, i32\n",
                1),
         {"cp.async of 4 bytes is to copy 5"});
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(MachineFault, DivergentBarrier) {
  expect(report(onlyIf("a", "llvm.icmp \"ult\" %i, %two : i32",
                       "nvvm.barrier0\n")),
         {"threads 0-1 wait here for the rest of the warp, but threads 2-31 "
          "have returned",
          "nvvm.barrier0"});
  // Half at one barrier and half at another.
  expect(report("%p = llvm.icmp \"ult\" %i, %two : i32\n"
                "llvm.cond_br %p, ^a, ^b\n^a:\nnvvm.barrier0\nllvm.br ^c\n"
                "^b:\nnvvm.barrier id = %one\nllvm.br ^c\n^c:\n"),
         {"threads 0-1 wait here for the rest of the warp, but threads 2-31 "
          "wait at nvvm.barrier id ="});
  expect(report("%p = llvm.icmp \"ult\" %i, %two : i32\n"
                "llvm.cond_br %p, ^a, ^b\n^a:\nllvm.return\n^b:\n"
                "nvvm.barrier0\n"),
         {"divergent barrier: threads 0-1 of the warp returned before"});
  expect(report("%id = llvm.and %i, %one : i32\nnvvm.barrier id = %id\n"),
         {"thread 1: divergent barrier: thread 0 is at another one"});
  // A whole warp that has returned is not waited for.
  EXPECT_EQ(
      report(onlyIf("a", "llvm.icmp \"eq\" %w, %zero : i32", "nvvm.barrier0\n"),
             64),
      "");
}

TEST(MachineFault, BarrierCounts) {
  expect(report(constant("n", 48) +
                "nvvm.barrier id = %one number_of_threads = %n\n"),
         {"a barrier of 48 threads, which is no multiple of a warp"});
  expect(report("nvvm.barrier id = %one number_of_threads = %zero\n"),
         {"a barrier of 0 threads"});
  expect(report(constant("n", 16) + "nvvm.barrier id = %n\n"),
         {"there is no barrier 16"});
  expect(report(constant("n", 64) + constant("m", 96) +
                    "%p = llvm.icmp \"eq\" %w, %zero : i32\n"
                    "%c = llvm.select %p, %n, %m : i1, i32\n"
                    "nvvm.barrier id = %one number_of_threads = %c\n",
                96),
         {"barrier 1 for 96 threads, while others wait there for 64"});
  expect(report(constant("n", 64) +
                    "nvvm.barrier.arrive id = %one number_of_threads = %n\n"
                    "nvvm.barrier.arrive id = %one number_of_threads = %n\n",
                32),
         {"arrives at barrier 1 again, before it has completed"});
}

TEST(MachineFault, Deadlock) {
  expect(report("%p = llvm.icmp \"eq\" %w, %zero : i32\n"
                "%id = llvm.select %p, %one, %two : i1, i32\n"
                "nvvm.barrier id = %id\n",
                64),
         {"deadlock: threads 0-31 wait at nvvm.barrier id =",
          "threads 32-63 wait at nvvm.barrier",
          "and no other thread can come"});
  expect(report(constant("n", 64) +
                "nvvm.barrier id = %one number_of_threads = %n\n"),
         {"deadlock: threads 0-31 wait at"});
}

TEST(MachineFault, Endless) {
  ::setenv("RING_VGPU_MAX_STEPS", "3000000", 1);
  std::string text = report("llvm.br ^loop\n^loop:\nllvm.br ^loop\n^end:\n");
  ::unsetenv("RING_VGPU_MAX_STEPS");
  expect(text, {"does not end (RING_VGPU_MAX_STEPS)", "llvm.br"});
}

// A warp that spins on what another one is to write lets it run.
TEST(MachineFault, SpinningIsNoDeadlock) {
  EXPECT_EQ(report(onlyIf("a", "llvm.icmp \"eq\" %w, %one : i32",
                          "llvm.store %two, %s atomic monotonic {alignment = 4 "
                          ": i64} : i32, !llvm.ptr<3>\n") +
                       "nvvm.barrier0\n" +
                       onlyIf("b", "llvm.icmp \"eq\" %w, %one : i32",
                              "llvm.store %one, %s atomic monotonic "
                              "{alignment = 4 : i64} : i32, !llvm.ptr<3>\n") +
                       "llvm.br ^spin\n^spin:\n"
                       "%x = llvm.load %s atomic monotonic {alignment = 4 : "
                       "i64} : !llvm.ptr<3> -> i32\n"
                       "%p = llvm.icmp \"eq\" %x, %one : i32\n"
                       "llvm.cond_br %p, ^done, ^spin\n^done:\n",
                   64),
            "");
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

static std::string shuffle(const std::string &mask,
                           const std::string &offset = "%one") {
  return constant("clamp", 31) + "%sh = nvvm.shfl.sync idx " + mask + ", %i, " +
         offset + ", %clamp : i32 -> i32\n";
}

TEST(MachineFault, WarpCollectives) {
  expect(
      report(onlyIf("a", "llvm.icmp \"ult\" %i, %two : i32", shuffle("%all"))),
      {"threads 0-1 wait here for the rest of the warp, but threads 2-31 "
       "have returned",
       "nvvm.shfl.sync"});
  expect(report("%p = llvm.icmp \"ult\" %i, %two : i32\n"
                "llvm.cond_br %p, ^a, ^b\n^a:\nllvm.return\n^b:\n" +
                shuffle("%all")),
         {"needs threads 0-1, which returned before"});
  expect(report(shuffle("%two"), 32), {"thread 0: is not in its own mask"});
  expect(report(constant("low", 0xffff) + constant("k", 16) +
                "%p = llvm.icmp \"ult\" %i, %k : i32\n"
                "%m = llvm.select %p, %all, %low : i1, i32\n" +
                shuffle("%m")),
         {"thread 16: has another mask than thread 0, whose mask names it"});
  expect(report(constant("low", 0xffff) + constant("k", 16) +
                onlyIf("a", "llvm.icmp \"ult\" %i, %k : i32",
                       constant("from", 20) + shuffle("%low", "%from"))),
         {"thread 0: reads from thread 20, which its mask does not name"});
  expect(report(shuffle("%all"), 40),
         {"the mask names lanes that the block does not have: threads 40-63"});
  expect(report("llvm.store %i, %me : i32, !llvm.ptr<3>\n" + kSyncWarp +
                    loadMatrix("%s"),
                40),
         {"the mask names lanes"});
  expect(report(kStoreMe + "nvvm.barrier0\n" + loadMatrix("%s"), 40),
         {"needs a whole warp, but this one has 8 threads"});
  expect(report(onlyIf("a", "llvm.icmp \"ult\" %i, %two : i32", kSyncWarp)),
         {"threads 0-1 wait here"});
}

TEST(MachineFault, UnreachableAndTrap) {
  expect(report(onlyIf("a", "llvm.icmp \"eq\" %i, %two : i32",
                       "\"llvm.intr.trap\"() : () -> ()\n")),
         {"thread 2: trap"});
  expect(report("%p = llvm.icmp \"ult\" %i, %two : i32\n"
                "llvm.cond_br %p, ^a, ^b\n^a:\nllvm.unreachable\n^b:\n"),
         {"thread 0: reaches what is unreachable"});
}

//===----------------------------------------------------------------------===//
// Blocks of a launch
//===----------------------------------------------------------------------===//

TEST(MachineFault, RaceOfBlocks) {
  const std::string start =
      "%b = nvvm.read.ptx.sreg.ctaid.x : i32\n"
      "%mine = llvm.getelementptr %g[%b] : (!llvm.ptr<1>, i32) -> "
      "!llvm.ptr<1>, i32\n";
  const std::string read = "%x = llvm.load %g : !llvm.ptr<1> -> i32\n";
  const std::string writeMine = "llvm.store %b, %mine : i32, !llvm.ptr<1>\n";
  for (int i = 0; i < 10; ++i) {
    expect(report(start + "llvm.store %b, %g : i32, !llvm.ptr<1>\n", 1, 4),
           {"block (1, 0, 0): race: writes global memory at 0x700000001000, "
            "which block (0, 0, 0) also writes",
            "llvm.store"});
    expect(report(start + read + writeMine, 1, 4),
           {"block (1, 0, 0): race: reads global memory at 0x700000001000, "
            "which block (0, 0, 0) also writes",
            "llvm.load"});
  }
  EXPECT_EQ(report(start + read, 1, 4), "");
  EXPECT_EQ(report(start + writeMine, 1, 4), "");
  EXPECT_EQ(report(start + "%x = llvm.atomicrmw add %g, %b monotonic : "
                           "!llvm.ptr<1>, i32\n",
                   1, 4),
            "");
  expect(report(start + onlyIf("a", "llvm.icmp \"eq\" %b, %two : i32", read) +
                    "%y = llvm.atomicrmw add %g, %b monotonic : "
                    "!llvm.ptr<1>, i32\n",
                1, 4),
         {"block (2, 0, 0): race: reads global memory", "also updates"});
}

TEST(MachineFault, Shapes) {
  Memory memory;
  auto launchWith = [&](const std::string &attribute, LaunchShape shape) {
    return launchText("gpu.module @m { llvm.func @f() attributes "
                      "{nvvm.kernel" +
                          attribute + "} { llvm.return } }",
                      shape, {}, memory);
  };
  LaunchShape none;
  none.grid[1] = 0;
  expect(launchWith("", none), {"a launch without blocks or threads"});
  expect(launchWith("", threads(1056)),
         {"blocks of 1056 threads, at most 1024 are possible"});
  const std::string exact = ", nvvm.reqntid = array<i32: 64, 1, 1>";
  EXPECT_EQ(launchWith(exact, threads(64)), "");
  expect(launchWith(exact, threads(32)),
         {"launched with 32 threads in dimension 0, the kernel demands 64"});
  expect(launchWith(", nvvm.maxntid = array<i32: 64>", threads(96)),
         {"at most 64 are possible"});
}

//===----------------------------------------------------------------------===//
// What does not load
//===----------------------------------------------------------------------===//

TEST(MachineFault, Refusals) {
  auto refused = [](const std::string &body, const std::string &globals = "") {
    return loadError(
        kernelText("%x: f32, %p: !llvm.ptr, %n: i32, %d: f64", body, globals));
  };
  const std::string unknown = "the virtual GPU does not know ";
  expect(refused("%y = llvm.intr.sin(%x) : (f32) -> f32\n"),
         {"kernels:", (unknown + "'llvm.intr.sin'").c_str()});
  expect(refused("nvvm.cp.async.bulk.commit.group\n"),
         {"'nvvm.cp.async.bulk.commit.group'"});
  expect(refused("%y = llvm.call_intrinsic \"llvm.nvvm.sin.approx.f\"(%x) : "
                 "(f32) -> f32\n"),
         {"the intrinsic 'llvm.nvvm.sin.approx.f'"});
  expect(refused("%y = llvm.intr.exp2(%d) : (f64) -> f64\n"),
         {"'llvm.intr.exp2' of 'f64'"});
  expect(refused("%y = llvm.zext %n : i32 to i128\n"), {"'i128'"});
  expect(refused("%y = llvm.load %p : !llvm.ptr -> i24\n"), {"'i24'"});
  expect(refused("%y = llvm.alloca %n x i32 : (i32) -> !llvm.ptr\n"),
         {"an alloca of varying size"});
  expect(refused("%y = llvm.call @g(%x) : (f32) -> f32\n",
                 "llvm.func @g(f32) -> f32\n"),
         {"what is called: it has no body here"});
  expect(refused("%y = llvm.call @g(%x) : (f32) -> f32\n",
                 "llvm.func @g(%x: f32) -> f32 {\n%y = llvm.call @g(%x) : "
                 "(f32) -> f32\nllvm.return %y : f32\n}\n"),
         {"the virtual GPU does not run recursive functions"});
  expect(refused("%y = llvm.mlir.addressof @v : !llvm.ptr<1>\n",
                 "llvm.mlir.global internal @v(7 : i32) {addr_space = 1 : "
                 "i32} : i32\n"),
         {"'v': neither shared memory nor a constant"});
  expect(refused("llvm.inline_asm has_side_effects \"exit;\", \"\" : () -> "
                 "()\n"),
         {"'llvm.inline_asm'"});
  expect(refused("%h = llvm.mlir.zero : vector<2xf16>\n"
                 "%y = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%h, %h] "
                 "{layoutA = #nvvm.mma_layout<row>, layoutB = "
                 "#nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k "
                 "= 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> "
                 "!llvm.struct<(vector<2xf16>, vector<2xf16>)>\n"),
         {"a product of this shape and these types"});
  expect(refused("%y = nvvm.convert.f32x2.to.f16x2 %x, %x {rnd = "
                 "#nvvm.fp_rnd_mode<rz>} : vector<2xf16>\n"),
         {"this rounding"});
  expect(loadError("gpu.module @m { llvm.func @f( }"), {"kernels:1:"});
  expect(loadError("\"other.op\"() : () -> ()"), {"kernels:1:"});
}

TEST(MachineFault, ModulesWithinModules) {
  std::string error;
  std::string kernel = "llvm.func @f() attributes {nvvm.kernel} { llvm.return "
                       "}\nllvm.func @helper() { llvm.return }\n";
  auto module = KernelModule::load(
      "module { gpu.module @m [#nvvm.target<chip = \"sm_80\">] {" + kernel +
          "} llvm.func @host() { llvm.return } }",
      error);
  ASSERT_TRUE(module) << error;
  EXPECT_EQ(module->kernels(), std::vector<std::string>{"f"});
  expect(loadError("module { gpu.module @m {" + kernel + "} gpu.module @n {" +
                   kernel + "} }"),
         {"two kernels of this name: 'f'"});
}
