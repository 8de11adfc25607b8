//===- TilePlanTest.cpp - Plans of tiles are within what a chip has -------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TilePlan.h"

#include "ring/Conversion/RingToGPU/Chips.h"

#include "gtest/gtest.h"

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace mlir::ring;

namespace {

constexpr int64_t kMostDepth = 320;
/// Too wide for values on any chip, and for queries on some.
constexpr int64_t kWide = 512;

/// KiB of shared memory that a block may have, as CUDA's documentation says.
const std::pair<const char *, int64_t> kChips[] = {
    {"sm_80", 163}, {"sm_86", 99}, {"sm_87", 163}, {"sm_89", 99}};

std::string text(const AttentionShape &shape) {
  return "depth " + std::to_string(shape.depth) + ", " +
         std::to_string(shape.valueDepth) + ", bytes " +
         std::to_string(shape.elementBytes) + ", heads " +
         std::to_string(shape.heads) + " over " +
         std::to_string(shape.kvHeads) +
         (shape.hasScoreRegion     ? ", a score region"
          : shape.transformsScores ? ", a softcap"
                                   : "");
}

/// Calls `check` for head sizes, sizes of elements, groups of heads and what is
/// done to scores.
template <typename Check> void forEachShape(Check check) {
  // Groups of 1 to 71 heads, among them primes and some above a tile's rows.
  const std::pair<int64_t, int64_t> heads[] = {
      {1, 1},  {4, 4},  {8, 2},  {6, 2},  {5, 1},  {7, 1},  {9, 1},
      {16, 1}, {24, 2}, {28, 4}, {64, 1}, {71, 1}, {192, 1}};
  std::set<std::pair<int64_t, int64_t>> depths;
  for (int64_t depth = 1; depth <= kMostDepth; ++depth)
    for (auto [key, value] : {std::pair(depth, depth),
                              {depth, int64_t(1)},
                              {int64_t(64), depth},
                              {depth, kWide},
                              {kWide, depth}})
      depths.insert({key, value});
  for (auto [depth, valueDepth] : depths)
    for (int64_t bytes : {2, 4})
      for (auto [count, kvCount] : heads)
        for (auto [transforms, region] :
             {std::pair(false, false), {true, false}, {true, true}})
          check(AttentionShape{bytes, depth, valueDepth, count, kvCount,
                               transforms, region});
}

/// Where each part of a plan's shared memory begins and ends, in their order.
struct Region {
  const char *name;
  int64_t begin, bytes;
};
std::vector<Region> regions(const GPUTilePlan &plan) {
  std::vector<Region> all = {
      {"queries", plan.queriesOffset(), plan.queries().bytes()}};
  for (int64_t stage = 0; stage < plan.stages; ++stage)
    all.push_back({"keys", plan.keysOffset() + stage * plan.keys().bytes(),
                   plan.keys().bytes()});
  for (int64_t stage = 0; stage < plan.stages; ++stage)
    all.push_back({"values",
                   plan.valuesOffset() + stage * plan.values().bytes(),
                   plan.values().bytes()});
  // Four i32 a row, two i32 a key; two pointers and two i32 a warp.
  all.push_back({"rows", plan.rowInfoOffset(), 16 * plan.rows()});
  all.push_back({"key info", plan.keyInfoOffset(), 8 * plan.keyTile});
  all.push_back({"warp info", plan.warpInfoOffset(), 24 * plan.warps});
  return all;
}

/// Why a plan's shared memory is not what it should be; empty if it is.
std::string faultOfMemory(const GPUTilePlan &plan, int64_t limit) {
  int64_t end = 0;
  for (const Region &region : regions(plan)) {
    if (region.begin < end)
      return std::string(region.name) + " overlap";
    if (region.begin % SharedTile::kChunkBytes != 0)
      return std::string(region.name) + " are not aligned";
    end = region.begin + region.bytes;
  }
  if (plan.sharedBytes() != end)
    return "ends at " + std::to_string(end) + ", not at " +
           std::to_string(plan.sharedBytes());
  if (end > limit)
    return "exceeds the chip's memory";
  auto holds = [&](const SharedTile &tile, int64_t rows, int64_t columns) {
    return tile.rows() == rows && tile.chunks() % 2 == 0 &&
           tile.bytes() >= rows * tile.chunks() * SharedTile::kChunkBytes &&
           tile.chunks() * SharedTile::kChunkBytes >=
               columns * plan.shape.elementBytes;
  };
  if (!holds(plan.queries(), plan.rows(), plan.shape.depth) ||
      !holds(plan.keys(), plan.keyTile, plan.shape.depth) ||
      !holds(plan.values(), plan.keyTile, plan.shape.valueDepth))
    return "a tile does not hold its columns";
  return "";
}

/// A block has 64 Ki registers, a thread 255, in units of 8.
std::string faultOfRegisters(const GPUTilePlan &plan) {
  if (plan.registers() > 255)
    return "needs too many registers";
  if (plan.threads() != 32 * plan.warps || 256 * plan.threads() > 65536)
    return "has too many threads";
  // Out's rows, padded to tiles, and a maximum and a sum for each row and lane
  // of its group of four.
  int64_t floats = plan.rows() * 8 * plan.valueTiles() + plan.rows() * 2 * 4;
  if (plan.valueTiles() * 8 < plan.shape.valueDepth ||
      plan.stateFloats() != floats)
    return "has a state of another size";
  return "";
}

/// True iff `pack` heads may share a tile: at most an eighth of it is empty.
bool mayShare(int64_t pack, int64_t group, int64_t rows) {
  return group % pack == 0 && pack <= rows &&
         8 * (rows / pack * pack) >= 7 * rows;
}

std::string faultOfHeads(const GPUTilePlan &plan) {
  int64_t group = plan.shape.heads / plan.shape.kvHeads;
  if (plan.pack < 1 || !mayShare(plan.pack, group, plan.rows()))
    return "packs " + std::to_string(plan.pack) + " heads";
  for (int64_t more = plan.pack + 1; more <= group; ++more)
    if (mayShare(more, group, plan.rows()))
      return "could pack " + std::to_string(more) + " heads";
  if (plan.headBlocks() * plan.pack != plan.shape.heads)
    return "does not cover the heads";
  if (plan.queryTile() < 1 || plan.queryTile() * plan.pack > plan.rows())
    return "has more queries than rows";
  return "";
}

TEST(TilePlan, ChipsAreThoseOfTheMessage) {
  std::string names;
  for (auto [name, kilobytes] : kChips) {
    auto limits = ChipLimits::of(name);
    ASSERT_TRUE(limits) << name;
    EXPECT_EQ(limits->sharedBytes, kilobytes << 10) << name;
    EXPECT_EQ(limits->multiprocessorSharedBytes, (kilobytes + 1) << 10) << name;
    EXPECT_EQ(limits->multiprocessorRegisters, 65536) << name;
  }
  EXPECT_EQ(kernelChips(), "sm_80, sm_86, sm_87 or sm_89");
  for (const char *name : {"", "sm_", "sm_8", "sm_70", "sm_75", "sm_90",
                           "sm_90a", "sm_80a", "SM_80", "sm_800"})
    EXPECT_FALSE(ChipLimits::of(name)) << name;
}

class TilePlans
    : public testing::TestWithParam<std::pair<const char *, int64_t>> {
protected:
  int64_t limit = GetParam().second << 10;
  ChipLimits limits = *ChipLimits::of(GetParam().first);
};

TEST_P(TilePlans, AreWithinTheLimitsOrRefused) {
  int64_t plans = 0, refused = 0;
  forEachShape([&](const AttentionShape &shape) {
    if (HasFailure()) // one is enough to read
      return;
    std::string why;
    std::optional<GPUTilePlan> plan = planTiles(shape, limits, why);
    if (plan) {
      ++plans;
      std::string fault = faultOfMemory(*plan, limit);
      fault += faultOfRegisters(*plan);
      fault += faultOfHeads(*plan);
      EXPECT_EQ(fault, "") << text(shape) << ": " << plan->describe();
      EXPECT_EQ(why, "") << text(shape);
      return;
    }
    ++refused;
    // Nothing smaller would fit, and the message has its numbers and the
    // limits.
    GPUTilePlan least{shape,          /*warps=*/4,  /*rowTiles=*/1,
                      /*keyTile=*/16, /*stages=*/1, /*pack=*/1};
    EXPECT_TRUE(least.sharedBytes() > limit || least.registers() > 255)
        << text(shape);
    for (int64_t number : {least.sharedBytes(), least.registers(), limit})
      EXPECT_NE(why.find(" " + std::to_string(number) + " "), std::string::npos)
          << number << " in: " << why;
    EXPECT_NE(why.find("255 registers"), std::string::npos) << why;
  });
  EXPECT_GT(plans, 0);
  EXPECT_GT(refused, 0);
}

// Head sizes that models have are never refused.
TEST_P(TilePlans, ThereIsOneForUsualHeadSizes) {
  forEachShape([&](AttentionShape shape) {
    std::string why;
    int64_t most = shape.elementBytes == 2 ? 256 : 128;
    if (shape.depth <= most && shape.valueDepth <= most)
      EXPECT_TRUE(planTiles(shape, limits, why)) << text(shape) << ": " << why;
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, TilePlans, testing::ValuesIn(kChips),
                         [](const auto &info) { return info.param.first; });

std::optional<GPUTilePlan> planFor(const AttentionShape &shape,
                                   const char *chip) {
  std::string why;
  return planTiles(shape, *ChipLimits::of(chip), why);
}

auto tiles(const std::optional<GPUTilePlan> &plan) {
  return plan ? std::tuple(plan->rows(), plan->keyTile, plan->stages,
                           plan->warps, plan->pack)
              : std::tuple(int64_t(0), int64_t(0), int64_t(0), int64_t(0),
                           int64_t(0));
}

// What does not fit into less memory becomes smaller there, and what has the
// same memory has the same tiles. (Where queries take nearly all of the memory,
// half as many may leave room for more keys.)
TEST(TilePlan, SmallerMemoryGivesSmallerTiles) {
  int64_t smaller = 0;
  forEachShape([&](const AttentionShape &shape) {
    auto large = planFor(shape, "sm_80"), small = planFor(shape, "sm_86");
    EXPECT_EQ(tiles(large), tiles(planFor(shape, "sm_87"))) << text(shape);
    EXPECT_EQ(tiles(small), tiles(planFor(shape, "sm_89"))) << text(shape);
    if (small)
      EXPECT_TRUE(large) << text(shape);
    if (!large || !small || large->sharedBytes() <= 99 << 10 ||
        shape.depth == kWide)
      return;
    ++smaller;
    EXPECT_LT(small->rows() * small->keyTile * small->stages,
              large->rows() * large->keyTile * large->stages)
        << text(shape);
  });
  EXPECT_GT(smaller, 0);
}

} // namespace
