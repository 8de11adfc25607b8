//===- AccountingTest.cpp - Counters, memory and the trace ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonChecker.h"
#include "VisibilityCases.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ring;
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
    RING_TRY(ring_begin(context, 2, 0, 0, nullptr));
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
    RING_TRY(ring_begin(context, 1, 0, 0, nullptr));
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
      RING_TRY(ring_begin(context, 1, 0, 0, nullptr));
      memory = _mlir_memref_to_llvm_alloc(100);
      return ring_end(context, RING_OK);
    }),
              RING_OK);
  }
  _mlir_memref_to_llvm_free(memory);
}

TEST(AccountingTest, WhatAFailedRankHeldIsFreed) {
  Host host(2);
  ring_status status = host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 2, 0, 0, nullptr));
    _mlir_memref_to_llvm_alloc(5000);
    return ring_end(context,
                    ring_rank(context) == 1 ? RING_ERROR_USAGE : RING_OK);
  });
  EXPECT_EQ(status, RING_ERROR_USAGE);
  EXPECT_EQ(host.counters().peak_bytes, 5000);
  ring_host_reset_counters(host);
  EXPECT_EQ(host.counters().peak_bytes, 0);
}

namespace {
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
/// AddressSanitizer: nothing is kept. ThreadSanitizer has memory of its own.
constexpr bool kResidentBytesTell = false;
#else
constexpr bool kResidentBytesTell = true;
#endif
/// So large that malloc gives it back when it is freed.
constexpr int64_t kLarge = int64_t(40) << 20;
constexpr int64_t kMiB = 1 << 20;

/// Bytes of this process that are in memory.
int64_t residentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * getpagesize();
}

/// Allocates blocks of these sizes at once on a host of one rank, writes to all
/// of them and frees them; their addresses.
std::vector<void *> useBlocks(Host &host, const std::vector<int64_t> &sizes,
                              ring_status returned = RING_OK) {
  std::vector<void *> blocks;
  EXPECT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 0, 0, nullptr));
    for (int64_t size : sizes) {
      blocks.push_back(_mlir_memref_to_llvm_alloc(size));
      std::memset(blocks.back(), 1, size);
    }
    if (returned == RING_OK)
      for (void *block : blocks)
        _mlir_memref_to_llvm_free(block);
    return ring_end(context, returned);
  }),
            returned);
  return blocks;
}
} // namespace

TEST(AccountingTest, LargeBlocksAreKeptForTheNextRun) {
  if (!kResidentBytesTell)
    GTEST_SKIP();
  Host host(1);
  std::vector<void *> blocks = useBlocks(host, {kLarge, kLarge + kMiB});
  int64_t resident = residentBytes();
  useBlocks(host, {1000});
  EXPECT_GT(residentBytes(), resident - 8 * kMiB);
  std::vector<void *> again = useBlocks(host, {kLarge + kMiB, kLarge});
  std::swap(again[0], again[1]);
  EXPECT_EQ(again, blocks);
  // Poison and counters do not know that a block is an old one.
  EXPECT_EQ(host.counters().peak_bytes, 2 * kLarge + kMiB);
  ASSERT_EQ(host.run([&](ring_context *context) -> ring_status {
    RING_TRY(ring_begin(context, 1, 0, 0, nullptr));
    auto *block =
        static_cast<unsigned char *>(_mlir_memref_to_llvm_alloc(kLarge));
    EXPECT_EQ(block, blocks[0]);
    EXPECT_EQ(block[0], 0xFF) << "main sets RING_POISON";
    EXPECT_EQ(block[kLarge - 1], 0xFF);
    _mlir_memref_to_llvm_free(block);
    // Of another alignment it would be another block.
    void *aligned = _mlir_memref_to_llvm_aligned_alloc(4096, kLarge + kMiB);
    EXPECT_NE(aligned, blocks[1]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 4096, 0u);
    _mlir_memref_to_llvm_free(aligned);
    return ring_end(context, RING_OK);
  }),
            RING_OK);
}

