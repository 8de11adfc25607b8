//===- Runtime.cpp - What generated rank programs call --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the use of a context, keeps its tickets, counters and trace, and
// leaves the rest to the transport and the pool.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Context.h"
#include "Pool.h"

#include <algorithm>

using namespace ring::runtime;

void ring_context::reset(std::unique_ptr<Transport> fresh) {
  transport = std::move(fresh);
  stage = Stage::Created;
  status = RING_OK;
  round = -1;
  issued = 0;
  visiblePairs.clear();
  account->takeVisiblePairs();
  open.clear();
}

void ring_context::countPairs(int64_t ofRound, int64_t pairs) {
  if (ofRound < 0)
    return;
  round = ofRound;
  if (visiblePairs.empty()) // outside ring_begin and ring_end
    visiblePairs.emplace_back();
  std::vector<int64_t> &ofProgram = visiblePairs.back();
  if (static_cast<size_t>(ofRound) >= ofProgram.size())
    ofProgram.resize(ofRound + 1);
  ofProgram[ofRound] += pairs;
}

ring_status ring_context::fail(const Result &result) {
  if (status != RING_OK)
    return status;
  status = result.status;
  std::string where = "rank " + std::to_string(rank);
  if (round >= 0)
    where += " after round " + std::to_string(round);
  transport->fail({rank, status, where + ": " + result.message});
  return status;
}

void ring_context::finish(ring_status returned) {
  if (returned != RING_OK)
    fail({returned,
          "the rank function returned status " + std::to_string(returned)});
  else if (stage != Stage::Ended)
    fail({RING_ERROR_USAGE, "the rank function returned before ring_end"});
  ring_device_finish(this, status); // where the body did not
  transport->abandon(/*wait=*/false);
}

int32_t ring_rank(const ring_context *context) { return context->rank; }
int32_t ring_size(const ring_context *context) { return context->size; }

int32_t ring_local_index(const ring_context *context) {
  return context->localIndex;
}

ring_status ring_begin(ring_context *context, int32_t ranks, int32_t slots,
                       uint64_t fingerprint, const char *program) {
  if (context->status != RING_OK)
    return context->status;
  if (context->stage == ring_context::Stage::Running)
    return context->fail(
        {RING_ERROR_USAGE, "ring_begin was called before, without ring_end"});
  if (Result result = checkRanks(ranks, context->size); result.failed())
    return context->fail(result);
  Clock::time_point called = Clock::now();
  Result result =
      context->transport->begin(slots, {fingerprint, program ? program : ""});
  context->trace.wait("all ranks to begin", called, Clock::now());
  if (result.failed())
    return context->fail(result);
  context->stage = ring_context::Stage::Running;
  context->buffersBefore = context->transport->buffersAllocated();
  context->round = -1;
  context->visiblePairs.emplace_back();
  return RING_OK;
}

ring_status ring_check_argument(ring_context *context, int32_t argument,
                                const void *data, int32_t dims,
                                const int64_t *sizes, const int64_t *expected) {
  if (context->status != RING_OK)
    return context->status;
  Result result = checkArgument(argument, data, dims, sizes, expected);
  return result.failed() ? context->fail(result) : RING_OK;
}

