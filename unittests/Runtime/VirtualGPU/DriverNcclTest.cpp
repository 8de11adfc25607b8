//===- DriverNcclTest.cpp - Virtual NCCL ----------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

using namespace ring::test;

namespace {

class DriverNccl : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  }

  /// Runs `body` with a rank's communicator and stream, on its own device and
  /// thread.
  void ranks(int count,
             const std::function<void(int, ncclComm_t, CUstream)> &body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        EXPECT_OK(cuCtxSetCurrent(contexts[rank]));
        ncclComm_t comm = nullptr;
        EXPECT_EQ(ncclCommInitRank(&comm, count, id, rank), ncclSuccess);
        body(rank, comm, stream());
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// Ranks whose peer's device has failed wait in vain, as with NCCL.
  struct Deadline {
    explicit Deadline(const char *seconds) {
      setenv("RING_VGPU_DEADLINE", seconds, 1);
    }
    ~Deadline() { unsetenv("RING_VGPU_DEADLINE"); }
  };

  /// One transfer to the next rank and one from the previous.
  static ncclResult_t pass(CUdeviceptr source, CUdeviceptr target, size_t count,
                           int rank, int ranks, ncclComm_t comm, CUstream s) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(reinterpret_cast<void *>(source), count, ncclFloat32,
                       (rank + 1) % ranks, comm, s),
              ncclSuccess);
    EXPECT_EQ(ncclRecv(reinterpret_cast<void *>(target), count, ncclFloat32,
                       (rank + ranks - 1) % ranks, comm, s),
              ncclSuccess);
    return ncclGroupEnd();
  }

  ncclUniqueId id;
};

ncclConfig_t nonBlocking() {
  ncclConfig_t config = {};
  config.size = sizeof(config);
  config.magic = kNcclMagic;
  config.version = 22809;
  config.cgaClusterSize = config.minCTAs = config.maxCTAs = config.splitShare =
      kNcclUndefined;
  return config;
}

} // namespace

TEST_F(DriverNccl, ARingOfFourDevices) {
  ranks(4, [&](int rank, ncclComm_t comm, CUstream transfer) {
    CUstream compute = stream();
    CUdeviceptr slots[2] = {floats(4), floats(4)}, sum = floats(4);
    CUevent arrived = event(), isFree = event();
    EXPECT_OK(fill(slots[0], 4, static_cast<float>(10 * rank), compute));
    EXPECT_OK(cuEventRecord(arrived, compute));
    EXPECT_OK(cuStreamWaitEvent(transfer, arrived, 0));
    for (int round = 0; round < 4; ++round) {
      CUdeviceptr own = slots[round % 2], next = slots[(round + 1) % 2];
      if (round < 3) {
        EXPECT_OK(cuStreamWaitEvent(transfer, isFree, 0));
        EXPECT_EQ(pass(own, next, 4, rank, 4, comm, transfer), ncclSuccess);
      }
      EXPECT_OK(add(sum, own, 4, compute));
      EXPECT_OK(cuEventRecord(isFree, compute));
      EXPECT_OK(cuEventRecord(arrived, transfer));
      EXPECT_OK(cuStreamWaitEvent(compute, arrived, 0));
    }
    float owner = static_cast<float>(10 * ((rank + 1) % 4));
    EXPECT_EQ(read(sum, 4, compute)[3], owner + 1);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST_F(DriverNccl, OnlyADemandMovesData) {
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1), other = floats(1);
    float *host = pinnedFloats(1);
    host[0] = -1;
    EXPECT_OK(fill(own, 1, static_cast<float>(rank), s));
    EXPECT_EQ(pass(own, other, 1, rank, 2, comm, s), ncclSuccess);
    EXPECT_OK(cuMemcpyDtoHAsync_v2(host, other, 4, s));
    EXPECT_EQ(host[0], -1);
    EXPECT_OK(cuStreamSynchronize(s));
    EXPECT_EQ(host[0], 1 - rank);
  });
}

