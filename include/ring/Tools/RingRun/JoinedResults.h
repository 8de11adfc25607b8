//===- JoinedResults.h - Results of which a process has a part --*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_JOINEDRESULTS_H
#define RING_TOOLS_RINGRUN_JOINEDRESULTS_H

#include "ring/Analysis/Layout.h"
#include "ring/Tools/RingRun/Compare.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ring::tools {

/// A result that is joined from what the ranks compute. Where each rank is a
/// process, only the positions of its own rank are there.
struct JoinedResult {
  int64_t dim = 0;
  /// Nothing where it is known at run time only.
  std::optional<std::vector<LayoutEntry>> table;
};

struct JoinedResults {
  /// By result; nothing: each process has all of it.
  std::vector<std::optional<JoinedResult>> results;
  /// Why a process cannot stand for a rank, as the name of a feature; empty
  /// where it can.
  std::string refused;

  /// What `rank` has of a result; nothing where that is all of it. The table
  /// must be known.
  std::optional<OwnPositions> of(unsigned result, const Array &whole,
                                 int64_t rank) const;
  bool isJoined(int result) const { return result >= 0 && results[result]; }
};

/// `entry` is in form 3 or 4, or on memrefs.
JoinedResults findJoinedResults(mlir::func::FuncOp entry);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_JOINEDRESULTS_H
