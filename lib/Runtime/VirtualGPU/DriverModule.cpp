//===- DriverModule.cpp - Modules and launches of the virtual driver ------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"
#include "Operations.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace ring::vgpu;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// MLIR's variable-length integer: the number of zero bits at the low end of
/// the first byte is the number of bytes that follow.
static uint64_t readVarInt(const uint8_t *&at) {
  uint8_t first = *at++;
  if (first & 1)
    return first >> 1;
  unsigned more = 0;
  while (more < 8 && !(first >> more & 1))
    ++more;
  uint64_t value = 0;
  std::memcpy(&value, at, more); // Little endian.
  at += more;
  return more == 8 ? value : (value << 8 | first) >> (more + 1);
}

/// The driver's API gives no size. Text ends with a 0 byte. Bytecode is a
/// header and sections, each of one kind; where it is of a version whose last
/// section is not that of the properties, a 0 byte has to follow it as well.
static std::string_view imageOf(const void *data) {
  const char *text = static_cast<const char *>(data);
  constexpr char kMagic[] = "ML\xEFR";
  constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
  if (std::strncmp(text, kMagic, kMagicBytes) != 0)
    return text;
  const auto *begin = static_cast<const uint8_t *>(data);
  const uint8_t *at = begin + kMagicBytes;
  readVarInt(at); // The version.
  while (*at++)
    continue; // The producer's name.
  constexpr uint8_t kProperties = 8, kAligned = 0x80;
  for (unsigned seen = 0; !(seen >> kProperties & 1);) {
    uint8_t kind = *at & ~kAligned;
    if (kind > kProperties || (seen >> kind & 1))
      break;
    seen |= 1u << kind;
    bool isAligned = *at++ & kAligned;
    uint64_t bytes = readVarInt(at);
    if (isAligned)
      if (uint64_t alignment = readVarInt(at))
        at += (alignment - (at - begin) % alignment) % alignment;
    at += bytes;
  }
  return {text, static_cast<size_t>(at - begin)};
}

static void writeLog(const std::string &error, unsigned count,
                     const CUjit_option *options, void **values) {
  char *buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      bytes = reinterpret_cast<uintptr_t>(values[i]) & 0xffffffff;
  }
  if (buffer && bytes)
    std::snprintf(buffer, bytes, "%s", error.c_str());
}

