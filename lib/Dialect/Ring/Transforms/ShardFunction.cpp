//===- ShardFunction.cpp - Everything but attention is local --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After ring-shard-attention the host cuts the operands of each attention and
// joins its results. What lies between a join and the next cut, and works
// position by position, is moved into a function of the ranks, and with it the
// calls: then only inputs are cut, and only results are joined.
//
//===----------------------------------------------------------------------===//

#include "LocalFunction.h"

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

namespace mlir::ring {
#define GEN_PASS_DEF_SHARDFUNCTIONPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ShardFunctionPass
    : mlir::ring::impl::ShardFunctionPassBase<ShardFunctionPass> {
  using ShardFunctionPassBase::ShardFunctionPassBase;
  void runOnOperation() override;
};

/// Shards one host function.
class FunctionSharding {
public:
  FunctionSharding(func::FuncOp host, SymbolTable &symbols, bool partial,
                   int64_t blockLength)
      : host(host), symbols(symbols), partial(partial),
        blockLength(blockLength) {}

  LogicalResult run();

private:
  LogicalResult nameAttentions(ArrayRef<func::CallOp> attentions);

  func::FuncOp host;
  SymbolTable &symbols;
  bool partial;
  int64_t blockLength; ///< of feed-forwards; 0: all positions at once
};
} // namespace

static remark::RemarkOpts remarkOf(func::FuncOp host) {
  return remark::RemarkOpts::name("ShardFunction")
      .category("ring-shard-function")
      .function(host.getName());
}

/// True iff two rank functions differ in their names only.
static bool isSameProgram(func::FuncOp a, func::FuncOp b) {
  auto named = [](func::FuncOp function) {
    NamedAttrList attributes(function->getAttrs());
    attributes.erase(function.getSymNameAttrName());
    return attributes.getDictionary(function.getContext());
  };
  return named(a) == named(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Layers that are alike have one attention, and "_rank" names the function of
/// the ranks, as it does without this pass.
LogicalResult
FunctionSharding::nameAttentions(ArrayRef<func::CallOp> attentions) {
  SmallVector<func::FuncOp> different;
  llvm::SetVector<Operation *> unused;
  for (func::CallOp call : attentions) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto *same = llvm::find_if(different, [&](func::FuncOp other) {
      return other == callee || isSameProgram(other, callee);
    });
    if (same == different.end()) {
      different.push_back(callee);
    } else if (*same != callee) {
      call.setCallee(same->getName());
      unused.insert(callee);
    }
  }
  for (Operation *function : unused)
    symbols.erase(function);
  for (auto [index, function] : llvm::enumerate(different)) {
    std::string name = (host.getName() + "_attention").str();
    if (index > 0)
      name += "_" + std::to_string(index);
    while (symbols.lookup(name))
      name += "_";
    if (failed(symbols.rename(function, name)))
      return failure();
  }
  return success();
}

LogicalResult FunctionSharding::run() {
  Block &body = host.front();
  SmallVector<func::CallOp> attentions;
  for (Operation &op : body)
    if (isAttentionCall(op))
      attentions.push_back(cast<func::CallOp>(op));
  if (attentions.empty())
    return success();
  auto example = attentions.front().getOperand(0).getDefiningOp<ScatterOp>();
  if (!example)
    return success();
  Attribute table = constantTable(example.getTable());
  int64_t length = cast<ShapedType>(example.getSource().getType())
                       .getDimSize(example.getDim());
  if (!table || ShapedType::isDynamic(length)) {
    remark::missed(example.getLoc(), remarkOf(host))
        << remark::reason("the length is known at run time only");
    return success();
  }
  SequencePropagation propagation(host, table, length);
  propagation.run();
  LocalPart part(host, propagation, table);
  bool inOnePiece = part.collect();
  if (!part.hasLocalOps && part.onHost.empty() && inOnePiece)
    return success();

  auto mixes = [&](Operation *op) {
    std::string why = propagation.reason(op).str();
    if (isAttentionCall(*op))
      why = "has queries of another sequence than the first attention";
    return why.empty() ? std::string("needs all positions") : why;
  };
  auto blame = [&](Operation *op) -> LogicalResult {
    if (!partial && isAttentionCall(*op))
      return refuse(op, "queries of several sequences",
                    "by ring-shard-function");
    if (!partial)
      return op->emitError("mixes positions outside attention: '")
             << op->getName() << "' " << mixes(op);
    remark::missed(op->getLoc(), remarkOf(host))
        << remark::add("stays on the host, on whole tensors")
        << remark::metric("op", op->getName().getStringRef())
        << remark::reason("{0}", mixes(op));
    return success();
  };
  if (!inOnePiece)
    return blame(part.mixing);
  for (Operation *op : part.onHost)
    if (failed(blame(op)))
      return failure();
  for (const CutInput &input : part.cut)
    if (Operation *op = input.whole.getDefiningOp();
        op && propagation.dependsOnArguments(input.whole) && failed(blame(op)))
      return failure();
  // Of constants alone: nothing that is cut tells a rank how many positions it
  // has, and the host makes it.
  if (!part.hasLocalOps || part.cut.empty())
    return success();

  if (failed(nameAttentions(attentions)))
    return failure();
  std::vector<FeedForward> feedForwards;
  if (blockLength > 0)
    feedForwards = findFeedForwards(host, part, propagation);
  func::FuncOp function =
      buildLocalFunction(host, (host.getName() + "_rank").str(), part,
                         propagation, example, feedForwards, blockLength);
  symbols.insert(function, std::next(Block::iterator(host)));
  // What ranks do now is not dead by itself where it may end the program.
  eraseUnless(body, [&](Operation *op) {
    return !isAttentionCall(*op) &&
           !(op->use_empty() && propagation.localForm(op));
  });
  sortTopologically(&body);
  remark::passed(host.getLoc(), remarkOf(host))
      << remark::add("everything between attention is local")
      << remark::metric("ops", static_cast<int64_t>(part.ops.size()))
      << remark::metric("attentions", static_cast<int64_t>(attentions.size()))
      << remark::metric("feed_forwards_in_blocks",
                        static_cast<int64_t>(feedForwards.size()));
  return success();
}

void ShardFunctionPass::runOnOperation() {
  if (blockwiseFfn < 0) {
    getOperation().emitError("blockwise-ffn is ")
        << blockwiseFfn.getValue() << ", expected 0 or more";
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  SmallVector<func::FuncOp> hosts;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && !function->hasAttr(kRankOfAttrName) &&
        function.getBody().hasOneBlock())
      hosts.push_back(function);
  for (func::FuncOp host : hosts)
    if (failed(FunctionSharding(host, symbols, partial, blockwiseFfn).run()))
      return signalPassFailure();
}
