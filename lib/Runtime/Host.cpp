//===- Host.cpp - Starting rings ------------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "HostState.h"
#include "Thread.h"
#include "Threads/ThreadsTransport.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sched.h>
#include <unistd.h>

using namespace ring::runtime;

constexpr double kDefaultDeadline = 60;
/// Three years: what the arithmetic of clocks can take.
constexpr double kLongestDeadline = 1e8;

/// Cores that this process may use.
static int32_t coreCount() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return std::max(1, CPU_COUNT(&cores));
  return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

/// Gives the ranks their devices. A message where one cannot be had.
static std::string openDevices(ring_host &host, const char *devices,
                               const std::optional<WorldPlace> &place) {
  std::vector<DeviceChoice> choices;
  if (Result result = parseDevices(devices, host.options.ranks, choices);
      result.failed())
    return result.message;
  std::string message;
  for (const auto &context : host.contexts) {
    const DeviceChoice &choice = choices[context->rank];
    if (!choice.isGpu())
      continue;
    RankDevice &gpu = context->gpu;
    int32_t localRank = place ? place->localRank : context->rank;
    gpu.device = Device::open(choice, context->rank, localRank,
                              *context->account.get(), message);
    if (!gpu.device)
      return message;
    gpu.kernels = std::make_unique<Kernels>(*gpu.device);
    gpu.margin = std::max(0, host.options.sm_margin);
  }
  return message;
}

/// Makes the transport nccl. A message where it cannot be had.
static std::string openNccl(ring_host &host,
                            const std::optional<WorldPlace> &place) {
  for (const auto &context : host.contexts)
    if (!context->gpu.device)
      return "rank " + std::to_string(context->rank) +
             " has no GPU, nccl needs one for each rank";
  const auto &contexts = host.contexts;
  const Device &first = *contexts[0]->gpu.device;
  for (size_t a = 0; a < contexts.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const Device &ofA = *contexts[a]->gpu.device;
      const Device &ofB = *contexts[b]->gpu.device;
      std::string ranks =
          "ranks " + std::to_string(b) + " and " + std::to_string(a);
      if (&ofA.driver != &ofB.driver)
        return ranks + " have GPUs of different kinds, nccl needs one kind";
      if (ofA.ordinal == ofB.ordinal)
        return ranks + " both have " + ofA.text() +
               ", nccl needs a GPU for each rank";
    }
  std::string message;
  host.nccl = ring::nccl::loadLibrary(first.driver.isVirtual, message);
  if (!host.nccl)
    return message;
  host.ncclRanks = std::vector<NcclRank>(contexts.size());
  if (host.options.sm_margin == 0)
    for (const auto &context : contexts)
      context->gpu.margin = kNcclMultiprocessors;
  if (place)
    message = World::join(*place, *host.nccl, host.options.deadline, host.world)
                  .message;
  return message;
}

static bool wantsNccl(const ring_host_options &options) {
  return options.transport && std::strcmp(options.transport, "nccl") == 0;
}

/// Message where the options are not ones that a host can have.
static std::string checkOptions(const ring_host_options &options) {
  if (options.ranks < 1)
    return "a ring of " + std::to_string(options.ranks) +
           " ranks, expected at least 1";
  if (options.threads < 0)
    return "a pool of " + std::to_string(options.threads) +
           " threads, expected 0 (one per core) or more";
  if (!(options.deadline >= 0))
    return "a deadline of " + formatSeconds(options.deadline) +
           ", expected 0 s (the default) or more";
  if (options.transport && !wantsNccl(options) &&
      std::strcmp(options.transport, "threads") != 0)
    return std::string("'") + options.transport +
           "' is no transport, expected threads or nccl";
  return "";
}

