//===- ExpandHost.cpp - One stack for the tensors of all ranks ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::ring {
#define GEN_PASS_DEF_EXPANDHOSTPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ExpandHostPass : mlir::ring::impl::ExpandHostPassBase<ExpandHostPass> {
  using ExpandHostPassBase::ExpandHostPassBase;
  void runOnOperation() override;
};

/// Turns one call of a rank function by the host into a run on all ranks.
class CallExpansion {
public:
  CallExpansion(func::CallOp call, func::FuncOp rankFunction)
      : call(call), rankFunction(rankFunction), rewriter(call) {}

  LogicalResult run();

private:
  FailureOr<int64_t> findRanks();
  LogicalResult stackInputs();
  FailureOr<Value> stackForResult(Value result);

  func::CallOp call;
  func::FuncOp rankFunction;
  IRRewriter rewriter;
  int64_t ranks = 0;
  Value localRanks;
  SmallVector<Value> inputs, replicated;
  SmallVector<ScatterOp> scatters;
  SmallVector<GatherOp> gathers;
};
} // namespace

/// Longest local size under a table.
static FailureOr<OpFoldResult> paddedSize(OpBuilder &b, Operation *op,
                                          Value table, int64_t ranks) {
  auto entries = parseTable(table);
  if (!entries)
    return OpFoldResult(
        PaddedSizeOp::create(b, op->getLoc(), table, b.getI64IntegerAttr(ranks))
            .getSize());
  if (failed(checkTable(op, *entries, ranks)))
    return failure();
  ::ring::LayoutView view{entries->data(),
                          static_cast<int64_t>(entries->size())};
  return OpFoldResult(b.getIndexAttr(view.paddedSize(ranks)));
}

/// An empty stack [local ranks, ...local shape...] for a whole tensor of these
/// sizes; along `dim`, that of the sequence, it has `padded` positions.
static Value emptyStack(OpBuilder &b, Location loc, Value localRanks,
                        ArrayRef<OpFoldResult> whole, int64_t dim,
                        OpFoldResult padded, Type element) {
  SmallVector<OpFoldResult> sizes = {localRanks};
  llvm::append_range(sizes, whole);
  sizes[dim + 1] = padded;
  return tensor::EmptyOp::create(b, loc, sizes, element);
}

FailureOr<int64_t> CallExpansion::findRanks() {
  if (!isLocalFunction(rankFunction)) {
    FailureOr<RankProgram> program = RankProgram::match(rankFunction);
    if (failed(program))
      return failure();
    return program->ranks();
  }
  for (Value operand : call.getOperands())
    if (auto scatter = operand.getDefiningOp<ScatterOp>())
      return SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(
                 scatter, scatter.getGridAttr())
          .getShape()[scatter.getAxis()];
  return call.emitError("no operand of a rank function comes from a "
                        "ring.scatter");
}

LogicalResult CallExpansion::stackInputs() {
  bool isLocal = isLocalFunction(rankFunction);
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    auto scatter = operand.getDefiningOp<ScatterOp>();
    if (!scatter && index < kInputCount && !isLocal)
      return call.emitError("operand ")
             << index << " of a rank function comes from no ring.scatter";
    if (!scatter) {
      replicated.push_back(operand);
      continue;
    }
    if (!replicated.empty())
      return call.emitError("operand ")
             << index
             << " of a rank function is a local tensor after replicated ones";
    FailureOr<OpFoldResult> padded =
        paddedSize(rewriter, scatter, scatter.getTable(), ranks);
    if (failed(padded))
      return failure();
    Value stack = emptyStack(
        rewriter, scatter.getLoc(), localRanks,
        tensor::getMixedSizes(rewriter, scatter.getLoc(), scatter.getSource()),
        scatter.getDim(), *padded,
        cast<RankedTensorType>(operand.getType()).getElementType());
    auto expanded = HostScatterOp::create(
        rewriter, scatter.getLoc(), stack.getType(), scatter.getSource(),
        scatter.getTable(), stack, scatter.getDimAttr());
    inputs.push_back(expanded.getResult(0));
    // One local tensor may be several operands.
    if (!llvm::is_contained(scatters, scatter))
      scatters.push_back(scatter);
  }
  return success();
}

