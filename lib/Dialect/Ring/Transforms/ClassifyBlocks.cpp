//===- ClassifyBlocks.cpp - Only what the mask leaves visible -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Remarks.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CLASSIFYBLOCKSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ClassifyBlocksPass
    : mlir::ring::impl::ClassifyBlocksPassBase<ClassifyBlocksPass> {
  using ClassifyBlocksPassBase::ClassifyBlocksPassBase;
  void runOnOperation() override;
};
} // namespace

/// Ends the loop after `rounds` rounds. The bound is set on its two users, not
/// on the constant, which others may share.
static void shortenLoop(RoundsLoop &found, int64_t rounds) {
  if (rounds >= found.rounds)
    return;
  OpBuilder b(found.loop);
  Value bound = arith::ConstantIndexOp::create(b, found.loop.getLoc(), rounds);
  found.loop.setUpperBound(bound);
  found.guard.getRhsMutable().set(bound);
}

static remark::RemarkOpts remarkOptions(func::FuncOp function) {
  return remark::RemarkOpts::name("ClassifyBlocks")
      .category("ring-classify-blocks")
      .function(function.getName());
}

static void remarkCounts(RankProgram &program, int64_t rounds,
                         const SlicesArithmetic &arithmetic,
                         const ::ring::RingCounts &counts) {
  func::FuncOp function = program.function;
  double all = static_cast<double>(arithmetic.queryCount) *
               static_cast<double>(arithmetic.keyCount);
  remark::passed(function.getLoc(), remarkOptions(function))
      << remark::metric("rounds", rounds)
      << remark::metric("rounds_skipped", program.ranks() - rounds)
      << remark::metric("visible_pairs", counts.visiblePairs)
      << remark::metric("pairs_skipped_percent",
                        all > 0 ? 100.0 * (1.0 - counts.visiblePairs / all)
                                : 0.0)
      << remark::metric("balance", counts.balance)
      << remark::metric("round_balance", counts.roundBalance);
  if (hasRunTimeVisibility(program.slices.front()))
    remark::analysis(function.getLoc(), remarkOptions(function))
        << remark::add("ids, lengths or offsets are known at run time only, "
                       "the numbers are upper bounds");
}

static void classify(RankProgram &program) {
  func::FuncOp function = program.function;
  SlicesOp slices = program.slices.front();
  for (SlicesOp op : program.slices)
    op.setWhole(false);
  std::optional<RoundsLoop> loop = RoundsLoop::match(function);
  if (!program.hasConstantTables() || movesQueries(slices)) {
    remark::passed(function.getLoc(), remarkOptions(function))
        << remark::add(program.hasConstantTables()
                           ? "offsets are known at run time only"
                           : "tables are known at run time only")
        << remark::metric("rounds", program.ranks());
    return;
  }
  SlicesArithmetic arithmetic(slices);
  ::ring::RingCounts counts = ::ring::countRing(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  int64_t rounds = loop ? counts.rounds : program.ranks();
  if (loop)
    shortenLoop(*loop, rounds);
  remarkCounts(program, rounds, arithmetic, counts);
}

void ClassifyBlocksPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!RankProgram::isRankFunction(function))
      continue;
    FailureOr<RankProgram> program = RankProgram::match(function);
    if (failed(program))
      return signalPassFailure();
    if (program->isWhole())
      classify(*program);
  }
}