ring_host *ring_host_create(const ring_host_options *options, char *error,
                            size_t error_bytes) {
  std::string message = checkOptions(*options);
  std::unique_ptr<ring_host> host;
  if (message.empty()) {
    host = std::make_unique<ring_host>();
    host->options = *options;
    host->process = getpid();
    if (options->threads == 0)
      host->options.threads = coreCount();
    host->options.deadline =
        options->deadline == 0 ? kDefaultDeadline
                               : std::min(options->deadline, kLongestDeadline);
    host->pool = Pool::create(host->options.threads, message);
  }
  std::optional<WorldPlace> place;
  if (message.empty() && wantsNccl(*options))
    message = findPlace(host->options.deadline, place).message;
  if (message.empty() && place && place->size != options->ranks)
    message = "a ring of " + std::to_string(options->ranks) +
              " ranks in a world of " + std::to_string(place->size) +
              " processes";
  if (message.empty()) {
    int32_t first = place ? place->rank : 0;
    int32_t count = place ? 1 : options->ranks;
    for (int32_t i = 0; i < count; ++i) {
      host->contexts.push_back(
          std::make_unique<ring_context>(first + i, options->ranks, *host->pool,
                                         options->trace != 0, host->origin));
      host->contexts.back()->localIndex = i;
    }
    message = openDevices(*host, options->devices, place);
  }
  if (message.empty() && wantsNccl(*options))
    message = openNccl(*host, place);
  if (!message.empty()) {
    if (error && error_bytes)
      std::snprintf(error, error_bytes, "%s", message.c_str());
    return nullptr;
  }
  if (error && error_bytes)
    *error = '\0';
  return host.release();
}

void ring_host_destroy(ring_host *host) {
  // In a forked child the workers do not exist, and contexts of GPUs cannot be
  // used: nobody could be joined, nothing freed.
  if (host && host->process != getpid()) {
    static_cast<void>(host->pool.release());
    static_cast<void>(host->world.release());
    static_cast<void>(new std::vector<NcclRank>(std::move(host->ncclRanks)));
    for (const auto &context : host->contexts) {
      static_cast<void>(context->gpu.kernels.release());
      static_cast<void>(context->gpu.device.release());
    }
  }
  delete host;
}

void ring_host_trim(ring_host *host) {
  host->account->freeKept();
  for (const auto &context : host->contexts) {
    context->account->freeKept();
    if (context->gpu.device) {
      context->gpu.kernels->clear();
      context->gpu.device->trim();
    }
  }
}

int32_t ring_host_ranks(const ring_host *host) { return host->options.ranks; }
int32_t ring_host_first_rank(const ring_host *host) {
  return host->firstRank();
}
int32_t ring_host_local_ranks(const ring_host *host) {
  return host->localRanks();
}

Result ring_host::checkProcess() const {
  if (process == getpid())
    return {};
  return {RING_ERROR_USAGE, "the host was created in process " +
                                std::to_string(process) +
                                ", a forked process has to create its own"};
}

Result ring_host::createTransports(
    const Fault &fault, std::vector<std::unique_ptr<Transport>> &transports) {
  if (!nccl) {
    transports =
        createThreadsTransports(options.ranks, options.deadline, fault);
    return {};
  }
  if (fault.kind == Fault::Kind::Swap)
    return {RING_ERROR_USAGE, "RING_FAULT asks for swap, which nccl cannot do"};
  NcclStart start;
  start.library = nccl;
  start.ranks = options.ranks;
  // A trace has events around each kernel, whose times a graph does not keep.
  start.graph = options.graph && !options.trace;
  std::vector<std::unique_ptr<Meeting>> meetings;
  if (Result result = meet(start, meetings); result.failed())
    return result;
  for (int32_t i = 0; i < localRanks(); ++i)
    transports.push_back(createNcclTransport(std::move(meetings[i]), start,
                                             ncclRanks[i], firstRank() + i,
                                             options.deadline, fault));
  return {};
}