TEST_F(DriverNccl, AReceiverThatDoesNotWaitRaces) {
  Deadline deadline("0.2");
  std::atomic<int> failed{0}, enqueued{0};
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1), other = floats(1), result = floats(1);
    CUstream compute = stream();
    EXPECT_OK(fill(own, 1, 1, s));
    EXPECT_OK(fill(other, 1, 1, s));
    EXPECT_OK(cuStreamSynchronize(s));
    EXPECT_EQ(pass(own, other, 1, rank, 2, comm, s), ncclSuccess);
    // What one thread learns, others are taken to know in what they enqueue.
    for (++enqueued; enqueued < 2;)
      std::this_thread::yield();
    if (rank == 0)
      EXPECT_OK(add(result, other, 1, compute));
    (void)cuStreamSynchronize(compute);
    failed += cuStreamSynchronize(s) == CUDA_ERROR_ILLEGAL_ADDRESS;
  });
  EXPECT_EQ(failed, 1);
  EXPECT_REPORT("NCCL group on stream");
}

TEST_F(DriverNccl, ASenderMayNotOverwriteWhatItSends) {
  std::atomic<int> failed{0};
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1), other = floats(1);
    CUstream compute = stream();
    EXPECT_OK(fill(own, 1, 1, s));
    EXPECT_OK(cuStreamSynchronize(s));
    EXPECT_EQ(pass(own, other, 1, rank, 2, comm, s), ncclSuccess);
    if (rank == 0)
      EXPECT_OK(fill(own, 1, 2, compute)); // The group may not have ended.
    EXPECT_OK(cuStreamSynchronize(s));
    failed += cuStreamSynchronize(compute) == CUDA_ERROR_ILLEGAL_ADDRESS;
  });
  EXPECT_EQ(failed, 1);
  EXPECT_REPORT("kernel 'fill' on stream");
}

TEST_F(DriverNccl, AGroupMayNotReceiveIntoWhatItSends) {
  Deadline deadline("0.2");
  std::atomic<int> failed{0};
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1);
    EXPECT_OK(fill(own, 1, 1, s));
    EXPECT_EQ(pass(own, own, 1, rank, 2, comm, s), ncclSuccess);
    failed += cuStreamSynchronize(s) == CUDA_ERROR_ILLEGAL_ADDRESS;
  });
  EXPECT_GE(failed, 1);
}

TEST_F(DriverNccl, UngroupedSendsAroundARingBlockUntilAborted) {
  std::atomic<int> blocked{0};
  ranks(3, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1), other = floats(1);
    EXPECT_OK(fill(own, 1, 1, s));
    auto *source = reinterpret_cast<void *>(own);
    auto *target = reinterpret_cast<void *>(other);
    EXPECT_EQ(ncclSend(source, 1, ncclFloat32, (rank + 1) % 3, comm, s),
              ncclSuccess);
    EXPECT_EQ(ncclRecv(target, 1, ncclFloat32, (rank + 2) % 3, comm, s),
              ncclSuccess);
    auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    CUresult status = CUDA_ERROR_NOT_READY;
    while (status == CUDA_ERROR_NOT_READY &&
           std::chrono::steady_clock::now() < end)
      status = cuStreamQuery(s);
    blocked += status == CUDA_ERROR_NOT_READY;
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    EXPECT_OK(cuStreamSynchronize(s));
    EXPECT_EQ(ncclCommAbort(comm), ncclInvalidArgument);
  });
  EXPECT_EQ(blocked, 3);
}

TEST_F(DriverNccl, ADeadlineEndsADeadlock) {
  Deadline deadline("0.1");
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    if (rank != 0)
      return;
    CUdeviceptr data = floats(1);
    EXPECT_EQ(
        ncclRecv(reinterpret_cast<void *>(data), 1, ncclFloat32, 1, comm, s),
        ncclSuccess);
    EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_TIMEOUT);
  });
  EXPECT_REPORT("no progress within RING_VGPU_DEADLINE: NCCL group on stream");
  EXPECT_REPORT("of device 0 waits for its peers");
}

