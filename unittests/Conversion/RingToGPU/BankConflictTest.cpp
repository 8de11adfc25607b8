//===- BankConflictTest.cpp - Banks that a tile's accesses hit ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory has 32 banks of 4 bytes. An access of 16 bytes a lane is done
// for eight lanes at a time, one of 4 bytes for all 32: without a conflict they
// are in 32 different banks.
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace mlir::ring;

namespace {

constexpr int64_t kRows = 64;

/// One access: what is read or written at once.
class Access {
public:
  void add(int64_t offset, int64_t bytes) {
    for (int64_t byte = offset; byte < offset + bytes; byte += 4)
      words[byte / 4 % 32].insert(byte / 4);
  }
  /// How many words of one bank there are at most: 1 without a conflict.
  size_t ways() const {
    size_t most = 0;
    for (const auto &[bank, distinct] : words)
      most = std::max(most, distinct.size());
    return most;
  }

private:
  std::map<int64_t, std::set<int64_t>> words;
};

class BankConflicts
    : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {
protected:
  SharedTile tile{kRows, std::get<0>(GetParam()), std::get<1>(GetParam())};
};

// Eight rows of one chunk column, as ldmatrix reads them.
TEST_P(BankConflicts, MatrixLoad) {
  for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk)
    for (int64_t row = 0; row < kRows; row += 8) {
      Access access;
      for (int64_t lane = 0; lane < 8; ++lane)
        access.add(tile.offset(row + lane, chunk), SharedTile::kChunkBytes);
      EXPECT_EQ(access.ways(), 1u) << "row " << row << " chunk " << chunk;
    }
}

// Eight consecutive lanes of a copy. A row has a power of two of lanes, of
// which those behind its last chunk do nothing.
TEST_P(BankConflicts, AsynchronousCopy) {
  int64_t lanesOfRow = llvm::PowerOf2Ceil(tile.chunks());
  for (int64_t first = 0; first < kRows * lanesOfRow; first += 8) {
    Access access;
    for (int64_t place = first; place < first + 8; ++place)
      if (place % lanesOfRow < tile.chunks())
        access.add(tile.offset(place / lanesOfRow, place % lanesOfRow),
                   SharedTile::kChunkBytes);
    EXPECT_LE(access.ways(), 1u) << "place " << first;
  }
}

// Values in f32 have no ldmatrix.trans: lane 4g + t reads column g of row 2t,
// then of row 2t + 1, of a step of eight rows. In a panel of 4 chunks such rows
// lie in one half of 128 bytes, so two turns are the least.
TEST_P(BankConflicts, ScalarValues) {
  if (std::get<1>(GetParam()) != 4)
    GTEST_SKIP() << "read by ldmatrix.trans";
  for (int64_t chunk = 0; chunk < tile.chunks(); chunk += 2)
    for (int64_t row = 0; row < kRows; row += 8)
      for (int64_t odd : {0, 1}) {
        Access access;
        for (int64_t lane = 0; lane < 32; ++lane) {
          int64_t column = lane / 4;
          access.add(
              tile.offset(row + 2 * (lane % 4) + odd, chunk + column / 4) +
                  column % 4 * 4,
              4);
        }
        EXPECT_EQ(access.ways(), tile.panelChunks() == 4 ? 2u : 1u)
            << "row " << row << " odd " << odd << " chunk " << chunk;
      }
}

// No two chunks share a place, and all lie within the tile.
TEST_P(BankConflicts, PlacesAreDistinct) {
  std::set<int64_t> places;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      int64_t offset = tile.offset(row, chunk);
      EXPECT_TRUE(places.insert(offset).second) << row << ", " << chunk;
      EXPECT_EQ(offset % SharedTile::kChunkBytes, 0);
      EXPECT_LE(offset + SharedTile::kChunkBytes, tile.bytes());
    }
}

INSTANTIATE_TEST_SUITE_P(HeadSizes, BankConflicts,
                         testing::Combine(testing::Range<int64_t>(16, 257, 16),
                                          testing::Values<int64_t>(2, 4)),
                         [](const auto &info) {
                           return "d" +
                                  std::to_string(std::get<0>(info.param)) +
                                  "bytes" +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
