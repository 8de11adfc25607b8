//===- DeviceRing.cpp - Attention on a ring of fake GPUs ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include <random>

using namespace ring;
using namespace ring::test;

ring_host_options FakeGpus::options(int32_t ranks, const char *devices,
                                    double deadline, const char *transport) {
  ring_host_options options{};
  options.ranks = ranks;
  options.threads = 2;
  options.deadline = deadline;
  options.devices = devices;
  options.transport = transport;
  return options;
}

FakeProgram::FakeProgram() : image{"vgpu", "sm_80", "fake", 5} {
  const FakeKernel &fake = fakeState().kernel;
  kernel = {};
  kernel.name = "attention";
  kernel.images = &image;
  kernel.image_count = 1;
  kernel.threads = 128;
  kernel.shared_bytes = 100000;
  kernel.query_tile = static_cast<int32_t>(fake.queryTile);
  kernel.key_tile = static_cast<int32_t>(fake.keyTile);
  kernel.heads = static_cast<int32_t>(fake.heads);
  kernel.head_blocks = static_cast<int32_t>(fake.headBlocks);
  kernel.state_floats = static_cast<int32_t>(fake.stateFloats());
}

DeviceProblem DeviceProblem::causalZigzag(int64_t ranks) {
  DeviceProblem problem;
  problem.ranks = ranks;
  problem.mask.causal = true;
  problem.queryLayout = zigzagLayout(ranks, problem.queries);
  problem.keyLayout = zigzagLayout(ranks, problem.keys);
  problem.fill();
  return problem;
}

void DeviceProblem::fill() {
  const FakeKernel &kernel = fakeState().kernel;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  auto make = [&](int64_t heads, int64_t positions, int64_t depth) {
    std::vector<float> values(batch * heads * positions * depth);
    for (float &value : values)
      value = normal(random);
    return values;
  };
  query = make(kernel.heads, queries, kernel.depth);
  key = make(kernel.kvHeads, keys, kernel.depth);
  value = make(kernel.kvHeads, keys, kernel.valueDepth);
  out.assign(batch * kernel.heads * queries * kernel.valueDepth, NAN);
  lse.assign(batch * kernel.heads * queries, NAN);
  sumOfKeys.assign(ranks, 0);
}

static int64_t paddedSize(const std::vector<LayoutEntry> &layout,
                          int64_t ranks) {
  return LayoutView{layout.data(), int64_t(layout.size())}.paddedSize(ranks);
}

std::vector<float> DeviceProblem::shard(const std::vector<float> &whole,
                                        const std::vector<LayoutEntry> &layout,
                                        int64_t rank, int64_t length,
                                        int64_t heads, int64_t depth) const {
  int64_t padded = paddedSize(layout, ranks);
  std::vector<int64_t> positions = positionsOf(layout, rank);
  std::vector<float> local(batch * heads * padded * depth, 0);
  for (int64_t bh = 0; bh < batch * heads; ++bh)
    for (size_t i = 0; i < positions.size(); ++i)
      std::copy_n(&whole[(bh * length + positions[i]) * depth], depth,
                  &local[(bh * padded + i) * depth]);
  return local;
}

ring_status DeviceProblem::run(ring_context *context) {
  return ring_device(context) == RING_DEVICE_GPU ? runOnGpu(context)
                                                 : runOnCpu(context);
}

/// Looks at what arrives, which is enough: kernels of a CPU need a compiler.
ring_status DeviceProblem::runOnCpu(ring_context *context) {
  const FakeKernel &fake = fakeState().kernel;
  int32_t rank = ring_rank(context);
  int64_t lk = paddedSize(keyLayout, ranks);
  std::vector<float> k =
      shard(key, keyLayout, rank, keys, fake.kvHeads, fake.depth);
  std::vector<float> v =
      shard(value, keyLayout, rank, keys, fake.kvHeads, fake.valueDepth);
  ring_tensor kTensor =
      tensorOf(k.data(), 4, {batch, fake.kvHeads, lk, fake.depth});
  ring_tensor vTensor =
      tensorOf(v.data(), 4, {batch, fake.kvHeads, lk, fake.valueDepth});
  RING_TRY(ring_begin(context, ring_size(context), slots(), 42, nullptr));
  return ring_end(
      context, passAround(context, {kTensor, vTensor}, distance,
                          [&](int32_t, const std::vector<ring_tensor> &block) {
                            const ring_tensor &tensor = block[0];
                            for (int64_t row = 0;
                                 row < batch * fake.kvHeads * lk; ++row)
                              for (int64_t i = 0; i < fake.depth; ++i)
                                sumOfKeys[rank] += static_cast<const float *>(
                                    tensor.data)[row * tensor.strides[2] + i];
                            return RING_OK;
                          }));
}

