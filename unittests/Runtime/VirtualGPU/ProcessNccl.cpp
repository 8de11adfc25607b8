//===- ProcessNccl.cpp - NCCL between processes with virtual GPUs ---------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The virtual NCCL lives in one process. For tests of processes this library
// stands before libring_vgpu.so, whose driver it passes on, with the functions
// of NCCL that the runtime calls: messages are files in the folder that
// RING_PROCESS_NCCL names. Whoever looks a function up in it finds these first.
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace ring::vgpu;

namespace {
struct Receive {
  CUdeviceptr to;
  size_t bytes;
  int from;
  CUstream stream;
};

struct FileCommunicator {
  std::string folder;
  int ranks, rank;
  std::map<int, int> sent, taken; ///< messages so far, by peer
  std::deque<Receive> receives;   ///< asked for

  std::string path(int from, int to, int number) const {
    return folder + "." + std::to_string(from) + "." + std::to_string(to) +
           "." + std::to_string(number);
  }
  void write(int to, const std::vector<char> &bytes) {
    std::string name = path(rank, to, sent[to]++), other = name + "~";
    std::ofstream(other, std::ios::binary).write(bytes.data(), bytes.size());
    std::rename(other.c_str(), name.c_str()); // it appears as a whole
  }
  ncclResult_t progress();
};
} // namespace

/// That of a rank which has come.
constexpr int kEverybody = -1;

ncclResult_t FileCommunicator::progress() {
  for (int peer = 0; peer < ranks; ++peer)
    if (!std::ifstream(path(peer, kEverybody, 0)))
      return ncclInProgress;
  while (!receives.empty()) {
    const Receive &receive = receives.front();
    std::ifstream file(path(receive.from, rank, taken[receive.from]),
                       std::ios::binary);
    if (!file)
      return ncclInProgress;
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() != receive.bytes ||
        cuMemcpyHtoDAsync_v2(receive.to, bytes.data(), bytes.size(),
                             receive.stream) != CUDA_SUCCESS)
      return ncclInvalidUsage;
    ++taken[receive.from];
    receives.pop_front();
  }
  return ncclSuccess;
}

static FileCommunicator &of(ncclComm_t comm) {
  return *reinterpret_cast<FileCommunicator *>(comm);
}

namespace ring::vgpu {
extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = 22809;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static int ids = 0;
  *id = {};
  ++ids;
  std::memcpy(id->internal, &ids, sizeof(ids));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank, ncclConfig_t *) {
  int number;
  std::memcpy(&number, id.internal, sizeof(number));
  const char *folder = std::getenv("RING_PROCESS_NCCL");
  if (!folder)
    return ncclInvalidUsage;
  auto *fresh =
      new FileCommunicator{std::string(folder) + "/" + std::to_string(number),
                           ranks,
                           rank,
                           {},
                           {},
                           {}};
  fresh->write(kEverybody, {});
  *comm = reinterpret_cast<ncclComm_t>(fresh);
  return ncclInProgress;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete &of(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  *error = of(comm).progress();
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclInProgress; }
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t, int peer,
                      ncclComm_t comm, CUstream stream) {
  std::vector<char> bytes(count);
  if (cuMemcpyDtoHAsync_v2(bytes.data(), reinterpret_cast<CUdeviceptr>(data),
                           count, stream) != CUDA_SUCCESS ||
      cuStreamSynchronize(stream) != CUDA_SUCCESS)
    return ncclInvalidUsage;
  of(comm).write(peer, bytes);
  return ncclSuccess;
}
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t, int peer,
                      ncclComm_t comm, CUstream stream) {
  of(comm).receives.push_back(
      {reinterpret_cast<CUdeviceptr>(data), count, peer, stream});
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t) { return "invalid usage"; }
const char *ncclGetLastError(ncclComm_t) { return ""; }

} // extern "C"
} // namespace ring::vgpu
