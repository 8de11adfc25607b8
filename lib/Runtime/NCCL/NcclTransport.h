//===- NcclTransport.h - Blocks between GPUs through NCCL -------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_NCCLTRANSPORT_H
#define RING_RUNTIME_NCCL_NCCLTRANSPORT_H

#include "../Device/Graph.h"
#include "../Threads/Fault.h"
#include "../Transport.h"
#include "Communicator.h"

#include <memory>

namespace ring::runtime {

/// Multiprocessors that NCCL is expected to use for a ring's transfers.
constexpr int32_t kNcclMultiprocessors = 8;

/// What one rank's transports share from run to run.
struct NcclRank {
  std::unique_ptr<Communicator> communicator;
  Graphs graphs;    ///< of transfers of this communicator
  std::string note; ///< why the last program was not replayed

  void disconnect() {
    graphs.clear();
    communicator.reset();
  }
};

/// How the ranks of a run come by the id of their communicator.
struct NcclStart {
  const nccl::Library *library = nullptr;
  nccl::ncclUniqueId id = {};
  int32_t ranks = 1;
  bool graph = false; ///< record programs to replay them
};

/// Each transfer is one group of NCCL on the GPU's stream for transfers, from
/// the sender's own memory or the slot in which it received the block, into a
/// slot. `meeting` is how the ranks begin, end and fail together.
std::unique_ptr<Transport> createNcclTransport(std::unique_ptr<Meeting> meeting,
                                               const NcclStart &start,
                                               NcclRank &state, int32_t rank,
                                               double deadline,
                                               const Fault &fault);

} // namespace ring::runtime

#endif // RING_RUNTIME_NCCL_NCCLTRANSPORT_H
