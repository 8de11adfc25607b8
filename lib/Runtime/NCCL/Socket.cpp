//===- Socket.cpp - Messages between processes ----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace ring::runtime;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Message &Message::add(int64_t number) {
  for (int shift = 0; shift < 64; shift += 8)
    content += static_cast<char>(static_cast<uint64_t>(number) >> shift);
  return *this;
}

Message &Message::add(const std::string &text) {
  add(static_cast<int64_t>(text.size()));
  content += text;
  return *this;
}

const char *Message::take(size_t bytes) {
  if (bytes > content.size() - read) {
    bad = true;
    return nullptr;
  }
  read += bytes;
  return content.data() + read - bytes;
}

int64_t Message::number() {
  const char *bytes = take(8);
  uint64_t number = 0;
  for (int i = 0; bytes && i < 8; ++i)
    number |= uint64_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return static_cast<int64_t>(number);
}

std::string Message::text() {
  auto size = static_cast<size_t>(number());
  const char *bytes = take(size);
  return bytes ? std::string(bytes, size) : std::string();
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

/// More than any message of ours.
constexpr int64_t kLongestMessage = 1 << 20;

static Result failed(const std::string &what) {
  return {RING_ERROR_PEER, what + ": " + std::strerror(errno)};
}

Socket::Socket(Socket &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)) {}

Socket &Socket::operator=(Socket &&other) noexcept {
  close();
  descriptor = std::exchange(other.descriptor, -1);
  return *this;
}

void Socket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

void Socket::shutdown() {
  if (descriptor >= 0)
    ::shutdown(descriptor, SHUT_RDWR);
}

namespace {
/// What getaddrinfo says, freed in the end.
class Addresses {
public:
  Addresses(const char *address, int port) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = address ? 0 : AI_PASSIVE;
    code = getaddrinfo(address, std::to_string(port).c_str(), &hints, &list);
  }
  ~Addresses() {
    if (list)
      freeaddrinfo(list);
  }
  Addresses(const Addresses &) = delete;
  Addresses &operator=(const Addresses &) = delete;

  int code;
  addrinfo *list = nullptr;
};
} // namespace

static void sendAtOnce(int descriptor) {
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Result Socket::connect(const std::string &address, int port, double deadline,
                       Socket &socket) {
  std::string name = address + ":" + std::to_string(port);
  Watch late = deadlineWatch(deadline, "no connection to " + name);
  while (true) {
    Addresses found(address.c_str(), port);
    for (addrinfo *each = found.list; each; each = each->ai_next) {
      Socket fresh(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC,
                            each->ai_protocol));
      if (fresh.descriptor >= 0 &&
          ::connect(fresh.descriptor, each->ai_addr, each->ai_addrlen) == 0) {
        sendAtOnce(fresh.descriptor);
        socket = std::move(fresh);
        return {};
      }
    }
    if (Result result = late(); result.failed()) {
      if (found.code)
        result.message += std::string(": ") + gai_strerror(found.code);
      return result;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result Socket::listen(int port, Socket &socket) {
  Addresses found(nullptr, port);
  std::string name = "port " + std::to_string(port);
  if (found.code)
    return {RING_ERROR_PEER, name + ": " + gai_strerror(found.code)};
  Result result;
  for (addrinfo *each = found.list; each; each = each->ai_next) {
    Socket fresh(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC,
                          each->ai_protocol));
    int on = 1;
    if (fresh.descriptor >= 0)
      setsockopt(fresh.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fresh.descriptor >= 0 &&
        bind(fresh.descriptor, each->ai_addr, each->ai_addrlen) == 0 &&
        ::listen(fresh.descriptor, SOMAXCONN) == 0) {
      socket = std::move(fresh);
      return {};
    }
    result = failed(name);
  }
  return result;
}

int Socket::port() const {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof(address);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  if (getsockname(descriptor, any, &bytes))
    return 0;
  return ntohs(any->sa_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 *>(any)->sin6_port
                   : reinterpret_cast<sockaddr_in *>(any)->sin_port);
}

/// Waits until there is something to read; `deadline` below 0: for ever.
static Result waitFor(int descriptor, double deadline) {
  auto end = Clock::now() + std::chrono::duration<double>(deadline);
  while (true) {
    int milliseconds = -1;
    if (deadline >= 0)
      milliseconds = static_cast<int>(std::clamp(
          std::chrono::duration<double>(end - Clock::now()).count() * 1000 + 1,
          0.0, 1e6));
    pollfd poller{descriptor, POLLIN, 0};
    int code = poll(&poller, 1, milliseconds);
    if (code > 0)
      return {};
    if (code < 0 && errno != EINTR)
      return failed("poll");
    if (deadline >= 0 && Clock::now() > end)
      return {RING_ERROR_TIMEOUT,
              "no message within " + formatSeconds(deadline)};
  }
}

Result Socket::accept(double deadline, Socket &socket) {
  if (Result result = waitFor(descriptor, deadline); result.failed())
    return result;
  Socket fresh(::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC));
  if (fresh.descriptor < 0)
    return failed("accept");
  sendAtOnce(fresh.descriptor);
  socket = std::move(fresh);
  return {};
}

Result Socket::send(const Message &message) {
  Message frame;
  frame.add(message.bytes());
  const std::string &bytes = frame.bytes();
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t count = ::send(descriptor, bytes.data() + sent, bytes.size() - sent,
                           MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("send");
    sent += static_cast<size_t>(count);
  }
  return {};
}

Result Socket::receiveBytes(double deadline, char *to, size_t bytes) {
  while (bytes > 0) {
    if (Result result = waitFor(descriptor, deadline); result.failed())
      return result;
    ssize_t count = recv(descriptor, to, bytes, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("receive");
    if (count == 0)
      return {RING_ERROR_PEER, "the connection is closed"};
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return {};
}

Result Socket::receive(double deadline, Message &message) {
  std::string head(8, '\0');
  Result result = receiveBytes(deadline, head.data(), head.size());
  if (result.failed())
    return result;
  int64_t size = Message(head).number();
  if (size < 0 || size > kLongestMessage)
    return {RING_ERROR_PEER, "a message of " + std::to_string(size) + " bytes"};
  std::string content(static_cast<size_t>(size), '\0');
  result = receiveBytes(deadline, content.data(), content.size());
  message = Message(std::move(content));
  return result;
}
