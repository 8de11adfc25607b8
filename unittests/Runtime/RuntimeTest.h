//===- RuntimeTest.h - What the tests of the runtime share ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_RUNTIMETEST_H
#define RING_UNITTESTS_RUNTIME_RUNTIMETEST_H

#include "ring/Runtime/Host.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace ring::test {

/// A host that ends with the test.
class Host {
public:
  explicit Host(int32_t ranks, int32_t threads = 2, double deadline = 20,
                bool trace = false)
      : Host([&] {
          ring_host_options options{};
          options.ranks = ranks;
          options.threads = threads;
          options.deadline = deadline;
          options.trace = trace;
          return options;
        }()) {}
  explicit Host(const ring_host_options &options) {
    char error[256];
    host = ring_host_create(&options, error, sizeof(error));
    EXPECT_NE(host, nullptr) << error;
  }
  ~Host() { ring_host_destroy(host); }
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  using Body = std::function<ring_status(ring_context *)>;
  ring_status run(const Body &body) { return run(ring_host_ranks(host), body); }
  ring_status run(int32_t ranks, const Body &body) {
    return ring_host_run(
        host, ranks,
        [](ring_context *context, void *environment) {
          return (*static_cast<const Body *>(environment))(context);
        },
        const_cast<Body *>(&body));
  }
  std::string error() const { return ring_host_error(host); }
  ring_counters counters() const {
    ring_counters result;
    ring_host_counters(host, &result);
    return result;
  }
  operator ring_host *() const { return host; }

private:
  ring_host *host;
};

/// A contiguous tensor over `data`.
inline ring_tensor tensorOf(void *data, int32_t elementBytes,
                            const std::vector<int64_t> &sizes) {
  ring_tensor tensor{};
  tensor.data = data;
  tensor.dims = static_cast<int32_t>(sizes.size());
  tensor.element_bytes = elementBytes;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = stride;
    stride *= sizes[i];
  }
  return tensor;
}

/// Sets an environment variable for one test.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { unsetenv(name); }
  ScopedVariable(const ScopedVariable &) = delete;
  ScopedVariable &operator=(const ScopedVariable &) = delete;

private:
  const char *name;
};

/// Sends every rank's `own` group around the whole ring, `distance + 1`
/// transfers in flight, as pipelined programs do, and calls `visit(round,
/// group)` for each block, the own one first.
ring_status passAround(
    ring_context *context, const std::vector<ring_tensor> &own,
    int32_t distance,
    const std::function<ring_status(int32_t, const std::vector<ring_tensor> &)>
        &visit);

/// passAround between ring_begin and ring_end.
ring_status runRing(
    ring_context *context, const std::vector<ring_tensor> &own,
    int32_t distance,
    const std::function<ring_status(int32_t, const std::vector<ring_tensor> &)>
        &visit);

} // namespace ring::test

/// Returns a bad status from the enclosing rank body.
#define RING_TRY(call)                                                         \
  do {                                                                         \
    if (ring_status ringTryStatus = (call); ringTryStatus != RING_OK)          \
      return ringTryStatus;                                                    \
  } while (false)

#endif // RING_UNITTESTS_RUNTIME_RUNTIMETEST_H
