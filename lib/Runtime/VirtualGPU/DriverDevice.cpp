//===- DriverDevice.cpp - Devices and contexts of the virtual driver ------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ring::vgpu;

// CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability". Multiprocessors are those of A100, A40, AGX Orin, L40S, H100.
static constexpr Chip kChips[] = {
    {"sm_80", 8, 0, 108, 2048, 32, 164 << 10, 163 << 10},
    {"sm_86", 8, 6, 84, 1536, 16, 100 << 10, 99 << 10},
    {"sm_87", 8, 7, 16, 1536, 16, 164 << 10, 163 << 10},
    {"sm_89", 8, 9, 142, 1536, 24, 100 << 10, 99 << 10},
    {"sm_90", 9, 0, 132, 2048, 32, 228 << 10, 227 << 10},
    {"sm_90a", 9, 0, 132, 2048, 32, 228 << 10, 227 << 10},
};

CUresult ring::vgpu::cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.initialized)
    return CUDA_SUCCESS;
  const char *chip = std::getenv("RING_VGPU_CHIP");
  bool known = false;
  std::string names;
  for (const Chip &candidate : kChips) {
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
    if (std::strcmp(candidate.name, chip ? chip : "sm_80") == 0) {
      driver.chip = candidate;
      known = true;
    }
  }
  if (!known) {
    addReport(std::string("RING_VGPU_CHIP=") + chip + ": expected one of " +
              names);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const char *text = std::getenv("RING_VGPU_DEVICES");
  char *end = nullptr;
  long count = text ? std::strtol(text, &end, 10) : 16;
  if (text && (*end || end == text || count < 1 || count > 128)) {
    addReport(std::string("RING_VGPU_DEVICES=") + text +
              ": expected a number from 1 to 128");
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (long device = 0; device < count; ++device)
    driver.contexts.push_back(
        std::make_unique<Context>(static_cast<int>(device)));
  driver.initialized = true;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDeviceGetCount(int *count) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(driver.contexts.size());
  return CUDA_SUCCESS;
}

/// Devices never change once there are some, so no lock is held afterwards.
static CUresult checkDevice(CUdevice device) {
  int count = 0;
  if (CUresult status = cuDeviceGetCount(&count))
    return status;
  return device >= 0 && device < count ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_DEVICE;
}

CUresult ring::vgpu::cuDeviceGet(CUdevice *device, int ordinal) {
  if (CUresult status = checkDevice(ordinal))
    return status;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDeviceGetName(char *name, int bytes, CUdevice device) {
  if (CUresult status = checkDevice(device))
    return status;
  if (!name || bytes <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, bytes, "Ring virtual GPU (%s)", Driver::get().chip.name);
  return CUDA_SUCCESS;
}

static int attributeOf(CUdevice_attribute attribute, const Chip &chip) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return kMaxThreads;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return kMaxBlockZ;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return kMaxGridX;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return kMaxGridYZ;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return kSharedPerBlock;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return kWarp;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return kRegisters;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return chip.multiprocessors;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return chip.threadsPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return chip.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return chip.minor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return chip.sharedPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return chip.sharedPerBlockOptIn;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return chip.blocksPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return kSharedReserved;
  }
  return -1;
}

CUresult ring::vgpu::cuDeviceGetAttribute(int *value,
                                          CUdevice_attribute attribute,
                                          CUdevice device) {
  if (CUresult status = checkDevice(device))
    return status;
  int found = attributeOf(attribute, Driver::get().chip);
  if (!value || found < 0)
    return CUDA_ERROR_INVALID_VALUE;
  *value = found;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (CUresult status = checkDevice(device))
    return status;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = AddressSpace::deviceBytes();
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDeviceCanAccessPeer(int *can, CUdevice device,
                                           CUdevice peer) {
  if (CUresult status = checkDevice(device))
    return status;
  if (CUresult status = checkDevice(peer))
    return status;
  if (!can)
    return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuDevicePrimaryCtxRetain(CUcontext *context,
                                              CUdevice device) {
  if (CUresult status = checkDevice(device))
    return status;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  Context &found = *driver.contexts[device];
  if (found.users++ == 0)
    driver.addStream(found, CU_STREAM_DEFAULT);
  *context = &found;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (CUresult status = checkDevice(device))
    return status;
  Driver &driver = Driver::get();
  Scheduler::Lock lock(driver.mutex);
  Context &context = *driver.contexts[device];
  if (context.users == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--context.users == 0)
    driver.destroy(lock, context);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuCtxSetCurrent(CUcontext context) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (context && !driver.owns(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  currentContext = context;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuCtxGetCurrent(CUcontext *context) {
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = currentContext;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuCtxGetDevice(CUdevice *device) {
  if (!currentContext)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = currentContext->device;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuCtxSynchronize() {
  Call call;
  if (call.status)
    return call.status;
  recordCall("cuCtxSynchronize", call.context);
  if (call.invalidatesCaptures())
    return call.status;
  std::vector<OpRef> ends;
  for (const auto &stream : call.context->streams)
    if (stream->last)
      ends.push_back(stream->last);
  for (const OpRef &end : ends)
    call.driver.scheduler.demand(*end);
  for (const OpRef &end : ends)
    if (CUresult status = call.driver.synchronize(call.lock, *end))
      return status;
  return call.context->failed;
}

CUresult ring::vgpu::cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  Call call;
  if (call.status)
    return call.status;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!call.driver.owns(peer))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (peer == call.context)
    return CUDA_ERROR_INVALID_DEVICE;
  return call.context->peers.insert(peer).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
