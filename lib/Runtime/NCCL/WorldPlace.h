//===- WorldPlace.h - Which process is which rank ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_WORLDPLACE_H
#define RING_RUNTIME_NCCL_WORLDPLACE_H

#include "Socket.h"

#include <memory>
#include <optional>

namespace ring::runtime {

struct WorldPlace {
  int32_t rank = 0, size = 1;
  int32_t localRank = 0; ///< among the processes of its machine
  std::string address;   ///< of rank 0
  int port = 0;
  /// Of rank 0, where it has had to listen to know its port.
  std::shared_ptr<Socket> listener;
};

/// Where RANK and WORLD_SIZE are set, as torchrun and others do, they say it,
/// with MASTER_ADDR and MASTER_PORT. Where a launcher of MPI says that there
/// are other processes, MPI does, and all of them have to call this.
/// RING_BOOTSTRAP chooses. Nothing where there is no other process. An error
/// where variables contradict themselves, or MPI is not there.
Result findPlace(double deadline, std::optional<WorldPlace> &place);

} // namespace ring::runtime

#endif // RING_RUNTIME_NCCL_WORLDPLACE_H