/// Where the ranks here begin, end and fail with all others, and the id of
/// their communicators where one is missing: then all connect again.
Result ring_host::meet(NcclStart &start,
                       std::vector<std::unique_ptr<Meeting>> &meetings) {
  bool connected =
      std::all_of(ncclRanks.begin(), ncclRanks.end(), [](const NcclRank &rank) {
        return rank.communicator && rank.communicator->isConnected();
      });
  bool anew = !connected && options.ranks > 1; // one rank needs none
  if (world) {
    meetings.emplace_back();
    Result result = world->beginRun(connected, start, anew, meetings.back());
    if (result.failed())
      return result;
  } else {
    for (auto &transport :
         createThreadsTransports(options.ranks, options.deadline, {}))
      meetings.push_back(std::move(transport));
    if (anew) {
      ring::nccl::ncclResult_t code = nccl->getUniqueId(&start.id);
      if (code != ring::nccl::ncclSuccess)
        return {RING_ERROR_DEVICE, std::string("NCCL: ncclGetUniqueId: ") +
                                       nccl->getErrorString(code)};
    }
  }
  for (NcclRank &rank : ncclRanks)
    if (anew)
      rank.disconnect();
  return {};
}

void ring_host::beginRun() {
  account->beginRun();
  for (const auto &context : contexts) {
    context->account->beginRun();
    if (context->gpu.device)
      context->gpu.device->beginRun();
  }
}

/// Raises the balances to those of the `index`-th program of the run that has
/// just ended.
static void recordBalance(ring_host &host, size_t index) {
  int64_t all = 0, busiest = 0;
  std::vector<int64_t> busiestOfRound;
  for (const auto &context : host.contexts) {
    int64_t ofRank = 0;
    if (index >= context->visiblePairs.size()) // it failed
      continue;
    const std::vector<int64_t> &byRound = context->visiblePairs[index];
    for (size_t round = 0; round < byRound.size(); ++round) {
      int64_t pairs = byRound[round];
      ofRank += pairs;
      if (round >= busiestOfRound.size())
        busiestOfRound.resize(round + 1);
      busiestOfRound[round] = std::max(busiestOfRound[round], pairs);
    }
    all += ofRank;
    busiest = std::max(busiest, ofRank);
  }
  if (all == 0)
    return;
  double mean = static_cast<double>(all) / host.contexts.size();
  int64_t byRounds =
      std::accumulate(busiestOfRound.begin(), busiestOfRound.end(), int64_t(0));
  host.balance = std::max(host.balance, busiest / mean);
  host.roundBalance = std::max(host.roundBalance, byRounds / mean);
}

