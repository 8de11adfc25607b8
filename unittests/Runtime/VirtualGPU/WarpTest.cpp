//===- WarpTest.cpp - What the lanes of a warp do together, and apart -----===//
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

static const std::string kLane = "%i = nvvm.read.ptx.sreg.tid.x : i32\n";
static std::string constant(const std::string &name, int64_t value,
                            const std::string &type = "i32") {
  return "%" + name + " = llvm.mlir.constant(" + std::to_string(value) + " : " +
         type + ") : " + type + "\n";
}

/// 32 threads; `body` makes %r, an i32, of %i.
static std::vector<uint32_t> runWarp(const std::string &body,
                                     const std::string &expected = "",
                                     unsigned count = 32) {
  Memory memory;
  uint64_t pr = memory.allocate(count * 4);
  EXPECT_EQ(launchText(kernelText("%pr: !llvm.ptr<1>",
                                  kLane + constant("full", -1) + body +
                                      storeAt("%r", "i32")),
                       threads(count), {&pr}, memory),
            expected)
      << body;
  return memory.read<uint32_t>(pr);
}

//===----------------------------------------------------------------------===//
// Shuffles and votes
//===----------------------------------------------------------------------===//

// shfl.sync of the PTX ISA, line by line.
static std::pair<unsigned, bool>
shuffleSource(const std::string &mode, unsigned lane, unsigned b, unsigned c) {
  int bval = b & 0x1f, cval = c & 0x1f, segmask = c >> 8 & 0x1f;
  int maxLane = (lane & segmask) | (cval & ~segmask);
  int minLane = lane & segmask;
  int j = 0;
  bool pval = false;
  if (mode == "up") {
    j = static_cast<int>(lane) - bval;
    pval = j >= maxLane;
  } else if (mode == "down") {
    j = static_cast<int>(lane) + bval;
    pval = j <= maxLane;
  } else if (mode == "bfly") {
    j = static_cast<int>(lane) ^ bval;
    pval = j <= maxLane;
  } else {
    j = minLane | (bval & ~segmask);
    pval = j <= maxLane;
  }
  return {pval ? j : lane, pval};
}

TEST(MachineWarp, Shuffles) {
  for (std::string mode : {"up", "down", "bfly", "idx"})
    for (unsigned b : {0, 1, 3, 7, 16, 31})
      for (unsigned c : {0x1f, 0x0, 0x181f, 0x1c07, 0x1e00, 0xf}) {
        std::vector<uint32_t> got =
            runWarp(constant("b", b) + constant("c", c) + constant("k", 100) +
                    "%v = llvm.mul %i, %k : i32\n"
                    "%s = nvvm.shfl.sync " +
                    mode +
                    " %full, %v, %b, %c {return_value_and_is_valid} : i32 -> "
                    "!llvm.struct<(i32, i1)>\n"
                    "%x = llvm.extractvalue %s[0] : !llvm.struct<(i32, i1)>\n"
                    "%y = llvm.extractvalue %s[1] : !llvm.struct<(i32, i1)>\n"
                    "%z = llvm.zext %y : i1 to i32\n"
                    "%r = llvm.add %x, %z : i32\n");
        for (unsigned lane = 0; lane < 32; ++lane) {
          auto [from, isValid] = shuffleSource(mode, lane, b, c);
          EXPECT_EQ(got[lane], 100 * from + isValid)
              << mode << " " << lane << " " << b << " " << c;
        }
      }
}

// Half-warps with masks of their own, in one instruction.
TEST(MachineWarp, ShuffleOfHalves) {
  std::vector<uint32_t> got = runWarp(
      constant("k", 16) + constant("low", 0xffff) + constant("high", -65536) +
      constant("one", 1) + constant("c", 0x101f) +
      "%p = llvm.icmp \"ult\" %i, %k : i32\n"
      "%m = llvm.select %p, %low, %high : i1, i32\n"
      "%r = nvvm.shfl.sync bfly %m, %i, %one, %c : i32 -> i32\n");
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], lane ^ 1);
}

