//===- Attention.cpp - An attention on a GPU, round by round --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of a round: the work list goes up, one or two kernels are
// launched, nothing is waited for.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "../Context.h"
#include "Graph.h"
#include "TensorCopy.h"

#include <algorithm>
#include <type_traits>

using namespace ring::runtime;
using namespace ring::cuda;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The address of an operand, or NULL, and the strides of its first `count`
/// dimensions: 0 where a dimension of one element stands for all.
template <typename Element>
static void setOperand(const ring_tensor *tensor, Element *&address,
                       int64_t *strides, int32_t count) {
  if (!tensor)
    return;
  address = static_cast<Element *>(tensor->data);
  for (int32_t dim = 0; dim < count; ++dim)
    strides[dim] = tensor->sizes[dim] == 1 ? 0 : tensor->strides[dim];
}

static Result checkDims(const ring_tensor *tensor, const char *name,
                        int32_t dims) {
  if (!tensor || tensor->dims == dims)
    return {};
  return {RING_ERROR_USAGE, std::string(name) + " of an attention has " +
                                std::to_string(tensor->dims) +
                                " dimensions, expected " +
                                std::to_string(dims)};
}

static Result checkOperands(const ring_attention_kernel &kernel,
                            const ring_attention_operands &operands) {
  const struct {
    const ring_tensor *tensor;
    const char *name;
    int32_t dims;
  } all[] = {{operands.query, "query", 4},
             {operands.bias, "bias", 4},
             {operands.sinks, "sinks", 1},
             {operands.mean, "mean", 3},
             {operands.query_segments, "query_segments", 2},
             {operands.key_segments, "key_segments", 2},
             {operands.out, "out", 4},
             {operands.lse, "lse", 3}};
  for (const auto &each : all)
    if (Result result = checkDims(each.tensor, each.name, each.dims);
        result.failed())
      return result;
  if (!operands.query || !operands.out)
    return {RING_ERROR_USAGE, "an attention without query or out"};
  if (kernel.query_tile < 1 || kernel.key_tile < 1 || kernel.head_blocks < 1 ||
      kernel.head_blocks > 65535) // of a grid in y
    return {RING_ERROR_USAGE,
            "a kernel with query tile " + std::to_string(kernel.query_tile) +
                ", key tile " + std::to_string(kernel.key_tile) + " and " +
                std::to_string(kernel.head_blocks) +
                " head blocks, expected 1 or more, and at most 65535 head "
                "blocks"};
  if (operands.query->sizes[1] != kernel.heads)
    return {RING_ERROR_USAGE,
            "a query of " + std::to_string(operands.query->sizes[1]) +
                " heads for a kernel of " + std::to_string(kernel.heads)};
  return {};
}

static void setOperands(const ring_attention_operands &operands,
                        ring_attention_params &params) {
  setOperand(operands.query, params.query, params.query_strides, 3);
  setOperand(operands.bias, params.bias, params.bias_strides, 4);
  setOperand(operands.sinks, params.sinks, &params.sinks_stride, 1);
  setOperand(operands.mean, params.mean, params.mean_strides, 3);
  setOperand(operands.query_segments, params.query_segments,
             params.query_segments_strides, 2);
  setOperand(operands.key_segments, params.key_segments,
             params.key_segments_strides, 2);
  setOperand(operands.out, params.out, params.out_strides, 3);
  setOperand(operands.lse, params.lse, params.lse_strides, 3);
}

static int64_t stateBytes(const ring_attention_kernel &kernel, int64_t count) {
  return count * kernel.head_blocks * kernel.state_floats *
         static_cast<int64_t>(sizeof(float));
}

