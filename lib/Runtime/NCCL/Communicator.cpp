//===- Communicator.cpp - A rank's end of an NCCL ring --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <thread>

using namespace ring::runtime;
using namespace ring::nccl;

Result Communicator::describe(ncclResult_t code, const char *what) const {
  std::string message =
      std::string("NCCL: ") + what + ": " + library.getErrorString(code);
  const char *last = library.getLastError(comm);
  if (last && *last)
    message += std::string(": ") + last;
  return {code == ncclInvalidUsage ? RING_ERROR_USAGE : RING_ERROR_DEVICE,
          message};
}

Result Communicator::settle(ncclResult_t code, const char *what,
                            const Watch &watch) {
  while (code == ncclInProgress) {
    if (Result result = watch(); result.failed())
      return result;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    ncclResult_t query = library.commGetAsyncError(comm, &code);
    if (query != ncclSuccess)
      return describe(query, "ncclCommGetAsyncError");
  }
  return code == ncclSuccess ? Result{} : describe(code, what);
}

Result Communicator::connect(const ncclUniqueId &id, int32_t ranks,
                             int32_t rank, const Watch &watch) {
  ncclConfig_t config;
  config.blocking = 0;
  ncclResult_t code =
      library.commInitRankConfig(&comm, ranks, id, rank, &config);
  Result result = settle(code, "ncclCommInitRankConfig", watch);
  if (result.failed())
    abort();
  return result;
}

Result Communicator::exchange(const std::vector<Piece> &out, int32_t to,
                              const std::vector<Piece> &in, int32_t from,
                              cuda::CUstream stream, const Watch &watch) {
  ncclResult_t code = library.groupStart();
  auto keep = [&](ncclResult_t next) {
    if (code == ncclSuccess && next != ncclInProgress)
      code = next;
  };
  for (const Piece &piece : out)
    keep(library.send(piece.data, piece.bytes, ncclUint8, to, comm, stream));
  for (const Piece &piece : in)
    keep(library.recv(piece.data, piece.bytes, ncclUint8, from, comm, stream));
  // Also after an error, or the group would swallow what comes next.
  ncclResult_t end = library.groupEnd();
  return settle(code == ncclSuccess ? end : code, "a transfer", watch);
}

Result Communicator::check() {
  ncclResult_t code = ncclSuccess;
  ncclResult_t query = library.commGetAsyncError(comm, &code);
  if (query != ncclSuccess)
    return describe(query, "ncclCommGetAsyncError");
  return code == ncclSuccess || code == ncclInProgress
             ? Result{}
             : describe(code, "a transfer");
}

void Communicator::abort() {
  if (comm)
    library.commAbort(comm);
  comm = nullptr;
}