TEST(MachineWarp, Votes) {
  // Predicates: lane < k, for lanes of the mask.
  for (unsigned k : {0, 5, 16, 32})
    for (uint32_t mask : {~0u, 0xffffu, 0x5u}) {
      auto vote = [&](const std::string &kind, const std::string &type) {
        // Lanes outside the mask do something else.
        std::string text = constant("k", k) + constant("m", int32_t(mask)) +
                           constant("one", 1) + constant("zero", 0) +
                           "%bit = llvm.shl %one, %i : i32\n"
                           "%in = llvm.and %m, %bit : i32\n"
                           "%isIn = llvm.icmp \"ne\" %in, %zero : i32\n"
                           "%p = llvm.icmp \"ult\" %i, %k : i32\n"
                           "llvm.cond_br %isIn, ^vote, ^end(%zero : i32)\n"
                           "^vote:\n"
                           "%v = nvvm.vote.sync " +
                           kind + " %m, %p -> " + type + "\n";
        text += type == "i1" ? "%w = llvm.zext %v : i1 to i32\n"
                             : "%w = llvm.or %v, %zero : i32\n";
        return runWarp(text + "llvm.br ^end(%w : i32)\n^end(%r: i32):\n");
      };
      uint32_t ballot = (k == 32 ? ~0u : (1u << k) - 1) & mask;
      auto any = vote("any", "i1"), all = vote("all", "i1"),
           uniform = vote("uni", "i1"), ballots = vote("ballot", "i32");
      for (unsigned lane = 0; lane < 32; ++lane) {
        bool isIn = mask >> lane & 1;
        EXPECT_EQ(any[lane], isIn && ballot != 0);
        EXPECT_EQ(all[lane], isIn && ballot == mask);
        EXPECT_EQ(uniform[lane], isIn && (ballot == 0 || ballot == mask));
        EXPECT_EQ(ballots[lane], isIn ? ballot : 0);
      }
    }
}

TEST(MachineWarp, MatchReduceElect) {
  std::vector<uint32_t> match =
      runWarp(constant("three", 3) + "%v = llvm.urem %i, %three : i32\n"
                                     "%r = nvvm.match.sync any %full, %v : i32 "
                                     "-> i32\n");
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t expected = 0;
    for (unsigned other = 0; other < 32; ++other)
      expected |= uint32_t(other % 3 == lane % 3) << other;
    EXPECT_EQ(match[lane], expected);
  }
  auto reduce = [&](const std::string &kind) {
    return runWarp(constant("five", 5) +
                   "%v = llvm.sub %i, %five : i32\n"
                   "%r = nvvm.redux.sync " +
                   kind + " %v, %full : i32 -> i32\n")[9];
  };
  EXPECT_EQ(reduce("add"), uint32_t(31 * 16 - 5 * 32));
  EXPECT_EQ(reduce("max"), 26u);
  EXPECT_EQ(reduce("min"), uint32_t(-5));
  EXPECT_EQ(reduce("umax"), uint32_t(-1));
  EXPECT_EQ(reduce("umin"), 0u);
  EXPECT_EQ(reduce("or"), ~0u);
  EXPECT_EQ(reduce("and"), 0u);
  uint32_t parity = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    parity ^= lane - 5;
  EXPECT_EQ(reduce("xor"), parity);
  std::vector<uint32_t> elected =
      runWarp("%e = nvvm.elect.sync -> i1\n%r = llvm.zext %e : i1 to i32\n");
  EXPECT_EQ(std::accumulate(elected.begin(), elected.end(), 0u), 1u);
}

