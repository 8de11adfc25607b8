//===- BruteForce.cpp - Masks and layouts pair by pair --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include <random>
#include <set>

using namespace ring;
using namespace ring::test;

static int64_t chunkOf(int64_t position, int64_t chunk) {
  int64_t index = position / chunk;
  while (index * chunk > position)
    --index;
  return index;
}

bool test::visible(const PositionalMask &mask, int64_t query, int64_t key) {
  int64_t p = query + mask.shift;
  if (mask.causal && key > p && key >= mask.prefix)
    return false;
  if (mask.left != PositionalMask::kUnbounded && key < p - mask.left)
    return false;
  if (mask.right != PositionalMask::kUnbounded && key > p + mask.right)
    return false;
  return mask.chunk == 0 || chunkOf(p, mask.chunk) == chunkOf(key, mask.chunk);
}

std::vector<NamedMask> test::masksFor(int64_t queryCount, int64_t keyCount) {
  constexpr int64_t any = PositionalMask::kUnbounded;
  int64_t bottomRight = keyCount - queryCount;
  //   causal  left  right  chunk  prefix  shift
  return {
      {"full", {}},
      {"causal", {true, any, any, 0, 0, 0}},
      {"causal bottom right", {true, any, any, 0, 0, bottomRight}},
      {"causal before the keys", {true, any, any, 0, 0, -5}},
      {"causal behind the keys", {true, any, any, 0, 0, keyCount + 3}},
      {"left", {false, 3, any, 0, 0, 0}},
      {"right", {false, any, 2, 0, 0, bottomRight}},
      {"itself", {false, 0, 0, 0, 0, 0}},
      {"both sides", {false, 7, 4, 0, 0, bottomRight}},
      {"window left of all keys", {false, 2, 1, 0, 0, -queryCount - 2}},
      {"causal window", {true, 10, 0, 0, 0, bottomRight}},
      {"causal window wider", {true, keyCount + 9, 5, 0, 0, 0}},
      {"chunk", {false, any, any, 5, 0, 0}},
      {"chunk of one", {false, any, any, 1, 0, bottomRight}},
      {"causal chunk shifted", {true, any, any, 16, 0, -7}},
      {"chunk beyond", {true, any, any, 1000, 0, bottomRight}},
      {"prefix", {true, any, any, 0, 9, 0}},
      {"prefix of all", {true, any, any, 0, keyCount + 2, -3}},
      {"prefix window", {true, 6, 3, 0, 11, 2}},
      {"prefix chunk", {true, any, any, 7, 12, bottomRight}},
      {"everything", {true, 8, 2, 6, 13, -1}},
  };
}

const std::vector<NamedLayout> &test::layouts() {
  static const std::vector<NamedLayout> all = {
      {"contiguous", LayoutKind::Contiguous, 1},
      {"zigzag", LayoutKind::Zigzag, 1},
      {"striped:1", LayoutKind::Striped, 1},
      {"striped:3", LayoutKind::Striped, 3},
      {"striped:16", LayoutKind::Striped, 16},
      {"balanced", LayoutKind::Balanced, 1},
  };
  return all;
}

std::vector<int64_t> test::awkwardLengths(int64_t ranks) {
  std::set<int64_t> lengths = {1,         ranks - 1, ranks, 2 * ranks - 1,
                               2 * ranks, 13,        57};
  lengths.erase(0);
  return {lengths.begin(), lengths.end()};
}

std::vector<int64_t> test::positionsOf(LayoutView view) {
  std::vector<int64_t> positions;
  for (const LayoutEntry &entry : view)
    for (int64_t i = 0; i < entry.count; ++i)
      for (int64_t j = 0; j < entry.block; ++j)
        positions.push_back(entry.begin + i * entry.stride + j);
  return positions;
}

static bool isPositionVisible(const RingBlock &block, int64_t query,
                              int64_t key) {
  return key < block.keyCount && visible(block.mask, query, key);
}

bool test::sees(const RingBlock &block, int64_t query, int64_t key) {
  if (!isPositionVisible(block, query, key))
    return false;
  if (!block.keySegments)
    return true;
  int32_t id = block.keySegments.ids[key * block.keySegments.stride];
  return id >= 0 &&
         id == block.querySegments.ids[query * block.querySegments.stride];
}

int64_t test::countPairs(const RingBlock &block) {
  int64_t pairs = 0;
  std::vector<int64_t> keys = positionsOf(block.keys);
  for (int64_t query : positionsOf(block.queries))
    for (int64_t key : keys)
      pairs += isPositionVisible(block, query, key);
  return pairs;
}

std::vector<NamedIds> test::idsFor(int64_t queryCount, int64_t keyCount) {
  std::vector<NamedIds> all;
  auto add = [&](const char *name, auto idOfQuery, auto idOfKey) {
    NamedIds ids{name, {}, {}};
    for (int64_t i = 0; i < queryCount; ++i)
      ids.queries.push_back(idOfQuery(i));
    for (int64_t i = 0; i < keyCount; ++i)
      ids.keys.push_back(idOfKey(i));
    all.push_back(ids);
  };
  auto both = [&](const char *name, auto idOf) { add(name, idOf, idOf); };
  auto packed = [](int64_t i) -> int32_t { return i < 5 ? 0 : 2 * (i / 11); };
  both("one document", [](int64_t) { return 7; });
  both("only padding", [](int64_t) { return -1; });
  both("packed", packed);
  both("packed and padding",
       [&](int64_t i) { return i < 21 ? packed(i) : -3; });
  both("padding and packed", [&](int64_t i) { return i < 4 ? -1 : packed(i); });
  both("descending", [](int64_t i) { return 1000 - int32_t(i / 7); });
  both("interleaved", [](int64_t i) { return int32_t(i % 3); });
  both("runs of two", [](int64_t i) { return int32_t(i / 70 % 2); });
  both("at the limits", [](int64_t i) {
    return i < 3 ? 0 : i < 17 ? INT32_MAX - 1 : i < 30 ? INT32_MAX : INT32_MIN;
  });
  add(
      "documents that the other has not",
      [](int64_t i) { return 2 * int32_t(i / 5); },
      [](int64_t i) { return 3 * int32_t(i / 4); });
  add(
      "sorted keys, other queries",
      [](int64_t i) { return int32_t(i * 5 % 4); }, packed);
  std::mt19937 random(11);
  both("random", [&](int64_t) { return int32_t(random() % 7) - 2; });
  return all;
}

StridedIds::StridedIds(const std::vector<int32_t> &ids, int64_t stride)
    : memory(ids.size() * stride), count(ids.size()), stride(stride) {
  for (int64_t i = 0; i < count; ++i) {
    memory[i * stride] = ids[i];
    for (int64_t between = 1; between < stride; ++between)
      memory[i * stride + between] = between % 2 ? -99 : 99;
  }
}

SegmentIds StridedIds::view() const {
  return {memory.data(), count, stride, false};
}