TEST(AccountingTest, WhatTwoRunsHaveNotUsedIsFreed) {
  if (!kResidentBytesTell)
    GTEST_SKIP();
  Host host(1);
  int64_t resident = residentBytes();
  // Never the same size twice, so that no block fits a second time.
  for (int64_t i = 1; i < 20; ++i)
    useBlocks(host, {kLarge + i * 4096});
  EXPECT_LT(residentBytes(), resident + 3 * kLarge + 5 * kMiB);
  for (int run = 0; run < 3; ++run)
    useBlocks(host, {1000});
  EXPECT_LT(residentBytes(), resident + 5 * kMiB);
}

TEST(AccountingTest, KeptBlocksAreGivenBack) {
  if (!kResidentBytesTell)
    GTEST_SKIP();
  auto freed = [](auto act) {
    int64_t before = residentBytes();
    act();
    return before - residentBytes() > 35 * kMiB;
  };
  {
    Host host(1);
    useBlocks(host, {kLarge});
    EXPECT_TRUE(freed([&] { ring_host_trim(host); }));
    useBlocks(host, {kLarge});
    EXPECT_TRUE(freed([&] { useBlocks(host, {1000}, RING_ERROR_USAGE); }))
        << "after a failure";
    EXPECT_FALSE(freed([&] { ring_host_trim(host); }));
  }
  auto host = std::make_unique<Host>(1);
  useBlocks(*host, {kLarge});
  EXPECT_TRUE(freed([&] { host.reset(); }));
}

TEST(AccountingTest, AHostFunctionEndsWithItsStatus) {
  Host host(1);
  for (ring_status status : {RING_OK, RING_ERROR_USAGE, RING_ERROR_MEMORY}) {
    ASSERT_EQ(ring_host_begin(host, RING_ABI_VERSION, 1), RING_OK);
    void *memory = _mlir_memref_to_llvm_alloc(100);
    if (status == RING_OK)
      _mlir_memref_to_llvm_free(memory); // else it is freed by the host
    EXPECT_EQ(ring_host_end(host, status), status);
  }
}

TEST(AccountingTest, AHostFunctionOfAnotherVersionIsRefused) {
  Host host(1);
  ring_status status = ring_host_begin(host, RING_ABI_VERSION + 1, 1);
  EXPECT_EQ(status, RING_ERROR_MISMATCH);
  EXPECT_EQ(host.error(), "program compiled for version " +
                              std::to_string(RING_ABI_VERSION + 1) +
                              " of the runtime's interface, this is version " +
                              std::to_string(RING_ABI_VERSION));
  EXPECT_EQ(ring_host_end(host, status), RING_ERROR_MISMATCH);
}

namespace {
/// Walks one work list a round, as kernels do: an item per query range.
ring_status countPairs(ring_context *context,
                       const std::vector<LayoutEntry> &queries,
                       const std::vector<LayoutEntry> &keys,
                       const ring_visibility &visibility, bool label) {
  int32_t rank = ring_rank(context), size = ring_size(context);
  RING_TRY(ring_begin(context, size, 0, 0, nullptr));
  for (int64_t round = 0; round < size; ++round) {
    ring_slices slices;
    ring_slices_init(&slices, tableOf(queries), queries.size(), tableOf(keys),
                     keys.size(), rank, (rank + size - round) % size, 1,
                     &visibility);
    RING_TRY(ring_parallel_for(
        context, "attention", label ? round : -1,
        ring_slices_query_ranges(&slices, 2),
        [](void *environment, int64_t item) {
          auto *list = static_cast<const ring_slices *>(environment);
          int64_t range[2], key[3];
          ring_slices_query_range(list, 2, item, range);
          ring_key_cursor cursor;
          ring_slices_keys(list, 0, range[0], range[1], &cursor);
          while (ring_slices_next_keys(&cursor, key)) {
            std::vector<uint8_t> seen((key[1] - key[0]) * 2);
            if (!key[2])
              ring_slices_visible(&cursor, key[0], key[1], 2, seen.data());
          }
        },
        &slices));
  }
  return ring_end(context, RING_OK);
}
} // namespace

