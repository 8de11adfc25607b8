//===- FakeNccl.cpp - NCCL between fake GPUs ------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A send is done at the end of its group, a receive when it is asked about and
// the data is there: so whoever does not ask reads what was there before.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include "../../../lib/Runtime/NCCL/NcclLibrary.h"

#include <cstring>
#include <deque>
#include <map>

using namespace ring::nccl;
using namespace ring::test;
using ring::cuda::CUstream;

namespace {
struct Receive {
  void *to;
  size_t bytes;
  int from;
};
/// What the ranks of one id share.
struct Group {
  int ranks = 0, arrived = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> mail;
};
} // namespace

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
  if (comm.group->arrived < comm.group->ranks)
    return ncclInProgress;
  while (!comm.receives.empty()) {
    const Receive &receive = comm.receives.front();
    auto &mail = comm.group->mail[{receive.from, comm.rank}];
    if (mail.empty())
      return ncclInProgress;
    if (mail.front().size() != receive.bytes)
      return comm.error = ncclInvalidUsage;
    std::memcpy(receive.to, mail.front().data(), receive.bytes);
    mail.pop_front();
    comm.receives.pop_front();
  }
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
  group.ranks = ranks;
  ++group.arrived;
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
  auto *bytes = static_cast<const char *>(data);
  comm->group->mail[{comm->rank, peer}].emplace_back(bytes, bytes + count);
  fakeState().calls.push_back({comm->rank, "ncclSend", 1, -1, int64_t(count)});
  grouped = comm;
  return ncclSuccess;
}
ncclResult_t ncclRecv(void *data, size_t count, int, int peer, ncclComm_t comm,
                      CUstream) {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  comm->receives.push_back({data, count, peer});
  fakeState().calls.push_back({comm->rank, "ncclRecv", 1, -1, int64_t(count)});
  grouped = comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  std::lock_guard<std::recursive_mutex> lock(fakeMutex());
  fakeState().calls.push_back({grouped->rank, "ncclGroupEnd", 1});
  return ncclInProgress;
}
const char *ncclGetErrorString(ncclResult_t code) {
  return code == ncclInvalidUsage ? "invalid usage" : "an error";
}
const char *ncclGetLastError(ncclComm_t) { return "as the test wants"; }

} // extern "C"
