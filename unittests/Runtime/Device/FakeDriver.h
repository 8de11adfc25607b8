//===- FakeDriver.h - A CUDA driver that does things at once ----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the driver's functions, which the runtime opens like any
// other. Device memory is host memory, everything is done when it is enqueued,
// and each call is written down. Its one kernel is an attention as Device.h
// defines it, on f32 tensors.
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_DEVICE_FAKEDRIVER_H
#define RING_UNITTESTS_RUNTIME_DEVICE_FAKEDRIVER_H

#include "ring/Runtime/Device.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ring::test {

/// What a compiled kernel knows.
struct FakeKernel {
  int64_t heads = 4, kvHeads = 2, depth = 3, valueDepth = 2;
  int64_t queryTile = 4, keyTile = 3, headBlocks = 2;

  int64_t headsOfBlock() const { return heads / headBlocks; }
  int64_t rowFloats() const { return valueDepth + 2; }
  int64_t stateFloats() const {
    return headsOfBlock() * queryTile * rowFloats();
  }
};

/// One call that enqueues or waits, of one device.
struct FakeCall {
  int device;
  std::string name;
  int stream = -1; ///< of the device: 0 computes, 1 transfers
  int event = -1;  ///< by its creation
  int64_t blocks = 0;
  bool captured = false; ///< into a graph
};

/// A pair that a kernel visited, for its head 0.
struct FakePair {
  int device, launch; ///< launches of the device so far
  int64_t batch, query, key;
};

/// An item of a launch.
struct FakeItem {
  int device, launch;
  ring_attention_item item;
  int64_t keys; ///< in its ranges
};

struct FakeState {
  FakeKernel kernel;
  int devices = 4, processors = 1, capability = 80;
  /// The call of this name returns this code from now on, if not empty.
  std::string failing;
  int failure = 719;
  std::vector<FakeCall> calls;
  std::vector<FakePair> pairs;
  std::vector<FakeItem> items;
  std::map<int, int> lastLaunch; ///< by device
  int ncclVersion = 22809;
  int64_t ncclAborts = 0;
  int64_t allocations = 0, blocks = 0; ///< of device memory: calls, alive
};

/// Changed between runs only, and by calls with `fakeMutex`.
std::recursive_mutex &fakeMutex();
FakeState &fakeState();
/// What this thread captures: done by each launch of the graph. NULL: nothing.
std::vector<std::function<void()>> *&fakeCapture();
/// As at the start of the process.
void resetFake();

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_DEVICE_FAKEDRIVER_H
