//===- ShardTest.cpp - Scatter and gather ---------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibilityCases.h"

#include <cstring>

using namespace ring;
using namespace ring::test;

namespace {

int64_t elementCount(const ring_tensor &tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.dims; ++i)
    count *= tensor.sizes[i];
  return count;
}

/// Address of the element with this index, the last dimension fastest.
char *elementAt(const ring_tensor &tensor, int64_t index) {
  int64_t offset = 0;
  for (int32_t i = tensor.dims - 1; i >= 0; --i) {
    offset += index % tensor.sizes[i] * tensor.strides[i];
    index /= tensor.sizes[i];
  }
  return static_cast<char *>(tensor.data) + offset * tensor.element_bytes;
}

/// Storage for a tensor, its dimensions in memory in the order of
/// `permutation`, with `gap` unused elements after each innermost row.
struct Storage {
  std::vector<char> bytes;
  ring_tensor tensor;

  Storage(const std::vector<int64_t> &sizes,
          const std::vector<int32_t> &permutation, int64_t gap,
          int32_t elementBytes, char fill) {
    tensor = tensorOf(nullptr, elementBytes, sizes);
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      tensor.strides[permutation[i]] = stride;
      stride *= sizes[permutation[i]];
      if (i == sizes.size() - 1)
        stride += gap;
    }
    bytes.assign(stride * elementBytes, fill);
    tensor.data = bytes.data();
  }
};

/// A value that differs between elements, in the low bytes first.
void writeElement(char *address, int64_t value, int32_t bytes) {
  value = value * 2654435761 + 1;
  std::memcpy(address, &value, bytes);
}

std::vector<std::vector<LayoutEntry>> layoutsOf(int64_t ranks, int64_t length) {
  PositionalMask window;
  window.left = 3;
  window.right = 0;
  return {contiguousLayout(ranks, length), zigzagLayout(ranks, length),
          stripedLayout(ranks, length, 1), stripedLayout(ranks, length, 3),
          chunkedLayout(
              ranks, length,
              balancedOwners(ranks, length, length, pairsOf(window, length)))};
}

/// Scatters a tensor of `sizes`, checks every local element and the padding,
/// and gathers it back.
void checkRoundTrip(Host &host, const std::vector<LayoutEntry> &layout,
                    std::vector<int64_t> sizes, int32_t dim,
                    int32_t elementBytes,
                    const std::vector<int32_t> &permutation, int64_t gap) {
  int32_t ranks = ring_host_ranks(host);
  LayoutView view{layout.data(), int64_t(layout.size())};
  Storage whole(sizes, permutation, gap, elementBytes, 'u');
  for (int64_t i = 0; i < elementCount(whole.tensor); ++i)
    writeElement(elementAt(whole.tensor, i), i, elementBytes);

  std::vector<int64_t> localSizes = sizes;
  localSizes[dim] = view.paddedSize(ranks);
  localSizes.insert(localSizes.begin(), ranks);
  std::vector<int32_t> order{0};
  for (int32_t each : permutation)
    order.push_back(each + 1);
  Storage stacked(localSizes, order, gap, elementBytes, 'x');
  ASSERT_EQ(ring_host_scatter(host, tableOf(layout), layout.size(), dim,
                              &whole.tensor, &stacked.tensor),
            RING_OK)
      << ring_host_error(host);

  // Local position -> position, from the definition of the table.
  std::vector<std::vector<int64_t>> positions(ranks);
  for (const LayoutEntry &entry : view)
    for (int64_t i = 0; i < entry.size(); ++i)
      positions[entry.owner].push_back(entry.position(i));
  for (int64_t i = 0; i < elementCount(stacked.tensor); ++i) {
    std::vector<int64_t> index(localSizes.size());
    for (int64_t k = localSizes.size() - 1, rest = i; k >= 0; --k) {
      index[k] = rest % localSizes[k];
      rest /= localSizes[k];
    }
    char expected[8] = {};
    const std::vector<int64_t> &mine = positions[index[0]];
    if (index[dim + 1] < int64_t(mine.size())) {
      index[dim + 1] = mine[index[dim + 1]];
      int64_t flat = 0;
      for (size_t k = 0; k < sizes.size(); ++k)
        flat = flat * sizes[k] + index[k + 1];
      writeElement(expected, flat, elementBytes);
    }
    ASSERT_EQ(std::memcmp(elementAt(stacked.tensor, i), expected, elementBytes),
              0)
        << "stacked element " << i;
  }

  // Garbage in the padding must not come back, nor gaps be written.
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (int64_t i = 0; i < elementCount(stacked.tensor); ++i) {
      int64_t inner = 1;
      for (size_t k = dim + 2; k < localSizes.size(); ++k)
        inner *= localSizes[k];
      int64_t local = i / inner % localSizes[dim + 1];
      int64_t owner = i / (elementCount(stacked.tensor) / ranks);
      if (owner == rank && local >= int64_t(positions[rank].size()))
        std::memset(elementAt(stacked.tensor, i), 'p', elementBytes);
    }
  Storage back(sizes, permutation, gap, elementBytes, 'u');
  ASSERT_EQ(ring_host_gather(host, tableOf(layout), layout.size(), dim,
                             &stacked.tensor, &back.tensor),
            RING_OK)
      << ring_host_error(host);
  EXPECT_EQ(whole.bytes, back.bytes);
}

} // namespace

