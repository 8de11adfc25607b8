//===- ArgumentsTest.cpp - Programs given what they were not made for -----===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace ring::test;

namespace {
constexpr int64_t kAny = INT64_MIN;

struct Passed {
  std::vector<int64_t> sizes, expected;
  const void *data;
  std::string message; ///< empty: accepted
};

std::vector<Passed> cases() {
  static const float memory[1] = {};
  return {
      {{2, 3}, {2, 3}, memory, ""},
      {{2, 7}, {2, kAny}, memory, ""},
      {{}, {}, memory, ""},
      {{2, 0}, {2, kAny}, nullptr, ""},
      {{2, 3, 17},
       {2, 3, 1},
       memory,
       "argument 5 has size 17 in dimension 2, expected 1"},
      {{1, 3},
       {2, 3},
       memory,
       "argument 5 has size 1 in dimension 0, expected 2"},
      {{2, -1},
       {2, kAny},
       memory,
       "argument 5 has size -1 in dimension 1, expected 0 or more"},
      {{2, 3}, {2, 3}, nullptr, "argument 5 has elements and no memory"},
      {{}, {}, nullptr, "argument 5 has elements and no memory"},
  };
}
} // namespace

TEST(ArgumentsTest, HostFunction) {
  Host host(3);
  ASSERT_EQ(ring_host_begin(host, RING_ABI_VERSION, 3), RING_OK);
  for (const Passed &passed : cases()) {
    EXPECT_EQ(ring_host_check_argument(host, 5, passed.data,
                                       passed.sizes.size(), passed.sizes.data(),
                                       passed.expected.data()),
              passed.message.empty() ? RING_OK : RING_ERROR_USAGE);
    EXPECT_EQ(host.error(), passed.message);
  }
  EXPECT_EQ(ring_host_end(host, RING_ERROR_USAGE), RING_ERROR_USAGE);
}

TEST(ArgumentsTest, RankFunction) {
  for (const Passed &passed : cases()) {
    Host host(2);
    ring_status status = host.run([&](ring_context *context) -> ring_status {
      RING_TRY(ring_begin(context, 2, 0, 0, nullptr));
      ring_status checked = RING_OK;
      if (ring_rank(context) == 1)
        checked =
            ring_check_argument(context, 5, passed.data, passed.sizes.size(),
                                passed.sizes.data(), passed.expected.data());
      return ring_end(context, checked);
    });
    EXPECT_EQ(status, passed.message.empty() ? RING_OK : RING_ERROR_USAGE);
    EXPECT_EQ(host.error(),
              passed.message.empty() ? "" : "rank 1: " + passed.message);
  }
}

// Case S7, before anything is split among ranks.
TEST(ArgumentsTest, HostFunctionOfAnotherNumberOfRanks) {
  for (auto [compiled, started] : {std::pair{2, 4}, std::pair{4, 2}}) {
    Host host(started);
    ring_status status = ring_host_begin(host, RING_ABI_VERSION, compiled);
    EXPECT_EQ(status, RING_ERROR_MISMATCH);
    EXPECT_EQ(host.error(), "program compiled for " + std::to_string(compiled) +
                                " ranks started on " + std::to_string(started));
    EXPECT_EQ(ring_host_end(host, status), status);
  }
  Host host(4); // a function that runs no ranks
  EXPECT_EQ(ring_host_begin(host, RING_ABI_VERSION, 0), RING_OK);
  EXPECT_EQ(ring_host_end(host, RING_OK), RING_OK);
}