ring_status ring_host_run(ring_host *host, int32_t ranks, ring_rank_body body,
                          void *environment) {
  if (Result result = host->checkProcess(); result.failed())
    return host->conclude(result);
  int32_t size = host->options.ranks;
  if (Result result = checkRanks(ranks, size); result.failed())
    return host->conclude(result);
  Fault fault;
  std::string message;
  if (!Fault::parse(std::getenv("RING_FAULT"), fault, message))
    return host->conclude({RING_ERROR_USAGE, message});

  Clock::time_point called = Clock::now();
  if (!host->insideFunction)
    host->beginRun();
  std::vector<std::unique_ptr<Transport>> transports;
  if (Result result = host->createTransports(fault, transports);
      result.failed())
    return host->conclude(result);
  int32_t count = host->localRanks();
  for (int32_t i = 0; i < count; ++i)
    host->contexts[i]->reset(std::move(transports[i]));

  std::unique_ptr<Thread[]> threads(new Thread[count]);
  for (int32_t i = 0; i < count; ++i) {
    ring_context *context = host->contexts[i].get();
    int code = threads[i].start("ring-rank-" + std::to_string(context->rank),
                                [context, body, environment] {
                                  AccountScope scope(context->account.get());
                                  context->finish(body(context, environment));
                                });
    if (code) {
      context->fail(
          {RING_ERROR_MEMORY,
           std::string("cannot start its thread: ") + std::strerror(code)});
      // The peers may wait for all ranks that will never come.
      for (int32_t absent = i; absent < count; ++absent)
        host->contexts[absent]->transport->abandon(/*wait=*/false);
      break;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    threads[i].join();

  // All threads are gone: nobody reads any more what a failed rank held.
  for (const auto &context : host->contexts) {
    if (context->status != RING_OK)
      context->account->freeBlocks();
    if (context->gpu.device)
      context->gpu.device->release();
  }

  ++host->runs;
  for (size_t i = 0; i < host->contexts[0]->visiblePairs.size(); ++i)
    recordBalance(*host, i);
  host->seconds += std::chrono::duration<double>(Clock::now() - called).count();
  if (std::optional<Failure> failure = host->contexts[0]->transport->failure())
    return host->conclude({failure->status, failure->message});
  return host->conclude({});
}

ring_status ring_host_begin(ring_host *host, int32_t abi_version,
                            int32_t ranks) {
  host->previousAccount = setCurrentAccount(host->account.get());
  host->insideFunction = true;
  host->beginRun();
  if (abi_version != RING_ABI_VERSION)
    return host->conclude({RING_ERROR_MISMATCH,
                           "program compiled for version " +
                               std::to_string(abi_version) +
                               " of the runtime's interface, this is version " +
                               std::to_string(RING_ABI_VERSION)});
  return host->conclude(ranks ? checkRanks(ranks, host->options.ranks)
                              : Result{});
}

ring_status ring_host_check_argument(ring_host *host, int32_t argument,
                                     const void *data, int32_t dims,
                                     const int64_t *sizes,
                                     const int64_t *expected) {
  return host->conclude(checkArgument(argument, data, dims, sizes, expected));
}

ring_status ring_host_end(ring_host *host, ring_status status) {
  setCurrentAccount(host->previousAccount);
  host->previousAccount = nullptr;
  host->insideFunction = false;
  if (status != RING_OK)
    host->account->freeBlocks();
  return status;
}

ring_status ring_host_parallel_for(ring_host *host, int64_t count,
                                   ring_body body, void *environment) {
  if (Result result = host->checkProcess(); result.failed())
    return host->conclude(result);
  if (count < 0)
    return host->conclude(
        {RING_ERROR_USAGE,
         "a parallel loop of " + std::to_string(count) + " items"});
  host->pool->run(count, body, environment, host->account.get());
  return host->conclude({});
}

const char *ring_host_graph_note(const ring_host *host) {
  if (!host->options.graph)
    return "graphs were not asked for";
  if (!host->nccl)
    return "graphs are for the transport nccl";
  if (host->options.trace)
    return "a trace is recorded";
  return host->ncclRanks.front().note.c_str();
}

const char *ring_host_error(const ring_host *host) {
  return host->error.c_str();
}

void ring_host_counters(const ring_host *host, ring_counters *counters) {
  *counters = ring_counters{};
  counters->runs = host->runs;
  counters->seconds = host->seconds;
  counters->local_bytes = host->localBytes;
  counters->balance = host->balance;
  counters->round_balance = host->roundBalance;
  auto raise = [](int64_t &value, int64_t candidate) {
    value = std::max(value, candidate);
  };
  for (const auto &context : host->contexts) {
    const RankCounters &rank = context->counters;
    raise(counters->transfers, rank.transfers);
    raise(counters->bytes_sent, rank.bytesSent);
    raise(counters->buffers_allocated, rank.buffersAllocated);
    raise(counters->slots_in_flight, rank.slotsInFlight);
    raise(counters->launches, rank.launches.load());
    raise(counters->peak_bytes, context->account->peak());
  }
}

void ring_host_reset_counters(ring_host *host) {
  host->runs = 0;
  host->seconds = 0;
  host->localBytes = 0;
  host->balance = host->roundBalance = 1;
  for (const auto &context : host->contexts) {
    RankCounters &rank = context->counters;
    rank.transfers = rank.bytesSent = 0;
    rank.buffersAllocated = rank.slotsInFlight = 0;
    rank.launches = 0;
    context->account->resetPeak();
    context->trace.clear();
  }
}

int32_t ring_host_write_trace(const ring_host *host, const char *path) {
  std::FILE *file = std::fopen(path, "w");
  if (!file)
    return 0;
  std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file);
  for (const auto &context : host->contexts) {
    std::fputs(context->localIndex == 0 ? "\n" : ",\n", file);
    context->trace.write(file, context->rank);
  }
  std::fputs("\n]}\n", file);
  bool good = !std::ferror(file);
  return std::fclose(file) == 0 && good;
}