TEST(MachineWarp, SpecialRegisters) {
  std::string body = "%i = nvvm.read.ptx.sreg.tid.x : i32\n", parts;
  const std::vector<std::string> names{
      "tid.x",       "tid.y",       "tid.z",       "ntid.x",     "ntid.y",
      "ntid.z",      "ctaid.x",     "ctaid.y",     "ctaid.z",    "nctaid.x",
      "nctaid.y",    "nctaid.z",    "laneid",      "warpid",     "lanemask.eq",
      "lanemask.le", "lanemask.lt", "lanemask.ge", "lanemask.gt"};
  std::string type = "!llvm.array<19 x i32>";
  body += "%v0 = llvm.mlir.undef : " + type + "\n";
  for (size_t i = 0; i < names.size(); ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += "%s" + n + " = nvvm.read.ptx.sreg." + names[i] + " : i32\n%v" +
            next + " = llvm.insertvalue %s" + n + ", %v" + n + "[" + n +
            "] : " + type + "\n";
  }
  // Linear index of the thread in the grid.
  auto step = [&](const std::string &out, const std::string &a,
                  const std::string &b, const std::string &c) {
    body += "%m" + out + " = llvm.mul " + a + ", " + b + " : i32\n%" + out +
            " = llvm.add %m" + out + ", " + c + " : i32\n";
  };
  step("t1", "%s2", "%s4", "%s1");
  step("t2", "%t1", "%s3", "%s0");
  step("b1", "%s8", "%s10", "%s7");
  step("b2", "%b1", "%s9", "%s6");
  step("n1", "%s3", "%s4", "%zero");
  step("n2", "%n1", "%s5", "%zero");
  step("at", "%b2", "%n2", "%t2");
  body = constant("zero", 0) + body +
         "%to = llvm.getelementptr %pr[%at] : (!llvm.ptr<1>, i32) -> "
         "!llvm.ptr<1>, " +
         type + "\nllvm.store %v19, %to : " + type + ", !llvm.ptr<1>\n";
  LaunchShape shape;
  shape.grid = {2, 3, 2};
  shape.block = {5, 4, 3};
  Memory memory;
  uint64_t pr = memory.allocate(12 * 60 * 19 * 4);
  ASSERT_EQ(
      launchText(kernelText("%pr: !llvm.ptr<1>", body), shape, {&pr}, memory),
      "");
  std::vector<uint32_t> got = memory.read<uint32_t>(pr);
  for (uint32_t block = 0; block < 12; ++block)
    for (uint32_t thread = 0; thread < 60; ++thread) {
      uint32_t lane = thread % 32, bit = 1u << lane;
      std::vector<uint32_t> expected{thread % 5,
                                     thread / 5 % 4,
                                     thread / 20,
                                     5,
                                     4,
                                     3,
                                     block % 2,
                                     block / 2 % 3,
                                     block / 6,
                                     2,
                                     3,
                                     2,
                                     lane,
                                     thread / 32,
                                     bit,
                                     bit | (bit - 1),
                                     bit - 1,
                                     ~(bit - 1),
                                     ~(bit | (bit - 1))};
      auto begin = got.begin() + (block * 60 + thread) * 19;
      EXPECT_EQ(std::vector<uint32_t>(begin, begin + 19), expected);
    }
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

// Each lane goes through a loop a different number of times, and through one of
// two branches in it. Two values change places on each way round.
TEST(MachineWarp, DivergentLoop) {
  std::vector<uint32_t> got =
      runWarp(constant("zero", 0) + constant("one", 1) + constant("two", 2) +
                  constant("ten", 10) + R"(
    llvm.br ^head(%zero, %one, %two, %zero : i32, i32, i32, i32)
  ^head(%n: i32, %x: i32, %y: i32, %sum: i32):
    %more = llvm.icmp "ult" %n, %i : i32
    llvm.cond_br %more, ^body, ^exit
  ^exit:
    %t = llvm.mul %x, %ten : i32
    %u = llvm.add %t, %y : i32
    %h = llvm.mul %sum, %ten : i32
    %h2 = llvm.mul %h, %ten : i32
    %r0 = llvm.add %u, %h2 : i32
    llvm.br ^done(%r0 : i32)
  ^body:
    %bit = llvm.and %n, %one : i32
    %odd = llvm.icmp "eq" %bit, %one : i32
    llvm.cond_br %odd, ^next(%two : i32), ^other
  ^other:
    %a = llvm.add %n, %one : i32
    llvm.br ^next(%a : i32)
  ^next(%v: i32):
    %s = llvm.add %sum, %v : i32
    %n1 = llvm.add %n, %one : i32
    llvm.br ^head(%n1, %y, %x, %s : i32, i32, i32, i32)
  ^done(%r: i32):
)",
              "", 45);
  for (uint32_t lane = 0; lane < 45; ++lane) {
    uint32_t x = 1, y = 2, sum = 0;
    for (uint32_t n = 0; n < lane; ++n) {
      sum += n % 2 ? 2 : n + 1;
      std::swap(x, y);
    }
    EXPECT_EQ(got[lane], sum * 100 + x * 10 + y);
  }
}

