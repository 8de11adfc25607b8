//===- Device.cpp - The GPU of one rank -----------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "../Allocation.h"
#include "Graph.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>

using namespace ring::runtime;
using namespace ring::cuda;

std::unique_ptr<Device> Device::open(const DeviceChoice &choice, int32_t rank,
                                     int32_t localRank, Account &account,
                                     std::string &error) {
  const Driver *driver =
      loadDriver(choice.kind == DeviceChoice::Kind::Virtual, error);
  if (!driver)
    return nullptr;
  int ordinal = choice.index >= 0 ? choice.index : localRank % driver->devices;
  if (ordinal >= driver->devices) {
    error = "rank " + std::to_string(rank) + " is to use GPU " +
            std::to_string(ordinal) + ", there are " +
            std::to_string(driver->devices);
    return nullptr;
  }
  std::unique_ptr<Device> device(new Device(*driver, ordinal, account));
  CUcontext ofCaller = nullptr;
  driver->ctxGetCurrent(&ofCaller);
  Result result = device->initialise();
  driver->ctxSetCurrent(ofCaller);
  if (!result.failed())
    return device;
  error = "rank " + std::to_string(rank) + ": " + result.message;
  return nullptr;
}

Result Device::initialise() {
  CUdevice handle = 0;
  Result result = check(driver.deviceGet(&handle, ordinal), "cuDeviceGet");
  auto attribute = [&](int which, int &value) {
    if (!result.failed())
      result = check(driver.deviceGetAttribute(&value, which, handle),
                     "cuDeviceGetAttribute");
  };
  int major = 0, minor = 0;
  attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors);
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major);
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor);
  capability = major * 10 + minor;
  char text[128] = "";
  if (!result.failed())
    result = check(driver.deviceGetName(text, sizeof(text), handle),
                   "cuDeviceGetName");
  name = text;
  if (!result.failed())
    result = check(driver.primaryCtxRetain(&context, handle),
                   "cuDevicePrimaryCtxRetain");
  if (!result.failed())
    result = makeCurrent();
  if (!result.failed())
    result = check(driver.streamCreate(&compute, CU_STREAM_NON_BLOCKING, 0),
                   "cuStreamCreateWithPriority");
  // Thread blocks of transfers go first wherever one of a kernel ends.
  if (!result.failed())
    result = check(driver.streamCreate(&transfers, CU_STREAM_NON_BLOCKING, -1),
                   "cuStreamCreateWithPriority");
  return result;
}

Device::~Device() {
  if (!context)
    return;
  {
    ContextScope scope(driver, context);
    release();
    freeKept();
    for (const Events *each : {&events, &timed})
      for (CUevent event : each->all)
        driver.eventDestroy(event);
    for (CUstream stream : {compute, transfers})
      if (stream)
        driver.streamDestroy(stream);
  }
  driver.primaryCtxRelease(ordinal);
}

std::string Device::text() const {
  return "GPU " + std::to_string(ordinal) + " (" + name + ")";
}

Result Device::check(CUresult code, const char *what) {
  if (code == CUDA_SUCCESS)
    return {};
  Result result{code == CUDA_ERROR_OUT_OF_MEMORY ? RING_ERROR_MEMORY
                                                 : RING_ERROR_DEVICE,
                text() + ": " + what + ": " + driver.describe(code)};
  if (result.status == RING_ERROR_DEVICE)
    giveUp(result.message);
  return result;
}

void Device::giveUp(const std::string &reason) {
  if (failure.empty())
    failure = reason;
}

