//===- PipelineRounds.cpp - Transfers behind computation ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace mlir::ring {
#define GEN_PASS_DEF_PIPELINEROUNDSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct PipelineRoundsPass
    : mlir::ring::impl::PipelineRoundsPassBase<PipelineRoundsPass> {
  using PipelineRoundsPassBase::PipelineRoundsPassBase;
  void runOnOperation() override;
};

/// Rewrites one loop of rounds. In flight while round t computes are the
/// transfers t+1 .. t+d: a prologue starts d of them, each further round waits
/// for one and starts one, and the last d rounds only wait.
class Pipeliner {
public:
  Pipeliner(RoundsLoop &found, int64_t distance)
      : found(found), b(found.loop.getLoc(), found.loop),
        distance(std::min(distance, found.rounds - 1)) {}

  void run();

private:
  /// What is carried from one round to the next.
  struct Carried {
    SmallVector<Value> state, blocks, futures;

    SmallVector<Value> all() const {
      SmallVector<Value> values(state);
      llvm::append_range(values, blocks);
      llvm::append_range(values, futures);
      return values;
    }
    static Carried split(ValueRange values) {
      Carried carried;
      carried.state.assign(values.begin(), values.begin() + kStateSize);
      carried.blocks.assign(values.begin() + kStateSize,
                            values.begin() + kStateSize + kBlockCount);
      carried.futures.assign(values.begin() + kStateSize + kBlockCount,
                             values.end());
      return carried;
    }
  };

  Value start(ValueRange sources) {
    return PermuteStartOp::create(b, sources, found.start.getGridAttr(),
                                  found.start.getAxisAttr())
        .getFuture();
  }
  /// Copies the computation of the loop's body.
  void compute(Value round, Carried &carried);
  /// Takes what the oldest transfer delivers.
  void wait(Carried &carried);
  /// Starts one more, from the youngest future or, where there is none, from
  /// the blocks in hand.
  void startNext(Carried &carried);

  RoundsLoop &found;
  ImplicitLocOpBuilder b;
  int64_t distance;
};
} // namespace

void Pipeliner::compute(Value round, Carried &carried) {
  scf::ForOp loop = found.loop;
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), round);
  mapping.map(loop.getRegionIterArgs(), [&] {
    SmallVector<Value> values(carried.state);
    llvm::append_range(values, carried.blocks);
    return values;
  }());
  auto onlyGuards = [&](Operation &op) {
    return &op == found.passOn || &op == found.guard ||
           (!op.use_empty() && isMemoryEffectFree(&op) &&
            llvm::all_of(op.getUsers(),
                         [&](Operation *user) { return user == found.guard; }));
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!onlyGuards(op))
      b.clone(op, mapping);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [index, value] : llvm::enumerate(carried.state))
    value = mapping.lookupOrDefault(yield.getOperand(index));
}

void Pipeliner::wait(Carried &carried) {
  auto wait = PermuteWaitOp::create(b, carried.futures.front());
  carried.blocks.assign(wait.getReceived().begin(), wait.getReceived().end());
  carried.futures.erase(carried.futures.begin());
}

void Pipeliner::startNext(Carried &carried) {
  carried.futures.push_back(carried.futures.empty()
                                ? start(carried.blocks)
                                : start(carried.futures.back()));
}

void Pipeliner::run() {
  scf::ForOp loop = found.loop;
  Carried carried = Carried::split(loop.getInitArgs());
  for (int64_t i = 0; i < distance; ++i)
    startNext(carried);

  // Rounds that start a transfer, as a loop.
  int64_t steady = found.rounds - 1 - distance;
  if (steady > 0) {
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value bound = arith::ConstantIndexOp::create(b, steady);
    auto rounds = scf::ForOp::create(b, zero, bound, one, carried.all());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rounds.getBody());
    Carried inner = Carried::split(rounds.getRegionIterArgs());
    compute(rounds.getInductionVar(), inner);
    wait(inner);
    startNext(inner);
    scf::YieldOp::create(b, inner.all());
    carried = Carried::split(rounds.getResults());
  }
  // Rounds that only wait, and the last one.
  for (int64_t t = steady; t < found.rounds; ++t) {
    compute(arith::ConstantIndexOp::create(b, t), carried);
    if (t + 1 < found.rounds)
      wait(carried);
  }
  IRRewriter rewriter(b.getContext());
  // Nobody reads the blocks that the loop leaves.
  for (auto [result, value] : llvm::zip(loop.getResults(), carried.all()))
    result.replaceAllUsesWith(value);
  rewriter.eraseOp(loop);
}