// After a branch, the lanes meet again: a full-mask shuffle behind it works.
TEST(MachineWarp, LanesMeetBehindABranch) {
  std::vector<uint32_t> got =
      runWarp(constant("zero", 0) + constant("c", 31) + constant("seven", 7) +
              constant("one", 1) + R"(
    %p = llvm.icmp "ult" %i, %seven : i32
    llvm.cond_br %p, ^then, ^join(%zero : i32)
  ^then:
    llvm.br ^join(%i : i32)
  ^join(%v: i32):
    %r = nvvm.shfl.sync bfly %full, %v, %one, %c : i32 -> i32
)");
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], (lane ^ 1) < 7 ? lane ^ 1 : 0);
}

// The shuffle is in one of two branches, the other one leads back to it.
TEST(MachineWarp, LanesWaitForOthers) {
  std::vector<uint32_t> got =
      runWarp(constant("zero", 0) + constant("c", 31) + constant("one", 1) + R"(
    llvm.br ^head(%zero : i32)
  ^head(%n: i32):
    %p = llvm.icmp "eq" %n, %i : i32
    llvm.cond_br %p, ^vote, ^again
  ^vote:
    %v = nvvm.shfl.sync idx %full, %i, %one, %c : i32 -> i32
    llvm.br ^end
  ^again:
    %n1 = llvm.add %n, %one : i32
    llvm.br ^head(%n1 : i32)
  ^end:
    %r = llvm.add %v, %n : i32
)");
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], lane + 1);
}

TEST(MachineWarp, Switch) {
  for (std::string type : {"i32", "i64"}) {
    std::vector<uint32_t> got =
        runWarp(constant("a", 11) + constant("b", 22) + constant("z", 33) +
                (type == "i32" ? std::string("%v = llvm.add %i, %full : i32\n")
                               : "%w = llvm.sext %i : i32 to i64\n"
                                 "%f = llvm.sext %full : i32 to i64\n"
                                 "%v = llvm.add %w, %f : i64\n") +
                "llvm.switch %v : " + type + R"(, ^other(%z : i32) [
      -1: ^end(%a : i32),
      5: ^end(%b : i32),
      6: ^other(%i : i32)
    ]
  ^other(%o: i32):
    llvm.br ^end(%o : i32)
  ^end(%r: i32):
)");
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(got[lane], lane == 0   ? 11
                           : lane == 6 ? 22
                           : lane == 7 ? 7
                                       : 33);
  }
}

TEST(MachineWarp, Calls) {
  Memory memory;
  uint64_t pr = memory.allocate(40 * 4);
  std::string text = kernelText("%pr: !llvm.ptr<1>", kLane + R"(
    %x = llvm.call @g(%i) : (i32) -> i32
    %y = llvm.call @g(%x) : (i32) -> i32
    %s = llvm.call @pair(%x, %y) : (i32, i32) -> !llvm.struct<(i32, i32)>
    %r = llvm.extractvalue %s[1] : !llvm.struct<(i32, i32)>
)" + storeAt("%r", "i32"),
                                R"(
  llvm.func @g(%x: i32) -> i32 {
    %k = llvm.mlir.constant(20 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %p = llvm.icmp "ult" %x, %k : i32
    llvm.cond_br %p, ^small, ^large
  ^small:
    %y = llvm.add %x, %x : i32
    llvm.return %y : i32
  ^large:
    %z = llvm.call @h(%x, %one) : (i32, i32) -> i32
    llvm.return %z : i32
  }
  llvm.func @h(%x: i32, %y: i32) -> i32 {
    %r = llvm.sub %x, %y : i32
    llvm.return %r : i32
  }
  llvm.func @pair(%x: i32, %y: i32) -> !llvm.struct<(i32, i32)> {
    %u = llvm.mlir.undef : !llvm.struct<(i32, i32)>
    %v = llvm.insertvalue %x, %u[0] : !llvm.struct<(i32, i32)>
    %w = llvm.insertvalue %y, %v[1] : !llvm.struct<(i32, i32)>
    llvm.return %w : !llvm.struct<(i32, i32)>
  }
)");
  ASSERT_EQ(launchText(text, threads(40), {&pr}, memory), "");
  std::vector<uint32_t> got = memory.read<uint32_t>(pr);
  auto g = [](uint32_t x) { return x < 20 ? 2 * x : x - 1; };
  for (uint32_t lane = 0; lane < 40; ++lane)
    EXPECT_EQ(got[lane], g(g(lane)));
}
