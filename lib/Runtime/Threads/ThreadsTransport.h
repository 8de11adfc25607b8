//===- ThreadsTransport.h - Ranks as threads of one process -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_THREADS_THREADSTRANSPORT_H
#define RING_RUNTIME_THREADS_THREADSTRANSPORT_H

#include "../Transport.h"
#include "Fault.h"

#include <memory>
#include <vector>

namespace ring::runtime {

/// The transports of all ranks of one run. A transfer hands over addresses, and
/// a forwarded one those of the rank that first sent the block, so every rank
/// reads the owner's own memory: in place, or where one of the two is on a GPU,
/// by one copy. Hence a group counts as gone from its sender at once, and its
/// memory must stay as it is until the end of the ring, where all ranks meet.
std::vector<std::unique_ptr<Transport>>
createThreadsTransports(int32_t ranks, double deadline, const Fault &fault);

} // namespace ring::runtime

#endif // RING_RUNTIME_THREADS_THREADSTRANSPORT_H
