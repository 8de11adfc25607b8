//===- DeviceProgram.cpp - A rank function on its GPU ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a rank function begins and ends on its GPU, and what it has there.
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"

#include "../Context.h"
#include "TensorCopy.h"

using namespace ring::runtime;
using namespace ring::cuda;

DeviceProgram::~DeviceProgram() {
  for (void *copy : hostCopies)
    _mlir_memref_to_llvm_free(copy);
}

int32_t ring_device(const ring_context *context) {
  return context->gpu.device ? RING_DEVICE_GPU : RING_DEVICE_CPU;
}

ring_status ring_device_begin(ring_context *context) {
  if (context->status != RING_OK)
    return context->status;
  if (!context->gpu.device)
    return context->fail({RING_ERROR_USAGE,
                          "the program is compiled for a GPU, the rank has "
                          "none: its device is cpu"});
  if (context->stage != ring_context::Stage::Running || context->program)
    return context->fail(
        {RING_ERROR_USAGE, context->program
                               ? "ring_device_begin was called before"
                               : "ring_device_begin outside of ring_begin and "
                                 "ring_end"});
  Device &device = *context->gpu.device;
  Result result = device.makeCurrent();
  if (result.failed())
    return context->fail(result);
  context->program = std::make_unique<DeviceProgram>(device, context->trace);
  result = context->transport->useDevice(&device, &context->program->timeline);
  if (!result.failed())
    result = context->program->timeline.begin();
  return result.failed() ? context->fail(result) : RING_OK;
}

/// Where a tensor lives: -1 on the host, or a device.
static Result locate(Device &device, const ring_tensor &tensor, int &ordinal) {
  ordinal = -1;
  if (!tensor.data)
    return {};
  unsigned type = 0;
  CUresult code = device.driver.pointerGetAttribute(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(tensor));
  if (code == CUDA_ERROR_INVALID_VALUE) // the driver does not know it
    return {};
  if (code == CUDA_SUCCESS && type != CU_MEMORYTYPE_DEVICE)
    return {};
  if (code == CUDA_SUCCESS)
    code = device.driver.pointerGetAttribute(
        &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, addressOf(tensor));
  if (Result result = device.check(code, "cuPointerGetAttribute");
      result.failed())
    return result;
  if (ordinal == device.ordinal)
    return {};
  return {RING_ERROR_USAGE, "a tensor is in memory of GPU " +
                                std::to_string(ordinal) + ", the rank's is " +
                                device.text()};
}

/// The checks of a call between ring_device_begin and ring_device_finish, and
/// where its tensor lives.
static Result enter(ring_context *context, const ring_tensor &tensor,
                    int &ordinal) {
  if (!context->program)
    return {RING_ERROR_USAGE,
            "a tensor for a GPU outside of ring_device_begin and "
            "ring_device_finish"};
  return locate(*context->gpu.device, tensor, ordinal);
}

ring_status ring_device_import(ring_context *context, const ring_tensor *tensor,
                               ring_tensor *on_device) {
  if (context->status != RING_OK)
    return context->status;
  int ordinal = -1;
  Result result = enter(context, *tensor, ordinal);
  if (!result.failed() && ordinal >= 0 && hasAlignedRows(*tensor)) {
    *on_device = *tensor;
    return RING_OK;
  }
  Device *device = context->gpu.device.get();
  if (!result.failed())
    result = allocateLike(*device, *tensor, *on_device);
  if (!result.failed())
    result = device->check(
        copyTensor(device->driver, device->compute,
                   ordinal >= 0 ? Copy::WithinDevice : Copy::HostToDevice,
                   *on_device, *tensor),
        "a copy to the GPU");
  return result.failed() ? context->fail(result) : RING_OK;
}

ring_status ring_device_host_copy(ring_context *context,
                                  const ring_tensor *tensor,
                                  ring_tensor *on_host) {
  if (context->status != RING_OK)
    return context->status;
  int ordinal = -1;
  Result result = enter(context, *tensor, ordinal);
  if (!result.failed() && ordinal < 0) {
    *on_host = *tensor;
    return RING_OK;
  }
  if (!result.failed()) {
    Device &device = *context->gpu.device;
    *on_host = packedLike(*tensor);
    on_host->data = _mlir_memref_to_llvm_alloc(elementCount(*tensor) *
                                               tensor->element_bytes);
    context->program->hostCopies.push_back(on_host->data);
    result = device.check(copyTensor(device.driver, device.compute,
                                     Copy::DeviceToHost, *on_host, *tensor),
                          "a copy from the GPU");
    if (!result.failed())
      result = device.check(device.driver.streamSynchronize(device.compute),
                            "cuStreamSynchronize");
  }
  return result.failed() ? context->fail(result) : RING_OK;
}

ring_status ring_device_export(ring_context *context, const ring_tensor *tensor,
                               ring_tensor *on_device) {
  if (context->status != RING_OK)
    return context->status;
  int ordinal = -1;
  Result result = enter(context, *tensor, ordinal);
  if (!result.failed() && ordinal >= 0 && hasAlignedRows(*tensor)) {
    *on_device = *tensor;
    return RING_OK;
  }
  Device *device = context->gpu.device.get();
  if (!result.failed())
    result = allocateLike(*device, *tensor, *on_device);
  // Rows that pad a rank's block are written by no kernel, and copied too.
  if (!result.failed() && denseBytes(*tensor) > 0)
    result = device->check(device->driver.memsetD8Async(addressOf(*on_device),
                                                        0, denseBytes(*tensor),
                                                        device->compute),
                           "cuMemsetD8Async");
  if (result.failed())
    return context->fail(result);
  context->program->exports.push_back({*tensor, *on_device, ordinal >= 0});
  return RING_OK;
}

static Result copyExports(Device &device, const DeviceProgram &program) {
  for (const DeviceProgram::Export &each : program.exports) {
    Copy direction = each.toDevice ? Copy::WithinDevice : Copy::DeviceToHost;
    CUresult code = copyTensor(device.driver, device.compute, direction,
                               each.to, each.from);
    if (Result result = device.check(code, "a copy of results");
        result.failed())
      return result;
  }
  return {};
}

ring_status ring_device_finish(ring_context *context, ring_status status) {
  if (!context->program)
    return context->status != RING_OK ? context->status : status;
  Device &device = *context->gpu.device;
  if (status != RING_OK)
    context->fail(
        {status, "the program failed with status " + std::to_string(status)});
  Result result;
  if (context->status == RING_OK)
    result = context->transport->finishRounds();
  if (context->status == RING_OK && !result.failed())
    result = copyExports(device, *context->program);
  if (result.failed())
    context->fail(result);
  // In a ring that failed nobody may send what the streams wait for.
  if (context->status != RING_OK)
    context->transport->abort();
  Clock::time_point called = Clock::now();
  result = context->transport->drain();
  context->trace.wait(device.text(), called, Clock::now());
  if (!result.failed())
    result = context->program->timeline.report();
  if (result.failed())
    context->fail(result);
  context->transport->useDevice(nullptr, nullptr);
  context->program.reset();
  return context->status;
}