TEST(AccountingTest, BalanceIsThatOfTheVisiblePairs) {
  Host host(2);
  auto run = [&](const std::vector<LayoutEntry> &layout,
                 const std::vector<LayoutEntry> &keys,
                 const VisibilityCase &visibility, bool label = true) {
    ring_visibility init = visibility.init();
    ASSERT_EQ(host.run([&](ring_context *context) -> ring_status {
      return countPairs(context, layout, keys, init, label);
    }),
              RING_OK)
        << host.error();
  };
  EXPECT_EQ(host.counters().balance, 1) << "nothing has run";
  EXPECT_EQ(host.counters().round_balance, 1);

  // No mask: each rank has 4 queries, the keys are 3 and 4.
  run(contiguousLayout(2, 8), contiguousLayout(2, 7), {});
  EXPECT_EQ(host.counters().balance, 1);
  EXPECT_DOUBLE_EQ(host.counters().round_balance, (16 + 16) / 28.0);

  // Rank 0 has 10 pairs, rank 1 10 and 16: full and partial ranges.
  VisibilityCase causal{"causal", true};
  std::vector<LayoutEntry> layout = contiguousLayout(2, 8);
  run(layout, layout, causal);
  EXPECT_DOUBLE_EQ(host.counters().balance, 26 / 18.0);
  EXPECT_DOUBLE_EQ(host.counters().round_balance, 26 / 18.0);

  // The largest of all runs stays.
  run(zigzagLayout(2, 8), zigzagLayout(2, 8), causal);
  EXPECT_DOUBLE_EQ(host.counters().balance, 26 / 18.0);
  ring_host_reset_counters(host);
  EXPECT_EQ(host.counters().balance, 1);
  EXPECT_EQ(host.counters().round_balance, 1);
  run(zigzagLayout(2, 8), zigzagLayout(2, 8), causal);
  EXPECT_DOUBLE_EQ(host.counters().balance, 1);

  // What belongs to no round is counted nowhere, and not later either.
  run(layout, layout, causal, /*label=*/false);
  EXPECT_EQ(host.counters().balance, 1);

  // Of ids: rank 0 has its document of 4 queries, rank 1 one of 2.
  VisibilityCase documents{"documents"};
  documents.lengths = {8};
  for (int32_t id : {0, 0, 0, 0, 1, 1, -1, -1})
    documents.querySegments.insert(documents.querySegments.end(), {id, 77});
  documents.keySegments = documents.querySegments;
  run(layout, layout, documents);
  EXPECT_DOUBLE_EQ(host.counters().balance, 16 / 10.0);
  EXPECT_DOUBLE_EQ(host.counters().round_balance, 16 / 10.0);

  // Where nobody sees anything it is 1.
  ring_host_reset_counters(host);
  documents.lengths = {0};
  run(layout, layout, documents);
  EXPECT_EQ(host.counters().balance, 1);
  EXPECT_EQ(host.counters().round_balance, 1);
}

TEST(AccountingTest, LocalBytesAreThoseOfOneRank) {
  Host host(2);
  float whole[2 * 7] = {}, stacked[2][2][4] = {};
  std::vector<LayoutEntry> layout = contiguousLayout(2, 7);
  ring_tensor wide = tensorOf(whole, 4, {2, 7});
  ring_tensor local = tensorOf(stacked, 4, {2, 2, 4}); // one of them is padding
  ASSERT_EQ(
      ring_host_scatter(host, tableOf(layout), layout.size(), 1, &wide, &local),
      RING_OK);
  EXPECT_EQ(host.counters().local_bytes, 2 * 4 * 4);
  ASSERT_EQ(
      ring_host_gather(host, tableOf(layout), layout.size(), 1, &local, &wide),
      RING_OK);
  EXPECT_EQ(host.counters().local_bytes, 2 * (2 * 4 * 4));
  // What is refused is not counted.
  ASSERT_NE(
      ring_host_gather(host, tableOf(layout), layout.size(), 0, &local, &wide),
      RING_OK);
  EXPECT_EQ(host.counters().local_bytes, 2 * (2 * 4 * 4));
  ring_host_reset_counters(host);
  EXPECT_EQ(host.counters().local_bytes, 0);
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