ring_status ring_end(ring_context *context, ring_status status) {
  if (status != RING_OK)
    context->fail(
        {status, "the program failed with status " + std::to_string(status)});
  else if (context->status != RING_OK)
    status = context->status;
  else if (context->stage != ring_context::Stage::Running)
    status = context->fail(
        {RING_ERROR_USAGE, context->stage == ring_context::Stage::Created
                               ? "ring_end was called before ring_begin"
                               : "ring_end was called before"});
  else if (!context->open.empty())
    status = context->fail(
        {RING_ERROR_USAGE, "transfer " +
                               std::to_string(context->open.begin()->first) +
                               " was started and never waited for"});

  // Before peers may free what the rank's GPU still reads.
  if (context->program) {
    if (status == RING_OK)
      status = context->fail({RING_ERROR_USAGE, "ring_end was called before "
                                                "ring_device_finish"});
    ring_device_finish(context, status);
  }
  Clock::time_point called = Clock::now();
  if (status == RING_OK) {
    Result result = context->transport->end();
    if (result.failed())
      status = context->fail(result);
  }
  // Peers may still compute on what this rank lent, though in vain.
  if (status != RING_OK)
    context->transport->abandon(/*wait=*/true);
  context->trace.wait("all ranks to end", called, Clock::now());
  if (context->gpu.device)
    context->gpu.device->release();
  context->stage = ring_context::Stage::Ended;
  int64_t buffers =
      context->transport->buffersAllocated() - context->buffersBefore;
  context->counters.buffersAllocated =
      std::max(context->counters.buffersAllocated, buffers);
  return status;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

static int64_t groupBytes(const TensorGroup &tensors) {
  int64_t bytes = 0;
  for (const ring_tensor &tensor : tensors) {
    int64_t elements = 1;
    for (int32_t dim = 0; dim < tensor.dims; ++dim)
      elements *= tensor.sizes[dim];
    bytes += elements * tensor.element_bytes;
  }
  return bytes;
}

/// "[1, 2, 64] of 4-byte elements"
static std::string shapeText(const ring_tensor &tensor) {
  std::string text = "[";
  for (int32_t dim = 0; dim < tensor.dims; ++dim)
    text += (dim ? ", " : "") + std::to_string(tensor.sizes[dim]);
  return text + "] of " + std::to_string(tensor.element_bytes) +
         "-byte elements";
}

static bool sameShape(const ring_tensor &a, const ring_tensor &b) {
  return a.dims == b.dims && a.element_bytes == b.element_bytes &&
         std::equal(a.sizes, a.sizes + a.dims, b.sizes);
}

static Result checkTensors(int32_t count, const ring_tensor *tensors) {
  if (count < 1)
    return {RING_ERROR_USAGE, "a transfer of " + std::to_string(count) +
                                  " tensors, expected at least 1"};
  for (int32_t i = 0; i < count; ++i) {
    const ring_tensor &tensor = tensors[i];
    std::string name = "tensor " + std::to_string(i) + " of a transfer has ";
    if (tensor.dims < 0 || tensor.dims > RING_MAX_DIMS)
      return {RING_ERROR_USAGE, name + std::to_string(tensor.dims) +
                                    " dimensions, expected at most " +
                                    std::to_string(RING_MAX_DIMS)};
    if (tensor.element_bytes < 1)
      return {RING_ERROR_USAGE, name + "elements of " +
                                    std::to_string(tensor.element_bytes) +
                                    " bytes, expected at least 1"};
    for (int32_t dim = 0; dim < tensor.dims; ++dim)
      if (tensor.sizes[dim] < 0)
        return {RING_ERROR_USAGE, name + "size " +
                                      std::to_string(tensor.sizes[dim]) +
                                      " in dimension " + std::to_string(dim)};
  }
  return {};
}

/// The checks that every transfer call shares.
static Result checkRunning(const ring_context *context) {
  if (context->stage == ring_context::Stage::Running)
    return {};
  return {RING_ERROR_USAGE, "a transfer outside of ring_begin and ring_end"};
}

static Result checkPeers(const ring_context *context, int32_t to,
                         int32_t from) {
  for (int32_t peer : {to, from})
    if (peer < 0 || peer >= context->size)
      return {RING_ERROR_USAGE, "a transfer with rank " + std::to_string(peer) +
                                    ", expected 0 to " +
                                    std::to_string(context->size - 1)};
  return {};
}

static Result checkTicket(const ring_context *context, ring_ticket ticket) {
  if (context->open.count(ticket))
    return {};
  std::string name = "ticket " + std::to_string(ticket);
  return {RING_ERROR_USAGE, ticket >= 1 && ticket <= context->issued
                                ? name + " was waited for already"
                                : name + " is unknown"};
}

/// Enters a transfer that the transport has taken.
static void issue(ring_context *context, OpenTransfer open,
                  ring_ticket *ticket) {
  RankCounters &counters = context->counters;
  ++counters.transfers;
  counters.bytesSent += open.bytes;
  context->issued = *ticket = open.transfer.number;
  context->open.emplace(*ticket, std::move(open));
  counters.slotsInFlight = std::max(counters.slotsInFlight,
                                    static_cast<int64_t>(context->open.size()));
}

/// With a GPU a start meets the sender.
static void traceStart(ring_context &context, const Transfer &transfer,
                       Clock::time_point called) {
  if (context.program)
    context.trace.wait("the sender of transfer " +
                           std::to_string(transfer.number),
                       called, Clock::now());
}

ring_status ring_permute_start(ring_context *context, int32_t to, int32_t from,
                               int32_t count, const ring_tensor *tensors,
                               ring_ticket *ticket) {
  if (context->status != RING_OK)
    return context->status;
  Result result = checkRunning(context);
  if (!result.failed())
    result = checkPeers(context, to, from);
  if (!result.failed())
    result = checkTensors(count, tensors);
  if (result.failed())
    return context->fail(result);

  TensorGroup group(tensors, tensors + count);
  Transfer transfer{context->issued + 1, to, from};
  Clock::time_point called = Clock::now();
  result = context->transport->start(transfer, group);
  traceStart(*context, transfer, called);
  if (result.failed())
    return context->fail(result);
  int64_t bytes = groupBytes(group);
  issue(context, {transfer, std::move(group), bytes, called}, ticket);
  return RING_OK;
}

ring_status ring_permute_forward(ring_context *context, int32_t to,
                                 int32_t from, ring_ticket source,
                                 ring_ticket *ticket) {
  if (context->status != RING_OK)
    return context->status;
  Result result = checkRunning(context);
  if (!result.failed())
    result = checkPeers(context, to, from);
  if (!result.failed())
    result = checkTicket(context, source);
  if (result.failed())
    return context->fail(result);

  const OpenTransfer &sourceTransfer = context->open.at(source);
  Transfer transfer{context->issued + 1, to, from};
  Clock::time_point called = Clock::now();
  result = context->transport->forward(transfer, sourceTransfer.transfer);
  traceStart(*context, transfer, called);
  if (result.failed())
    return context->fail(result);
  // Every transfer delivers the like of what it sends.
  OpenTransfer open = sourceTransfer;
  open.transfer = transfer;
  open.started = called;
  issue(context, std::move(open), ticket);
  return RING_OK;
}

ring_status ring_permute_wait(ring_context *context, ring_ticket ticket,
                              int32_t count, ring_tensor *received) {
  if (context->status != RING_OK)
    return context->status;
  Result result = checkRunning(context);
  if (!result.failed())
    result = checkTicket(context, ticket);
  if (result.failed())
    return context->fail(result);

  OpenTransfer open = std::move(context->open.at(ticket));
  context->open.erase(ticket);
  const Transfer &transfer = open.transfer;
  std::string name = "transfer " + std::to_string(transfer.number);
  if (count != static_cast<int32_t>(open.like.size()))
    return context->fail({RING_ERROR_USAGE,
                          name + " is of " + std::to_string(open.like.size()) +
                              " tensors, waited for " + std::to_string(count)});
  Arrival arrival;
  Clock::time_point called = Clock::now();
  result = context->transport->wait(transfer, arrival);
  context->trace.wait(name, called, Clock::now());
  if (result.failed())
    return context->fail(result);

  if (arrival.time)
    context->trace.transfer(transfer, open.bytes, open.started, *arrival.time);
  const TensorGroup &tensors = arrival.tensors;
  std::string from = name + " from rank " + std::to_string(transfer.from);
  if (tensors.size() != open.like.size())
    return context->fail({RING_ERROR_MISMATCH,
                          from + " brought " + std::to_string(tensors.size()) +
                              " tensors, expected " +
                              std::to_string(open.like.size())});
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!sameShape(tensors[i], open.like[i]))
      return context->fail(
          {RING_ERROR_MISMATCH, from + " brought " + shapeText(tensors[i]) +
                                    " as tensor " + std::to_string(i) +
                                    ", expected " + shapeText(open.like[i])});
  std::copy(tensors.begin(), tensors.end(), received);
  return RING_OK;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

ring_status ring_parallel_for(ring_context *context, const char *name,
                              int64_t round, int64_t count, ring_body body,
                              void *environment) {
  if (Pool::onWorker()) { // within a body: the context is not this thread's
    context->counters.launches.fetch_add(1);
    context->pool.run(count, body, environment, context->account.get());
    return RING_OK;
  }
  if (context->status != RING_OK)
    return context->status;
  if (count < 0)
    return context->fail(
        {RING_ERROR_USAGE,
         "a parallel loop of " + std::to_string(count) + " items"});
  if (std::optional<Failure> failure = context->transport->failure())
    return context->fail(peerFailed(*failure));
  context->counters.launches.fetch_add(1);
  Clock::time_point called = Clock::now();
  context->pool.run(count, body, environment, context->account.get());
  context->countPairs(round, context->account->takeVisiblePairs());
  context->trace.compute(name, round, called, Clock::now());
  return RING_OK;
}
