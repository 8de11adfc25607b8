//===- DriverNccl.cpp - NCCL's functions ----------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"
#include "Nccl.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace ring::vgpu;

namespace {
/// Guarded by the driver's lock.
struct Registry {
  std::map<std::string, std::shared_ptr<Clique>> cliques; ///< by unique id
  std::map<const Communicator *, std::shared_ptr<Communicator>> comms;
  std::set<std::string> texts; ///< of errors: callers keep them
  uint64_t lastId = 0;
};

struct GroupCall {
  std::shared_ptr<Communicator> comm;
  Stream *stream;
  Transfer transfer;
};

/// Between ncclGroupStart and ncclGroupEnd, of this thread.
struct ThreadGroup {
  int depth = 0;
  std::vector<GroupCall> calls;
  std::vector<std::shared_ptr<Communicator>> inits;
  ncclResult_t failed = ncclSuccess; ///< what ncclGroupEnd returns
};
} // namespace

static Registry &registry() {
  static auto *all = new Registry;
  return *all;
}

static thread_local ThreadGroup threadGroup;
static thread_local const char *threadError = "";

/// Under the lock.
static ncclResult_t error(ncclResult_t code, Communicator *comm,
                          const std::string &text) {
  threadError = registry().texts.insert(text).first->c_str();
  if (comm)
    comm->lastError = threadError;
  return code;
}

static std::shared_ptr<Communicator> find(ncclComm_t comm) {
  auto it = registry().comms.find(comm);
  return it == registry().comms.end() ? nullptr : it->second;
}

static ncclResult_t badComm() {
  return error(ncclInvalidArgument, nullptr, "the communicator is not valid");
}

//===----------------------------------------------------------------------===//
// Versions and errors
//===----------------------------------------------------------------------===//

ncclResult_t ring::vgpu::ncclGetVersion(int *version) {
  if (!version)
    return ncclInvalidArgument;
  *version = 22809;
  return ncclSuccess;
}

const char *ring::vgpu::ncclGetErrorString(ncclResult_t code) {
  switch (code) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char *ring::vgpu::ncclGetLastError(ncclComm_t comm) {
  std::lock_guard<std::mutex> lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  return found && *found->lastError ? found->lastError : threadError;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

ncclResult_t ring::vgpu::ncclGetUniqueId(ncclUniqueId *id) {
  std::lock_guard<std::mutex> lock(Driver::get().mutex);
  if (!id)
    return error(ncclInvalidArgument, nullptr, "no place for the unique id");
  std::string text = "ring virtual NCCL " + std::to_string(++registry().lastId);
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, text.data(), text.size());
  registry().cliques[text] = std::make_shared<Clique>();
  return ncclSuccess;
}

/// All ranks have come: whether they may work together.
static void completeClique(Clique &clique) {
  clique.complete = true;
  std::map<const Context *, int> rankOf;
  for (const Communicator *member : clique.members) {
    auto [it, isNew] = rankOf.emplace(member->context, member->rank);
    if (isNew)
      continue;
    clique.result = ncclInvalidUsage;
    clique.error = "Duplicate GPU detected : rank " +
                   std::to_string(member->rank) + " and rank " +
                   std::to_string(it->second) + " both on CUDA device " +
                   std::to_string(member->context->device);
    return;
  }
}

static ncclResult_t join(Communicator &comm, int ranks, const std::string &id) {
  auto it = registry().cliques.find(id);
  if (it == registry().cliques.end())
    return error(ncclInvalidArgument, nullptr,
                 "the unique id is not one of this process: virtual GPUs of "
                 "different processes cannot meet");
  comm.clique = it->second;
  Clique &clique = *comm.clique;
  if (clique.ranks == 0) {
    clique.ranks = ranks;
    clique.members.resize(ranks);
  }
  if (clique.ranks != ranks)
    return error(ncclInvalidArgument, nullptr,
                 "rank " + std::to_string(comm.rank) + " expects " +
                     std::to_string(ranks) + " ranks, others " +
                     std::to_string(clique.ranks));
  if (clique.members[comm.rank])
    return error(ncclInvalidUsage, nullptr,
                 "rank " + std::to_string(comm.rank) + " came twice");
  clique.members[comm.rank] = &comm;
  if (++clique.arrived == ranks) {
    completeClique(clique);
    registry().cliques.erase(it);
  }
  Driver::get().scheduler.notify();
  return ncclSuccess;
}

/// Waits for the other ranks; on failure the communicator is gone.
static ncclResult_t finishInit(Scheduler::Lock &lock,
                               const std::shared_ptr<Communicator> &comm) {
  Clique &clique = *comm->clique;
  Driver::get().scheduler.wait(lock, [&] { return clique.complete; });
  comm->state = clique.result;
  if (clique.result == ncclSuccess)
    return ncclSuccess;
  return error(clique.result, comm.get(), clique.error);
}

ncclResult_t ring::vgpu::ncclCommInitRankConfig(ncclComm_t *result, int ranks,
                                                ncclUniqueId id, int rank,
                                                ncclConfig_t *config) {
  Call call;
  if (call.status)
    return error(ncclUnhandledCudaError, nullptr,
                 "the calling thread has no usable CUDA context");
  if (!result || ranks < 1 || rank < 0 || rank >= ranks)
    return error(ncclInvalidArgument, nullptr,
                 "rank " + std::to_string(rank) + " of " +
                     std::to_string(ranks));
  if (config && config->magic != kNcclMagic)
    return error(ncclInvalidArgument, nullptr,
                 "ncclConfig_t argument not initialized via "
                 "NCCL_CONFIG_INITIALIZER");
  auto comm = std::make_shared<Communicator>();
  comm->rank = rank;
  comm->context = call.context;
  comm->blocking =
      !config || config->blocking == kNcclUndefined || config->blocking != 0;
  comm->state = ncclInProgress;
  std::string key(id.internal, strnlen(id.internal, sizeof(id.internal)));
  if (ncclResult_t status = join(*comm, ranks, key))
    return status;
  registry().comms.emplace(comm.get(), comm);
  *result = comm.get();
  CallRecord("ncclCommInitRankConfig", call.context)
      .add("rank", rank)
      .add("ranks", ranks);
  if (!comm->blocking)
    return ncclInProgress;
  if (threadGroup.depth > 0) {
    threadGroup.inits.push_back(comm);
    return ncclSuccess;
  }
  return finishInit(call.lock, comm);
}

ncclResult_t ring::vgpu::ncclCommInitRank(ncclComm_t *comm, int ranks,
                                          ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

ncclResult_t ring::vgpu::ncclCommGetAsyncError(ncclComm_t comm,
                                               ncclResult_t *result) {
  Scheduler::Lock lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found || !result)
    return badComm();
  *result = found->poll(lock);
  if (*result == found->clique->result && *result != ncclSuccess)
    error(*result, found.get(), found->clique->error);
  return ncclSuccess;
}

ncclResult_t ring::vgpu::ncclCommCount(ncclComm_t comm, int *count) {
  std::lock_guard<std::mutex> lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found || !count)
    return badComm();
  *count = found->clique->ranks;
  return ncclSuccess;
}

