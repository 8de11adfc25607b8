//===- AccountingTest.cpp - Counters, memory and the trace ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonChecker.h"
#include "RuntimeTest.h"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

using namespace ring::test;

namespace {

/// The events of one ring of 3 in a file, and what it holds.
std::string traceOf(Host &host) {
  std::string path =
      testing::TempDir() + "ring_trace_" + std::to_string(getpid()) + ".json";
  EXPECT_EQ(ring_host_write_trace(host, path.c_str()), 1);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  return text.str();
}

size_t occurrences(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

ring_status computeAndPass(ring_context *context, const char *name) {
  static float values[8];
  float *own = &values[ring_rank(context)];
  return runRing(
      context, {tensorOf(own, 4, {1})}, 1, [&](int32_t round, const auto &) {
        return ring_parallel_for(
            context, name, round, 2, [](void *, int64_t) {}, nullptr);
      });
}

} // namespace

TEST(AccountingTest, CountersAddUpAndReset) {
  Host host(3);
  for (int run = 1; run <= 2; ++run) {
    ASSERT_EQ(host.run([](ring_context *context) -> ring_status {
      return computeAndPass(context, "attention");
    }),
              RING_OK);
    ring_counters counters = host.counters();
    EXPECT_EQ(counters.runs, run);
    EXPECT_EQ(counters.transfers, run * 2);
    EXPECT_EQ(counters.bytes_sent, run * 8);
    EXPECT_EQ(counters.launches, run * 3);
    EXPECT_EQ(counters.slots_in_flight, 1);
    EXPECT_GT(counters.seconds, 0);
  }
  ring_host_reset_counters(host);
  ring_counters counters = host.counters();
  EXPECT_EQ(counters.runs, 0);
  EXPECT_EQ(counters.transfers, 0);
  EXPECT_EQ(counters.bytes_sent, 0);
  EXPECT_EQ(counters.launches, 0);
  EXPECT_EQ(counters.slots_in_flight, 0);
  EXPECT_EQ(counters.peak_bytes, 0);
  EXPECT_EQ(counters.seconds, 0);
}

TEST(AccountingTest, PeakIsOfTheBusiestRank) {
  Host host(2);
  void *kept = nullptr;
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 2, 0, 0));
    int64_t unit = ring_rank(context) == 1 ? 3000 : 1000;
    void *first = _mlir_memref_to_llvm_alloc(unit);
    void *second = _mlir_memref_to_llvm_aligned_alloc(256, unit);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 256, 0u);
    _mlir_memref_to_llvm_free(first);
    first = _mlir_memref_to_llvm_alloc(unit / 2);
    _mlir_memref_to_llvm_free(first);
    if (ring_rank(context) == 1)
      kept = second;
    else
      _mlir_memref_to_llvm_free(second);
    _mlir_memref_to_llvm_free(nullptr);
    return ring_end(context, RING_OK);
  });
  ASSERT_EQ(status, RING_OK) << host.error();
  EXPECT_EQ(host.counters().peak_bytes, 6000);
  ring_host_reset_counters(host);
  EXPECT_EQ(host.counters().peak_bytes, 3000) << "what is still held";
  std::thread([&] { _mlir_memref_to_llvm_free(kept); }).join();
  ring_host_reset_counters(host);
  EXPECT_EQ(host.counters().peak_bytes, 0);
}

TEST(AccountingTest, WorkersCountForTheirRank) {
  Host host(1);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 0, 0));
    RING_TRY(ring_parallel_for(
        context, "allocate", 0, 4,
        [](void *, int64_t) {
          _mlir_memref_to_llvm_free(_mlir_memref_to_llvm_alloc(5000));
        },
        nullptr));
    return ring_end(context, RING_OK);
  });
  ASSERT_EQ(status, RING_OK) << host.error();
  EXPECT_GE(host.counters().peak_bytes, 5000);
  EXPECT_LE(host.counters().peak_bytes, 10000);
}

TEST(AccountingTest, MemoryMayOutliveTheHost) {
  void *memory = nullptr;
  {
    Host host(1);
    EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
      RING_TRY(ring_begin(context, 1, 0, 0));
      memory = _mlir_memref_to_llvm_alloc(100);
      return ring_end(context, RING_OK);
    }),
              RING_OK);
  }
  _mlir_memref_to_llvm_free(memory);
}

TEST(AccountingTest, FreshMemoryIsPoisoned) { // main sets RING_POISON
  for (size_t bytes : {size_t(0), size_t(4), size_t(4096)}) {
    auto *memory =
        static_cast<unsigned char *>(_mlir_memref_to_llvm_alloc(bytes));
    for (size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(memory[i], 0xFF);
    if (bytes >= 4) {
      EXPECT_NE(*reinterpret_cast<float *>(memory),
                *reinterpret_cast<float *>(memory));
    }
    _mlir_memref_to_llvm_free(memory);
  }
}

TEST(AccountingDeathTest, NoMemoryIsAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(_mlir_memref_to_llvm_alloc(SIZE_MAX - 8),
               "cannot allocate 18446744073709551607 bytes");
}

TEST(AccountingTest, TraceNamesEveryRoundAndTransfer) {
  Host host(3, 2, 20, /*trace=*/true);
  ASSERT_EQ(host.run([](ring_context *context) -> ring_status {
    return computeAndPass(context, "a \"quoted\\ name\"\n");
  }),
            RING_OK);
  std::string text = traceOf(host);
  EXPECT_TRUE(isJson(text)) << text;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(occurrences(text, "{\"name\":\"process_name\",\"ph\":\"M\","
                                "\"pid\":" +
                                    std::to_string(rank) +
                                    ",\"tid\":0,\"args\":{\"name\":\"rank " +
                                    std::to_string(rank) + "\"}}"),
              1u);
  EXPECT_EQ(occurrences(text, "\"args\":{\"name\":\"compute\"}"), 3u);
  EXPECT_EQ(occurrences(text, "\"args\":{\"name\":\"transfer\"}"), 3u);
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(occurrences(text, "\"round " + std::to_string(round) +
                                    " a \\\"quoted\\\\ name\\\"\\u000a\""),
              3u);
  for (int rank = 0; rank < 3; ++rank)
    for (int transfer = 1; transfer < 3; ++transfer)
      EXPECT_EQ(occurrences(text, "\"transfer " + std::to_string(transfer) +
                                      " from rank " + std::to_string(rank) +
                                      "\",\"cat\":\"transfer\",\"ph\":\"X\","
                                      "\"pid\":" +
                                      std::to_string((rank + 1) % 3)),
                1u);

  ring_host_reset_counters(host);
  EXPECT_EQ(occurrences(traceOf(host), "\"X\""), 0u);
}

TEST(AccountingTest, NoTraceUnlessAsked) {
  Host host(2);
  ASSERT_EQ(host.run([](ring_context *context) -> ring_status {
    return computeAndPass(context, "attention");
  }),
            RING_OK);
  std::string text = traceOf(host);
  EXPECT_TRUE(isJson(text)) << text;
  EXPECT_EQ(occurrences(text, "\"X\""), 0u);
  EXPECT_EQ(ring_host_write_trace(host, "/nonexistent/folder/trace.json"), 0);
}

extern "C" int ring_test_headers_in_c(void);

TEST(AccountingTest, HeadersAreC) { EXPECT_EQ(ring_test_headers_in_c(), 0); }
