//===- World.cpp - A rank for each process --------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include "../Threads/ThreadsTransport.h"
#include "Socket.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

using namespace ring::runtime;
namespace nccl = ring::nccl;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// "Ring", and the version of what follows.
constexpr int64_t kHello = 0x52696e67'00000001;

namespace {
enum Call : int64_t { Run, Begin, End, Abandon, Fail, AskFailure };
} // namespace

static void add(Message &message, const Result &result) {
  message.add(result.status).add(result.message);
}
static Result resultOf(Message &message) {
  auto status = static_cast<ring_status>(message.number());
  std::string text = message.text();
  if (message.isBad())
    return {RING_ERROR_PEER, "a message that is too short"};
  return {status, text};
}
static void add(Message &message, const std::optional<Failure> &failure) {
  message.add(failure ? 1 : 0);
  if (failure)
    message.add(failure->rank).add(failure->status).add(failure->message);
}
static std::optional<Failure> failureOf(Message &message) {
  if (!message.number())
    return std::nullopt;
  auto rank = static_cast<int32_t>(message.number());
  auto status = static_cast<ring_status>(message.number());
  return Failure{rank, status, message.text()};
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

namespace {
/// One run, as its ranks come to it.
struct WorldRun {
  std::vector<std::unique_ptr<Transport>> meetings; ///< by rank
  int32_t arrived = 0;
  bool connected = true; ///< all that have arrived
  bool decided = false;
  Result result;
  nccl::ncclUniqueId id = {};
};

class Hub final : public World {
public:
  Hub(const WorldPlace &place, const nccl::Library &library, double deadline)
      : place(place), library(library), deadline(deadline), peers(place.size) {}
  ~Hub() override;

  Result open();
  Result beginRun(bool connected, NcclStart &start, bool &anew,
                  std::unique_ptr<Meeting> &meeting) override;

private:
  /// Of one other process.
  struct Peer {
    Socket socket;
    std::thread thread;
    bool isHere = false;
    int64_t runs = 0;
    bool inProgram = false; ///< others wait for it
    bool inRun = false;     ///< guarded by `mutex`: it is going to call
  };
  Result meet(Socket socket);
  void serve(int32_t rank);
  /// Answers one call; false where it makes no sense. `leaves`: it was the last
  /// one of a run.
  bool answer(int32_t rank, std::unique_ptr<Meeting> &meeting, Message &call,
              Message &reply, bool &leaves);
  void setInRun(int32_t rank, bool value);
  /// Waits for all ranks in the run.
  Result enter(int32_t rank, int64_t number, bool connected,
               std::shared_ptr<WorldRun> &run,
               std::unique_ptr<Meeting> &meeting);

  const WorldPlace place;
  const nccl::Library &library;
  const double deadline;
  std::vector<Peer> peers; ///< that of rank 0 has the count of runs only
  std::mutex mutex;        ///< guards what follows
  std::condition_variable changed;
  std::map<int64_t, std::shared_ptr<WorldRun>> runs;
  std::string lost; ///< why no run can begin any more
};
} // namespace

Result Hub::meet(Socket socket) {
  Message hello;
  Result result = socket.receive(deadline, hello);
  if (result.failed())
    return result;
  int64_t magic = hello.number(), rank = hello.number(), size = hello.number();
  if (hello.isBad() || magic != kHello)
    return {RING_ERROR_MISMATCH,
            "something that is no rank of this version has connected"};
  if (size != place.size || rank < 1 || rank >= size || peers[rank].isHere)
    result = {RING_ERROR_MISMATCH,
              "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                  " has connected to rank 0 of " + std::to_string(place.size)};
  Message reply;
  add(reply, result);
  Result sent = socket.send(reply);
  if (result.failed() || sent.failed())
    return result.failed() ? result : sent;
  peers[rank].socket = std::move(socket);
  peers[rank].isHere = true;
  return {};
}

Result Hub::open() {
  Result result;
  std::shared_ptr<Socket> listener = place.listener;
  if (!listener) {
    listener = std::make_shared<Socket>();
    result = Socket::listen(place.port, *listener);
  }
  for (int32_t missing = place.size - 1; missing > 0 && !result.failed();
       --missing) {
    Socket socket;
    result = listener->accept(deadline, socket);
    if (result.status == RING_ERROR_TIMEOUT)
      result.message =
          std::to_string(missing) + " of " + std::to_string(place.size) +
          " ranks did not connect to rank 0 within " + formatSeconds(deadline);
    if (!result.failed())
      result = meet(std::move(socket));
  }
  listener->close(); // nobody else belongs here
  if (result.failed())
    return result;
  for (int32_t rank = 1; rank < place.size; ++rank)
    peers[rank].thread = std::thread([this, rank] { serve(rank); });
  return {};
}

Hub::~Hub() {
  {
    // Others have to hear yet how the last run ended.
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, std::chrono::duration<double>(deadline), [&] {
      return std::none_of(peers.begin(), peers.end(),
                          [](const Peer &peer) { return peer.inRun; });
    });
  }
  for (Peer &peer : peers)
    peer.socket.shutdown();
  for (Peer &peer : peers)
    if (peer.thread.joinable())
      peer.thread.join();
}

void Hub::serve(int32_t rank) {
  std::unique_ptr<Meeting> meeting;
  Socket &socket = peers[rank].socket;
  Result result;
  while (!result.failed()) {
    Message call, reply;
    result = socket.receive(/*deadline=*/-1, call);
    if (result.failed())
      break;
    bool leaves = false;
    if (!answer(rank, meeting, call, reply, leaves))
      result = {RING_ERROR_PEER, "a message that makes no sense"};
    else
      result = socket.send(reply);
    if (leaves)
      setInRun(rank, false);
  }
  std::string text = "rank " + std::to_string(rank) +
                     ": its process is gone, " + result.message;
  if (meeting && peers[rank].inProgram)
    meeting->fail({rank, RING_ERROR_PEER, text});
  if (meeting)
    meeting->abandon(/*wait=*/false);
  setInRun(rank, false);
  std::lock_guard<std::mutex> lock(mutex);
  if (lost.empty())
    lost = text;
  changed.notify_all();
}

void Hub::setInRun(int32_t rank, bool value) {
  std::lock_guard<std::mutex> lock(mutex);
  peers[rank].inRun = value;
  changed.notify_all();
}

bool Hub::answer(int32_t rank, std::unique_ptr<Meeting> &meeting, Message &call,
                 Message &reply, bool &leaves) {
  int64_t name = call.number();
  bool &inProgram = peers[rank].inProgram;
  if (name == Run) {
    inProgram = true;
    setInRun(rank, true);
    bool connected = call.number() != 0;
    std::shared_ptr<WorldRun> run;
    Result result = enter(rank, ++peers[rank].runs, connected, run, meeting);
    add(reply, result);
    if (!result.failed())
      reply.add(run->connected ? 0 : 1)
          .add(std::string(run->id.internal, sizeof(run->id.internal)));
    return !call.isBad();
  }
  if (!meeting)
    return false;
  switch (name) {
  case Begin: {
    auto slots = static_cast<int32_t>(call.number());
    Program program;
    program.fingerprint = static_cast<uint64_t>(call.number());
    program.description = call.text();
    inProgram = true;
    add(reply, meeting->begin(slots, program));
    break;
  }
  case End:
    add(reply, meeting->end());
    inProgram = false;
    break;
  case Abandon:
    leaves = call.number() == 0;
    meeting->abandon(!leaves);
    inProgram = false;
    add(reply, meeting->failure());
    break;
  case Fail:
    if (std::optional<Failure> failure = failureOf(call))
      meeting->fail(*failure);
    break;
  case AskFailure:
    add(reply, meeting->failure());
    break;
  default:
    return false;
  }
  return !call.isBad();
}

Result Hub::enter(int32_t rank, int64_t number, bool connected,
                  std::shared_ptr<WorldRun> &run,
                  std::unique_ptr<Meeting> &meeting) {
  std::unique_lock<std::mutex> lock(mutex);
  std::shared_ptr<WorldRun> &entry = runs[number];
  if (!entry) {
    entry = std::make_shared<WorldRun>();
    entry->meetings = createThreadsTransports(place.size, deadline, {});
  }
  run = entry;
  run->connected &= connected;
  if (++run->arrived == place.size) {
    runs.erase(number);
    if (!run->connected) {
      nccl::ncclResult_t code = library.getUniqueId(&run->id);
      if (code != nccl::ncclSuccess)
        run->result = {RING_ERROR_DEVICE,
                       std::string("NCCL: ncclGetUniqueId: ") +
                           library.getErrorString(code)};
    }
    run->decided = true;
    changed.notify_all();
  }
  bool inTime = changed.wait_for(lock, std::chrono::duration<double>(deadline),
                                 [&] { return run->decided || !lost.empty(); });
  if (run->decided) {
    meeting = std::move(run->meetings[rank]);
    return run->result;
  }
  if (!inTime)
    return {RING_ERROR_TIMEOUT,
            std::to_string(place.size - run->arrived) + " of " +
                std::to_string(place.size) + " ranks did not come to run " +
                std::to_string(number) + " within " + formatSeconds(deadline)};
  return {RING_ERROR_PEER, lost};
}

Result Hub::beginRun(bool connected, NcclStart &start, bool &anew,
                     std::unique_ptr<Meeting> &meeting) {
  std::shared_ptr<WorldRun> run;
  Result result = enter(0, ++peers[0].runs, connected, run, meeting);
  anew = !run->connected;
  start.id = run->id;
  return result;
}

//===----------------------------------------------------------------------===//
// The other ranks
//===----------------------------------------------------------------------===//

namespace {
/// The connection to rank 0's process, used by one thread at a time.
class Connection {
public:
  Connection(Socket socket, double deadline)
      : socket(std::move(socket)), deadline(deadline) {}

  /// Calls and waits for the reply: twice the deadline, since rank 0 may wait
  /// for others that long.
  Result call(const Message &message, Message &reply) {
    if (lost.failed())
      return lost;
    lost = socket.send(message);
    if (!lost.failed())
      lost = socket.receive(2 * deadline + 1, reply);
    if (lost.failed())
      lost.message = "the process of rank 0 is gone, " + lost.message;
    return lost;
  }
  const Result &loss() const { return lost; }

private:
  Socket socket;
  const double deadline;
  Result lost; ///< failed: there is no connection any more
};

class RemoteMeeting final : public Meeting {
public:
  explicit RemoteMeeting(std::shared_ptr<Connection> connection)
      : connection(std::move(connection)) {}

  Result begin(int32_t slots, const Program &program) override {
    Message call;
    call.add(Begin)
        .add(slots)
        .add(static_cast<int64_t>(program.fingerprint))
        .add(program.description);
    return ask(call);
  }
  Result end() override { return ask(Message().add(End)); }
  void abandon(bool wait) override {
    Message reply;
    Result result = connection->call(Message().add(Abandon).add(wait), reply);
    if (wait)
      return;
    // The last call of the run: rank 0 may be gone after it.
    hasLeft = !result.failed();
    if (hasLeft && !own)
      own = failureOf(reply);
  }
  void fail(const Failure &failure) override {
    Message call;
    call.add(Fail);
    add(call, std::optional<Failure>(failure));
    if (tell(call).failed() && !own)
      own = failure;
  }
  std::optional<Failure> failure() const override {
    if (hasLeft)
      return own;
    Message reply;
    if (Result result = connection->call(Message().add(AskFailure), reply);
        !result.failed())
      return failureOf(reply);
    if (own)
      return own;
    return Failure{0, RING_ERROR_PEER, connection->loss().message};
  }

private:
  Result ask(const Message &call) {
    Message reply;
    Result result = connection->call(call, reply);
    return result.failed() ? result : resultOf(reply);
  }
  Result tell(const Message &call) {
    Message reply;
    return connection->call(call, reply);
  }

  std::shared_ptr<Connection> connection;
  bool hasLeft = false;
  std::optional<Failure> own; ///< told to nobody, or what the run ended with
};

class Spoke final : public World {
public:
  explicit Spoke(std::shared_ptr<Connection> connection)
      : connection(std::move(connection)) {}

  Result beginRun(bool connected, NcclStart &start, bool &anew,
                  std::unique_ptr<Meeting> &meeting) override {
    Message reply;
    Result result = connection->call(Message().add(Run).add(connected), reply);
    if (!result.failed())
      result = resultOf(reply);
    if (result.failed())
      return result;
    anew = reply.number() != 0;
    std::string id = reply.text();
    if (id.size() != sizeof(start.id.internal))
      return {RING_ERROR_PEER, "a message that is too short"};
    std::memcpy(start.id.internal, id.data(), id.size());
    meeting = std::make_unique<RemoteMeeting>(connection);
    return {};
  }

private:
  std::shared_ptr<Connection> connection;
};
} // namespace

static Result joinHub(const WorldPlace &place, double deadline,
                      std::unique_ptr<World> &world) {
  Socket socket;
  Result result = Socket::connect(place.address, place.port, deadline, socket);
  Message reply;
  if (!result.failed())
    result = socket.send(Message().add(kHello).add(place.rank).add(place.size));
  if (!result.failed())
    result = socket.receive(deadline, reply);
  if (!result.failed())
    result = resultOf(reply);
  if (!result.failed())
    world = std::make_unique<Spoke>(
        std::make_shared<Connection>(std::move(socket), deadline));
  return result;
}

Result World::join(const WorldPlace &place, const nccl::Library &library,
                   double deadline, std::unique_ptr<World> &world) {
  if (place.rank > 0)
    return joinHub(place, deadline, world);
  auto hub = std::make_unique<Hub>(place, library, deadline);
  Result result = hub->open();
  world = std::move(hub);
  return result;
}
