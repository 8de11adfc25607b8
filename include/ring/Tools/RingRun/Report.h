//===- Report.h - What a run reports ----------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_REPORT_H
#define RING_TOOLS_RINGRUN_REPORT_H

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ring::tools {

/// What the program does for one attention.
struct AttentionCounts {
  int64_t rounds = 0;
  int64_t transfers = 0; ///< of each rank
  int64_t buffers = 0;   ///< slots of the program
};

/// Errors of one attention as multiples of the tolerance.
struct MaxError {
  double out = 0;
  double lse = 0;
};

/// Everything that `ring-run` reports, under the names of its `--json` object.
struct RunReport {
  int64_t ranks = 1;
  std::string layout;
  std::string variant;
  int64_t attentions = 0;
  AttentionCounts counts;       ///< of all attentions, see `add`
  int64_t bytesPerRank = 0;     ///< sent in one run
  double balance = 1;           ///< visible pairs of the busiest rank / mean
  double roundBalance = 1;      ///< the same, busiest rank of each round
  int64_t buffersAllocated = 0; ///< slots that the transport allocated
  int64_t peakBytesPerRank = 0;
  double compileMs = 0;
  double timeMs = 0; ///< median over the repetitions of the ranks' run
  /// One entry per attention; present only under `--check`.
  std::optional<std::vector<MaxError>> maxError;
  bool ok = true;
  /// The feature for which the program was refused.
  std::optional<std::string> refused;

  /// Adds an attention: rounds and transfers add up, of the buffers the largest
  /// counts.
  void add(const AttentionCounts &attention);

  /// One JSON object and a newline. JSON has no infinity: an error that is not
  /// finite is printed as the largest double.
  void printJson(llvm::raw_ostream &stream) const;
  /// The same for a reader, one aligned line each.
  void printTable(llvm::raw_ostream &stream) const;
};

/// "1.50 MiB": bytes in the largest binary unit that leaves at least 1.
std::string formatBytes(int64_t bytes);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_REPORT_H