TEST_F(DriverNccl, AbortWakesAThreadThatWaits) {
  std::thread watchdog;
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    if (rank != 0)
      return;
    CUdeviceptr data = floats(1);
    EXPECT_EQ(
        ncclRecv(reinterpret_cast<void *>(data), 1, ncclFloat32, 1, comm, s),
        ncclSuccess);
    watchdog = std::thread([comm] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
    EXPECT_OK(cuStreamSynchronize(s));
  });
  watchdog.join();
}

TEST_F(DriverNccl, EndsThatDifferAreReported) {
  std::atomic<int> failed{0};
  ranks(2, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr data = floats(4);
    auto *address = reinterpret_cast<void *>(data);
    if (rank == 0) {
      EXPECT_OK(fill(data, 4, 1, s));
      failed += ncclSend(address, 4, ncclFloat32, 1, comm, s) != ncclSuccess;
    } else {
      failed += ncclRecv(address, 3, ncclFloat32, 0, comm, s) != ncclSuccess;
    }
  });
  EXPECT_EQ(failed, 1); // Whoever came second.
  EXPECT_REPORT("of 16 bytes of rank 0");
  EXPECT_REPORT("of 12 bytes of rank 1");
}

TEST_F(DriverNccl, TwoRanksOfOneDeviceAreRefused) {
  std::thread other([&] {
    ncclComm_t comm = nullptr;
    EXPECT_OK(cuCtxSetCurrent(contexts[0]));
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 1), ncclInvalidUsage);
  });
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidUsage);
  other.join();
  EXPECT_STREQ(ncclGetLastError(nullptr),
               "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device "
               "0");
}

TEST_F(DriverNccl, NonBlockingCallsAreInProgressUntilPolled) {
  ncclConfig_t config = nonBlocking();
  ncclComm_t comms[2] = {};
  ncclResult_t state = ncclSuccess;
  auto poll = [&](int rank) {
    EXPECT_EQ(ncclCommGetAsyncError(comms[rank], &state), ncclSuccess);
    return state;
  };
  EXPECT_EQ(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config),
            ncclInProgress);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(poll(0), ncclInProgress);
  use(1);
  CUstream s1 = stream();
  CUdeviceptr d1 = floats(1);
  EXPECT_EQ(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config),
            ncclInProgress);
  auto *target = reinterpret_cast<void *>(d1);
  EXPECT_EQ(ncclRecv(target, 1, ncclFloat32, 0, comms[1], s1),
            ncclInvalidArgument);
  for (int rank : {0, 1})
    while (poll(rank) == ncclInProgress)
      continue;
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(ncclRecv(target, 1, ncclFloat32, 0, comms[1], s1), ncclInProgress);
  while (poll(1) == ncclInProgress)
    continue;
  use(0);
  CUstream s0 = stream();
  CUdeviceptr d0 = floats(1);
  EXPECT_OK(fill(d0, 1, 4, s0));
  auto *source = reinterpret_cast<void *>(d0);
  EXPECT_EQ(ncclSend(source, 1, ncclFloat32, 1, comms[0], s0), ncclInProgress);
  // What is enqueued before the call has ended comes before its transfers.
  CUevent early = event();
  EXPECT_OK(cuEventRecord(early, s0));
  EXPECT_OK(cuEventSynchronize(early));
  while (poll(0) == ncclInProgress)
    continue;
  use(1);
  EXPECT_EQ(read(d1, 1, s1)[0], 4);
  for (ncclComm_t comm : comms) {
    EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
    do
      EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    while (state == ncclInProgress);
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

TEST_F(DriverNccl, ADuplicateDeviceIsAnAsynchronousErrorToo) {
  ncclConfig_t config = nonBlocking();
  ncclComm_t comms[2] = {};
  for (int rank : {0, 1})
    EXPECT_EQ(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config),
              ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInvalidUsage);
  EXPECT_EQ(std::string(ncclGetLastError(comms[0])).rfind("Duplicate GPU", 0),
            0u);
  for (ncclComm_t comm : comms)
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST_F(DriverNccl, WrongArgumentsAreRefused) {
  ncclComm_t comm = nullptr;
  ncclConfig_t config = nonBlocking();
  config.magic = 0;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config),
            ncclInvalidArgument);
  ncclUniqueId unknown = {};
  EXPECT_EQ(ncclCommInitRank(&comm, 1, unknown, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 1), ncclInvalidArgument);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  CUstream s = stream();
  CUdeviceptr data = floats(4);
  float host = 0;
  auto *address = reinterpret_cast<void *>(data);
  EXPECT_EQ(ncclSend(&host, 1, ncclFloat32, 0, comm, s), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(address, 5, ncclFloat32, 0, comm, s), ncclInvalidArgument);
  EXPECT_NE(std::string(ncclGetLastError(comm)).find("beyond its end"),
            std::string::npos);
  EXPECT_EQ(ncclSend(address, 4, ncclFloat32, 1, comm, s), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(address, 4, ncclDataType_t(77), 0, comm, s),
            ncclInvalidArgument);
  use(1);
  EXPECT_EQ(ncclSend(address, 4, ncclFloat32, 0, comm, stream()),
            ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  // A call that failed fails its group.
  use(0);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(address, 4, ncclFloat32, 1, comm, s), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
}

