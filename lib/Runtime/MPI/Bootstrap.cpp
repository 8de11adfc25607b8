//===- Bootstrap.cpp - How ranks that MPI started meet --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"

#include "ring/Runtime/Runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <string>
#include <thread>
#include <unistd.h>

using Clock = std::chrono::steady_clock;

/// The process that has to finalise MPI; a fork of it must not.
static pid_t initialised = 0;
/// Others did not come. To wait for them again in MPI_Finalize would be for
/// ever; a launcher ends them when a process leaves without it.
static bool abandoned = false;

static void finalize() {
  int isFinal = 0;
  if (getpid() != initialised || abandoned ||
      MPI_Finalized(&isFinal) != MPI_SUCCESS || isFinal)
    return;
  MPI_Finalize();
}

static int32_t fail(ring_status status, const std::string &message, char *text,
                    size_t text_bytes) {
  std::snprintf(text, text_bytes, "%s", message.c_str());
  return status;
}

/// Initialises MPI or sees that this thread may call it; else why not.
static std::string enter() {
  int isFinal = 0, isInitialised = 0, level = 0, isMain = 0;
  MPI_Finalized(&isFinal);
  if (isFinal)
    return "the program has finalised MPI before it created a host";
  MPI_Initialized(&isInitialised);
  if (!isInitialised) {
    // Hosts may be created by one thread now and by another one later.
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) !=
        MPI_SUCCESS)
      return "MPI_Init_thread failed";
    initialised = getpid();
    std::atexit(finalize);
  }
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&isMain);
  if (level < MPI_THREAD_SERIALIZED && !isMain)
    return "a host has to be created by the thread that initialised MPI, or "
           "MPI to be initialised with MPI_THREAD_SERIALIZED";
  return "";
}

extern "C" int32_t ring_mpi_begin(int32_t *rank, int32_t *size, char *text,
                                  size_t text_bytes) {
  if (std::string problem = enter(); !problem.empty())
    return fail(RING_ERROR_USAGE, problem, text, text_bytes);
  int number = 0, count = 0;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &number) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS)
    return fail(RING_ERROR_PEER, "MPI knows no rank of this process", text,
                text_bytes);
  *rank = number;
  *size = count;
  char name[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(name, &length);
  // Some write a page; the first field is the name.
  name[std::strcspn(name, ",\n")] = '\0';
  std::snprintf(text, text_bytes, "%s", name);
  return RING_OK;
}

extern "C" int32_t ring_mpi_all_gather(const void *mine, void *all,
                                       size_t bytes, double deadline,
                                       char *text, size_t text_bytes) {
  auto end = Clock::now() + std::chrono::duration<double>(deadline);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Copies, which outlive a wait that is given up.
  auto from =
      std::make_unique<std::string>(static_cast<const char *>(mine), bytes);
  auto to = std::make_unique<std::string>(bytes * size, '\0');
  MPI_Request request; // since what waits within MPI knows no deadline
  int code = MPI_Iallgather(from->data(), static_cast<int>(bytes), MPI_BYTE,
                            to->data(), static_cast<int>(bytes), MPI_BYTE,
                            MPI_COMM_WORLD, &request);
  int isDone = 0;
  while (code == MPI_SUCCESS && !isDone) {
    code = MPI_Test(&request, &isDone, MPI_STATUS_IGNORE);
    if (isDone || code != MPI_SUCCESS)
      break;
    if (Clock::now() > end) {
      abandoned = true;
      static_cast<void>(from.release());
      static_cast<void>(to.release());
      char message[128];
      std::snprintf(message, sizeof(message),
                    "not all of the %d processes that MPI started created a "
                    "host within %g s",
                    size, deadline);
      return fail(RING_ERROR_TIMEOUT, message, text, text_bytes);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (code != MPI_SUCCESS)
    return fail(RING_ERROR_PEER, "MPI_Iallgather failed", text, text_bytes);
  std::memcpy(all, to->data(), to->size());
  return RING_OK;
}