/// A transfer is exposed on a rank that has nothing to compute meanwhile.
static void remarkExposed(RankProgram &program, int64_t rounds) {
  if (!program.hasConstantTables() || movesQueries(program.slices.front()))
    return; // nothing is known of any round
  SlicesArithmetic arithmetic(program.slices.front());
  std::vector<std::vector<int64_t>> pairs = ::ring::visiblePairsByRound(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  int64_t exposed = 0;
  std::string first;
  for (int64_t t = 0; t + 1 < std::min(rounds, program.ranks()); ++t)
    for (int64_t rank = 0; rank < program.ranks(); ++rank)
      if (pairs[rank][t] == 0 && exposed++ == 0)
        first = "transfer " + std::to_string(t + 1) + " is exposed: rank " +
                std::to_string(rank) + " sees nothing in round " +
                std::to_string(t);
  if (exposed == 0)
    return;
  remark::missed(program.function.getLoc(),
                 remark::RemarkOpts::name("ExposedTransfer")
                     .category("ring-pipeline-rounds")
                     .function(program.function.getName()))
      << remark::reason("{0}", first)
      << remark::suggest("a layout that evens out the work, such as zigzag")
      << remark::metric("exposed_transfers_of_ranks", exposed);
}

static void pipeline(RankProgram &program, RoundsLoop &found,
                     int64_t distance) {
  func::FuncOp function = program.function;
  int64_t transfers = found.rounds - 1;
  if (transfers > 0)
    remarkExposed(program, found.rounds);
  int64_t slots = ::ring::slotCount(distance, transfers);
  // The work lists that this reads do not outlive the loop.
  std::optional<int64_t> bytes = bytesOfTransfers(program, transfers);
  Pipeliner(found, distance).run();
  function->setAttr(kSlotsAttrName,
                    Builder(function.getContext()).getI64IntegerAttr(slots));
  auto passed = remark::passed(function.getLoc(),
                               remark::RemarkOpts::name("PipelineRounds")
                                   .category("ring-pipeline-rounds")
                                   .function(function.getName()));
  passed << remark::metric("transfers", transfers)
         << remark::metric("slots", slots);
  if (bytes)
    passed << remark::metric("bytes_per_rank", *bytes);
}

void PipelineRoundsPass::runOnOperation() {
  if (prefetchDistance < 1) {
    getOperation().emitError("prefetch-distance is ")
        << prefetchDistance.getValue() << ", expected 1 or more";
    return signalPassFailure();
  }
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!RankProgram::isRankFunction(function))
      continue;
    FailureOr<RankProgram> program = RankProgram::match(function);
    if (failed(program))
      return signalPassFailure();
    if (std::optional<RoundsLoop> found = RoundsLoop::match(function)) {
      if (found->rounds < 1 || found->rounds > program->ranks()) {
        found->loop.emitError("loop has ")
            << found->rounds << " rounds, expected 1 to " << program->ranks();
        return signalPassFailure();
      }
      pipeline(*program, *found, prefetchDistance);
      continue;
    }
    bool transfers =
        function.walk([](PermuteStartOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (transfers)
      remark::missed(function.getLoc(),
                     remark::RemarkOpts::name("PipelineRounds")
                         .category("ring-pipeline-rounds")
                         .function(function.getName()))
          << remark::reason("no loop of rounds that computes and then passes "
                            "its blocks on: pipelined before, or changed");
  }
}