Result Device::makeCurrent() {
  if (!failure.empty())
    return {RING_ERROR_DEVICE, "failed in an earlier run, " + failure};
  return check(driver.ctxSetCurrent(context), "cuCtxSetCurrent");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

constexpr int64_t kAlignment = 256;
constexpr int64_t kSmallestChunk = 256 << 10;

Result Device::allocate(int64_t bytes, CUdeviceptr &address) {
  // Of a tensor without elements too, an address that is not NULL.
  bytes = std::max(bytes, kAlignment);
  auto found =
      std::find_if(kept.rbegin(), kept.rend(),
                   [&](const Block &block) { return block.bytes == bytes; });
  if (found != kept.rend()) {
    address = found->address;
    kept.erase(std::prev(found.base()));
  } else {
    CUresult code = driver.memAlloc(&address, bytes);
    if (code == CUDA_ERROR_OUT_OF_MEMORY && !kept.empty()) {
      freeKept();
      code = driver.memAlloc(&address, bytes);
    }
    std::string what = "cuMemAlloc of " + std::to_string(bytes) + " bytes";
    if (Result result = check(code, what.c_str()); result.failed())
      return result;
  }
  used.push_back({address, bytes, runs});
  account.addDeviceBytes(bytes);
  return {};
}

Result Device::reserveUploads(int64_t bytes) {
  while (chunk < chunks.size() &&
         chunks[chunk].bytes - chunks[chunk].used < bytes)
    ++chunk;
  if (chunk < chunks.size())
    return {};
  Chunk fresh{nullptr, 0, std::max(bytes, kSmallestChunk), 0};
  void *host = nullptr;
  Result result =
      check(driver.memHostAlloc(&host, fresh.bytes, CU_MEMHOSTALLOC_PORTABLE),
            "cuMemHostAlloc");
  if (result.failed())
    return result;
  fresh.host = static_cast<char *>(host);
  result = check(driver.memAlloc(&fresh.address, fresh.bytes), "cuMemAlloc");
  if (result.failed()) {
    driver.memFreeHost(host);
    return result;
  }
  account.addDeviceBytes(fresh.bytes);
  chunks.push_back(fresh);
  return {};
}

Result Device::upload(const void *data, int64_t bytes, CUdeviceptr &address) {
  int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (Result result = reserveUploads(rounded); result.failed())
    return result;
  Chunk &to = chunks[chunk];
  char *host = to.host + to.used;
  address = to.address + to.used;
  to.used += rounded;
  std::memcpy(host, data, bytes);
  return check(driver.memcpyHtoDAsync(address, host, bytes, compute),
               "cuMemcpyHtoDAsync");
}

void Device::freeBlocks(std::vector<Block> &blocks) {
  for (const Block &block : blocks)
    driver.memFree(block.address);
  blocks.clear();
}

void Device::release() {
  // In reverse, so that the same program is given the same addresses again.
  for (auto block = used.rbegin(); block != used.rend(); ++block) {
    account.removeDeviceBytes(block->bytes);
    block->lastRun = runs;
    kept.push_back(*block);
  }
  used.clear();
  for (Chunk &each : chunks)
    each.used = 0;
  chunk = 0;
  events.used = timed.used = 0;
}

void Device::freeKept() {
  freeBlocks(kept);
  if (chunk > 0 || (!chunks.empty() && chunks.front().used > 0))
    return; // within a run
  for (const Chunk &each : chunks) {
    driver.memFree(each.address);
    driver.memFreeHost(each.host);
    account.removeDeviceBytes(each.bytes);
  }
  chunks.clear();
}

void Device::trim() {
  ContextScope scope(driver, context);
  freeKept();
}

void Device::beginRun() {
  ContextScope scope(driver, context);
  ++runs;
  std::vector<Block> stale, fresh;
  for (const Block &block : kept)
    (block.lastRun + 2 >= runs ? fresh : stale).push_back(block);
  kept = std::move(fresh);
  freeBlocks(stale);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Result Device::record(Events &from, unsigned flags, CUstream stream,
                      CUevent &event) {
  if (from.used == from.all.size()) {
    CUevent fresh = nullptr;
    if (Result result =
            check(driver.eventCreate(&fresh, flags), "cuEventCreate");
        result.failed())
      return result;
    from.all.push_back(fresh);
  }
  CUevent taken = event = from.all[from.used++];
  return enqueue(keyOf('r', taken, stream), [this, taken, stream] {
    return check(driver.eventRecord(taken, stream), "cuEventRecord");
  });
}

Result Device::enqueue(const std::string &key,
                       std::function<Result()> command) {
  if (!recording)
    return command();
  recording->add(key, std::move(command));
  return {};
}

Result Device::record(CUstream stream, CUevent &event) {
  return record(events, CU_EVENT_DISABLE_TIMING, stream, event);
}

Result Device::recordTime(CUstream stream, CUevent &event) {
  return record(timed, CU_EVENT_DEFAULT, stream, event);
}

Result Device::waitFor(CUstream stream, CUevent event) {
  return enqueue(keyOf('w', event, stream), [this, event, stream] {
    return check(driver.streamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
  });
}

Result Device::drain(const Watch &watch) {
  for (CUstream stream : {compute, transfers}) {
    // Not cuStreamSynchronize: a kernel, or a peer, that never ends must not
    // keep the host.
    CUresult code;
    for (int64_t polls = 0;
         (code = driver.streamQuery(stream)) == CUDA_ERROR_NOT_READY; ++polls) {
      if (Result result = watch(); result.failed())
        return result;
      if (polls > 100)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (code == CUDA_SUCCESS)
      code = driver.streamSynchronize(stream);
    if (Result result = check(code, "cuStreamSynchronize"); result.failed())
      return result;
  }
  return {};
}
