//===- Device.h - The GPU of one rank ---------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_DEVICE_H
#define RING_RUNTIME_DEVICE_DEVICE_H

#include "../Transport.h"
#include "CudaDriver.h"
#include "DeviceChoice.h"

#include <memory>
#include <vector>

namespace ring::runtime {

class Account;
class Recording;

/// Makes a context current on this thread while it lives: for calls from
/// threads that are not ours.
class ContextScope {
public:
  ContextScope(const cuda::Driver &driver, cuda::CUcontext context)
      : driver(driver) {
    driver.ctxGetCurrent(&previous);
    driver.ctxSetCurrent(context);
  }
  ~ContextScope() { driver.ctxSetCurrent(previous); }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const cuda::Driver &driver;
  cuda::CUcontext previous = nullptr;
};

/// A device's context, two streams, and what is allocated there. Lives as long
/// as its host; used by the rank's thread, and by the host's while no rank
/// runs.
///
/// Memory comes from cuMemAlloc, not from a stream's pool: peers copy from it
/// and NCCL sends from it, which pools allow only after calls per pair of
/// devices. What a program has allocated is kept for the next one, as the
/// account does with host memory: so only the first run of a program allocates.
class Device {
public:
  /// NULL and a message where it cannot be had. `localRank`: which rank of its
  /// machine, for a choice without an index.
  static std::unique_ptr<Device> open(const DeviceChoice &choice, int32_t rank,
                                      int32_t localRank, Account &account,
                                      std::string &error);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// OK, or RING_ERROR_MEMORY or RING_ERROR_DEVICE with what the driver says
  /// about `what`. A device that failed once refuses all that follows, as
  /// its context does.
  Result check(cuda::CUresult code, const char *what);
  /// Refuses all that follows, because of `reason`.
  void giveUp(const std::string &reason);
  /// Makes the context current on the rank's thread, which is ours.
  Result makeCurrent();

  /// Device memory, aligned to 256 bytes, until release().
  Result allocate(int64_t bytes, cuda::CUdeviceptr &address);
  /// Copies `bytes` bytes on the computation stream, from pinned memory that is
  /// not written again before release(): so nothing has to wait, here or there.
  Result upload(const void *data, int64_t bytes, cuda::CUdeviceptr &address);
  /// Makes room for uploads of so many bytes before the first round.
  Result reserveUploads(int64_t bytes);
  /// An event that is recorded on `stream` now; until release().
  Result record(cuda::CUstream stream, cuda::CUevent &event);
  /// Enqueues something: at once, or with all else that is recorded. `key` are
  /// the bytes that tell it from other commands.
  Result enqueue(const std::string &key, std::function<Result()> command);
  /// The same, with a time.
  Result recordTime(cuda::CUstream stream, cuda::CUevent &event);
  /// What is enqueued on `stream` from now on waits for `event`.
  Result waitFor(cuda::CUstream stream, cuda::CUevent event);

  /// Waits until both streams are empty, or `watch` ends the wait.
  Result drain(const Watch &watch);
  /// Gives back what was allocated since the last call: the streams are empty,
  /// and no peer reads from it.
  void release();
  /// From any thread, while no rank runs: frees what is kept, all or what two
  /// runs in a row have not used.
  void trim();
  void beginRun();

  std::string text() const; ///< "GPU 0 (NVIDIA A100)"

  const cuda::Driver &driver;
  const int ordinal;
  cuda::CUcontext context = nullptr;
  cuda::CUstream compute = nullptr, transfers = nullptr;
  int multiprocessors = 0;
  int capability = 0; ///< 80 for sm_80
  std::string name;
  Recording *recording = nullptr; ///< of what is enqueued, to be done later

private:
  Device(const cuda::Driver &driver, int ordinal, Account &account)
      : driver(driver), ordinal(ordinal), account(account) {}

  struct Block {
    cuda::CUdeviceptr address;
    int64_t bytes;
    int64_t lastRun;
  };
  /// Memory for uploads: the same bytes pinned on the host and on the device.
  struct Chunk {
    char *host;
    cuda::CUdeviceptr address;
    int64_t bytes, used;
  };
  struct Events {
    std::vector<cuda::CUevent> all;
    size_t used = 0;
  };

  Result initialise();
  void freeKept();
  Result record(Events &events, unsigned flags, cuda::CUstream stream,
                cuda::CUevent &event);
  void freeBlocks(std::vector<Block> &blocks);

  Account &account;
  std::string failure; ///< what it failed with; empty: it works
  std::vector<Block> used, kept;
  std::vector<Chunk> chunks;
  size_t chunk = 0; ///< that uploads use now; those before are full
  Events events, timed;
  int64_t runs = 0;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_DEVICE_H
