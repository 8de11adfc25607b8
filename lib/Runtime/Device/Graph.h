//===- Graph.h - The rounds of a program as a CUDA graph --------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank enqueues within its rounds is recorded, and done when the program
// ends: the first time as it is, so that NCCL connects; the second time it is
// captured; from then on one call launches all of it. Two programs are the same
// iff all they enqueue is, addresses included. Work lists go up outside of the
// graph, each time, so they may differ as long as their sizes do not.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_GRAPH_H
#define RING_RUNTIME_DEVICE_GRAPH_H

#include "Device.h"

namespace ring::runtime {

/// The bytes of values without padding.
template <typename... Values> std::string keyOf(const Values &...values) {
  std::string key;
  (key.append(reinterpret_cast<const char *>(&values), sizeof(values)), ...);
  return key;
}

/// Commands in their order.
class Recording {
public:
  void add(const std::string &key, std::function<Result()> command) {
    keys += key;
    commands.push_back(std::move(command));
  }
  Result run() const;
  const std::string &key() const { return keys; }

private:
  std::string keys;
  std::vector<std::function<Result()>> commands;
};

/// The graphs of one rank. To be cleared before what they use goes away.
class Graphs {
public:
  Graphs() = default;
  ~Graphs() { clear(); }
  Graphs(const Graphs &) = delete;
  Graphs &operator=(const Graphs &) = delete;

  /// Does what was recorded, in one of the three ways; `note` says why it was
  /// not replayed, or nothing.
  Result run(Device &device, const Recording &recording, std::string &note);
  void clear();

private:
  struct Graph {
    std::string key;
    cuda::CUgraphExec exec; ///< NULL: seen once
  };
  Result capture(const Recording &recording, cuda::CUgraphExec &exec);

  Device *device = nullptr;
  std::vector<Graph> graphs; ///< the one used last is the last
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_GRAPH_H
