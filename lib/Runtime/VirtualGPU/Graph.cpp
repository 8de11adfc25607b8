//===- Graph.cpp - Operations captured from streams -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>
#include <utility>

using namespace ring::vgpu;

/// Captures that have not ended.
static std::vector<std::weak_ptr<Capture>> &captures() {
  static auto *all = new std::vector<std::weak_ptr<Capture>>;
  return *all;
}

CUresult Capture::begin(Stream &origin, CUstreamCaptureMode mode) {
  if (origin.capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (origin.number == 0)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->branches.push_back(&origin);
  capture->counts.push_back(0);
  capture->heads.emplace_back();
  origin.capture = capture;
  origin.branch = 0;
  captures().push_back(capture);
  return CUDA_SUCCESS;
}

bool Capture::forbids() {
  bool result = false;
  auto &all = captures();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const std::weak_ptr<Capture> &weak) {
                             return weak.expired();
                           }),
            all.end());
  for (const std::weak_ptr<Capture> &weak : all) {
    std::shared_ptr<Capture> capture = weak.lock();
    if (capture->branches.empty() ||
        capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    if (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
        capture->thread != std::this_thread::get_id())
      continue;
    capture->invalidate();
    result = true;
  }
  return result;
}

bool Capture::invalidateAll(const Context &context) {
  bool result = false;
  for (const auto &stream : context.streams)
    if (stream->capture) {
      stream->capture->invalidate();
      result = true;
    }
  return result;
}

size_t Capture::addNode(Stream &stream, const OpRef &op,
                        std::vector<size_t> after) {
  nodes.push_back({stream.branch, op, std::move(after)});
  return nodes.size() - 1;
}

CUresult Capture::add(Stream &stream, const OpRef &op) {
  if (!valid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!op->replica()) {
    invalidate();
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  addNode(stream, op, {});
  heads[stream.branch].join(Instant{stream.branch, ++counts[stream.branch]});
  return CUDA_SUCCESS;
}

CUresult Capture::record(Stream &stream, Event &event) {
  if (!valid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.capture = shared_from_this();
  event.captured = heads[stream.branch];
  event.capturedNode =
      addNode(stream, std::make_shared<MarkerOp>("event record"), {});
  return CUDA_SUCCESS;
}

CUresult Capture::wait(Stream &stream, Event &event) {
  // An event of a capture that has ended.
  if (branches.empty())
    return CUDA_ERROR_CAPTURED_EVENT;
  if (!valid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture && stream.capture.get() != this) {
    invalidate();
    stream.capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!stream.capture) {
    stream.capture = shared_from_this();
    stream.branch = branches.size();
    branches.push_back(&stream);
    counts.push_back(0);
    heads.emplace_back();
  }
  heads[stream.branch].join(event.captured);
  addNode(stream, std::make_shared<MarkerOp>("wait for an event"),
          {event.capturedNode});
  return CUDA_SUCCESS;
}

void Capture::abandon() {
  valid = false;
  for (Stream *branch : std::exchange(branches, {}))
    branch->capture = nullptr;
}

CUresult Capture::end(Stream &stream, Graph *&graph) {
  auto self = shared_from_this();
  graph = nullptr;
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  if (branches.front() != &stream) {
    invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  bool joined = true;
  for (size_t branch = 1; branch < branches.size(); ++branch)
    joined &=
        counts[branch] == 0 || heads.front().includes({branch, counts[branch]});
  auto result = std::make_unique<Graph>();
  result->nodes = std::move(nodes);
  for (const Stream *branch : branches)
    result->branches.push_back({&branch->context, branch->number});
  bool wasValid = valid;
  abandon();
  if (!wasValid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = result.get();
  Driver::get().graphs.emplace(graph, std::move(result));
  return CUDA_SUCCESS;
}

GraphExec::GraphExec(const Graph &graph) : nodes(graph.nodes) {
  for (const Graph::Branch &branch : graph.branches)
    branches.push_back(
        branches.empty()
            ? nullptr
            : &Driver::get().addBranch(*branch.context, branch.streamNumber));
}

GraphExec::~GraphExec() {
  for (Stream *branch : branches)
    if (branch)
      branch->closing = true;
}

bool GraphExec::uses(const Context &context) const {
  return std::any_of(branches.begin(), branches.end(),
                     [&](const Stream *branch) {
                       return branch && &branch->context == &context;
                     });
}

CUresult GraphExec::launch(Stream &stream) {
  Driver &driver = Driver::get();
  if (stream.capture) {
    stream.capture->invalidate();
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  // Launches of the same graph follow one another.
  auto begin = std::make_shared<MarkerOp>("start of a graph");
  begin->after.push_back(last);
  driver.enqueue(stream, begin);
  std::vector<OpRef> ops;
  for (const Capture::Node &node : nodes) {
    OpRef op = node.op->replica();
    for (size_t index : node.after)
      op->after.push_back(ops[index]);
    driver.enqueue(node.branch == 0 ? stream : *branches[node.branch], op);
    ops.push_back(op);
  }
  last = std::make_shared<MarkerOp>("end of a graph");
  return driver.enqueue(stream, last);
}
