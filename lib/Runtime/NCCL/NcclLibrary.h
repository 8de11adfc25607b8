//===- NcclLibrary.h - NCCL, loaded at run time -----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of NCCL that Ring uses, declared by ourselves. Names and numbers are
// those of nccl.h. The functions come from libnccl.so.2, or from the library of
// the virtual GPU.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_NCCLLIBRARY_H
#define RING_RUNTIME_NCCL_NCCLLIBRARY_H

#include "../Device/CudaDriver.h"

#include <climits>

namespace ring::nccl {

using ncclComm_t = struct ncclComm *;
using ncclResult_t = int;
enum : ncclResult_t {
  ncclSuccess = 0,
  ncclSystemError = 2,
  ncclInvalidUsage = 5,
  ncclInProgress = 7
};
enum : int { ncclUint8 = 1 };

struct ncclUniqueId {
  char internal[128];
};

/// As version 2.18 has it; later ones take it as that.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = INT_MIN; ///< INT_MIN: the default
  int cgaClusterSize = INT_MIN, minCTAs = INT_MIN, maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

// X(member, symbol, parameters)
#define RING_NCCL_FUNCTIONS(X)                                                 \
  X(getVersion, "ncclGetVersion", (int *))                                     \
  X(getUniqueId, "ncclGetUniqueId", (ncclUniqueId *))                          \
  X(commInitRankConfig, "ncclCommInitRankConfig",                              \
    (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))                    \
  X(commAbort, "ncclCommAbort", (ncclComm_t))                                  \
  X(commGetAsyncError, "ncclCommGetAsyncError", (ncclComm_t, ncclResult_t *))  \
  X(send, "ncclSend",                                                          \
    (const void *, size_t, int, int, ncclComm_t, cuda::CUstream))              \
  X(recv, "ncclRecv", (void *, size_t, int, int, ncclComm_t, cuda::CUstream))  \
  X(groupStart, "ncclGroupStart", ())                                          \
  X(groupEnd, "ncclGroupEnd", ())

struct Library {
#define RING_NCCL_MEMBER(member, symbol, parameters)                           \
  ncclResult_t(*member) parameters = nullptr;
  RING_NCCL_FUNCTIONS(RING_NCCL_MEMBER)
#undef RING_NCCL_MEMBER
  const char *(*getErrorString)(ncclResult_t) = nullptr;
  const char *(*getLastError)(ncclComm_t) = nullptr;

  std::string name;
  int version = 0; ///< 22809 for 2.28.9
};

/// Loads NCCL once in a process. NULL, and one line that names library,
/// function and version, where it cannot be used.
const Library *loadLibrary(bool isVirtual, std::string &error);

} // namespace ring::nccl

#endif // RING_RUNTIME_NCCL_NCCLLIBRARY_H
