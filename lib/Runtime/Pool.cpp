//===- Pool.cpp - One pool of workers for all ranks of a host -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pool.h"
#include "Allocation.h"
#include "Thread.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace ring::runtime;

static thread_local bool isWorker = false;

/// One call of `run`; lives on the caller's stack. Workers touch it only while
/// they are counted in `workers` or hold the pool's mutex.
struct Pool::Job {
  ring_body body;
  void *environment;
  Account *account;
  int64_t count;
  std::atomic<int64_t> next{0};    ///< the first unclaimed item
  int32_t workers = 0;             ///< that work on it; guarded by the mutex
  bool listed = true;              ///< still in `jobs`; guarded by the mutex
  std::condition_variable changed; ///< with the pool's mutex
};

Pool::Pool(int32_t threads) : count(threads), threads(new Thread[threads]) {}

std::unique_ptr<Pool> Pool::create(int32_t threads, std::string &error) {
  std::unique_ptr<Pool> pool(new Pool(threads));
  for (int32_t i = 0; i < threads; ++i) {
    Pool *self = pool.get();
    if (int code = pool->threads[i].start("ring-pool-" + std::to_string(i),
                                          [self] { self->work(); })) {
      error = "cannot start thread " + std::to_string(i) + " of " +
              std::to_string(threads) + " of the pool: " + std::strerror(code);
      return nullptr; // the destructor ends those that run
    }
  }
  return pool;
}

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  jobsChanged.notify_all();
  for (int32_t i = 0; i < count; ++i)
    threads[i].join();
}

bool Pool::onWorker() { return isWorker; }

void Pool::work() {
  isWorker = true;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    jobsChanged.wait(lock, [&] { return stopping || !jobs.empty(); });
    if (jobs.empty())
      return;
    Job &job = *jobs.front();
    ++job.workers;
    lock.unlock();
    {
      AccountScope scope(job.account);
      for (int64_t item; (item = job.next.fetch_add(1)) < job.count;)
        job.body(job.environment, item);
    }
    lock.lock();
    // No item is left: nobody else need look at the job.
    if (job.listed) {
      jobs.erase(std::find(jobs.begin(), jobs.end(), &job));
      job.listed = false;
    }
    // Under the mutex, so that the caller cannot be gone with the job yet.
    if (--job.workers == 0)
      job.changed.notify_one();
  }
}

void Pool::run(int64_t items, ring_body body, void *environment,
               Account *account) {
  if (items <= 0)
    return;
  if (isWorker) {
    for (int64_t item = 0; item < items; ++item)
      body(environment, item);
    return;
  }
  Job job;
  job.body = body;
  job.environment = environment;
  job.account = account;
  job.count = items;
  std::unique_lock<std::mutex> lock(mutex);
  jobs.push_back(&job);
  if (items == 1)
    jobsChanged.notify_one();
  else
    jobsChanged.notify_all();
  job.changed.wait(lock, [&] { return !job.listed && job.workers == 0; });
}