CUresult ring::vgpu::cuModuleLoadDataEx(CUmodule *module, const void *image,
                                        unsigned count, CUjit_option *options,
                                        void **values) {
  if (!module || !image || (count && (!options || !values)))
    return CUDA_ERROR_INVALID_VALUE;
  Context *context = nullptr;
  {
    Call call;
    if (call.unsafeInCapture())
      return call.status;
    context = call.context;
  }
  // Without the lock: it may take long.
  std::string error;
  std::unique_ptr<KernelModule> content =
      KernelModule::load(imageOf(image), error);
  if (!content) {
    writeLog(error, count, options, values);
    addReport("image: " + error);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto loaded = std::make_shared<Module>();
  loaded->content = std::move(content);
  loaded->context = context;
  Call call;
  if (call.status)
    return call.status;
  *module = loaded.get();
  context->modules.emplace(loaded.get(), loaded);
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuModuleUnload(CUmodule module) {
  Call call;
  if (call.unsafeInCapture())
    return call.status;
  if (!call.driver.find(module))
    return CUDA_ERROR_INVALID_HANDLE;
  Context &context = *module->context;
  for (const auto &stream : context.streams)
    for (const OpRef &op : stream->pending)
      if (op->uses(*module))
        return call.driver.fail(context, CUDA_ERROR_ILLEGAL_ADDRESS,
                                "module unloaded before " + op->info->text() +
                                    " has ended");
  context.modules.erase(module);
  return CUDA_SUCCESS;
}

static size_t staticShared(const Function &function) {
  return KernelModule::limits(*function.kernel).staticSharedBytes;
}

CUresult ring::vgpu::cuModuleGetFunction(CUfunction *function, CUmodule module,
                                         const char *name) {
  Call call;
  if (call.status)
    return call.status;
  Module *found = call.driver.find(module);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!function || !name)
    return CUDA_ERROR_INVALID_VALUE;
  const Kernel *kernel = found->content->find(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  std::unique_ptr<Function> &entry = found->functions[name];
  if (!entry) {
    entry = std::make_unique<Function>();
    entry->module = found;
    entry->name = name;
    entry->kernel = kernel;
    int shared = static_cast<int>(staticShared(*entry));
    entry->maxDynamicShared = std::max(kSharedPerBlock - shared, 0);
  }
  *function = entry.get();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

CUresult ring::vgpu::cuFuncSetAttribute(CUfunction function,
                                        CUfunction_attribute attribute,
                                        int value) {
  Call call;
  if (call.status)
    return call.status;
  Function *found = call.driver.find(function);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 ||
        value + staticShared(*found) >
            static_cast<size_t>(call.driver.chip.sharedPerBlockOptIn))
      return CUDA_ERROR_INVALID_VALUE;
    found->maxDynamicShared = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return value >= -1 && value <= 100 ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_VALUE;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult ring::vgpu::cuFuncGetAttribute(int *value,
                                        CUfunction_attribute attribute,
                                        CUfunction function) {
  Call call;
  if (call.status)
    return call.status;
  const Function *found = call.driver.find(function);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  const Chip &chip = call.driver.chip;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = static_cast<int>(KernelModule::limits(*found->kernel).maxThreads);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = static_cast<int>(staticShared(*found));
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = found->maxDynamicShared;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = chip.major * 10 + chip.minor;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult ring::vgpu::cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction function, int threads, size_t dynamicShared) {
  Call call;
  if (call.status)
    return call.status;
  const Function *found = call.driver.find(function);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!blocks || threads <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  // Registers are ptxas's to choose, so they do not count here.
  const Chip &chip = call.driver.chip;
  size_t shared = dynamicShared + staticShared(*found);
  int whole = (threads + kWarp - 1) / kWarp * kWarp;
  *blocks = std::min({chip.threadsPerMultiprocessor / whole,
                      chip.blocksPerMultiprocessor,
                      static_cast<int>(chip.sharedPerMultiprocessor /
                                       (shared + kSharedReserved))});
  auto maxThreads = KernelModule::limits(*found->kernel).maxThreads;
  if (threads > static_cast<int>(maxThreads) ||
      shared > static_cast<size_t>(chip.sharedPerBlockOptIn))
    *blocks = 0;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static std::string text(const std::array<uint32_t, 3> &sizes) {
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
         std::to_string(sizes[2]);
}

/// What a chip allows, and what the kernel asks for.
static CUresult checkShape(const Function &function, const LaunchShape &shape,
                           const Chip &chip) {
  const auto &[gridX, gridY, gridZ] = shape.grid;
  const auto &[x, y, z] = shape.block;
  if (gridX == 0 || gridY == 0 || gridZ == 0 || x == 0 || y == 0 || z == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (gridX > kMaxGridX || gridY > kMaxGridYZ || gridZ > kMaxGridYZ ||
      x > kMaxThreads || y > kMaxThreads || z > kMaxBlockZ ||
      uint64_t(x) * y * z > kMaxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  KernelLimits limits = KernelModule::limits(*function.kernel);
  for (size_t i = 0; i < 3; ++i)
    if (limits.block[i] && limits.block[i] != shape.block[i])
      return CUDA_ERROR_INVALID_VALUE;
  if (x * y * z > limits.maxThreads)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (shape.dynamicSharedBytes >
          static_cast<uint32_t>(function.maxDynamicShared) ||
      uint64_t(shape.dynamicSharedBytes) + limits.staticSharedBytes >
          static_cast<uint64_t>(chip.sharedPerBlockOptIn))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult ring::vgpu::cuLaunchKernel(CUfunction function, unsigned gridX,
                                    unsigned gridY, unsigned gridZ,
                                    unsigned blockX, unsigned blockY,
                                    unsigned blockZ, unsigned sharedBytes,
                                    CUstream handle, void **parameters,
                                    void **extra) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  const Function *found = call.driver.find(function);
  if (!found || found->module->context != &stream->context)
    return CUDA_ERROR_INVALID_HANDLE;
  LaunchShape shape{
      {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
  if (CUresult status = checkShape(*found, shape, call.driver.chip)) {
    addReport("launch of kernel '" + found->name + "' refused: grid " +
              text(shape.grid) + ", block " + text(shape.block) + ", " +
              std::to_string(sharedBytes) + " bytes of dynamic shared memory");
    return status;
  }
  if (extra ||
      (!parameters && !KernelModule::parameterBytes(*found->kernel).empty()))
    return CUDA_ERROR_INVALID_VALUE;
  CallRecord record("cuLaunchKernel", stream);
  record.add("kernel", found->name).add("grid", shape.grid);
  record.add("block", shape.block).add("shared", sharedBytes);
  return call.driver.enqueue(
      *stream, std::make_shared<KernelOp>(*found, shape, parameters));
}

CUresult ring::vgpu::cuLaunchHostFunc(CUstream handle, CUhostFn function,
                                      void *data) {
  Call call;
  Stream *stream = call.stream(handle);
  if (!stream)
    return call.status;
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  recordCall("cuLaunchHostFunc", stream);
  return call.driver.enqueue(*stream, std::make_shared<HostOp>(function, data));
}