TEST(ShardTest, GatherAfterScatterIsTheIdentity) { // cases S1, S2, S6
  for (int32_t ranks : {1, 2, 3, 4, 8}) {
    Host host(ranks);
    for (int64_t length : {1, 2, 3, 7, 8, 10, 16, 29, 61})
      for (const std::vector<LayoutEntry> &layout : layoutsOf(ranks, length))
        for (int32_t bytes : {1, 2, 4, 8}) {
          SCOPED_TRACE("ranks " + std::to_string(ranks) + " length " +
                       std::to_string(length) + " bytes " +
                       std::to_string(bytes));
          checkRoundTrip(host, layout, {1, 2, length, 3}, 2, bytes,
                         {0, 1, 2, 3}, 0);
          // [batch, sequence, heads, depth] in memory, rows with a gap.
          checkRoundTrip(host, layout, {1, 2, length, 3}, 2, bytes,
                         {0, 2, 1, 3}, 2);
          if (HasFatalFailure())
            return;
        }
  }
}

TEST(ShardTest, AnyDimension) {
  Host host(3);
  for (int32_t dim : {0, 1, 2}) {
    std::vector<int64_t> sizes{4, 4, 4};
    sizes[dim] = 11;
    for (const std::vector<LayoutEntry> &layout : layoutsOf(3, 11))
      for (const std::vector<int32_t> &permutation :
           {std::vector<int32_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}})
        checkRoundTrip(host, layout, sizes, dim, 4, permutation, 1);
  }
  for (const std::vector<LayoutEntry> &layout : layoutsOf(3, 5))
    checkRoundTrip(host, layout, {5}, 0, 2, {0}, 0);
}

TEST(ShardTest, EmptyTensors) {
  Host host(2);
  checkRoundTrip(host, zigzagLayout(2, 0), {1, 0, 3}, 1, 4, {0, 1, 2}, 0);
  checkRoundTrip(host, zigzagLayout(2, 6), {0, 6, 3}, 1, 4, {0, 1, 2}, 0);
}

// A whole tensor may be a broadcast view: stride 0.
TEST(ShardTest, BroadcastSource) {
  Host host(2);
  std::vector<LayoutEntry> layout = contiguousLayout(2, 4);
  float row[4] = {1, 2, 3, 4}, stacked[2][3][2] = {};
  ring_tensor whole = tensorOf(row, 4, {3, 4});
  whole.strides[0] = 0;
  ring_tensor local = tensorOf(stacked, 4, {2, 3, 2});
  ASSERT_EQ(ring_host_scatter(host, tableOf(layout), layout.size(), 1, &whole,
                              &local),
            RING_OK);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stacked[0][i][1], 2);
    EXPECT_EQ(stacked[1][i][0], 3);
  }
}

TEST(ShardTest, RefusesWhatDoesNotFit) {
  Host host(2);
  float data[64] = {}, local[64];
  std::vector<LayoutEntry> layout = contiguousLayout(2, 8);
  auto expect = [&](const std::vector<LayoutEntry> &table, int32_t dim,
                    const std::vector<int64_t> &whole,
                    const std::vector<int64_t> &stacked, int32_t bytes,
                    const std::string &message) {
    std::fill(std::begin(local), std::end(local), 5.0f);
    ring_tensor from = tensorOf(data, bytes, whole);
    ring_tensor to = tensorOf(local, 4, stacked);
    EXPECT_EQ(
        ring_host_scatter(host, tableOf(table), table.size(), dim, &from, &to),
        RING_ERROR_USAGE);
    EXPECT_EQ(ring_host_error(host), message);
    EXPECT_EQ(local[0], 5) << "nothing is written";
  };
  expect(layout, 0, {8}, {2, 4}, 3,
         "elements of 3 bytes, expected 1, 2, 4 or 8");
  expect(layout, 0, {8}, {2, 4}, 8,
         "stacked elements have 4 bytes, those of the whole tensor 8");
  expect(layout, 1, {8}, {2, 4}, 4,
         "sharded dimension 1 of a tensor with 1 dimensions");
  expect(layout, 0, {8}, {2, 4, 1}, 4,
         "stacked tensor of 3 dimensions, expected 2");
  expect(layout, 0, {8}, {3, 4}, 4, "stacked tensor of 3 ranks, expected 2");
  expect(layout, 0, {8, 2}, {2, 4, 3}, 4,
         "stacked tensor has size 3 in dimension 2, expected 2");
  expect(layout, 0, {8}, {2, 3}, 4,
         "rank 0 owns 4 positions, its local tensor has 3");
  expect(layout, 0, {7}, {2, 4}, 4,
         "layout position 7 outside of a dimension of size 7");
  expect(layout, 0, {9}, {2, 5}, 4, "the layout covers 8 of 9 positions");
  expect({{0, 0, 5, 5, 1}, {1, 4, 4, 4, 1}}, 0, {8}, {2, 5}, 4,
         "layout position 4 has two owners");
  expect({{0, 0, 4, 4, 1}, {2, 4, 4, 4, 1}}, 0, {8}, {2, 4}, 4,
         "layout entry of rank 2, expected 0 to 1");
}
