//===- DriverMemory.cpp - Memory and copies of the virtual driver ---------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"
#include "Graph.h"
#include "Operations.h"

using namespace ring::vgpu;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  Call call;
  if (call.unsafeInCapture())
    return call.status;
  if (!address || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  AllocationRef allocation = call.driver.space.allocateDevice(
      call.context, call.context->device, bytes);
  if (!allocation)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = allocation->base;
  return CUDA_SUCCESS;
}

/// Why memory may not go away now; empty: it may.
static std::string findUser(Driver &driver, Allocation &allocation) {
  uint64_t end = allocation.base + allocation.bytes;
  if (const Op *op = driver.pendingUser(allocation.base, end))
    return allocation.text() + " freed before " + op->info->text() +
           ", which uses it, was executed";
  std::lock_guard<std::mutex> lock(allocation.historyMutex);
  OpInfoRef user = allocation.history.unordered(driver.scheduler.hostClock());
  if (user)
    return allocation.text() + " freed while " + user->text() +
           ", which uses it, may still run: nothing waited for it";
  return "";
}

static CUresult freeNow(Call &call, const AllocationRef &allocation) {
  std::string why = findUser(call.driver, *allocation);
  if (!why.empty())
    return call.driver.fail(*allocation->context, CUDA_ERROR_ILLEGAL_ADDRESS,
                            why);
  call.driver.space.free(allocation);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuMemFree_v2(CUdeviceptr address) {
  Call call;
  if (call.unsafeInCapture())
    return call.status;
  if (!address)
    return CUDA_SUCCESS;
  AllocationRef allocation = call.driver.space.find(address);
  if (!allocation || allocation->pinned || allocation->base != address) {
    addReport("cuMemFree of " + call.driver.space.explain(address, 0) +
              ": no allocation begins there");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return freeNow(call, allocation);
}

CUresult ring::vgpu::cuMemAllocAsync(CUdeviceptr *address, size_t bytes,
                                     CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!address || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    stream->capture->invalidate();
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Context &context = stream->context;
  AllocationRef allocation =
      call.driver.space.allocateDevice(&context, context.device, bytes);
  if (!allocation)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = allocation->base;
  CallRecord("cuMemAllocAsync", stream)
      .add("bytes", static_cast<int64_t>(bytes));
  return call.driver.enqueue(*stream, std::make_shared<AllocateOp>(allocation));
}

CUresult ring::vgpu::cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  AllocationRef allocation = call.driver.space.find(address);
  if (!allocation || allocation->pinned || allocation->base != address)
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord("cuMemFreeAsync", stream)
      .add("bytes", static_cast<int64_t>(allocation->bytes));
  return call.driver.enqueue(*stream, std::make_shared<FreeOp>(allocation));
}

CUresult ring::vgpu::cuMemHostAlloc(void **pointer, size_t bytes,
                                    unsigned flags) {
  Call call;
  if (call.unsafeInCapture())
    return call.status;
  constexpr unsigned kKnownFlags = 7; // Portable, mapped, write-combined.
  if (!pointer || !bytes || (flags & ~kKnownFlags))
    return CUDA_ERROR_INVALID_VALUE;
  AllocationRef allocation = call.driver.space.allocatePinned(
      call.context, call.context->device, bytes);
  if (!allocation)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = allocation->at(0);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuMemFreeHost(void *pointer) {
  Call call;
  if (call.unsafeInCapture())
    return call.status;
  auto address = reinterpret_cast<uint64_t>(pointer);
  AllocationRef allocation = call.driver.space.find(address);
  if (!allocation || !allocation->pinned || allocation->base != address)
    return CUDA_ERROR_INVALID_VALUE;
  return freeNow(call, allocation);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether rows lie where they can; otherwise says why not.
static bool checkRows(const Rows &rows, size_t width, size_t height,
                      const char *call) {
  AddressSpace &space = Driver::get().space;
  size_t span = (height - 1) * rows.pitch + width;
  std::string why;
  if (rows.onDevice) {
    if (space.find(rows.address, span, why))
      return true;
  } else if (AddressSpace::isDeviceAddress(rows.address)) {
    why = "a device address as host memory";
  } else {
    AllocationRef pinned = space.find(rows.address);
    if (rows.address &&
        (!pinned || span <= pinned->bytes - (rows.address - pinned->base)))
      return true;
    why = space.explain(rows.address, span);
  }
  addReport(std::string(call) + " given " + why);
  return false;
}

static CUresult copy(Call &call, const char *name, Rows target, Rows source,
                     size_t width, size_t height, CUstream handle) {
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (height > 1 && (target.pitch < width || source.pitch < width))
    return CUDA_ERROR_INVALID_VALUE;
  bool isEmpty = !width || !height;
  if (!isEmpty && (!checkRows(target, width, height, name) ||
                   !checkRows(source, width, height, name)))
    return CUDA_ERROR_INVALID_VALUE;
  auto op = std::make_shared<CopyOp>(target, source, width, height);
  bool blocks = !isEmpty && op->isBlocking() && !stream->capture;
  {
    CallRecord record(name, stream);
    record.add("kind", op->name);
    record.add("bytes", static_cast<int64_t>(width * height));
    if (height > 1)
      record.add("rows", static_cast<int64_t>(height));
    if (blocks)
      record.add("blocking", 1);
  }
  if (isEmpty)
    return CUDA_SUCCESS;
  CUresult status = call.driver.enqueue(*stream, op);
  if (status != CUDA_SUCCESS || !blocks)
    return status;
  return call.driver.synchronize(call.lock, *op);
}

CUresult ring::vgpu::cuMemcpyHtoDAsync_v2(CUdeviceptr target,
                                          const void *source, size_t bytes,
                                          CUstream stream) {
  Call call;
  return copy(call, "cuMemcpyHtoDAsync", {target, bytes, true},
              {reinterpret_cast<uint64_t>(source), bytes, false}, bytes, 1,
              stream);
}

CUresult ring::vgpu::cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source,
                                          size_t bytes, CUstream stream) {
  Call call;
  return copy(call, "cuMemcpyDtoHAsync",
              {reinterpret_cast<uint64_t>(target), bytes, false},
              {source, bytes, true}, bytes, 1, stream);
}

CUresult ring::vgpu::cuMemcpyDtoDAsync_v2(CUdeviceptr target,
                                          CUdeviceptr source, size_t bytes,
                                          CUstream stream) {
  Call call;
  return copy(call, "cuMemcpyDtoDAsync", {target, bytes, true},
              {source, bytes, true}, bytes, 1, stream);
}

CUresult ring::vgpu::cuMemcpyPeerAsync(CUdeviceptr target,
                                       CUcontext targetContext,
                                       CUdeviceptr source,
                                       CUcontext sourceContext, size_t bytes,
                                       CUstream stream) {
  Call call;
  if (call.status)
    return call.status;
  auto livesIn = [&](CUdeviceptr address, const Context *context) {
    AllocationRef found = call.driver.space.find(address);
    return !found || found->context == context;
  };
  if (!call.driver.owns(targetContext) || !call.driver.owns(sourceContext))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes &&
      (!livesIn(target, targetContext) || !livesIn(source, sourceContext))) {
    addReport("cuMemcpyPeerAsync given memory of another context");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return copy(call, "cuMemcpyPeerAsync", {target, bytes, true},
              {source, bytes, true}, bytes, 1, stream);
}

static bool rowsOf(CUmemorytype type, const void *host, CUdeviceptr device,
                   size_t x, size_t y, size_t pitch, Rows &rows) {
  if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE &&
      type != CU_MEMORYTYPE_UNIFIED)
    return false;
  rows.address =
      type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  rows.onDevice =
      type == CU_MEMORYTYPE_DEVICE ||
      (type == CU_MEMORYTYPE_UNIFIED && AddressSpace::isDeviceAddress(device));
  rows.address += y * pitch + x;
  rows.pitch = pitch;
  return true;
}

CUresult ring::vgpu::cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *what,
                                        CUstream stream) {
  Call call;
  if (call.status)
    return call.status;
  Rows target, source;
  if (!what ||
      !rowsOf(what->srcMemoryType, what->srcHost, what->srcDevice,
              what->srcXInBytes, what->srcY, what->srcPitch, source) ||
      !rowsOf(what->dstMemoryType, what->dstHost, what->dstDevice,
              what->dstXInBytes, what->dstY, what->dstPitch, target))
    return CUDA_ERROR_INVALID_VALUE;
  return copy(call, "cuMemcpy2DAsync", target, source, what->WidthInBytes,
              what->Height, stream);
}