ring_status DeviceProblem::runOnGpu(ring_context *context) {
  const FakeKernel &fake = fakeState().kernel;
  FakeProgram program;
  int32_t rank = ring_rank(context), size = ring_size(context);
  int64_t lq = paddedSize(queryLayout, ranks);
  int64_t lk = paddedSize(keyLayout, ranks);
  std::vector<float> q =
      shard(query, queryLayout, rank, queries, fake.heads, fake.depth);
  std::vector<float> k =
      shard(key, keyLayout, rank, keys, fake.kvHeads, fake.depth);
  std::vector<float> v =
      shard(value, keyLayout, rank, keys, fake.kvHeads, fake.valueDepth);
  std::vector<float> o(batch * fake.heads * lq * fake.valueDepth, NAN);
  std::vector<float> l(batch * fake.heads * lq, NAN);
  ring_tensor tensors[] = {
      tensorOf(q.data(), 4, {batch, fake.heads, lq, fake.depth}),
      tensorOf(k.data(), 4, {batch, fake.kvHeads, lk, fake.depth}),
      tensorOf(v.data(), 4, {batch, fake.kvHeads, lk, fake.valueDepth})};
  ring_tensor results[] = {
      tensorOf(o.data(), 4, {batch, fake.heads, lq, fake.valueDepth}),
      tensorOf(l.data(), 4, {batch, fake.heads, lq})};
  results[1].dims = 3;
  ring_visibility visibility = mask.init();

  RING_TRY(ring_begin(context, size, slots(), 42, nullptr));
  auto rounds = [&]() -> ring_status {
    RING_TRY(ring_device_begin(context));
    ring_tensor on[3], resultsOn[2], ids[2];
    for (int i = 0; i < 3; ++i)
      RING_TRY(ring_device_import(context, &tensors[i], &on[i]));
    for (int i = 0; i < 2; ++i)
      RING_TRY(ring_device_export(context, &results[i], &resultsOn[i]));
    ring_attention_operands operands{};
    operands.query = &on[0];
    operands.out = &resultsOn[0];
    operands.lse = &resultsOn[1];
    if (visibility.key_segments.data) {
      RING_TRY(
          ring_device_import(context, &visibility.query_segments, &ids[0]));
      RING_TRY(ring_device_import(context, &visibility.key_segments, &ids[1]));
      operands.query_segments = &ids[0];
      operands.key_segments = &ids[1];
    }
    ring_device_attention *attention = nullptr;
    RING_TRY(ring_device_attention_begin(context, &program.kernel, &operands,
                                         &attention));
    return passAround(
        context, {on[1], on[2]}, distance,
        [&](int32_t round, const std::vector<ring_tensor> &block) {
          ring_slices slices;
          ring_slices_init(&slices, tableOf(queryLayout), queryLayout.size(),
                           tableOf(keyLayout), keyLayout.size(), rank,
                           (rank - round + size) % size, classify, &visibility);
          return ring_device_attention_round(context, attention, round,
                                             &block[0], &block[1], &slices,
                                             round == size - 1);
        });
  };
  ring_status status = ring_end(context, ring_device_finish(context, rounds()));
  if (status != RING_OK)
    return status;
  std::vector<int64_t> positions = positionsOf(queryLayout, rank);
  for (int64_t bh = 0; bh < batch * fake.heads; ++bh)
    for (size_t i = 0; i < positions.size(); ++i) {
      std::copy_n(&o[(bh * lq + i) * fake.valueDepth], fake.valueDepth,
                  &out[(bh * queries + positions[i]) * fake.valueDepth]);
      lse[bh * queries + positions[i]] = l[bh * lq + i];
    }
  return RING_OK;
}

double DeviceProblem::error() const {
  const FakeKernel &fake = fakeState().kernel;
  double worst = 0;
  auto compare = [&](double got, double expected) {
    if (std::isinf(expected) && got == expected)
      return;
    double difference = std::abs(got - expected);
    worst = difference <= worst ? worst : difference; // NaN stays
  };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < fake.heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        int64_t row = (b * fake.heads + h) * queries + i;
        if (skipped.count(row))
          continue;
        int64_t kvHead = h / (fake.heads / fake.kvHeads);
        std::vector<double> acc(fake.valueDepth, 0);
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          if (!mask.isVisible(b, i, j, queries, keys))
            continue;
          int64_t column = (b * fake.kvHeads + kvHead) * keys + j;
          double score = 0;
          for (int64_t d = 0; d < fake.depth; ++d)
            score += double(query[row * fake.depth + d]) *
                     key[column * fake.depth + d];
          double weight = std::exp(score);
          sum += weight;
          for (int64_t d = 0; d < fake.valueDepth; ++d)
            acc[d] += weight * value[column * fake.valueDepth + d];
        }
        compare(lse[row], std::log(sum));
        for (int64_t d = 0; d < fake.valueDepth; ++d)
          compare(out[row * fake.valueDepth + d], sum ? acc[d] / sum : 0);
      }
  return worst;
}

int64_t DeviceProblem::pairs(int64_t rank, int64_t round) const {
  int64_t count = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i : positionsOf(queryLayout, rank))
      for (int64_t j : positionsOf(keyLayout, (rank - round + ranks) % ranks))
        count += mask.isVisible(b, i, j, queries, keys);
  return count;
}
