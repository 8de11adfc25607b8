//===- BufferizeTransfers.cpp - What travels becomes memrefs --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramIdentity.h"

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {
#define GEN_PASS_DEF_BUFFERIZETRANSFERSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct BufferizeTransfersPass
    : mlir::ring::impl::BufferizeTransfersPassBase<BufferizeTransfersPass> {
  using BufferizeTransfersPassBase::BufferizeTransfersPassBase;
  void runOnOperation() override;
};

/// The values of one rank function that hold a block on its way.
class Travellers {
public:
  explicit Travellers(func::FuncOp function) : function(function) {}
  void run();

private:
  void collect();
  bool visit(scf::ForOp loop);
  bool visit(scf::IfOp branch);
  /// True iff `use` hands its value on as a traveller.
  bool travels(OpOperand &use);
  void convert();

  func::FuncOp function;
  /// Results of waits, and what loops and branches carry of them.
  llvm::SetVector<Value> blocks;
};
} // namespace

static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto layout = StridedLayoutAttr::get(
      type.getContext(), ShapedType::kDynamic,
      SmallVector<int64_t>(tensor.getRank(), ShapedType::kDynamic));
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// True iff a transfer sends `value`.
static bool isSent(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *op) { return isa<PermuteStartOp>(op); });
}

bool Travellers::visit(scf::ForOp loop) {
  bool changed = false;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (unsigned i = 0; i < loop.getInitArgs().size(); ++i) {
    Value arg = loop.getRegionIterArg(i), result = loop.getResult(i);
    if (!isa<RankedTensorType>(arg.getType()))
      continue;
    if (blocks.contains(loop.getInitArgs()[i]) ||
        blocks.contains(yield.getOperand(i)) || blocks.contains(result) ||
        isSent(arg) || isSent(result)) {
      changed |= blocks.insert(arg);
      changed |= blocks.insert(result);
    }
  }
  return changed;
}

bool Travellers::visit(scf::IfOp branch) {
  bool changed = false;
  for (Region *region : branch.getRegions()) {
    if (region->empty())
      continue;
    Operation *yield = region->front().getTerminator();
    for (auto [value, result] :
         llvm::zip_equal(yield->getOperands(), branch.getResults()))
      if (isa<RankedTensorType>(result.getType()) &&
          (blocks.contains(value) || isSent(result)))
        changed |= blocks.insert(result);
  }
  return changed;
}

void Travellers::collect() {
  function.walk([&](PermuteWaitOp wait) {
    for (Value received : wait.getReceived())
      if (isa<RankedTensorType>(received.getType()))
        blocks.insert(received);
  });
  bool changed = true;
  while (changed) {
    changed = false;
    function.walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        changed |= visit(loop);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        changed |= visit(branch);
    });
  }
}

bool Travellers::travels(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<PermuteStartOp>(user))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    BlockArgument arg = loop.getTiedLoopRegionIterArg(&use);
    return arg && blocks.contains(arg);
  }
  if (isa<scf::YieldOp>(user) &&
      isa<scf::ForOp, scf::IfOp>(user->getParentOp()))
    return blocks.contains(
        user->getParentOp()->getResult(use.getOperandNumber()));
  return false;
}

void Travellers::convert() {
  // Find the uses before any type changes.
  SmallVector<std::pair<OpOperand *, Type>> leaving;
  SmallVector<OpOperand *> entering;
  for (Value block : blocks)
    for (OpOperand &use : block.getUses())
      if (!travels(use))
        leaving.emplace_back(&use, block.getType());
  function.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (isa<RankedTensorType>(use.get().getType()) && travels(use) &&
          !blocks.contains(use.get()))
        entering.push_back(&use);
  });

  OpBuilder b(function.getContext());
  for (auto [use, tensor] : leaving) {
    b.setInsertionPoint(use->getOwner());
    use->get().setType(bufferType(tensor));
    use->set(bufferization::ToTensorOp::create(
        b, use->getOwner()->getLoc(), tensor, use->get(), /*restrict=*/true));
  }
  for (Value block : blocks)
    if (isa<RankedTensorType>(block.getType()))
      block.setType(bufferType(block.getType()));
  for (OpOperand *use : entering) {
    b.setInsertionPoint(use->getOwner());
    use->set(bufferization::ToBufferOp::create(b, use->getOwner()->getLoc(),
                                               bufferType(use->get().getType()),
                                               use->get(), /*read_only=*/true));
  }

  auto convertFuture = [](Value value) {
    auto future = dyn_cast<FutureType>(value.getType());
    if (!future)
      return;
    SmallVector<Type> payload;
    for (Type type : future.getPayload())
      payload.push_back(isa<RankedTensorType>(type) ? bufferType(type) : type);
    value.setType(FutureType::get(value.getContext(), payload));
  };
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convertFuture);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), convertFuture);
  });
}

void Travellers::run() {
  collect();
  convert();
}

/// What calls a rank function knows nothing of transfers.
static LogicalResult checkSignature(func::FuncOp function) {
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes()))
    if (isa<FutureType>(type))
      return function.emitError("takes or returns ")
             << type << ", expected transfers that end where they start";
  return success();
}

void BufferizeTransfersPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (RankProgram::isRankFunction(function)) {
      if (failed(checkSignature(function)))
        return signalPassFailure();
      identifyProgram(function);
      Travellers(function).run();
    }
}
