//===- FakeNccl.cpp - NCCL between fake GPUs ------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A send is done at once, a receive when it is asked about and the data is
// there: so whoever does not ask reads what was there before. Between processes
// messages are files, in the folder that RING_FAKE_NCCL names.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "../../../lib/Runtime/NCCL/NcclLibrary.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

using namespace ring::nccl;
using namespace ring::test;
using ring::cuda::CUstream;

namespace {
struct Receive {
  void *to;
  size_t bytes;
  int from;
};
/// What the ranks of one id share, here or in files.
class Group {
public:
  void join(int number, int ofRanks, int rank) {
    id = number;
    ranks = ofRanks;
    send(rank, -1, {});
  }
  bool isComplete() {
    for (int rank = 0; rank < ranks; ++rank)
      if (!has(rank, -1))
        return false;
    return true;
  }
  void send(int from, int to, const std::vector<char> &bytes);
  bool has(int from, int to);
  std::vector<char> take(int from, int to);

private:
  std::string path(int from, int to, int number) const {
    return std::string(folder) + "/" + std::to_string(id) + "." +
           std::to_string(from) + "." + std::to_string(to) + "." +
           std::to_string(number);
  }

  const char *folder = std::getenv("RING_FAKE_NCCL");
  int id = 0, ranks = 0;
  using Way = std::pair<int, int>;
  std::map<Way, int> sent, taken;
  std::map<Way, std::deque<std::vector<char>>> mail;
};
} // namespace

void Group::send(int from, int to, const std::vector<char> &bytes) {
  if (!folder) {
    mail[{from, to}].push_back(bytes);
    return;
  }
  std::string name = path(from, to, sent[{from, to}]++), other = name + "~";
  std::ofstream(other, std::ios::binary).write(bytes.data(), bytes.size());
  std::rename(other.c_str(), name.c_str()); // it appears as a whole
}

bool Group::has(int from, int to) {
  if (!folder)
    return !mail[{from, to}].empty();
  return std::ifstream(path(from, to, taken[{from, to}])).good();
}

std::vector<char> Group::take(int from, int to) {
  std::vector<char> bytes;
  if (!folder) {
    bytes = std::move(mail[{from, to}].front());
    mail[{from, to}].pop_front();
    return bytes;
  }
  std::ifstream file(path(from, to, taken[{from, to}]++), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

namespace ring::nccl {
struct ncclComm {
  Group *group;
  int rank;
  std::deque<Receive> receives;
  ncclResult_t error = ncclSuccess;
};
} // namespace ring::nccl

// fakeMutex guards all below.
static std::map<int, Group> groups;
static int ids = 0;
static thread_local ncclComm_t grouped = nullptr;

/// Delivers what has come.
static ncclResult_t progress(ncclComm &comm) {
  if (comm.error != ncclSuccess)
    return comm.error;
  if (!comm.group->isComplete())
    return ncclInProgress;
  while (!comm.receives.empty()) {
    const Receive receive = comm.receives.front();
    if (!comm.group->has(receive.from, comm.rank))
      return ncclInProgress;
    std::vector<char> bytes = comm.group->take(receive.from, comm.rank);
    if (bytes.size() != receive.bytes)
      return comm.error = ncclInvalidUsage;
    std::memcpy(receive.to, bytes.data(), bytes.size());
    comm.receives.pop_front();
  }
  return ncclSuccess;
}

/// Within a graph: what comes next needs the data.
static void finish(const Receive &receive, ncclComm &comm) {
  {
    std::lock_guard<std::recursive_mutex> lock(fakeMutex());
    comm.receives.push_back(receive);
  }
  for (int i = 0; i < 100000; ++i) {
    {
      std::lock_guard<std::recursive_mutex> lock(fakeMutex());
      if (progress(comm) != ncclInProgress)
        return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

static ncclResult_t write(const char *name, ncclComm_t comm, int64_t bytes) {
  fakeState().calls.push_back(
      {comm->rank, name, 1, -1, bytes, fakeCapture() != nullptr});
  grouped = comm;
  return ncclSuccess;
}

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = fakeState().ncclVersion;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  *id = {};
  ++ids;
  std::memcpy(id->internal, &ids, sizeof(ids));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if (config->magic != 0xcafebeef || config->blocking != 0)
    return ncclInvalidUsage;
  int number;
  std::memcpy(&number, id.internal, sizeof(number));
  Group &group = groups[number];
  group.join(number, ranks, rank);
  *comm = new ncclComm{&group, rank, {}};
  return ncclInProgress;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  ++fakeState().ncclAborts;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  *error = progress(*comm);
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclSend(const void *data, size_t count, int type, int peer,
                      ncclComm_t comm, CUstream) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  if (type != ncclUint8)
    return ncclInvalidUsage;
  auto run = [data, count, peer, comm] {
    std::lock_guard<std::recursive_mutex> lock(fakeMutex());
    auto *bytes = static_cast<const char *>(data);
    comm->group->send(comm->rank, peer, {bytes, bytes + count});
  };
  if (fakeCapture())
    fakeCapture()->push_back(run);
  else
    run();
  return write("ncclSend", comm, int64_t(count));
}
ncclResult_t ncclRecv(void *data, size_t count, int, int peer, ncclComm_t comm,
                      CUstream) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  Receive receive{data, count, peer};
  if (fakeCapture())
    fakeCapture()->push_back([receive, comm] { finish(receive, *comm); });
  else
    comm->receives.push_back(receive);
  return write("ncclRecv", comm, int64_t(count));
}
ncclResult_t ncclGroupEnd() {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  write("ncclGroupEnd", grouped, 0);
  return ncclInProgress;
}
const char *ncclGetErrorString(ncclResult_t code) {
  return code == ncclInvalidUsage ? "invalid usage" : "an error";
}
const char *ncclGetLastError(ncclComm_t) { return "as the test wants"; }

} // extern "C"
