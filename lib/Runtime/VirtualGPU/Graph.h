//===- Graph.h - Operations captured from streams ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph keeps the operations of each stream of a capture in their order, and
// which of them wait for which. A launch enqueues them again: the first
// stream's to the stream of the launch, others to streams of its own.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_GRAPH_H
#define RING_RUNTIME_VIRTUALGPU_GRAPH_H

#include "DriverState.h"

#include <thread>

namespace ring::vgpu {

/// What streams do between cuStreamBeginCapture and cuStreamEndCapture. Guarded
/// by the driver's lock.
class Capture : public std::enable_shared_from_this<Capture> {
public:
  struct Node {
    size_t branch;
    OpRef op;                  ///< never enqueued itself
    std::vector<size_t> after; ///< nodes of other branches
  };

  static CUresult begin(Stream &origin, CUstreamCaptureMode mode);
  /// Whether captures keep the calling thread from calls that might wait for
  /// streams; those captures are then invalid.
  static bool forbids();
  /// Invalidates the captures of a context's streams; whether there are any.
  static bool invalidateAll(const Context &context);

  CUresult add(Stream &stream, const OpRef &op);
  CUresult record(Stream &stream, Event &event);
  /// Makes a stream wait, which so becomes part of the capture.
  CUresult wait(Stream &stream, Event &event);
  CUresult end(Stream &stream, Graph *&graph);
  void invalidate() { valid = false; }
  /// Ends it without a graph.
  void abandon();
  bool isValid() const { return valid; }

private:
  size_t addNode(Stream &stream, const OpRef &op, std::vector<size_t> after);

  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool valid = true;
  std::vector<Node> nodes;
  std::vector<Stream *> branches; ///< the first one began the capture
  std::vector<uint64_t> counts;   ///< operations, by branch
  std::vector<Clock> heads; ///< by branch: the operations that come before now
};

class Graph {
public:
  struct Branch {
    Context *context;
    int streamNumber;
  };
  std::vector<Capture::Node> nodes;
  std::vector<Branch> branches;
};

class GraphExec {
public:
  explicit GraphExec(const Graph &graph);
  /// Its own streams end when what was launched has ended.
  ~GraphExec();
  CUresult launch(Stream &stream);
  bool uses(const Context &context) const;

private:
  std::vector<Capture::Node> nodes;
  std::vector<Stream *> branches; ///< the first: NULL, the launch's stream
  OpRef last;                     ///< the end of the last launch
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_GRAPH_H