TEST_F(DriverNccl, AllGather) {
  ranks(3, [&](int rank, ncclComm_t comm, CUstream s) {
    CUdeviceptr own = floats(1), all = floats(3);
    EXPECT_OK(fill(own, 1, static_cast<float>(rank), s));
    EXPECT_EQ(ncclAllGather(reinterpret_cast<void *>(own),
                            reinterpret_cast<void *>(all), 1, ncclFloat32, comm,
                            s),
              ncclSuccess);
    EXPECT_EQ(read(all, 3, s), (std::vector<float>{0, 1, 2}));
    CUdeviceptr inPlace = floats(3), mine = inPlace + 4 * rank;
    EXPECT_OK(fill(mine, 1, static_cast<float>(rank), s));
    EXPECT_EQ(ncclAllGather(reinterpret_cast<void *>(mine),
                            reinterpret_cast<void *>(inPlace), 1, ncclFloat32,
                            comm, s),
              ncclSuccess);
    EXPECT_EQ(read(inPlace, 3, s), (std::vector<float>{0, 1, 2}));
    int count = 0, number = -1;
    EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comm, &number), ncclSuccess);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(number, rank);
    // The others may still need this rank's streams.
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST_F(DriverNccl, OneThreadMayHoldAllRanks) {
  ncclComm_t comms[2] = {};
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank : {0, 1}) {
    use(rank);
    EXPECT_EQ(ncclCommInitRank(&comms[rank], 2, id, rank), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  CUdeviceptr data[2];
  CUstream streams[2];
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank : {0, 1}) {
    use(rank);
    streams[rank] = stream();
    data[rank] = floats(2);
    EXPECT_OK(fill(data[rank], 1, 5.0f + rank, streams[rank]));
    EXPECT_EQ(ncclSend(reinterpret_cast<void *>(data[rank]), 1, ncclFloat32,
                       1 - rank, comms[rank], streams[rank]),
              ncclSuccess);
    EXPECT_EQ(ncclRecv(reinterpret_cast<void *>(data[rank] + 4), 1, ncclFloat32,
                       1 - rank, comms[rank], streams[rank]),
              ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  use(0);
  EXPECT_EQ(read(data[0] + 4, 1, streams[0])[0], 6);
  EXPECT_EQ(read(data[1] + 4, 1, streams[1])[0], 5);
}
