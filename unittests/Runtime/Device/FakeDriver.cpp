//===- FakeDriver.cpp - A CUDA driver that does things at once ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "FakeAttention.h"

#include "../../../lib/Runtime/Device/CudaDriver.h"

#include <cstdlib>
#include <cstring>
#include <map>

using namespace ring::test;
using namespace ring::cuda;

namespace {
struct Stream {
  int device, number;
};
struct Event {
  int device, number;
};
struct Block {
  int device;
  size_t bytes;
};
} // namespace

std::recursive_mutex &ring::test::fakeMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// The mutex guards all below.
static std::map<CUdeviceptr, Block> blocks;
static std::map<int, int> streamCounts, eventCounts, launchCounts;
static thread_local CUcontext current = nullptr;

FakeState &ring::test::fakeState() {
  static FakeState state;
  return state;
}

void ring::test::resetFake() {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  fakeState() = FakeState();
  streamCounts.clear();
  eventCounts.clear();
  launchCounts.clear();
}

std::vector<std::function<void()>> *&ring::test::fakeCapture() {
  static thread_local std::vector<std::function<void()>> *capture = nullptr;
  return capture;
}

/// Contexts are their device's number, plus one.
static int deviceOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
}

/// Writes a call down; the code that it returns.
static CUresult enter(const char *name, CUstream stream = nullptr,
                      CUevent event = nullptr, int64_t count = 0) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  auto *ofStream = reinterpret_cast<Stream *>(stream);
  auto *ofEvent = reinterpret_cast<Event *>(event);
  fakeState().calls.push_back(
      {deviceOf(current), name, ofStream ? ofStream->number : -1,
       ofEvent ? ofEvent->number : -1, count, fakeCapture() != nullptr});
  return fakeState().failing == name ? fakeState().failure : CUDA_SUCCESS;
}

/// The block that holds all of the bytes; NULL: none.
static const Block *find(CUdeviceptr address, size_t bytes) {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  auto &[base, block] = *std::prev(next);
  return address + bytes <= base + block.bytes ? &block : nullptr;
}

static CUresult copy(CUdeviceptr to, bool toDevice, CUdeviceptr from,
                     bool fromDevice, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if ((toDevice && !find(to, bytes)) || (fromDevice && !find(from, bytes)))
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(reinterpret_cast<void *>(to),
              reinterpret_cast<const void *>(from), bytes);
  return CUDA_SUCCESS;
}

