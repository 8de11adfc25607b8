//===- Program.h - A compiled program ---------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_PROGRAM_H
#define RING_TOOLS_RINGRUN_PROGRAM_H

#include "ring/Target/Pipeline.h"
#include "ring/Tools/RingRun/Array.h"
#include "ring/Tools/RingRun/DenseAttention.h"
#include "ring/Tools/RingRun/JoinedResults.h"
#include "ring/Tools/RingRun/Options.h"
#include "ring/Tools/RingRun/ResultShapes.h"
#include "ring/Tools/RingRun/ScoreFunction.h"
#include "ring/Tools/RingRun/Signature.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ring::tools {

/// An attention whose operands and results are results of the program too, so
/// that it can be checked by itself.
struct AttentionProbe {
  AttentionSpec spec;
  /// Places among the program's results; -1 where the clause is absent.
  int query = -1, key = -1, value = -1, bias = -1, querySegments = -1,
      keySegments = -1, lengths = -1, offsets = -1, sinks = -1, out = -1,
      lse = -1;
  /// The mask's shift is Sk - Sq, whatever they turn out to be.
  bool bottomRight = false;
  /// Where there is a `score` region, and where what it captures is.
  std::shared_ptr<ScoreFunction> score;
  std::vector<int> captures;
};

/// What the IR of a rank function says about a run; nothing where shapes,
/// tables or visibility are known at run time only.
struct StaticCounts {
  int64_t rounds = 0, transfers = 0, buffers = 0;
  std::optional<int64_t> bytesPerRank, localBytes;
  std::optional<double> balance, roundBalance;
};

struct Program {
  std::unique_ptr<mlir::ExecutionEngine> engine;
  std::string entry;
  std::vector<Signature> arguments;
  std::vector<Signature> results; ///< those of probes behind the function's own
  size_t ownResults = 0;
  std::vector<AttentionProbe> probes;
  JoinedResults joined;
  int64_t ranks = 1;
  std::string layout;
  /// Of each sharded attention, from the IR.
  std::vector<StaticCounts> counts;
  /// Where sizes of results are dynamic, how to find them.
  std::shared_ptr<ResultShapes> resultShapes;
};

/// The function to run; an error, already printed, where it cannot be told.
mlir::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module,
                                              llvm::StringRef name);

/// Runs the whole pipeline on `module` and compiles it. `skip`: steps to leave
/// out. Errors have been printed.
mlir::FailureOr<Program>
compileProgram(mlir::ModuleOp module, const RunOptions &options,
               llvm::function_ref<bool(const mlir::ring::PipelineStep &)> skip);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_PROGRAM_H
