//===- Graph.cpp - The rounds of a program as a CUDA graph ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>

using namespace ring::runtime;
using namespace ring::cuda;

/// Programs that a host runs in turn.
constexpr size_t kMostGraphs = 8;

Result Recording::run() const {
  for (const std::function<Result()> &command : commands)
    if (Result result = command(); result.failed())
      return result;
  return {};
}

Result Graphs::capture(const Recording &recording, CUgraphExec &exec) {
  const Driver &driver = device->driver;
  // Of this thread only: other ranks of the process may allocate meanwhile.
  Result result =
      device->check(driver.streamBeginCapture(
                        device->compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                    "cuStreamBeginCapture");
  if (result.failed())
    return result;
  result = recording.run();
  CUgraph graph = nullptr;
  CUresult code = driver.streamEndCapture(device->compute, &graph);
  if (!result.failed())
    result = device->check(code, "cuStreamEndCapture");
  if (!result.failed())
    result = device->check(driver.graphInstantiate(&exec, graph, 0),
                           "cuGraphInstantiateWithFlags");
  if (graph)
    driver.graphDestroy(graph);
  return result;
}

Result Graphs::run(Device &used, const Recording &recording,
                   std::string &note) {
  device = &used;
  auto found =
      std::find_if(graphs.begin(), graphs.end(), [&](const Graph &graph) {
        return graph.key == recording.key();
      });
  if (found == graphs.end()) {
    note = graphs.empty()
               ? "the first run is not captured"
               : "addresses, shapes or numbers of items have changed";
    if (graphs.size() == kMostGraphs) {
      if (graphs.front().exec)
        device->driver.graphExecDestroy(graphs.front().exec);
      graphs.erase(graphs.begin());
    }
    graphs.push_back({recording.key(), nullptr});
    return recording.run();
  }
  std::rotate(found, found + 1, graphs.end());
  Graph &graph = graphs.back();
  note.clear();
  if (!graph.exec)
    if (Result result = capture(recording, graph.exec); result.failed())
      return result;
  return device->check(device->driver.graphLaunch(graph.exec, device->compute),
                       "cuGraphLaunch");
}

void Graphs::clear() {
  if (graphs.empty())
    return;
  ContextScope scope(device->driver, device->context);
  for (const Graph &graph : graphs)
    if (graph.exec)
      device->driver.graphExecDestroy(graph.exec);
  graphs.clear();
}
