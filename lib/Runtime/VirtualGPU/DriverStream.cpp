//===- DriverStream.cpp - Streams and events of the virtual driver --------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"
#include "Graph.h"

using namespace ring::vgpu;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuStreamCreate(CUstream *stream, unsigned flags) {
  Call call;
  if (call.status)
    return call.status;
  if (!stream || (flags & ~unsigned(CU_STREAM_NON_BLOCKING)))
    return CUDA_ERROR_INVALID_VALUE;
  *stream = &call.driver.addStream(*call.context, flags);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuStreamCreateWithPriority(CUstream *stream,
                                                unsigned flags, int priority) {
  return cuStreamCreate(stream, flags);
}

CUresult ring::vgpu::cuStreamDestroy_v2(CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (stream->number == 0)
    return CUDA_ERROR_INVALID_HANDLE;
  if (auto capture = stream->capture)
    capture->abandon();
  stream->closing = true;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuStreamSynchronize(CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  CallRecord("cuStreamSynchronize", stream);
  if (stream->capture) {
    stream->capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return call.driver.synchronize(call.lock, *stream);
}

CUresult ring::vgpu::cuStreamQuery(CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  CallRecord("cuStreamQuery", stream);
  if (stream->capture) {
    stream->capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Context &context = stream->context;
  bool done =
      !stream->last || call.driver.scheduler.poll(call.lock, *stream->last);
  if (context.failed)
    return context.failed;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult ring::vgpu::cuStreamWaitEvent(CUstream handle, CUevent event,
                                       unsigned flags) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!call.driver.owns(event))
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  {
    CallRecord record("cuStreamWaitEvent", stream);
    record.add("event", event->number);
    record.add("event_device", event->context.device);
  }
  if (event->capture)
    return event->capture->wait(*stream, *event);
  if (!event->record)
    return CUDA_SUCCESS;
  if (stream->capture) {
    stream->capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  auto op = std::make_shared<MarkerOp>("wait for an event");
  op->after.push_back(event->record);
  return call.driver.enqueue(*stream, op);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuEventCreate(CUevent *event, unsigned flags) {
  Call call;
  if (call.status)
    return call.status;
  if (!event ||
      (flags & ~unsigned(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)))
    return CUDA_ERROR_INVALID_VALUE;
  Context &context = *call.context;
  auto created = std::make_unique<Event>(context, context.eventCount++, flags);
  *event = created.get();
  context.events.emplace(created.get(), std::move(created));
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuEventDestroy_v2(CUevent event) {
  Call call;
  if (call.status)
    return call.status;
  if (!call.driver.owns(event))
    return CUDA_ERROR_INVALID_HANDLE;
  event->context.events.erase(event);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuEventRecord(CUevent event, CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!call.driver.owns(event) || &event->context != &stream->context)
    return CUDA_ERROR_INVALID_HANDLE;
  CallRecord("cuEventRecord", stream).add("event", event->number);
  if (stream->capture)
    return stream->capture->record(*stream, *event);
  event->capture = nullptr;
  event->record = std::make_shared<MarkerOp>("event record");
  return call.driver.enqueue(*stream, event->record);
}

/// Whether an event can be waited for; `status` says why not.
static bool checkEvent(Call &call, CUevent event) {
  if (call.status)
    return false;
  if (!call.driver.owns(event)) {
    call.status = CUDA_ERROR_INVALID_HANDLE;
    return false;
  }
  if (event->capture) {
    event->capture->invalidate();
    call.status = CUDA_ERROR_CAPTURED_EVENT;
    return false;
  }
  call.status = event->context.failed;
  return call.status == CUDA_SUCCESS;
}

CUresult ring::vgpu::cuEventSynchronize(CUevent event) {
  Call call;
  if (!checkEvent(call, event))
    return call.status;
  CallRecord("cuEventSynchronize", &event->context).add("event", event->number);
  if (!event->record)
    return CUDA_SUCCESS;
  std::shared_ptr<MarkerOp> record = event->record;
  return call.driver.synchronize(call.lock, *record);
}

CUresult ring::vgpu::cuEventQuery(CUevent event) {
  Call call;
  if (!checkEvent(call, event))
    return call.status;
  Context &context = event->context;
  CallRecord("cuEventQuery", &context).add("event", event->number);
  if (!event->record)
    return CUDA_SUCCESS;
  std::shared_ptr<MarkerOp> record = event->record;
  bool done = call.driver.scheduler.poll(call.lock, *record);
  if (context.failed)
    return context.failed;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult ring::vgpu::cuEventElapsedTime(float *milliseconds, CUevent start,
                                        CUevent end) {
  Call call;
  if (!checkEvent(call, start) || !checkEvent(call, end))
    return call.status;
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) ||
      !start->record || !end->record)
    return CUDA_ERROR_INVALID_HANDLE;
  if (start->record->state != Op::State::Done ||
      end->record->state != Op::State::Done)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->record->time -
                                                           start->record->time)
                      .count();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Captures and graphs
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuStreamBeginCapture_v2(CUstream handle,
                                             CUstreamCaptureMode mode) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord("cuStreamBeginCapture", stream);
  return Capture::begin(*stream, mode);
}

CUresult ring::vgpu::cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord("cuStreamEndCapture", stream);
  if (!stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  std::shared_ptr<Capture> capture = stream->capture;
  return capture->end(*stream, *graph);
}

CUresult ring::vgpu::cuStreamIsCapturing(CUstream handle,
                                         CUstreamCaptureStatus *status) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  *status = !stream->capture             ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->isValid() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                         : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuGraphInstantiateWithFlags(CUgraphExec *exec,
                                                 CUgraph graph,
                                                 unsigned long long flags) {
  Call call;
  if (call.status)
    return call.status;
  auto found = call.driver.graphs.find(graph);
  if (found == call.driver.graphs.end() || !exec || flags)
    return CUDA_ERROR_INVALID_VALUE;
  for (const Graph::Branch &branch : graph->branches)
    if (!call.driver.owns(branch.context))
      return CUDA_ERROR_INVALID_VALUE;
  auto created = std::make_unique<GraphExec>(*graph);
  *exec = created.get();
  call.driver.graphExecs.emplace(created.get(), std::move(created));
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!call.driver.graphExecs.count(exec))
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord("cuGraphLaunch", stream);
  return exec->launch(*stream);
}

CUresult ring::vgpu::cuGraphExecDestroy(CUgraphExec exec) {
  Call call;
  if (call.status)
    return call.status;
  return call.driver.graphExecs.erase(exec) ? CUDA_SUCCESS
                                            : CUDA_ERROR_INVALID_VALUE;
}

CUresult ring::vgpu::cuGraphDestroy(CUgraph graph) {
  Call call;
  if (call.status)
    return call.status;
  return call.driver.graphs.erase(graph) ? CUDA_SUCCESS
                                         : CUDA_ERROR_INVALID_VALUE;
}
