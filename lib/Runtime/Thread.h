//===- Thread.h - A thread with a stack for kernels -------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_THREAD_H
#define RING_RUNTIME_THREAD_H

#include <functional>
#include <pthread.h>
#include <string>

namespace ring::runtime {

/// Generated kernels keep their scratch in `alloca`: 16 MiB, whatever the
/// process' limit is. (Pages that are never touched cost nothing.)
constexpr size_t kStackBytes = size_t(16) << 20;

/// A joinable thread. Not std::thread, which has no stack size and reports
/// failure by an exception.
class Thread {
public:
  Thread() = default;
  Thread(const Thread &) = delete;
  Thread &operator=(const Thread &) = delete;

  /// 0, or the error number of the system. `name`: at most 15 characters.
  int start(const std::string &name, std::function<void()> body);
  /// Waits for the end of a thread that was started.
  void join();

private:
  pthread_t handle{};
  bool started = false;
  std::string name;
  std::function<void()> body;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_THREAD_H