ring_status ring_device_attention_begin(ring_context *context,
                                        const ring_attention_kernel *kernel,
                                        const ring_attention_operands *operands,
                                        ring_device_attention **attention) {
  if (context->status != RING_OK)
    return context->status;
  if (!context->program)
    return context->fail({RING_ERROR_USAGE,
                          "an attention on a GPU outside of "
                          "ring_device_begin and ring_device_finish"});
  Result result = checkOperands(*kernel, *operands);
  auto fresh = std::make_unique<ring_device_attention>();
  if (!result.failed())
    result = context->gpu.kernels->find(*kernel, fresh->function);
  if (result.failed())
    return context->fail(result);
  Device &device = *context->gpu.device;
  fresh->kernel = *kernel;
  fresh->name = kernel->name;
  fresh->shape = {operands->query->sizes[0], kernel->query_tile,
                  kernel->key_tile, kernel->head_blocks,
                  std::max(1, device.multiprocessors - context->gpu.margin)};
  setOperands(*operands, fresh->params);
  CUdeviceptr address = 0;
  if (operands->capture_count > 0) {
    result =
        device.upload(operands->captures,
                      operands->capture_count * sizeof(ring_tensor), address);
    fresh->params.captures = reinterpret_cast<const ring_tensor *>(address);
  }
  if (!result.failed())
    result = device.allocate(stateBytes(*kernel, mostPartials(fresh->shape)),
                             address);
  if (result.failed())
    return context->fail(result);
  fresh->params.partials = reinterpret_cast<float *>(address);
  *attention = fresh.get();
  context->program->attentions.push_back(std::move(fresh));
  return RING_OK;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Before the first round: the states, whose number the slices tell.
static Result beginRounds(ring_device_attention &attention, Device &device,
                          const ring_slices &slices, int32_t rounds,
                          bool last) {
  int64_t tiles = ring_slices_query_ranges(&slices, attention.shape.queryTile) *
                  attention.shape.batch;
  attention.begun = true;
  attention.states.assign(tiles, 0);
  Result result = fillMask(slices, attention.shape.batch, attention.params);
  if (result.failed() || last) // nothing is left for another round
    return result;
  CUdeviceptr address = 0;
  result = device.allocate(stateBytes(attention.kernel, tiles), address);
  attention.params.states = reinterpret_cast<float *>(address);
  // What lists of a mask take; one of ids in any order may take more.
  int64_t bytes =
      tiles * (sizeof(ring_attention_item) + 3 * sizeof(ring_attention_range));
  if (!result.failed())
    result = device.reserveUploads(rounds * bytes);
  return result;
}

template <typename Element>
static void append(std::vector<char> &bytes,
                   const std::vector<Element> &elements) {
  auto *data = reinterpret_cast<const char *>(elements.data());
  bytes.insert(bytes.end(), data, data + elements.size() * sizeof(Element));
}

static_assert(std::has_unique_object_representations_v<ring_attention_params>,
              "their bytes tell launches apart");

static Result launch(ring_context *context,
                     const ring_device_attention &attention,
                     const ring_attention_params &params, size_t items,
                     int64_t round) {
  Device &device = *context->gpu.device;
  const ring_attention_kernel &kernel = attention.kernel;
  Timeline &timeline = context->program->timeline;
  auto command = [&device, kernel, function = attention.function, copy = params,
                  items, name = attention.name]() mutable {
    void *parameters[] = {&copy};
    return device.check(
        device.driver.launchKernel(function, static_cast<unsigned>(items),
                                   static_cast<unsigned>(kernel.head_blocks), 1,
                                   static_cast<unsigned>(kernel.threads), 1, 1,
                                   static_cast<unsigned>(kernel.shared_bytes),
                                   device.compute, parameters, nullptr),
        ("launch of kernel '" + name + "'").c_str());
  };
  Result result = timeline.open(device.compute);
  if (!result.failed())
    result =
        device.enqueue(keyOf('k', attention.function, items, kernel.head_blocks,
                             kernel.threads, kernel.shared_bytes, params),
                       std::move(command));
  if (!result.failed())
    result =
        timeline.closeCompute(device.compute, attention.name.c_str(), round);
  context->counters.launches.fetch_add(1);
  return result;
}

/// Uploads the list and launches what is in it.
static Result launchList(ring_context *context,
                         ring_device_attention &attention, int64_t round,
                         const WorkList &list) {
  if (list.items.empty())
    return {};
  std::vector<char> bytes;
  append(bytes, list.items);
  append(bytes, list.merges);
  append(bytes, list.ranges);
  CUdeviceptr address = 0;
  Result result = context->gpu.device->upload(
      bytes.data(), static_cast<int64_t>(bytes.size()), address);
  if (result.failed())
    return result;
  ring_attention_params params = attention.params;
  params.items = reinterpret_cast<const ring_attention_item *>(address);
  params.ranges = reinterpret_cast<const ring_attention_range *>(
      params.items + list.items.size() + list.merges.size());
  result = launch(context, attention, params, list.items.size(), round);
  if (result.failed() || list.merges.empty())
    return result;
  params.items += list.items.size();
  return launch(context, attention, params, list.merges.size(), round);
}

static Result checkRound(const ring_device_attention &attention,
                         const ring_tensor &key, const ring_tensor &value) {
  if (attention.finished)
    return {RING_ERROR_USAGE, "a round of an attention after its last"};
  Result result = checkDims(&key, "key", 4);
  return result.failed() ? result : checkDims(&value, "value", 4);
}

ring_status ring_device_attention_round(ring_context *context,
                                        ring_device_attention *attention,
                                        int64_t round, const ring_tensor *key,
                                        const ring_tensor *value,
                                        const ring_slices *slices,
                                        int32_t last) {
  if (context->status != RING_OK)
    return context->status;
  if (std::optional<Failure> failure = context->transport->failure())
    return context->fail(peerFailed(*failure));
  Result result = checkRound(*attention, *key, *value);
  WorkList list;
  if (!result.failed() && !attention->begun)
    result = beginRounds(*attention, *context->gpu.device, *slices,
                         context->size, last != 0);
  if (!result.failed())
    result = makeWorkList(*slices, attention->shape, last != 0,
                          attention->states, list);
  if (result.failed())
    return context->fail(result);
  attention->finished = last != 0;
  setOperand(key, attention->params.key, attention->params.key_strides, 3);
  setOperand(value, attention->params.value, attention->params.value_strides,
             3);
  result = launchList(context, *attention, round, list);
  if (result.failed())
    return context->fail(result);
  int64_t pairs = 0;
  for (int64_t batch = 0; batch < attention->shape.batch; ++batch)
    pairs += countVisible(*slices, batch);
  context->countPairs(round, pairs * attention->kernel.heads);
  return RING_OK;
}
