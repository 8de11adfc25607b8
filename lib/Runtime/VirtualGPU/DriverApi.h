//===- DriverApi.h - What libring_vgpu.so exports ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the CUDA driver's and of NCCL's API that the virtual GPU answers,
// under its real names. Names and numbers are those of cuda.h and nccl.h; the
// unit test DriverHeadersTest compares them with the real headers.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_DRIVERAPI_H
#define RING_RUNTIME_VIRTUALGPU_DRIVERAPI_H

#include <climits>
#include <cstddef>
#include <cstdint>

// Names are those of the real headers.
// NOLINTBEGIN(readability-identifier-naming)

namespace ring::vgpu {

class Context;
class Module;
class Function;
class Stream;
class Event;
class Graph;
class GraphExec;
class Communicator;

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = Context *;
using CUmodule = Module *;
using CUfunction = Function *;
using CUstream = Stream *;
using CUevent = Event *;
using CUgraph = Graph *;
using CUgraphExec = GraphExec *;
using CUhostFn = void (*)(void *);

// X(name, number, text of cuGetErrorString)
#define RING_VGPU_ERRORS(X)                                                    \
  X(CUDA_SUCCESS, 0, "no error")                                               \
  X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                           \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                              \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                     \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                  \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")           \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                 \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217,                                   \
    "peer access is not supported between these two devices")                  \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                 \
  X(CUDA_ERROR_ILLEGAL_STATE, 401,                                             \
    "the operation cannot be performed in the present state")                  \
  X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                       \
  X(CUDA_ERROR_NOT_READY, 600, "device not ready")                             \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700,                                           \
    "an illegal memory access was encountered")                                \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701,                                   \
    "too many resources requested for launch")                                 \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated") \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704,                               \
    "peer access is already enabled")                                          \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed")              \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")               \
  X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted")                  \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                  \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900,                                \
    "operation not permitted when stream is capturing")                        \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901,                                \
    "operation failed due to a previous error during capture")                 \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902,                                      \
    "operation would result in a merge of separate capture sequences")         \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903,                                  \
    "capture was not ended in the same stream as it began")                    \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904,                                   \
    "capturing stream has unjoined work")                                      \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905,                                  \
    "dependency created on uncaptured work in another stream")                 \
  X(CUDA_ERROR_CAPTURED_EVENT, 907,                                            \
    "operation not permitted on an event last recorded in a capturing stream") \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908,                               \
    "attempt to terminate a thread-local capture sequence from another "       \
    "thread")                                                                  \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

enum CUresult : unsigned {
#define RING_VGPU_ENUMERATOR(name, number, text) name = number,
  RING_VGPU_ERRORS(RING_VGPU_ENUMERATOR)
#undef RING_VGPU_ENUMERATOR
};

enum CUdevice_attribute : unsigned {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
};

enum CUfunction_attribute : unsigned {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

enum CUpointer_attribute : unsigned {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12
};

enum CUmemorytype : unsigned {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
};

enum CUjit_option : unsigned {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

enum CUstreamCaptureMode : unsigned {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
};

enum CUstreamCaptureStatus : unsigned {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
};

enum : unsigned { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum : unsigned {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height; // NOLINT(readability-identifier-naming)
};

// X(symbol, parameters): what returns CUresult.
#define RING_VGPU_DRIVER_API(X)                                                \
  X(cuInit, (unsigned flags))                                                  \
  X(cuDriverGetVersion, (int *version))                                        \
  X(cuDeviceGetCount, (int *count))                                            \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                             \
  X(cuDeviceGetName, (char *name, int bytes, CUdevice device))                 \
  X(cuDeviceGetAttribute,                                                      \
    (int *value, CUdevice_attribute attribute, CUdevice device))               \
  X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                     \
  X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))         \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))          \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                           \
  X(cuCtxSetCurrent, (CUcontext context))                                      \
  X(cuCtxGetCurrent, (CUcontext * context))                                    \
  X(cuCtxGetDevice, (CUdevice * device))                                       \
  X(cuCtxSynchronize, ())                                                      \
  X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                   \
  X(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned count, \
                         CUjit_option *options, void **values))                \
  X(cuModuleUnload, (CUmodule module))                                         \
  X(cuModuleGetFunction,                                                       \
    (CUfunction * function, CUmodule module, const char *name))                \
  X(cuFuncSetAttribute,                                                        \
    (CUfunction function, CUfunction_attribute attribute, int value))          \
  X(cuFuncGetAttribute,                                                        \
    (int *value, CUfunction_attribute attribute, CUfunction function))         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                               \
    (int *blocks, CUfunction function, int threads, size_t dynamicShared))     \
  X(cuLaunchKernel,                                                            \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,      \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     CUstream stream, void **parameters, void **extra))                        \
  X(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data))        \
  X(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                      \
  X(cuMemFree_v2, (CUdeviceptr address))                                       \
  X(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream))   \
  X(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                    \
  X(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))            \
  X(cuMemFreeHost, (void *pointer))                                            \
  X(cuMemcpyHtoDAsync_v2,                                                      \
    (CUdeviceptr target, const void *source, size_t bytes, CUstream stream))   \
  X(cuMemcpyDtoHAsync_v2,                                                      \
    (void *target, CUdeviceptr source, size_t bytes, CUstream stream))         \
  X(cuMemcpyDtoDAsync_v2,                                                      \
    (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream))   \
  X(cuMemcpyPeerAsync,                                                         \
    (CUdeviceptr target, CUcontext targetContext, CUdeviceptr source,          \
     CUcontext sourceContext, size_t bytes, CUstream stream))                  \
  X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))          \
  X(cuMemsetD8Async,                                                           \
    (CUdeviceptr target, unsigned char value, size_t count, CUstream stream))  \
  X(cuMemsetD32Async,                                                          \
    (CUdeviceptr target, unsigned value, size_t count, CUstream stream))       \
  X(cuPointerGetAttribute,                                                     \
    (void *value, CUpointer_attribute attribute, CUdeviceptr pointer))         \
  X(cuPointerGetAttributes, (unsigned count, CUpointer_attribute *attributes,  \
                             void **values, CUdeviceptr pointer))              \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                       \
  X(cuStreamCreateWithPriority,                                                \
    (CUstream * stream, unsigned flags, int priority))                         \
  X(cuStreamDestroy_v2, (CUstream stream))                                     \
  X(cuStreamSynchronize, (CUstream stream))                                    \
  X(cuStreamQuery, (CUstream stream))                                          \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))       \
  X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))      \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                    \
  X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))    \
  X(cuGraphInstantiateWithFlags,                                               \
    (CUgraphExec * exec, CUgraph graph, unsigned long long flags))             \
  X(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                        \
  X(cuGraphExecDestroy, (CUgraphExec exec))                                    \
  X(cuGraphDestroy, (CUgraph graph))                                           \
  X(cuEventCreate, (CUevent * event, unsigned flags))                          \
  X(cuEventDestroy_v2, (CUevent event))                                        \
  X(cuEventRecord, (CUevent event, CUstream stream))                           \
  X(cuEventSynchronize, (CUevent event))                                       \
  X(cuEventQuery, (CUevent event))                                             \
  X(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))     \
  X(cuGetErrorName, (CUresult code, const char **name))                        \
  X(cuGetErrorString, (CUresult code, const char **text))

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