ncclResult_t ring::vgpu::ncclCommUserRank(ncclComm_t comm, int *rank) {
  std::lock_guard<std::mutex> lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found || !rank)
    return badComm();
  *rank = found->rank;
  return ncclSuccess;
}

/// Waits until all that the communicator enqueued has ended.
static ncclResult_t flush(Scheduler::Lock &lock, Communicator &comm) {
  if (!comm.last)
    return ncclSuccess;
  OpRef last = comm.last;
  return Driver::get().synchronize(lock, *last) == CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

ncclResult_t ring::vgpu::ncclCommFinalize(ncclComm_t comm) {
  Scheduler::Lock lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found)
    return badComm();
  if (found->blocking)
    return flush(lock, *found);
  if (found->state == ncclInProgress)
    return error(ncclInvalidArgument, found.get(),
                 "ncclCommFinalize before the previous operation of the "
                 "communicator returned ncclSuccess");
  found->finalizing = true;
  found->polls = 0;
  return found->state = ncclInProgress;
}

/// The handle means nothing any more.
static void forget(const std::shared_ptr<Communicator> &comm) {
  auto &members = comm->clique->members;
  std::replace(members.begin(), members.end(), comm.get(),
               static_cast<Communicator *>(nullptr));
  registry().comms.erase(comm.get());
}

ncclResult_t ring::vgpu::ncclCommDestroy(ncclComm_t comm) {
  Scheduler::Lock lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found)
    return badComm();
  CallRecord("ncclCommDestroy", found->context);
  ncclResult_t status = flush(lock, *found);
  forget(found);
  return status;
}

ncclResult_t ring::vgpu::ncclCommAbort(ncclComm_t comm) {
  Scheduler::Lock lock(Driver::get().mutex);
  std::shared_ptr<Communicator> found = find(comm);
  if (!found)
    return badComm();
  CallRecord("ncclCommAbort", found->context);
  found->abort();
  forget(found);
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// 0: not a type of NCCL.
static size_t bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  }
  return 0;
}

/// Puts what a group holds into the streams.
static ncclResult_t enqueueGroup(Scheduler::Lock &lock) {
  ThreadGroup group = std::exchange(threadGroup, {});
  if (group.failed != ncclSuccess)
    return group.failed;
  ncclResult_t result = ncclSuccess;
  for (const auto &comm : group.inits)
    if (ncclResult_t status = finishInit(lock, comm))
      result = status;
  std::vector<std::pair<std::shared_ptr<Communicator>, Stream *>> order;
  std::map<const Communicator *, std::shared_ptr<GroupOp>> ops;
  for (GroupCall &call : group.calls) {
    std::shared_ptr<GroupOp> &op = ops[call.comm.get()];
    if (!op) {
      op = std::make_shared<GroupOp>(call.comm);
      order.emplace_back(call.comm, call.stream);
    }
    op->transfers.push_back(std::move(call.transfer));
  }
  for (auto &[comm, stream] : order) {
    std::shared_ptr<GroupOp> &op = ops[comm.get()];
    if (comm->blocking) {
      if (ncclResult_t status = comm->enqueue(*stream, op))
        result = status;
      continue;
    }
    // The stream has it when the program has learned so, and not before.
    comm->deferred = op;
    comm->deferredStream = stream;
    comm->polls = 0;
    comm->state = ncclInProgress;
    if (result == ncclSuccess)
      result = ncclInProgress;
  }
  return result;
}

