//===- CudaDriver.h - The CUDA driver, loaded at run time -------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the driver's API that Ring uses, declared by ourselves so that
// nothing of CUDA is needed to build. Names and numbers are those of cuda.h.
// The functions come from libcuda.so.1, or from the library of the virtual
// GPU, which exports the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_CUDADRIVER_H
#define RING_RUNTIME_DEVICE_CUDADRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace ring::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_READY = 600
};
enum : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};
enum : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
};
enum : int { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum : int { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE = 6 };
enum CUmemorytype : unsigned {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2
};
enum : unsigned { CU_STREAM_NON_BLOCKING = 1 };
enum : unsigned { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
enum : unsigned { CU_MEMHOSTALLOC_PORTABLE = 1 };
enum : int { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };

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

// X(member, symbol, parameters)
#define RING_CUDA_FUNCTIONS(X)                                                 \
  X(init, "cuInit", (unsigned))                                                \
  X(driverGetVersion, "cuDriverGetVersion", (int *))                           \
  X(deviceGetCount, "cuDeviceGetCount", (int *))                               \
  X(deviceGet, "cuDeviceGet", (CUdevice *, int))                               \
  X(deviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                 \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))        \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))     \
  X(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))             \
  X(ctxSetCurrent, "cuCtxSetCurrent", (CUcontext))                             \
  X(ctxGetCurrent, "cuCtxGetCurrent", (CUcontext *))                           \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(moduleUnload, "cuModuleUnload", (CUmodule))                                \
  X(moduleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  X(funcSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))            \
  X(launchKernel, "cuLaunchKernel",                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(memAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                        \
  X(memFree, "cuMemFree_v2", (CUdeviceptr))                                    \
  X(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))               \
  X(memFreeHost, "cuMemFreeHost", (void *))                                    \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (CUdeviceptr, const void *, size_t, CUstream))                             \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, CUdeviceptr, size_t, CUstream))                                   \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                   \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  X(memcpyPeerAsync, "cuMemcpyPeerAsync",                                      \
    (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))        \
  X(memcpy2DAsync, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D *, CUstream))    \
  X(memsetD8Async, "cuMemsetD8Async",                                          \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  X(pointerGetAttribute, "cuPointerGetAttribute", (void *, int, CUdeviceptr))  \
  X(streamCreate, "cuStreamCreateWithPriority", (CUstream *, unsigned, int))   \
  X(streamDestroy, "cuStreamDestroy_v2", (CUstream))                           \
  X(streamSynchronize, "cuStreamSynchronize", (CUstream))                      \
  X(streamQuery, "cuStreamQuery", (CUstream))                                  \
  X(streamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))       \
  X(streamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int))            \
  X(streamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *))             \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (CUgraphExec *, CUgraph, unsigned long long))                              \
  X(graphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                     \
  X(graphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                     \
  X(graphDestroy, "cuGraphDestroy", (CUgraph))                                 \
  X(eventCreate, "cuEventCreate", (CUevent *, unsigned))                       \
  X(eventDestroy, "cuEventDestroy_v2", (CUevent))                              \
  X(eventRecord, "cuEventRecord", (CUevent, CUstream))                         \
  X(eventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))       \
  X(getErrorName, "cuGetErrorName", (CUresult, const char **))                 \
  X(getErrorString, "cuGetErrorString", (CUresult, const char **))

/// A driver that was loaded, with at least one device.
struct Driver {
#define RING_CUDA_MEMBER(member, symbol, parameters)                           \
  CUresult(*member) parameters = nullptr;
  RING_CUDA_FUNCTIONS(RING_CUDA_MEMBER)
#undef RING_CUDA_MEMBER
  /// Of the virtual GPU only: its last report of what a kernel or the host
  /// program did wrong, or an empty text.
  const char *(*lastReport)() = nullptr;

  std::string library; ///< as dlopen found it
  int version = 0;     ///< 12040 for 12.4
  int devices = 0;
  bool isVirtual = false;

  /// "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)", and what the
  /// virtual GPU has to say.
  std::string describe(CUresult code) const;
};

/// "12.4" of 12040.
std::string versionText(int version);

/// A library of this process. NULL, and one line that names library and reason.
void *openLibrary(const std::string &name, std::string &error);
/// The path that the environment's `variable` names, or else of the library
/// `name` beside this runtime.
std::string ownLibrary(const char *variable, const char *name);
/// The virtual GPU's.
std::string virtualLibrary();

/// Loads the driver once in a process. NULL, and one line that names the
/// library, the function and its version, where it cannot be used.
const Driver *loadDriver(bool isVirtual, std::string &error);

} // namespace ring::cuda

#endif // RING_RUNTIME_DEVICE_CUDADRIVER_H
