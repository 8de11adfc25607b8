//===- WorldPlace.cpp - Which process is which rank -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorldPlace.h"

#include "../Device/CudaDriver.h"
#include "../MPI/Bootstrap.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <mutex>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>
#include <vector>

using namespace ring::runtime;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// Empty where it is not set.
static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}
static std::string shown(const char *name) {
  return std::string(name) + "='" + variable(name) + "'";
}

/// A variable's number; -1 where it is not set, or none.
static int64_t numberOf(const char *name, bool &isSet) {
  std::string text = variable(name);
  isSet = !text.empty();
  if (!isSet)
    return -1;
  char *end = nullptr;
  errno = 0;
  long value = std::strtol(text.c_str(), &end, 10);
  return *end || errno || value < 0 || value > INT32_MAX ? -1 : value;
}

/// RING_PORT, or else `port`.
static Result choosePort(int64_t &port, const char *name) {
  bool hasOwn;
  int64_t own = numberOf("RING_PORT", hasOwn);
  if (hasOwn)
    port = own;
  if (port >= (hasOwn ? 1 : 0) && port <= 65535)
    return {};
  return {RING_ERROR_USAGE,
          shown(hasOwn ? "RING_PORT" : name) + " names no port"};
}

static Result placeInEnvironment(std::optional<WorldPlace> &place) {
  bool isSet;
  int64_t rank = numberOf("RANK", isSet);
  int64_t size = numberOf("WORLD_SIZE", isSet);
  if (size < 1 || rank < 0 || rank >= size)
    return {RING_ERROR_USAGE, shown("RANK") + " and " + shown("WORLD_SIZE") +
                                  " name no rank of a world"};
  if (size == 1)
    return {};
  int64_t localRank = numberOf("LOCAL_RANK", isSet);
  if (!isSet)
    localRank = rank;
  if (localRank < 0)
    return {RING_ERROR_USAGE, shown("LOCAL_RANK") + " names no rank"};
  std::string address = variable("MASTER_ADDR");
  if (address.empty())
    return {RING_ERROR_USAGE,
            shown("WORLD_SIZE") + " without MASTER_ADDR, where rank 0 is"};
  // The launcher may use its own port itself.
  int64_t port = numberOf("MASTER_PORT", isSet);
  port = !isSet ? 29501 : port < 0 ? port : port + 1;
  if (Result result = choosePort(port, "MASTER_PORT"); result.failed())
    return result;
  place.emplace();
  place->rank = static_cast<int32_t>(rank);
  place->size = static_cast<int32_t>(size);
  place->localRank = static_cast<int32_t>(localRank);
  place->address = address;
  place->port = static_cast<int>(port);
  return {};
}

//===----------------------------------------------------------------------===//
// MPI
//===----------------------------------------------------------------------===//

/// What a launcher of MPI has set in a process that is one of several, as
/// "NAME='VALUE'"; else empty. `size`: how many, -1 where it does not say.
static std::string findLauncher(int64_t &size) {
  bool isSet;
  // Open MPI; MPICH, its descendants and Slurm's PMI 2.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (size = numberOf(name, isSet); isSet)
      return size == 1 ? "" : shown(name);
  size = -1;
  // PMIx, as Slurm and PRRTE start it.
  return variable("PMIX_RANK").empty() ? "" : shown("PMIX_RANK");
}

namespace {
/// What each process tells all others.
struct Card {
  char host[256]; ///< its machine
  // Of rank 0:
  char address[256]; ///< empty: not known
  int32_t port;
  char problem[256]; ///< why it does not listen
};
} // namespace

template <size_t size> static void set(char (&field)[size], std::string text) {
  text.resize(std::min(text.size(), size - 1));
  std::memcpy(field, text.c_str(), text.size() + 1);
}

/// Of the first interface that leads elsewhere; IPv4 where there is one.
static std::string addressOfInterface() {
  ifaddrs *list = nullptr;
  if (getifaddrs(&list))
    return "";
  std::string found;
  for (int family : {AF_INET, AF_INET6})
    for (ifaddrs *each = list; each && found.empty(); each = each->ifa_next) {
      if (!each->ifa_addr || each->ifa_addr->sa_family != family ||
          !(each->ifa_flags & IFF_RUNNING) || each->ifa_flags & IFF_LOOPBACK)
        continue;
      char text[NI_MAXHOST];
      socklen_t bytes =
          family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (getnameinfo(each->ifa_addr, bytes, text, sizeof(text), nullptr, 0,
                      NI_NUMERICHOST) == 0)
        found = text;
    }
  freeifaddrs(list);
  return found;
}

