//===- ReportTest.cpp - Tests of the report of a run ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Report.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <limits>

using namespace ring::tools;

namespace {

RunReport example() {
  RunReport report;
  report.ranks = 4;
  report.layout = "striped:2";
  report.variant = "pass-kv";
  report.compileMs = 35.25;
  report.timeMs = 4.125;
  report.add({4, 3, 2});
  report.bytesPerRank = int64_t(3) << 19;
  report.balance = 1.25;
  report.roundBalance = 1.5;
  report.peakBytesPerRank = 1 << 20;
  return report;
}

std::string json(const RunReport &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.printJson(stream);
  return text;
}

llvm::json::Object parsed(const RunReport &report) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json(report));
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

} // namespace

TEST(Report, JsonHoldsExactlyTheKeysOfTheContract) {
  llvm::json::Object expected{{"ranks", 4},
                              {"layout", "striped:2"},
                              {"variant", "pass-kv"},
                              {"attentions", 1},
                              {"rounds", 4},
                              {"transfers", 3},
                              {"bytes_per_rank", 1572864},
                              {"balance", 1.25},
                              {"round_balance", 1.5},
                              {"buffers", 2},
                              {"buffers_allocated", 0},
                              {"peak_bytes_per_rank", 1048576},
                              {"compile_ms", 35.25},
                              {"time_ms", 4.125},
                              {"ok", true}};
  EXPECT_EQ(parsed(example()), expected);
  EXPECT_EQ(json(example()).substr(0, 1), "{");

  RunReport report = example();
  report.ok = false;
  report.maxError = {{0.5, 0.25}, {2, 0}};
  report.refused = "sinks";
  expected["ok"] = false;
  expected["refused"] = "sinks";
  expected["max_error"] =
      llvm::json::Array{llvm::json::Object{{"out", 0.5}, {"lse", 0.25}},
                        llvm::json::Object{{"out", 2.0}, {"lse", 0.0}}};
  EXPECT_EQ(parsed(report), expected);
}

TEST(Report, JsonStaysValidForAnyValue) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  RunReport report = example();
  report.layout = "\"\\\n\xFF";
  report.maxError = {{kInf, kNaN}};
  llvm::json::Object object = parsed(report);
  const llvm::json::Object &error =
      *(*object.getArray("max_error"))[0].getAsObject();
  EXPECT_GT(*error.getNumber("out"), 1e308);
  EXPECT_GT(*error.getNumber("lse"), 1e308);
}

TEST(Report, RoundsAddUpAndBuffersAreAMaximum) {
  RunReport report;
  EXPECT_EQ(report.balance, 1);
  report.add({4, 3, 2});
  report.add({2, 1, 1});
  EXPECT_EQ(report.attentions, 2);
  EXPECT_EQ(report.counts.rounds, 6);
  EXPECT_EQ(report.counts.transfers, 4);
  EXPECT_EQ(report.counts.buffers, 2);
}

TEST(Report, TableShowsEverythingWithUnits) {
  RunReport report = example();
  report.maxError = {{0.5, 0.25}, {0.125, 0.75}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.printTable(stream);
  EXPECT_EQ(text, "  ranks           4\n"
                  "  layout          striped:2\n"
                  "  variant         pass-kv\n"
                  "  attentions      1\n"
                  "  rounds          4\n"
                  "  transfers       3\n"
                  "  sent per rank   1.50 MiB\n"
                  "  balance         1.250\n"
                  "  round balance   1.500\n"
                  "  buffers         2, 0 allocated\n"
                  "  peak per rank   1.00 MiB\n"
                  "  compile         35.2 ms\n"
                  "  time            4.125 ms\n"
                  "  max error       out 0.5, lse 0.75 of the tolerance\n"
                  "  result          ok\n");
  auto lastLine = [](const RunReport &report) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    report.printTable(stream);
    return text.substr(text.rfind('\n', text.size() - 2) + 1);
  };
  report.ok = false;
  EXPECT_EQ(lastLine(report), "  result          wrong\n");
  report.refused = "sinks";
  EXPECT_EQ(lastLine(report), "  result          refused: sinks\n");
}

TEST(Report, BytesHaveUnits) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1.00 KiB");
  EXPECT_EQ(formatBytes(int64_t(5) << 29), "2.50 GiB");
  EXPECT_EQ(formatBytes(int64_t(1) << 60), "1048576.00 TiB");
}
