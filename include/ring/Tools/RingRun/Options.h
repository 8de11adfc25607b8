//===- Options.h - The command line of ring-run -----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_OPTIONS_H
#define RING_TOOLS_RINGRUN_OPTIONS_H

#include "llvm/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ring::tools {

/// `I=FILE` arguments: what belongs to argument or result I.
using NumberedFiles = std::map<unsigned, std::string>;

/// What ranks compute on.
struct DeviceOptions {
  std::vector<std::string> kinds = {"cpu"}; ///< one for all, or one a rank
  std::string chip = "sm_80";               ///< what kernels are made for

  bool any(llvm::StringRef kind) const {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }
  bool anyGPU() const { return any("cuda") || any("vgpu"); }
  /// "vgpu,cpu"
  std::string spelling() const;
};

struct RunOptions {
  std::string file, entry;
  std::optional<int64_t> ranks;
  std::optional<std::string> layout;
  std::string variant, transport, cpu, ptxas;
  DeviceOptions devices;
  int64_t prefetchDistance = 1;
  int64_t blockwiseFfn = 0; ///< positions of a block; 0: all at once
  int64_t threads = 0;
  std::optional<int64_t> smMargin; ///< multiprocessors left to the transport
  double deadline = 60;
  NumberedFiles inputs, outputs, expected;
  std::optional<uint64_t> random;
  bool check = false, verifyEach = false, json = false, graph = false;
  double atol = 1e-5, rtol = 1e-5;
  int64_t repeat = 1;
  std::string trace, object;
};

/// Parses the command line; the error is one line that names the flag.
llvm::Expected<RunOptions> parseOptions(int argc, char **argv);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_OPTIONS_H
