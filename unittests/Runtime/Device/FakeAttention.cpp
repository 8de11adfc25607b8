//===- FakeAttention.cpp - The kernel of the fake driver ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeAttention.h"

#include <algorithm>
#include <cmath>

using namespace ring::test;

static int64_t positionOf(const ring_device_entry &entry, int64_t index) {
  int64_t i = index - entry.base;
  return entry.begin + i / entry.block * entry.stride + i % entry.block;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

static bool isVisible(const ring_attention_params &params,
                      const ring_attention_item &item, int64_t query,
                      int64_t key) {
  int64_t p = query + item.shift;
  int64_t lower = INT64_MIN, upper = item.key_count;
  if (params.left != INT32_MAX)
    lower = p - params.left;
  if (params.right != INT32_MAX)
    upper = std::min(upper, p + params.right + 1);
  if (params.chunk) {
    int64_t begin = floorDivide(p, params.chunk) * params.chunk;
    lower = std::max(lower, begin);
    upper = std::min(upper, begin + params.chunk);
  }
  if (params.causal)
    upper = std::min(upper, std::max(p + 1, int64_t(params.prefix)));
  if (key < lower || key >= upper)
    return false;
  if (!params.key_segments)
    return true;
  const int64_t *ofQuery = params.query_segments_strides,
                *ofKey = params.key_segments_strides;
  int32_t a =
      params.query_segments[item.batch * ofQuery[0] + query * ofQuery[1]];
  int32_t b = params.key_segments[item.batch * ofKey[0] + key * ofKey[1]];
  return a == b && a >= 0;
}

namespace {
/// One head of one query of an item.
struct Row {
  float max = -INFINITY, sum = 0;
  std::vector<float> acc;

  void add(float score, float weight, const float *values) {
    float top = std::max(max, score);
    if (top == -INFINITY)
      return;
    float old = max == -INFINITY ? 0 : std::exp(max - top);
    float fresh = weight * std::exp(score - top);
    for (size_t i = 0; i < acc.size(); ++i)
      acc[i] = acc[i] * old + (fresh == 0 ? 0 : fresh * values[i]);
    sum = sum * old + fresh;
    max = top;
  }
};

class FakeLaunch {
public:
  FakeLaunch(const ring_attention_params &params, int device, int launch)
      : params(params), device(device), launch(launch) {}

  void run(const ring_attention_item &item, int64_t headBlock);

private:
  void visit(const ring_attention_item &item, int64_t head, int64_t query,
             Row &row);
  /// The row's floats in a state or a partial one.
  float *placeOf(float *states, int64_t index, int64_t headBlock, int64_t head,
                 int64_t query) const;
  void merge(const float *from, Row &row) const;
  void finish(const ring_attention_item &item, int64_t head, int64_t query,
              const Row &row);

  const ring_attention_params &params;
  const FakeKernel &kernel = fakeState().kernel;
  int device, launch;
};
} // namespace

float *FakeLaunch::placeOf(float *states, int64_t index, int64_t headBlock,
                           int64_t head, int64_t query) const {
  return states +
         (index * kernel.headBlocks + headBlock) * kernel.stateFloats() +
         (head * kernel.queryTile + query) * kernel.rowFloats();
}

void FakeLaunch::merge(const float *from, Row &row) const {
  // A partial state is one key more: of weight sum, with the mean as value.
  if (from[1] == 0)
    return;
  std::vector<float> mean(from + 2, from + kernel.rowFloats());
  for (float &value : mean)
    value /= from[1];
  row.add(from[0], from[1], mean.data());
}

void FakeLaunch::visit(const ring_attention_item &item, int64_t head,
                       int64_t query, Row &row) {
  auto *q = static_cast<const float *>(params.query) +
            item.batch * params.query_strides[0] +
            head * params.query_strides[1] + query * params.query_strides[2];
  int64_t kvHead = head / (kernel.heads / kernel.kvHeads);
  for (int32_t r = item.range_begin; r < item.range_end; ++r) {
    const ring_attention_range &range = params.ranges[r];
    for (int64_t key = range.begin; key < range.end; ++key) {
      if (!range.full &&
          !isVisible(params, item, positionOf(item.queries, query),
                     positionOf(range.keys, key)))
        continue;
      auto *k = static_cast<const float *>(params.key) +
                item.batch * params.key_strides[0] +
                kvHead * params.key_strides[1] + key * params.key_strides[2];
      auto *v = static_cast<const float *>(params.value) +
                item.batch * params.value_strides[0] +
                kvHead * params.value_strides[1] +
                key * params.value_strides[2];
      float score = 0;
      for (int64_t i = 0; i < kernel.depth; ++i)
        score += q[i] * k[i];
      row.add(score, 1, v);
      if (head == 0)
        fakeState().pairs.push_back({device, launch, item.batch, query, key});
    }
  }
}

void FakeLaunch::finish(const ring_attention_item &item, int64_t head,
                        int64_t query, const Row &row) {
  auto *out = static_cast<float *>(params.out) +
              item.batch * params.out_strides[0] +
              head * params.out_strides[1] + query * params.out_strides[2];
  for (int64_t i = 0; i < kernel.valueDepth; ++i)
    out[i] = row.sum == 0 ? 0 : row.acc[i] / row.sum;
  if (params.lse)
    params.lse[item.batch * params.lse_strides[0] +
               head * params.lse_strides[1] + query * params.lse_strides[2]] =
        row.sum == 0 ? -INFINITY : row.max + std::log(row.sum);
}

void FakeLaunch::run(const ring_attention_item &item, int64_t headBlock) {
  for (int64_t h = 0; h < kernel.headsOfBlock(); ++h)
    for (int64_t query = item.query_begin; query < item.query_end; ++query) {
      int64_t inTile = query - item.query_begin;
      int64_t head = headBlock * kernel.headsOfBlock() + h;
      Row row;
      row.acc.assign(kernel.valueDepth, 0);
      if (!item.fresh)
        merge(placeOf(params.states, item.tile, headBlock, h, inTile), row);
      visit(item, head, query, row);
      for (int32_t m = item.merge_begin; m < item.merge_end; ++m)
        merge(placeOf(params.partials, m, headBlock, h, inTile), row);
      if (item.target == RING_TARGET_RESULT) {
        finish(item, head, query, row);
        continue;
      }
      bool whole = item.target == RING_TARGET_STATE;
      float *to =
          placeOf(whole ? params.states : params.partials,
                  whole ? item.tile : item.target, headBlock, h, inTile);
      to[0] = row.max;
      to[1] = row.sum;
      std::copy(row.acc.begin(), row.acc.end(), to + 2);
    }
}

void ring::test::runFakeAttention(const ring_attention_params &params,
                                  unsigned items, unsigned headBlocks,
                                  int device, int launch) {
  FakeLaunch fake(params, device, launch);
  fakeState().lastLaunch[device] = launch;
  for (unsigned i = 0; i < items; ++i) {
    const ring_attention_item &item = params.items[i];
    int64_t keys = 0;
    for (int32_t r = item.range_begin; r < item.range_end; ++r)
      keys += params.ranges[r].end - params.ranges[r].begin;
    fakeState().items.push_back({device, launch, item, keys});
    for (unsigned block = 0; block < headBlocks; ++block)
      fake.run(item, block);
  }
}