static ncclResult_t addTransfer(Call &call, ncclComm_t handle,
                                CUstream streamHandle, size_t count,
                                ncclDataType_t type, Transfer transfer) {
  std::shared_ptr<Communicator> comm = find(handle);
  if (!comm)
    return badComm();
  std::string name = transfer.call;
  auto bad = [&](const std::string &why) {
    return error(ncclInvalidArgument, comm.get(), name + " : " + why);
  };
  if (!comm->blocking && comm->state == ncclInProgress)
    return bad("the previous operation of the communicator has not returned "
               "ncclSuccess");
  if (comm->state != ncclSuccess)
    return bad("the communicator has failed");
  Stream *stream = call.stream(streamHandle);
  if (!stream)
    return error(ncclUnhandledCudaError, comm.get(),
                 name + " : the stream cannot be used");
  if (&stream->context != comm->context)
    return bad("stream of device " + std::to_string(stream->context.device) +
               ", communicator of device " +
               std::to_string(comm->context->device));
  if (!bytesOf(type))
    return bad("unknown type " + std::to_string(type));
  if (transfer.peer < 0 || transfer.peer >= comm->clique->ranks)
    return bad("peer " + std::to_string(transfer.peer) + " of " +
               std::to_string(comm->clique->ranks) + " ranks");
  for (const GroupCall &other : threadGroup.calls)
    if (other.comm == comm && other.stream != stream)
      return bad("a group of one communicator on two streams");
  transfer.bytes = count * bytesOf(type);
  std::string why;
  if (transfer.bytes &&
      !call.driver.space.find(transfer.address, transfer.bytes, why))
    return bad("given " + why);
  CallRecord(transfer.call, stream)
      .add("rank", comm->rank)
      .add("peer", transfer.peer)
      .add("bytes", static_cast<int64_t>(transfer.bytes));
  threadGroup.calls.push_back({comm, stream, std::move(transfer)});
  return ncclSuccess;
}

/// A call outside of groups is a group; one that failed fails its group.
static ncclResult_t endCall(Call &call, ncclResult_t status) {
  if (status != ncclSuccess)
    threadGroup.failed = status;
  if (threadGroup.depth > 0)
    return status;
  return enqueueGroup(call.lock);
}

ncclResult_t ring::vgpu::ncclSend(const void *source, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t comm, CUstream stream) {
  Call call;
  Transfer transfer;
  transfer.call = "ncclSend";
  transfer.sends = true;
  transfer.peer = peer;
  transfer.address = reinterpret_cast<uint64_t>(source);
  return endCall(call, addTransfer(call, comm, stream, count, type, transfer));
}

ncclResult_t ring::vgpu::ncclRecv(void *target, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t comm, CUstream stream) {
  Call call;
  Transfer transfer;
  transfer.call = "ncclRecv";
  transfer.peer = peer;
  transfer.address = reinterpret_cast<uint64_t>(target);
  return endCall(call, addTransfer(call, comm, stream, count, type, transfer));
}

ncclResult_t ring::vgpu::ncclAllGather(const void *source, void *target,
                                       size_t count, ncclDataType_t type,
                                       ncclComm_t comm, CUstream stream) {
  Call call;
  std::shared_ptr<Communicator> found = find(comm);
  if (!found)
    return badComm();
  Transfer transfer;
  transfer.call = "ncclAllGather";
  ncclResult_t status = ncclSuccess;
  for (int peer = 0; peer < found->clique->ranks; ++peer) {
    transfer.peer = peer;
    transfer.sends = true;
    transfer.address = reinterpret_cast<uint64_t>(source);
    if (status == ncclSuccess)
      status = addTransfer(call, comm, stream, count, type, transfer);
    transfer.sends = false;
    transfer.address =
        reinterpret_cast<uint64_t>(target) + peer * count * bytesOf(type);
    if (status == ncclSuccess)
      status = addTransfer(call, comm, stream, count, type, transfer);
  }
  return endCall(call, status);
}

ncclResult_t ring::vgpu::ncclGroupStart() {
  ++threadGroup.depth;
  Call call;
  CallRecord("ncclGroupStart", call.context);
  return ncclSuccess;
}

ncclResult_t ring::vgpu::ncclGroupEnd() {
  Call call;
  if (threadGroup.depth == 0)
    return error(ncclInvalidUsage, nullptr,
                 "ncclGroupEnd: not in a group call.");
  CallRecord("ncclGroupEnd", call.context);
  if (--threadGroup.depth > 0)
    return ncclSuccess;
  return enqueueGroup(call.lock);
}