/// The stack that the ranks write `result` to.
FailureOr<Value> CallExpansion::stackForResult(Value result) {
  Location loc = call.getLoc();
  GatherOp gather;
  for (Operation *user : result.getUsers()) {
    gather = dyn_cast<GatherOp>(user);
    if (!gather)
      return user->emitError("uses a local tensor outside ring.gather");
    gathers.push_back(gather);
  }
  auto type = cast<RankedTensorType>(result.getType());
  Value table;
  int64_t dim;
  SmallVector<OpFoldResult> sizes;
  if (!isLocalFunction(rankFunction)) {
    // But for the columns, which are static, a result looks like the query. One
    // without a gather still needs memory to be written to.
    ScatterOp query = scatters.front();
    table = query.getTable();
    dim = query.getDim();
    sizes = tensor::getMixedSizes(rewriter, loc, query.getSource());
    sizes.resize(type.getRank());
  } else if (gather) {
    table = gather.getTable();
    dim = gather.getDim();
    sizes = getMixedValues(gather.getWhole().getType().getShape(),
                           gather.getSizes(), rewriter);
  } else {
    return call.emitError("a result of a local rank function has no "
                          "ring.gather");
  }
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!type.isDynamicDim(i))
      sizes[i] = rewriter.getIndexAttr(type.getDimSize(i));
  FailureOr<OpFoldResult> padded = paddedSize(rewriter, call, table, ranks);
  if (failed(padded))
    return failure();
  return emptyStack(rewriter, loc, localRanks, sizes, dim, *padded,
                    type.getElementType());
}

LogicalResult CallExpansion::run() {
  FailureOr<int64_t> found = findRanks();
  if (failed(found))
    return failure();
  ranks = *found;
  localRanks =
      RanksOp::create(rewriter, call.getLoc(), rewriter.getIndexType());
  if (failed(stackInputs()))
    return failure();
  SmallVector<Value> outputs;
  for (Value result : call.getResults()) {
    FailureOr<Value> stack = stackForResult(result);
    if (failed(stack))
      return failure();
    outputs.push_back(*stack);
  }
  auto run = HostRunOp::create(
      rewriter, call.getLoc(), TypeRange(ValueRange(outputs)),
      FlatSymbolRefAttr::get(rankFunction), rewriter.getI64IntegerAttr(ranks),
      inputs, replicated, outputs);
  for (GatherOp gather : gathers) {
    auto index = cast<OpResult>(gather.getLocal()).getResultNumber();
    rewriter.setInsertionPoint(gather);
    auto type = cast<RankedTensorType>(gather.getWhole().getType());
    Value whole = tensor::EmptyOp::create(rewriter, gather.getLoc(), type,
                                          gather.getSizes());
    rewriter.replaceOpWithNewOp<HostGatherOp>(
        gather, type, run.getResult(index), gather.getTable(), whole,
        gather.getDimAttr());
  }
  rewriter.eraseOp(call);
  for (ScatterOp scatter : scatters)
    if (scatter->use_empty())
      rewriter.eraseOp(scatter);
  return success();
}

/// A call of attention among a rank's own ops gets memory for its results: but
/// for the columns, which are static, they look like the query.
static void giveDestinations(func::CallOp call) {
  ImplicitLocOpBuilder b(call.getLoc(), call);
  SmallVector<Value> outputs;
  for (Type result : call.getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), call.getOperand(0));
    sizes.resize(type.getRank());
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (!type.isDynamicDim(i))
        sizes[i] = b.getIndexAttr(type.getDimSize(i));
    outputs.push_back(tensor::EmptyOp::create(b, sizes, type.getElementType()));
  }
  auto local =
      mlir::ring::CallOp::create(b, call.getResultTypes(), call.getCalleeAttr(),
                                 call.getOperands(), outputs);
  call.replaceAllUsesWith(local.getResults());
  call.erase();
}

void ExpandHostPass::runOnOperation() {
  SymbolTableCollection symbols;
  SmallVector<std::pair<func::CallOp, func::FuncOp>> calls;
  getOperation().walk([&](func::CallOp call) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (callee &&
        (RankProgram::isRankFunction(callee) || isLocalFunction(callee)))
      calls.push_back({call, callee});
  });
  for (auto [call, callee] : calls) {
    auto caller = call->getParentOfType<func::FuncOp>();
    if (caller && isLocalFunction(caller))
      giveDestinations(call);
    else if (failed(CallExpansion(call, callee).run()))
      return signalPassFailure();
  }
}