static CUresult set(const char *name, CUdeviceptr target, uint32_t value,
                    size_t elementBytes, size_t count, CUstream handle) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (target % elementBytes)
    return CUDA_ERROR_INVALID_VALUE;
  size_t bytes = elementBytes * count;
  if (bytes && !checkRows({target, bytes, true}, bytes, 1, name))
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord(name, stream).add("bytes", static_cast<int64_t>(bytes));
  return call.driver.enqueue(
      *stream, std::make_shared<MemsetOp>(target, value, elementBytes, count));
}

CUresult ring::vgpu::cuMemsetD8Async(CUdeviceptr target, unsigned char value,
                                     size_t count, CUstream stream) {
  return set("cuMemsetD8Async", target, value, 1, count, stream);
}

CUresult ring::vgpu::cuMemsetD32Async(CUdeviceptr target, unsigned value,
                                      size_t count, CUstream stream) {
  return set("cuMemsetD32Async", target, value, 4, count, stream);
}

//===----------------------------------------------------------------------===//
// What a pointer is
//===----------------------------------------------------------------------===//

template <typename T> static CUresult give(void *where, T value) {
  *static_cast<T *>(where) = value;
  return CUDA_SUCCESS;
}

static CUresult attributeOf(void *value, CUpointer_attribute attribute,
                            CUdeviceptr pointer, const Allocation &found) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return give(value, found.context);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(value,
                found.pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return give(value, pointer);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return found.pinned ? give(value, reinterpret_cast<void *>(pointer))
                        : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give(value, found.device);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return give<CUdeviceptr>(value, found.base);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return give(value, found.bytes);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult ring::vgpu::cuPointerGetAttribute(void *value,
                                           CUpointer_attribute attribute,
                                           CUdeviceptr pointer) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  AllocationRef found = driver.space.find(pointer);
  if (!value || !found)
    return CUDA_ERROR_INVALID_VALUE;
  return attributeOf(value, attribute, pointer, *found);
}

CUresult ring::vgpu::cuPointerGetAttributes(unsigned count,
                                            CUpointer_attribute *attributes,
                                            void **values,
                                            CUdeviceptr pointer) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!count || !attributes || !values)
    return CUDA_ERROR_INVALID_VALUE;
  AllocationRef found = driver.space.find(pointer);
  for (unsigned i = 0; i < count; ++i) {
    if (found) {
      if (CUresult status =
              attributeOf(values[i], attributes[i], pointer, *found))
        return status;
      continue;
    }
    // A pointer that the driver does not know: its type is none of the types.
    switch (attributes[i]) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      give(values[i], 0u);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      give(values[i], -2);
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      give(values[i], size_t(0));
      break;
    default:
      give<void *>(values[i], nullptr);
    }
  }
  return CUDA_SUCCESS;
}
