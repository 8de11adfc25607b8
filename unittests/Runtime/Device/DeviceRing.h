//===- DeviceRing.h - Attention on a ring of fake GPUs ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_DEVICE_DEVICERING_H
#define RING_UNITTESTS_RUNTIME_DEVICE_DEVICERING_H

#include "../VisibilityCases.h"
#include "FakeDriver.h"

#include <cmath>
#include <set>

namespace ring::test {

/// The runtime opens the fake driver as its virtual GPU, which is as new.
class FakeGpus : public testing::Test {
protected:
  FakeGpus() : library("RING_VGPU_LIBRARY", RING_FAKE_DRIVER) { resetFake(); }

  static ring_host_options options(int32_t ranks, const char *devices,
                                   double deadline = 20,
                                   const char *transport = nullptr);

private:
  ScopedVariable library;
};

/// The one kernel of the fake driver, and its image.
class FakeProgram {
public:
  FakeProgram();
  ring_attention_kernel kernel;

private:
  ring_device_image image;
};

/// What a ring computes, whole.
struct DeviceProblem {
  int64_t ranks = 3, batch = 3, queries = 19, keys = 23;
  std::vector<LayoutEntry> queryLayout, keyLayout;
  VisibilityCase mask;
  int32_t distance = 1; ///< prefetch
  bool classify = true;

  std::vector<float> query, key, value; ///< [batch][heads][positions][depth]
  std::vector<float> out, lse;          ///< results
  std::vector<float> sumOfKeys;         ///< of what each rank on a CPU saw
  std::set<int64_t> skipped;            ///< rows that nobody computes

  /// A causal mask over zigzag layouts, with inputs.
  static DeviceProblem causalZigzag(int64_t ranks);
  /// Fills the inputs.
  void fill();
  /// The rank function, as a compiler writes it.
  ring_status run(ring_context *context);
  /// The largest error against float64 attention on the whole tensors.
  double error() const;
  /// Visible pairs of one rank's queries in one round, for one head.
  int64_t pairs(int64_t rank, int64_t round) const;

private:
  int32_t slots() const {
    return std::min(distance + 1, static_cast<int32_t>(ranks) - 1);
  }
  std::vector<float> shard(const std::vector<float> &whole,
                           const std::vector<LayoutEntry> &layout, int64_t rank,
                           int64_t length, int64_t heads, int64_t depth) const;
  ring_status runOnGpu(ring_context *context);
  ring_status runOnCpu(ring_context *context);
};

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_DEVICE_DEVICERING_H