/// Listens, and writes where.
static void openListener(WorldPlace &place, Card &card) {
  int64_t port = 0;
  Result result = choosePort(port, "RING_PORT");
  place.listener = std::make_shared<Socket>();
  if (!result.failed())
    result = Socket::listen(static_cast<int>(port), *place.listener);
  set(card.problem, result.message);
  card.port = place.listener->port();
  // Whoever knows a better one says so.
  std::string address = variable("MASTER_ADDR");
  set(card.address, address.empty() ? addressOfInterface() : address);
}

/// Once for a process; `why`: who asks for MPI.
static Result loadBootstrap(const std::string &why, MpiBootstrap &mpi) {
  std::string reason;
  void *library = ring::cuda::openLibrary(
      ring::cuda::ownLibrary("RING_MPI_LIBRARY", "libring_mpi.so"), reason);
  if (!library)
    return {RING_ERROR_USAGE,
            why + " asks for MPI, but there is no libring_mpi.so (" + reason +
                "): build Ring where CMake finds MPI, or set RANK, WORLD_SIZE "
                "and MASTER_ADDR, or RING_BOOTSTRAP=none"};
  mpi.begin =
      reinterpret_cast<decltype(mpi.begin)>(dlsym(library, "ring_mpi_begin"));
  mpi.allGather = reinterpret_cast<decltype(mpi.allGather)>(
      dlsym(library, "ring_mpi_all_gather"));
  if (!mpi.begin || !mpi.allGather)
    return {RING_ERROR_USAGE, "libring_mpi.so is of another version"};
  return {};
}

static Result placeInMpi(double deadline, const std::string &why,
                         int64_t expected, std::optional<WorldPlace> &place) {
  // MPI is called by one thread at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  MpiBootstrap mpi;
  if (Result result = loadBootstrap(why, mpi); result.failed())
    return result;
  char text[512] = "";
  auto failure = [&](int32_t status) {
    return Result{static_cast<ring_status>(status), text};
  };
  WorldPlace found;
  if (int32_t status = mpi.begin(&found.rank, &found.size, text, sizeof(text)))
    return failure(status);
  if (expected > 0 && expected != found.size)
    return {RING_ERROR_USAGE, why + ", but " + text + " knows of " +
                                  std::to_string(found.size) +
                                  " processes: was libring_mpi.so built for "
                                  "another MPI than the launcher's?"};
  if (found.size == 1)
    return {};
  std::vector<Card> cards(found.size);
  Card mine = {};
  gethostname(mine.host, sizeof(mine.host) - 1);
  if (found.rank == 0)
    openListener(found, mine);
  if (int32_t status = mpi.allGather(&mine, cards.data(), sizeof(mine),
                                     deadline, text, sizeof(text)))
    return failure(status);

  const Card &first = cards.front();
  if (*first.problem)
    return {RING_ERROR_PEER,
            std::string("rank 0 cannot listen: ") + first.problem};
  auto isHere = [&](const Card &card) {
    return std::strcmp(card.host, mine.host) == 0;
  };
  for (int32_t rank = 0; rank < found.rank; ++rank)
    found.localRank += isHere(cards[rank]);
  found.port = first.port;
  found.address = first.address;
  if (isHere(first) && variable("MASTER_ADDR").empty())
    found.address = "127.0.0.1"; // "localhost" may have no entry
  if (found.address.empty())
    return {RING_ERROR_PEER, std::string("no interface of rank 0's machine ") +
                                 first.host +
                                 " leads elsewhere: set MASTER_ADDR"};
  place = std::move(found);
  return {};
}

Result ring::runtime::findPlace(double deadline,
                                std::optional<WorldPlace> &place) {
  place.reset();
  std::string bootstrap = variable("RING_BOOTSTRAP");
  bool isSet = !variable("RANK").empty() || !variable("WORLD_SIZE").empty();
  if (bootstrap == "env" || (bootstrap.empty() && isSet))
    return placeInEnvironment(place);
  if (bootstrap == "none")
    return {};
  if (!bootstrap.empty() && bootstrap != "mpi")
    return {RING_ERROR_USAGE,
            shown("RING_BOOTSTRAP") + ", expected env, mpi or none"};
  int64_t size;
  std::string why = findLauncher(size);
  if (bootstrap.empty() && why.empty())
    return {};
  return placeInMpi(deadline, why.empty() ? shown("RING_BOOTSTRAP") : why, size,
                    place);
}
