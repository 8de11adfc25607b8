//===- Communicator.h - A rank's end of an NCCL ring ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_COMMUNICATOR_H
#define RING_RUNTIME_NCCL_COMMUNICATOR_H

#include "../Transport.h"
#include "NcclLibrary.h"

namespace ring::runtime {

/// Non-blocking: NCCL knows no deadline, so nothing here waits in NCCL. One
/// that failed, or was aborted, is of no use any more.
class Communicator {
public:
  explicit Communicator(const nccl::Library &library) : library(library) {}
  ~Communicator() { abort(); }
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// With the GPU whose context is current. Returns when all ranks have come.
  Result connect(const nccl::ncclUniqueId &id, int32_t ranks, int32_t rank,
                 const Watch &watch);
  bool isConnected() const { return comm != nullptr; }

  struct Piece {
    void *data;
    int64_t bytes;
  };
  /// Enqueues one group: the pieces go out to `to`, as many as large ones come
  /// in from `from`. Returns when they are in the stream.
  Result exchange(const std::vector<Piece> &out, int32_t to,
                  const std::vector<Piece> &in, int32_t from,
                  cuda::CUstream stream, const Watch &watch);
  /// An error that came up since.
  Result check();
  /// Ends whatever is in a stream.
  void abort();

private:
  /// Waits as long as `code` is ncclInProgress.
  Result settle(nccl::ncclResult_t code, const char *what, const Watch &watch);
  Result describe(nccl::ncclResult_t code, const char *what) const;

  const nccl::Library &library;
  nccl::ncclComm_t comm = nullptr;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_NCCL_COMMUNICATOR_H
