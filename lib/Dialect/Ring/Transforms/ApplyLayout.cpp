//===- ApplyLayout.cpp - Who owns which positions -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {
#define GEN_PASS_DEF_APPLYLAYOUTPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ApplyLayoutPass
    : mlir::ring::impl::ApplyLayoutPassBase<ApplyLayoutPass> {
  using ApplyLayoutPassBase::ApplyLayoutPassBase;
  void runOnOperation() override;
};
} // namespace

/// The tables as constants at the start of `function`.
static std::pair<Value, Value> tableConstants(func::FuncOp function,
                                              const ::ring::LayoutPair &tables,
                                              Location loc) {
  auto b = OpBuilder::atBlockBegin(&function.front());
  MLIRContext *context = function.getContext();
  Value queries =
      arith::ConstantOp::create(b, loc, tableAttr(context, tables.queries));
  Value keys =
      arith::ConstantOp::create(b, loc, tableAttr(context, tables.keys));
  return {queries, keys};
}

namespace {
/// Gives tables to operands.
class TableReplacer {
public:
  void replace(OpOperand &operand, Value table) {
    if (Operation *old = operand.get().getDefiningOp())
      replaced.insert(old);
    operand.set(table);
  }
  /// Erases the constants that nobody uses any more. Not earlier: one operand
  /// may be given a table twice.
  void eraseDead() {
    for (Operation *old : replaced)
      if (isOpTriviallyDead(old))
        old->erase();
  }

private:
  llvm::SetVector<Operation *> replaced;
};
} // namespace

/// The scatters of the operands and the gathers of the results of one call.
static LogicalResult retableCall(func::CallOp call,
                                 const ::ring::LayoutPair &tables,
                                 TableReplacer &replacer) {
  auto host = call->getParentOfType<func::FuncOp>();
  if (!host)
    return call.emitError("call of a rank function outside a func.func");
  auto [queries, keys] = tableConstants(host, tables, call.getLoc());
  for (unsigned index = 0; index < call.getNumOperands(); ++index) {
    auto scatter = call.getOperand(index).getDefiningOp<ScatterOp>();
    if (!scatter && index < kInputCount)
      return call.emitError("operand ")
             << index << " of a rank function comes from no ring.scatter";
    if (!scatter) // the same on every rank, whatever the layout
      continue;
    bool isKeyOrValue = index == 1 || index == 2;
    // Others that use the same local tensor keep their layout.
    if (llvm::any_of(scatter->getUsers(),
                     [&](Operation *user) { return user != call; })) {
      scatter = cast<ScatterOp>(OpBuilder(call).clone(*scatter));
      call.setOperand(index, scatter.getLocal());
    }
    replacer.replace(scatter.getTableMutable(), isKeyOrValue ? keys : queries);
  }
  for (Value result : call.getResults())
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      auto gather = dyn_cast<GatherOp>(user);
      if (!gather)
        return user->emitError("uses a local tensor outside ring.gather");
      replacer.replace(gather.getTableMutable(), queries);
    }
  return success();
}

static LogicalResult applyLayout(RankProgram &program, LayoutAttr layout,
                                 ArrayRef<func::CallOp> calls) {
  func::FuncOp function = program.function;
  if (function->getAttr(kLayoutAttrName) == layout)
    return success();
  if (!program.isWhole())
    return function.emitError("the layout of a program whose blocks have been "
                              "classified cannot change");
  SlicesArithmetic old(program.slices.front());
  ::ring::LayoutPair tables =
      layout.tables(program.ranks(), old.queryCount, old.keyCount, old.mask);
  auto [queries, keys] = tableConstants(function, tables, function.getLoc());
  TableReplacer replacer;
  for (SlicesOp op : program.slices) {
    replacer.replace(op.getQueryTableMutable(), queries);
    replacer.replace(op.getKeyTableMutable(), keys);
  }
  for (func::CallOp call : calls)
    if (failed(retableCall(call, tables, replacer)))
      return failure();
  replacer.eraseDead();
  function->setAttr(kLayoutAttrName, layout);

  ::ring::RingCounts counts =
      ::ring::countRing(old.mask, tables.queryView(), tables.keyView(),
                        old.keyCount, program.order());
  remark::passed(function.getLoc(), remark::RemarkOpts::name("ApplyLayout")
                                        .category("ring-apply-layout")
                                        .function(function.getName()))
      << remark::metric("layout", layout.spelling())
      << remark::metric("balance", counts.balance)
      << remark::metric("round_balance", counts.roundBalance);
  return success();
}

void ApplyLayoutPass::runOnOperation() {
  auto attr = LayoutAttr::fromSpelling(&getContext(), layout);
  if (!attr) {
    getOperation().emitError("unknown layout '")
        << layout.getValue()
        << "', expected contiguous, zigzag, striped[:G] or balanced";
    return signalPassFailure();
  }
  llvm::DenseMap<Operation *, SmallVector<func::CallOp>> calls;
  SymbolTableCollection symbols;
  getOperation().walk([&](func::CallOp call) {
    calls[symbols.lookupNearestSymbolFrom(call, call.getCalleeAttr())]
        .push_back(call);
  });
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (!RankProgram::isRankFunction(function))
      continue;
    FailureOr<RankProgram> program = RankProgram::match(function);
    if (failed(program) ||
        failed(applyLayout(*program, attr, calls.lookup(function))))
      return signalPassFailure();
  }
}
