//===- Report.cpp - What a run reports --------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ring::tools;

namespace {

double finiteOrLargest(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::max();
}

/// The worst of several attentions; NaN counts as worst.
MaxError worstOf(const std::vector<MaxError> &errors) {
  MaxError worst;
  for (const MaxError &error : errors) {
    worst.out = std::max(worst.out, finiteOrLargest(error.out));
    worst.lse = std::max(worst.lse, finiteOrLargest(error.lse));
  }
  return worst;
}

} // namespace

void RunReport::add(const AttentionCounts &attention) {
  ++attentions;
  counts.rounds += attention.rounds;
  counts.transfers += attention.transfers;
  counts.buffers = std::max(counts.buffers, attention.buffers);
}

void RunReport::printJson(llvm::raw_ostream &stream) const {
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ranks", ranks);
    json.attribute("layout", llvm::json::fixUTF8(layout));
    json.attribute("variant", llvm::json::fixUTF8(variant));
    json.attribute("attentions", attentions);
    json.attribute("rounds", counts.rounds);
    json.attribute("transfers", counts.transfers);
    json.attribute("bytes_per_rank", bytesPerRank);
    json.attribute("balance", balance);
    json.attribute("round_balance", roundBalance);
    json.attribute("buffers", counts.buffers);
    json.attribute("buffers_allocated", buffersAllocated);
    json.attribute("peak_bytes_per_rank", peakBytesPerRank);
    json.attribute("compile_ms", compileMs);
    json.attribute("time_ms", timeMs);
    if (maxError)
      json.attributeArray("max_error", [&] {
        for (const MaxError &error : *maxError)
          json.object([&] {
            json.attribute("out", finiteOrLargest(error.out));
            json.attribute("lse", finiteOrLargest(error.lse));
          });
      });
    json.attribute("ok", ok);
    if (refused)
      json.attribute("refused", llvm::json::fixUTF8(*refused));
  });
  stream << '\n';
}

void RunReport::printTable(llvm::raw_ostream &stream) const {
  auto line = [&](const char *name, const std::string &value) {
    stream << llvm::formatv("  {0,-16}{1}\n", name, value);
  };
  auto number = [](int64_t value) { return std::to_string(value); };
  line("ranks", number(ranks));
  line("layout", layout);
  line("variant", variant);
  line("attentions", number(attentions));
  line("rounds", number(counts.rounds));
  line("transfers", number(counts.transfers));
  line("sent per rank", formatBytes(bytesPerRank));
  line("balance", llvm::formatv("{0:f3}", balance));
  line("round balance", llvm::formatv("{0:f3}", roundBalance));
  line("buffers",
       number(counts.buffers) + ", " + number(buffersAllocated) + " allocated");
  line("peak per rank", formatBytes(peakBytesPerRank));
  line("compile", llvm::formatv("{0:f1} ms", compileMs));
  line("time", llvm::formatv("{0:f3} ms", timeMs));
  if (maxError) {
    MaxError worst = worstOf(*maxError);
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format(
        "out %.3g, lse %.3g of the tolerance", worst.out, worst.lse);
    line("max error", text);
  }
  line("result", refused ? "refused: " + *refused : ok ? "ok" : "wrong");
}

std::string ring::tools::formatBytes(int64_t bytes) {
  static constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return llvm::formatv("{0:f2} {1}", value, kUnits[unit]);
}
