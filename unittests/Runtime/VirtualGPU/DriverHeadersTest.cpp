//===- DriverHeadersTest.cpp - Our declarations against the real ones -----===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where the real headers are: nothing of it runs. See CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#define RING_VGPU_NO_FUNCTIONS
#include "DriverApi.h"

#include <cuda.h>
#include <nccl.h>

#include <type_traits>

/// The types of our functions.
namespace ring::vgpu::types {
#define RING_VGPU_TYPE(symbol, parameters) using symbol = CUresult parameters;
RING_VGPU_DRIVER_API(RING_VGPU_TYPE)
#undef RING_VGPU_TYPE
#define RING_VGPU_TYPE(symbol, parameters)                                     \
  using symbol = ncclResult_t parameters;
RING_VGPU_NCCL_API(RING_VGPU_TYPE)
#undef RING_VGPU_TYPE
} // namespace ring::vgpu::types

namespace {

/// Whether a value of one type can stand for one of the other in a call.
/// Handles are pointers to types of ours, enumerations are ours as well.
template <typename Ours, typename Theirs> constexpr bool passedAlike() {
  if (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>)
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  if (std::is_class_v<Ours> || std::is_class_v<Theirs>)
    return std::is_class_v<Ours> && std::is_class_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  return (std::is_integral_v<Ours> || std::is_enum_v<Ours>) ==
             (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>) &&
         sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs> struct Alike : std::false_type {};
template <typename R, typename... P, typename S, typename... Q>
struct Alike<R(P...), S(Q...)> {
  static constexpr bool decide() {
    if constexpr (sizeof...(P) == sizeof...(Q))
      return passedAlike<R, S>() && (passedAlike<P, Q>() && ...);
    return false;
  }
  static constexpr bool value = decide();
};

// Where cuda.h gives a function's name another ending, ours has that ending.
#define RING_VGPU_COMPARE(symbol, parameters)                                  \
  static_assert(Alike<ring::vgpu::types::symbol, decltype(::symbol)>::value,   \
                #symbol " is declared otherwise");
RING_VGPU_DRIVER_API(RING_VGPU_COMPARE)
RING_VGPU_NCCL_API(RING_VGPU_COMPARE)

#define RING_VGPU_COMPARE_VALUE(symbol)                                        \
  static_assert(int(ring::vgpu::symbol) == int(::symbol),                      \
                #symbol " is another number");
#define RING_VGPU_COMPARE_ERROR(symbol, number, text)                          \
  RING_VGPU_COMPARE_VALUE(symbol)
RING_VGPU_ERRORS(RING_VGPU_COMPARE_ERROR)

RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_WARP_SIZE)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
RING_VGPU_COMPARE_VALUE(
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)
RING_VGPU_COMPARE_VALUE(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
RING_VGPU_COMPARE_VALUE(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
RING_VGPU_COMPARE_VALUE(CU_FUNC_ATTRIBUTE_BINARY_VERSION)
RING_VGPU_COMPARE_VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
RING_VGPU_COMPARE_VALUE(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_CONTEXT)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_HOST_POINTER)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
RING_VGPU_COMPARE_VALUE(CU_POINTER_ATTRIBUTE_RANGE_SIZE)
RING_VGPU_COMPARE_VALUE(CU_MEMORYTYPE_HOST)
RING_VGPU_COMPARE_VALUE(CU_MEMORYTYPE_DEVICE)
RING_VGPU_COMPARE_VALUE(CU_MEMORYTYPE_ARRAY)
RING_VGPU_COMPARE_VALUE(CU_MEMORYTYPE_UNIFIED)
RING_VGPU_COMPARE_VALUE(CU_JIT_ERROR_LOG_BUFFER)
RING_VGPU_COMPARE_VALUE(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_MODE_GLOBAL)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_STATUS_NONE)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_STATUS_ACTIVE)
RING_VGPU_COMPARE_VALUE(CU_STREAM_CAPTURE_STATUS_INVALIDATED)
RING_VGPU_COMPARE_VALUE(CU_STREAM_DEFAULT)
RING_VGPU_COMPARE_VALUE(CU_STREAM_NON_BLOCKING)
RING_VGPU_COMPARE_VALUE(CU_EVENT_DEFAULT)
RING_VGPU_COMPARE_VALUE(CU_EVENT_BLOCKING_SYNC)
RING_VGPU_COMPARE_VALUE(CU_EVENT_DISABLE_TIMING)
RING_VGPU_COMPARE_VALUE(ncclSuccess)
RING_VGPU_COMPARE_VALUE(ncclUnhandledCudaError)
RING_VGPU_COMPARE_VALUE(ncclSystemError)
RING_VGPU_COMPARE_VALUE(ncclInternalError)
RING_VGPU_COMPARE_VALUE(ncclInvalidArgument)
RING_VGPU_COMPARE_VALUE(ncclInvalidUsage)
RING_VGPU_COMPARE_VALUE(ncclRemoteError)
RING_VGPU_COMPARE_VALUE(ncclInProgress)
RING_VGPU_COMPARE_VALUE(ncclInt8)
RING_VGPU_COMPARE_VALUE(ncclUint8)
RING_VGPU_COMPARE_VALUE(ncclInt32)
RING_VGPU_COMPARE_VALUE(ncclUint32)
RING_VGPU_COMPARE_VALUE(ncclInt64)
RING_VGPU_COMPARE_VALUE(ncclUint64)
RING_VGPU_COMPARE_VALUE(ncclFloat16)
RING_VGPU_COMPARE_VALUE(ncclFloat32)
RING_VGPU_COMPARE_VALUE(ncclFloat64)
RING_VGPU_COMPARE_VALUE(ncclBfloat16)
// Older headers give the number no name.
constexpr ncclConfig_t kNcclConfig = NCCL_CONFIG_INITIALIZER;
static_assert(ring::vgpu::kNcclMagic == kNcclConfig.magic);
static_assert(ring::vgpu::kNcclUndefined == NCCL_CONFIG_UNDEF_INT);

#define RING_VGPU_COMPARE_FIELD(type, field)                                   \
  static_assert(offsetof(ring::vgpu::type, field) == offsetof(::type, field),  \
                #type "." #field " is elsewhere");
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcXInBytes)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcY)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcMemoryType)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcHost)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcDevice)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, srcPitch)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstXInBytes)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstY)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstMemoryType)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstHost)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstDevice)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, dstPitch)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, WidthInBytes)
RING_VGPU_COMPARE_FIELD(CUDA_MEMCPY2D, Height)
static_assert(sizeof(ring::vgpu::CUDA_MEMCPY2D) == sizeof(::CUDA_MEMCPY2D));
RING_VGPU_COMPARE_FIELD(ncclConfig_t, size)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, magic)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, version)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, blocking)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, cgaClusterSize)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, minCTAs)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, maxCTAs)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, netName)
RING_VGPU_COMPARE_FIELD(ncclConfig_t, splitShare)

} // namespace