extern "C" {

CUresult cuInit(unsigned) { return enter("cuInit"); }
CUresult cuDriverGetVersion(int *version) {
  *version = 12040;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  *count = fakeState().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
  std::strncpy(name, "fake", bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  const FakeState &state = fakeState();
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
               ? state.processors
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
               ? state.capability / 10
               : state.capability % 10;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(static_cast<intptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *, unsigned, int *,
                            void **) {
  *module = reinterpret_cast<CUmodule>(1);
  return enter("cuModuleLoadDataEx");
}
CUresult cuModuleUnload(CUmodule) { return enter("cuModuleUnload"); }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *) {
  *function = reinterpret_cast<CUfunction>(1);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, int, int) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction, unsigned gridX, unsigned gridY, unsigned,
                        unsigned, unsigned, unsigned, unsigned, CUstream stream,
                        void **parameters, void **) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  CUresult code = enter("cuLaunchKernel", stream, nullptr, gridX * gridY);
  int device = deviceOf(current);
  auto run = [params =
                  *static_cast<const ring_attention_params *>(parameters[0]),
              gridX, gridY, device] {
    std::lock_guard<std::recursive_mutex> lock(fakeMutex());
    runFakeAttention(params, gridX, gridY, device, launchCounts[device]++);
  };
  if (fakeCapture())
    fakeCapture()->push_back(run);
  else if (code == CUDA_SUCCESS)
    run();
  return code;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if (CUresult code = enter("cuMemAlloc"))
    return code;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xFF, bytes); // NaN
  *address = reinterpret_cast<CUdeviceptr>(memory);
  blocks[*address] = {deviceOf(current), bytes};
  ++fakeState().allocations;
  ++fakeState().blocks;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if (!blocks.erase(address))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void *>(address));
  --fakeState().blocks;
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  enter("cuMemcpyHtoDAsync", stream);
  return copy(to, true, reinterpret_cast<CUdeviceptr>(from), false, bytes);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  enter("cuMemcpyDtoHAsync", stream);
  return copy(reinterpret_cast<CUdeviceptr>(to), false, from, true, bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  enter("cuMemcpyDtoDAsync", stream);
  return copy(to, true, from, true, bytes);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext,
                           CUdeviceptr from, CUcontext fromContext,
                           size_t bytes, CUstream stream) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if (CUresult code = enter("cuMemcpyPeerAsync", stream))
    return code;
  const Block *target = find(to, bytes), *source = find(from, bytes);
  if (!target || !source || target->device != deviceOf(toContext) ||
      source->device != deviceOf(fromContext))
    return CUDA_ERROR_INVALID_VALUE;
  return copy(to, true, from, true, bytes);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *rows, CUstream stream) {
  enter("cuMemcpy2DAsync", stream);
  bool toDevice = rows->dstMemoryType == CU_MEMORYTYPE_DEVICE;
  bool fromDevice = rows->srcMemoryType == CU_MEMORYTYPE_DEVICE;
  CUdeviceptr to =
      toDevice ? rows->dstDevice : reinterpret_cast<CUdeviceptr>(rows->dstHost);
  CUdeviceptr from = fromDevice ? rows->srcDevice
                                : reinterpret_cast<CUdeviceptr>(rows->srcHost);
  if (rows->WidthInBytes > rows->srcPitch ||
      rows->WidthInBytes > rows->dstPitch)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t row = 0; row < rows->Height; ++row)
    if (CUresult code =
            copy(to + row * rows->dstPitch, toDevice,
                 from + row * rows->srcPitch, fromDevice, rows->WidthInBytes))
      return code;
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  enter("cuMemsetD8Async", stream);
  if (!find(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void *value, int attribute,
                               CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  const Block *block = find(address, 1);
  if (!block)
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned *>(value) = CU_MEMORYTYPE_DEVICE;
  else
    *static_cast<int *>(value) = block->device;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  int device = deviceOf(current);
  *stream =
      reinterpret_cast<CUstream>(new Stream{device, streamCounts[device]++});
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<Stream *>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  return enter("cuStreamSynchronize", stream);
}
CUresult cuStreamQuery(CUstream stream) {
  return enter("cuStreamQuery", stream);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return enter("cuStreamWaitEvent", stream, event);
}
using Work = std::vector<std::function<void()>>;
CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  enter("cuStreamBeginCapture", stream);
  fakeCapture() = new Work;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  *graph = reinterpret_cast<CUgraph>(fakeCapture());
  fakeCapture() = nullptr;
  return enter("cuStreamEndCapture", stream);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long) {
  *exec =
      reinterpret_cast<CUgraphExec>(new Work(*reinterpret_cast<Work *>(graph)));
  return enter("cuGraphInstantiateWithFlags");
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (CUresult code = enter("cuGraphLaunch", stream))
    return code;
  for (const std::function<void()> &work : *reinterpret_cast<Work *>(exec))
    work();
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete reinterpret_cast<Work *>(exec);
  return enter("cuGraphExecDestroy");
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Work *>(graph);
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  int device = deviceOf(current);
  *event = reinterpret_cast<CUevent>(new Event{device, eventCounts[device]++});
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete reinterpret_cast<Event *>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (reinterpret_cast<Event *>(event)->device !=
      reinterpret_cast<Stream *>(stream)->device)
    return CUDA_ERROR_INVALID_VALUE;
  return enter("cuEventRecord", stream, event);
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  *milliseconds = 0.5f;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char **name) {
  *name = code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                           : "CUDA_ERROR_LAUNCH_FAILED";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "as the test wants";
  return CUDA_SUCCESS;
}
const char *ring_vgpu_last_report() { return ""; }

} // extern "C"
