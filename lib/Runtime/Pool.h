//===- Pool.h - One pool of workers for all ranks of a host -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_POOL_H
#define RING_RUNTIME_POOL_H

#include "ring/Runtime/Runtime.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace ring::runtime {

class Account;
class Thread;

/// `threads` workers run the items of all ranks. A rank that calls `run`
/// sleeps until its items are done, so no more than `threads` threads compute:
/// one rank uses all cores, and N ranks use no more.
class Pool {
public:
  /// NULL and a message where the threads cannot be had.
  static std::unique_ptr<Pool> create(int32_t threads, std::string &error);
  ~Pool();

  /// Runs the items; those of several calls at once run in the order of the
  /// calls, a worker that finds no more of one going on to the next.
  /// Allocations of the body go to `account`. A call from within a body runs
  /// its items on the calling worker, which would otherwise wait for itself.
  void run(int64_t count, ring_body body, void *environment, Account *account);

  /// True on a worker of any pool.
  static bool onWorker();

private:
  struct Job;
  explicit Pool(int32_t threads);
  void work();

  std::mutex mutex;
  std::condition_variable jobsChanged;
  std::deque<Job *> jobs; ///< those with unclaimed items, oldest first
  bool stopping = false;
  int32_t count;
  std::unique_ptr<Thread[]> threads;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_POOL_H
