//===- Bootstrap.h - How ranks that MPI started meet ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of libring_mpi.so, the only part of Ring that links MPI. The
// runtime opens it where MPI is asked for. They return a ring_status; `text`
// says in one line what went wrong. One thread at a time may call them.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_MPI_BOOTSTRAP_H
#define RING_RUNTIME_MPI_BOOTSTRAP_H

#include <cstddef>
#include <cstdint>

namespace ring::runtime {

struct MpiBootstrap {
  /// ring_mpi_begin: initialises MPI, unless the program has, and finalises it
  /// at the exit of the process only if it did. The place of this process in
  /// MPI_COMM_WORLD; `text`: MPI's name and version.
  int32_t (*begin)(int32_t *rank, int32_t *size, char *text, size_t text_bytes);
  /// ring_mpi_all_gather: `bytes` from each process, by rank, to all of them.
  /// RING_ERROR_TIMEOUT where they do not all come within `deadline` seconds.
  int32_t (*allGather)(const void *mine, void *all, size_t bytes,
                       double deadline, char *text, size_t text_bytes);
};

} // namespace ring::runtime

#endif // RING_RUNTIME_MPI_BOOTSTRAP_H
