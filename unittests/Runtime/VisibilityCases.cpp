//===- VisibilityCases.cpp - Who sees whom, by definition -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibilityCases.h"

#include <random>

using namespace ring;
using namespace ring::test;

ring_visibility VisibilityCase::init() const {
  auto data = [](const std::vector<int32_t> &values) {
    return const_cast<int32_t *>(values.data());
  };
  int64_t batches = this->batches();
  auto perEntry = [&](const std::vector<int32_t> &values) {
    return tensorOf(data(values), 4, {batches});
  };
  auto ids = [&](const std::vector<int32_t> &values) {
    int64_t count = batches ? int64_t(values.size()) / 2 / batches : 0;
    ring_tensor tensor = tensorOf(data(values), 4, {batches, count});
    tensor.strides[0] = 2 * count;
    tensor.strides[1] = 2;
    return tensor;
  };
  ring_tensor length = perEntry(lengths), offset = perEntry(offsets),
              query = ids(querySegments), key = ids(keySegments);
  ring_visibility visibility;
  ring_visibility_init(&visibility, causal, left, right, chunk, prefix,
                       bottomRight, querySegments.empty() ? nullptr : &query,
                       keySegments.empty() ? nullptr : &key,
                       lengths.empty() ? nullptr : &length,
                       offsets.empty() ? nullptr : &offset);
  return visibility;
}

/// floor(a / b) for b > 0.
static int64_t floorDivide(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

bool VisibilityCase::isVisible(int64_t batch, int64_t query, int64_t key,
                               int64_t queryCount, int64_t keyCount) const {
  int64_t p = query + (!offsets.empty() ? offsets[batch]
                       : bottomRight    ? keyCount - queryCount
                                        : 0);
  bool order = !causal || key <= p || key < prefix;
  bool window = (left == INT64_MAX || key >= p - left) &&
                (right == INT64_MAX || key <= p + right);
  bool inChunk = chunk == 0 || key / chunk == floorDivide(p, chunk);
  bool present = lengths.empty() || key < lengths[batch];
  bool together = true;
  if (!keySegments.empty()) {
    int32_t ofQuery = querySegments[(batch * queryCount + query) * 2];
    int32_t ofKey = keySegments[(batch * keyCount + key) * 2];
    together = ofQuery == ofKey && ofKey >= 0;
  }
  return order && window && inChunk && present && together;
}

/// [batch][count][2]: the ids of a batch entry, and others between them.
static std::vector<int32_t> idsOf(int64_t batches, int64_t count, bool sorted) {
  std::mt19937 random(5);
  std::vector<int32_t> ids;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t used = count - 2 * batch; // the rest is padding
    for (int64_t i = 0; i < count; ++i) {
      int32_t id = i >= used ? -1 : int32_t(i / (4 + batch));
      ids.push_back(sorted || batch == 0 ? id : int32_t(random() % 5) - 1);
      ids.push_back(77);
    }
  }
  return ids;
}

std::vector<VisibilityCase>
test::visibilityCases(int64_t batches, int64_t queryCount, int64_t keyCount) {
  constexpr int64_t any = INT64_MAX;
  std::vector<VisibilityCase> masks = {
      {"full"},
      {"causal", true},
      {"causal bottom right", true, any, any, 0, 0, true},
      {"causal window", true, 5, 0, 0, 0, true},
      {"window", false, 3, 2},
      {"chunk", true, any, any, 6},
      {"prefix", true, any, any, 0, 7},
  };
  // Some beyond the sequence, some before it.
  auto cycle = [&](std::vector<int32_t> values) {
    std::vector<int32_t> all;
    for (int64_t batch = 0; batch < batches; ++batch)
      all.push_back(values[batch % values.size()]);
    return all;
  };
  std::vector<int32_t> lengths = cycle({int32_t(keyCount) + 4, 9, -2, 0});
  std::vector<int32_t> offsets = cycle({-3, 4, int32_t(keyCount) + 7, 0});
  std::vector<VisibilityCase> cases;
  for (VisibilityCase mask : masks) {
    // Without any of them there is one batch entry.
    for (bool withLengths : {false, true})
      for (bool withOffsets : {false, true})
        for (int ids : {0, 1, 2}) {
          VisibilityCase each = mask;
          if (withLengths || (!withOffsets && ids))
            each.lengths =
                withLengths ? lengths : std::vector<int32_t>(batches, keyCount);
          if (withOffsets)
            each.offsets = offsets;
          if (ids) {
            each.querySegments = idsOf(batches, queryCount, ids == 1);
            each.keySegments = idsOf(batches, keyCount, ids == 1);
          }
          each.name += std::string(withLengths ? ", lengths" : "") +
                       (withOffsets ? ", offsets" : "") +
                       (ids == 1   ? ", sorted ids"
                        : ids == 2 ? ", ids"
                                   : "");
          cases.push_back(each);
        }
  }
  return cases;
}

std::vector<int64_t> test::positionsOf(const std::vector<LayoutEntry> &layout,
                                       int64_t rank) {
  std::vector<int64_t> positions;
  for (const LayoutEntry &entry : layout)
    for (int64_t i = 0; entry.owner == rank && i < entry.size(); ++i)
      positions.push_back(entry.position(i));
  return positions;
}