using ncclComm_t = Communicator *;

struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : unsigned {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
};

enum ncclDataType_t : unsigned {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9
};

/// The beginning of nccl.h's ncclConfig_t, whose later versions only append;
/// `size` tells how much of it the caller knows.
struct ncclConfig_t {
  size_t size;
  unsigned magic, version;
  int blocking;
  int cgaClusterSize, minCTAs, maxCTAs;
  const char *netName;
  int splitShare;
};
inline constexpr unsigned kNcclMagic = 0xcafebeef;
inline constexpr int kNcclUndefined = INT_MIN;

// X(symbol, parameters): what returns ncclResult_t.
#define RING_VGPU_NCCL_API(X)                                                  \
  X(ncclGetVersion, (int *version))                                            \
  X(ncclGetUniqueId, (ncclUniqueId * id))                                      \
  X(ncclCommInitRankConfig, (ncclComm_t * comm, int ranks, ncclUniqueId id,    \
                             int rank, ncclConfig_t *config))                  \
  X(ncclCommInitRank,                                                          \
    (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank))                 \
  X(ncclCommFinalize, (ncclComm_t comm))                                       \
  X(ncclCommDestroy, (ncclComm_t comm))                                        \
  X(ncclCommAbort, (ncclComm_t comm))                                          \
  X(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))            \
  X(ncclCommCount, (ncclComm_t comm, int *count))                              \
  X(ncclCommUserRank, (ncclComm_t comm, int *rank))                            \
  X(ncclSend, (const void *source, size_t count, ncclDataType_t type,          \
               int peer, ncclComm_t comm, CUstream stream))                    \
  X(ncclRecv, (void *target, size_t count, ncclDataType_t type, int peer,      \
               ncclComm_t comm, CUstream stream))                              \
  X(ncclAllGather, (const void *source, void *target, size_t count,            \
                    ncclDataType_t type, ncclComm_t comm, CUstream stream))    \
  X(ncclGroupStart, ())                                                        \
  X(ncclGroupEnd, ())

// Beside the real headers, functions of C cannot be declared twice.
#ifndef RING_VGPU_NO_FUNCTIONS

#define RING_VGPU_DECLARE(symbol, parameters)                                  \
  extern "C" CUresult symbol parameters;
RING_VGPU_DRIVER_API(RING_VGPU_DECLARE)
#undef RING_VGPU_DECLARE
#define RING_VGPU_DECLARE(symbol, parameters)                                  \
  extern "C" ncclResult_t symbol parameters;
RING_VGPU_NCCL_API(RING_VGPU_DECLARE)
#undef RING_VGPU_DECLARE
extern "C" const char *ncclGetErrorString(ncclResult_t code);
extern "C" const char *ncclGetLastError(ncclComm_t comm);

/// The last report of what a kernel or the host program did wrong: of the
/// calling thread's device where it has one, or else of any; "" where there is
/// none. The text lives as long as the process.
extern "C" const char *ring_vgpu_last_report(void);

#endif // RING_VGPU_NO_FUNCTIONS

} // namespace ring::vgpu

// NOLINTEND(readability-identifier-naming)

#endif // RING_RUNTIME_VIRTUALGPU_DRIVERAPI_H
