//===- DriverState.cpp - The state of the virtual CUDA driver -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverState.h"

#include "Graph.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace ring::vgpu;

thread_local Context *ring::vgpu::currentContext = nullptr;
thread_local bool ring::vgpu::inHostFunction = false;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

namespace {
struct Reports {
  std::mutex mutex;
  std::deque<std::string> texts; ///< never moved, for callers keep them
};
} // namespace

static Reports &reports() {
  static auto *all = new Reports;
  return *all;
}

const char *ring::vgpu::addReport(std::string text) {
  Reports &all = reports();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::fprintf(stderr, "virtual GPU: %s\n", text.c_str());
  all.texts.push_back(std::move(text));
  return all.texts.back().c_str();
}

const char *ring::vgpu::ring_vgpu_last_report(void) {
  if (currentContext) {
    std::lock_guard<std::mutex> lock(Driver::get().mutex);
    if (currentContext->report)
      return currentContext->report;
  }
  Reports &all = reports();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.texts.empty() ? "" : all.texts.back().c_str();
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

Driver &Driver::get() {
  static auto *driver = new Driver;
  return *driver;
}

Driver::Driver()
    : scheduler([this](Op &op, Failure failure) {
        failOp(op, std::move(failure));
      }) {}

void Driver::failOp(Op &op, Failure failure) {
  fail(*op.context, failure.code, std::move(failure.text));
}

CUresult Driver::fail(Context &context, CUresult code, std::string text) {
  const char *report = addReport(std::move(text));
  if (context.failed != CUDA_SUCCESS)
    return context.failed;
  context.failed = code;
  context.report = report;
  for (const auto &stream : context.streams)
    scheduler.drop(*stream);
  return code;
}

bool Driver::owns(const Context *context) const {
  return context && context->users > 0;
}

bool Driver::owns(const Stream *stream) const {
  for (const auto &context : contexts)
    for (const auto &other : context->streams)
      if (other.get() == stream)
        return !stream->closing && !stream->replays;
  return false;
}

bool Driver::owns(const Event *event) const {
  for (const auto &context : contexts)
    if (context->events.count(event))
      return true;
  return false;
}

Module *Driver::find(const Module *module) const {
  for (const auto &context : contexts)
    if (auto it = context->modules.find(module); it != context->modules.end())
      return it->second.get();
  return nullptr;
}

Function *Driver::find(const Function *function) const {
  for (const auto &context : contexts)
    for (const auto &[key, module] : context->modules)
      for (const auto &[name, other] : module->functions)
        if (other.get() == function)
          return other.get();
  return nullptr;
}

Stream &Driver::addStream(Context &context, unsigned flags) {
  uint64_t tick = 0;
  size_t timeline = scheduler.takeTimeline(tick);
  context.streams.push_back(std::make_unique<Stream>(
      context, context.streamCount++, flags, timeline));
  context.streams.back()->lastTick = tick;
  return *context.streams.back();
}

Stream &Driver::addBranch(Context &context, int number) {
  uint64_t tick = 0;
  size_t timeline = scheduler.takeTimeline(tick);
  context.streams.push_back(std::make_unique<Stream>(
      context, number, CU_STREAM_NON_BLOCKING, timeline));
  Stream &stream = *context.streams.back();
  stream.lastTick = tick;
  stream.replays = true;
  return stream;
}

/// The default stream waits for all others of its context that did not opt out,
/// and they for it.
static void addDefaultStreamOrder(const Stream &stream, Op &op) {
  if (stream.flags & CU_STREAM_NON_BLOCKING)
    return;
  for (const auto &other : stream.context.streams) {
    bool ordered = (stream.number == 0 || other->number == 0) &&
                   !(other->flags & CU_STREAM_NON_BLOCKING);
    if (ordered && other.get() != &stream)
      op.after.push_back(other->last);
  }
}

CUresult Driver::enqueue(Stream &stream, const OpRef &op) {
  if (stream.capture)
    return stream.capture->add(stream, op);
  OpInfo info{op->name, stream.context.device, stream.number, stream.replays};
  op->info = std::make_shared<const OpInfo>(std::move(info));
  addDefaultStreamOrder(stream, *op);
  scheduler.enqueue(stream, op);
  if (op->tellsHost()) {
    // Nobody may ever wait for it, so a thread of its own sees to it.
    static std::once_flag once;
    std::call_once(once, [this] {
      std::thread([this] {
        Scheduler::Lock lock(mutex);
        while (true)
          scheduler.wait(lock, [] { return false; });
      }).detach();
    });
  }
  return stream.context.failed;
}

CUresult Driver::synchronize(Scheduler::Lock &lock, Op &op) {
  Context &context = *op.context;
  if (!scheduler.wait(lock, op))
    return fail(context, CUDA_ERROR_LAUNCH_TIMEOUT,
                "no progress within RING_VGPU_DEADLINE: " +
                    scheduler.blocked());
  return context.failed;
}

CUresult Driver::synchronize(Scheduler::Lock &lock, Stream &stream) {
  Context &context = stream.context;
  if (OpRef last = stream.last)
    return synchronize(lock, *last);
  return context.failed;
}

void Driver::sweep(Context &context) {
  auto idle = [&](const std::unique_ptr<Stream> &stream) {
    if (!stream->closing || !stream->pending.empty())
      return false;
    scheduler.giveTimeline(*stream);
    return true;
  };
  context.streams.erase(
      std::remove_if(context.streams.begin(), context.streams.end(), idle),
      context.streams.end());
}

const Op *Driver::pendingUser(uint64_t begin, uint64_t end) const {
  for (const auto &context : contexts)
    for (const auto &stream : context->streams)
      for (const OpRef &op : stream->pending)
        if (op->uses(begin, end))
          return op.get();
  return nullptr;
}

void Driver::destroy(Scheduler::Lock &lock, Context &context) {
  size_t queued = 0;
  for (const auto &stream : context.streams) {
    if (auto capture = stream->capture)
      capture->abandon();
    queued += stream->pending.size();
    scheduler.drop(*stream);
  }
  // What another thread is running ends first.
  scheduler.wait(lock, [&] {
    return std::all_of(
        context.streams.begin(), context.streams.end(),
        [](const auto &stream) { return stream->pending.empty(); });
  });
  const char *leaks = std::getenv("RING_VGPU_LEAKS");
  bool report = leaks && std::strcmp(leaks, "1") == 0;
  if (report && queued)
    addReport("leak: " + std::to_string(queued) + " operations of device " +
              std::to_string(context.device) + " were never executed");
  for (const AllocationRef &allocation : space.all()) {
    if (allocation->context != &context)
      continue;
    if (report)
      addReport("leak: " + allocation->text() + " was never freed");
    space.free(allocation);
  }
  for (auto it = graphExecs.begin(); it != graphExecs.end();)
    it = it->second->uses(context) ? graphExecs.erase(it) : std::next(it);
  for (const auto &stream : context.streams)
    scheduler.giveTimeline(*stream);
  context.streams.clear();
  context.events.clear();
  context.modules.clear();
  context.peers.clear();
  context.streamCount = context.eventCount = 0;
  context.failed = CUDA_SUCCESS;
  context.report = nullptr;
}

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

Call::Call()
    : lock(Driver::get().mutex), driver(Driver::get()), context(currentContext),
      status(CUDA_SUCCESS) {
  if (inHostFunction)
    status = CUDA_ERROR_NOT_PERMITTED;
  else if (!driver.initialized)
    status = CUDA_ERROR_NOT_INITIALIZED;
  else if (!context)
    status = CUDA_ERROR_INVALID_CONTEXT;
  else if (!driver.owns(context))
    status = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  else
    status = context->failed;
  if (status == CUDA_SUCCESS)
    driver.sweep(*context);
}

Stream *Call::stream(CUstream handle) {
  if (status != CUDA_SUCCESS)
    return nullptr;
  // CU_STREAM_LEGACY is the default stream's other name; there is none for each
  // thread.
  if (!handle || reinterpret_cast<uintptr_t>(handle) == 1)
    return context->streams.front().get();
  if (!driver.owns(handle)) {
    status = CUDA_ERROR_INVALID_HANDLE;
    return nullptr;
  }
  status = handle->context.failed;
  return status == CUDA_SUCCESS ? handle : nullptr;
}

bool Call::unsafeInCapture() {
  if (status == CUDA_SUCCESS && Capture::forbids())
    status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return status != CUDA_SUCCESS;
}

bool Call::invalidatesCaptures() {
  if (status == CUDA_SUCCESS && Capture::invalidateAll(*context))
    status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return status != CUDA_SUCCESS;
}
