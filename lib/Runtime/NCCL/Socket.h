//===- Socket.h - Messages between processes --------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_NCCL_SOCKET_H
#define RING_RUNTIME_NCCL_SOCKET_H

#include "../Transport.h"

#include <string>

namespace ring::runtime {

/// Numbers and texts one after the other. What is read from a message that is
/// too short is 0 or empty, and makes it bad.
class Message {
public:
  Message() = default;
  explicit Message(std::string content) : content(std::move(content)) {}

  Message &add(int64_t number);
  Message &add(const std::string &text);
  int64_t number();
  std::string text();
  bool isBad() const { return bad; }
  const std::string &bytes() const { return content; }

private:
  const char *take(size_t bytes);

  std::string content;
  size_t read = 0;
  bool bad = false;
};

/// A TCP connection. Errors are RING_ERROR_TIMEOUT or RING_ERROR_PEER.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket &&other) noexcept;
  Socket &operator=(Socket &&other) noexcept;

  /// Tries until the deadline: the other side may come later.
  static Result connect(const std::string &address, int port, double deadline,
                        Socket &socket);
  /// Waits for connections on all interfaces; `port` 0: on any free one.
  static Result listen(int port, Socket &socket);
  /// Where it waits for them.
  int port() const;
  Result accept(double deadline, Socket &socket);

  Result send(const Message &message);
  /// `deadline` below 0: for ever.
  Result receive(double deadline, Message &message);
  /// Ends what another thread waits for here.
  void shutdown();
  void close();

private:
  Result receiveBytes(double deadline, char *to, size_t bytes);

  int descriptor = -1;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_NCCL_SOCKET_H
