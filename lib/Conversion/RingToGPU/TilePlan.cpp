//===- TilePlan.cpp - The shape of a GPU kernel's tiles -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TilePlan.h"

#include "ring/Conversion/RingToGPU/Chips.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

using namespace mlir::ring;

/// KiB of shared memory that a multiprocessor can give: CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability".
static constexpr std::pair<llvm::StringLiteral, int64_t> kChips[] = {
    {"sm_80", 164}, {"sm_86", 100}, {"sm_87", 164}, {"sm_89", 100}};

std::optional<ChipLimits> ChipLimits::of(llvm::StringRef chip) {
  for (auto [name, kilobytes] : kChips)
    if (name == chip) // 1 KiB less for a block, by the same table
      return ChipLimits{(kilobytes - 1) << 10, kilobytes << 10, 65536};
  return std::nullopt;
}

std::string mlir::ring::kernelChips() {
  std::string names;
  for (auto [name, kilobytes] : kChips) {
    if (!names.empty())
      names += name == std::end(kChips)[-1].first ? " or " : ", ";
    names += name;
  }
  return names;
}

int64_t GPUTilePlan::valueTiles() const {
  // In pairs: one ldmatrix brings two of them.
  return llvm::alignTo(shape.valueDepth, 16) / 8;
}

int64_t GPUTilePlan::registers() const {
  // The constants were found with ptxas: test/Integration/gpu/ptxas_variants.py
  // asks it about many plans.
  bool isF32 = shape.elementBytes == 4;
  int64_t accumulators = 4 * rowTiles * valueTiles();
  int64_t rowState = 4 * rowTiles; // maxima, sums and what is made of them
  // The main loop: scores, fragments of one product, addresses and the rest.
  // With several stages addresses in shared memory change from tile to tile.
  int64_t scores = 4 * rowTiles * scoreTiles();
  int64_t fragments = (isF32 ? 2 : 1) * 4 * (rowTiles + 1);
  int64_t rest = 36 + 40 * (stages - 1) + (shape.transformsScores ? 16 : 0);
  // Where two states are merged: loads in flight.
  int64_t merge = 88 + (isF32 ? 16 : 0);
  return accumulators + rowState + std::max(scores + fragments + rest, merge);
}

std::string GPUTilePlan::describe() const {
  auto number = [](int64_t value) { return std::to_string(value); };
  return number(queryTile()) + " queries of " + number(pack) + " heads x " +
         number(keyTile) + " keys, " + number(warps) + " warps of " +
         number(16 * rowTiles) + " rows, " + number(stages) + " stages, " +
         number(sharedBytes()) + " bytes of shared memory, about " +
         number(registers()) + " of " + number(kMostRegisters) + " registers";
}

/// Heads of a group that share a tile: the most that leave at most an eighth of
/// the rows empty. Each tile of K and V then serves them all.
static int64_t headsOfATile(const AttentionShape &shape, int64_t rows) {
  int64_t group = shape.heads / shape.kvHeads;
  for (int64_t pack = std::min(group, rows); pack > 1; --pack)
    if (group % pack == 0 && rows / pack * pack >= rows - rows / 8)
      return pack;
  return 1;
}

std::optional<GPUTilePlan> mlir::ring::planTiles(const AttentionShape &shape,
                                                 const ChipLimits &limits,
                                                 std::string &why) {
  std::optional<GPUTilePlan> best, smallest;
  // Few cycles an element are lost where: a fragment of K or V serves two
  // tiles of rows (ldmatrix, not the tensor cores, is the limit otherwise), a
  // multiprocessor holds two blocks (one waits, one works), the key tile is
  // long (the accumulators are rescaled once a tile).
  auto worth = [&](const GPUTilePlan &plan) {
    int64_t blocks =
        std::min(limits.multiprocessorSharedBytes / (plan.sharedBytes() + 1024),
                 limits.multiprocessorRegisters /
                     (plan.threads() * GPUTilePlan::kMostRegisters));
    return std::tuple(plan.rowTiles, std::min<int64_t>(blocks * plan.warps, 8),
                      std::min<int64_t>(plan.keyTile, 64), plan.stages,
                      -plan.warps);
  };
  for (int64_t rowTiles : {2, 1}) {
    // The code for a score region is repeated for each score of a thread.
    if (shape.hasScoreRegion && rowTiles > 1)
      continue;
    for (int64_t keyTile : {64, 32, 16}) {
      if ((shape.hasScoreRegion || shape.elementBytes == 4) && keyTile > 32)
        continue;
      for (int64_t stages : {2, 1}) {
        GPUTilePlan plan{shape, /*warps=*/4, rowTiles, keyTile, stages, 1};
        plan.pack = headsOfATile(shape, plan.rows());
        smallest = plan;
        if (plan.sharedBytes() > limits.sharedBytes ||
            plan.registers() > GPUTilePlan::kMostRegisters)
          continue;
        if (!best || worth(plan) > worth(*best))
          best = plan;
      }
    }
  }
  if (!best)
    why = "the smallest tiles (" + smallest->describe() + ") exceed " +
          std::to_string(limits.sharedBytes) + " bytes of shared memory or " +
          std::to_string(GPUTilePlan::kMostRegisters) + " registers";
  return best;
}
