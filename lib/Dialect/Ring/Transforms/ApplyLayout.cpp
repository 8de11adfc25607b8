//===- ApplyLayout.cpp - Who owns which positions -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutTables.h"

#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

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

/// Tables that the compiler knows.
static LogicalResult applyConstantLayout(RankProgram &program,
                                         LayoutAttr layout,
                                         ArrayRef<func::CallOp> calls) {
  func::FuncOp function = program.function;
  SlicesArithmetic old(program.slices.front());
  ::ring::LayoutPair tables =
      layout.tables(program.ranks(), old.queryCount, old.keyCount, old.mask);
  auto [queries, keys] = tableConstants(function, tables, function.getLoc());
  TableReplacer replacer;
  for (SlicesOp op : program.slices) {
    replacer.replace(op.getQueryTableMutable(), queries);
    replacer.replace(op.getKeyTableMutable(), keys);
  }
  for (func::CallOp call : calls) {
    auto host = call->getParentOfType<func::FuncOp>();
    if (!host)
      return call.emitError("call of a rank function outside a func.func");
    auto [ofQueries, ofKeys] = tableConstants(host, tables, call.getLoc());
    if (failed(retableCall(call, ofQueries, ofKeys, replacer)))
      return failure();
  }
  replacer.eraseDead();
  remarkBalance(program, layout);
  return success();
}

static bool hasLayout(RankProgram &program, LayoutAttr layout) {
  return program.function->getAttr(kLayoutAttrName) == layout;
}

static LogicalResult applyLayout(RankProgram &program, LayoutAttr layout,
                                 ArrayRef<func::CallOp> calls) {
  if (hasLayout(program, layout))
    return success();
  if (failed(checkLayoutCanChange(program)))
    return failure();
  // How much there is to do is not known before the program runs.
  bool atRunTime = !program.hasConstantTables() ||
                   (layout.getKind() == LayoutKind::Balanced &&
                    hasRunTimeVisibility(program.slices.front()));
  if (failed(atRunTime ? applyRunTimeLayout(program, layout, calls)
                       : applyConstantLayout(program, layout, calls)))
    return failure();
  program.function->setAttr(kLayoutAttrName, layout);
  return success();
}

/// The local function that `call` is in; null where it is the host's.
static func::FuncOp localCaller(func::CallOp call) {
  auto caller = call->getParentOfType<func::FuncOp>();
  return caller && isLocalFunction(caller) ? caller : func::FuncOp();
}

/// The local function that `calls` are in; null where they are the host's.
static FailureOr<func::FuncOp> localCaller(ArrayRef<func::CallOp> calls) {
  if (calls.empty())
    return func::FuncOp();
  func::CallOp first = calls.front();
  for (func::CallOp call : calls)
    if (localCaller(call) != localCaller(first)) {
      InFlightDiagnostic diag =
          call.emitError("calls ")
          << call.getCalleeAttr()
          << ", which another function calls too, one of them a local one: "
             "they share no layout";
      diag.attachNote(first.getLoc()) << "the other call is here";
      return diag;
    }
  return localCaller(first);
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
  llvm::MapVector<Operation *, SmallVector<RankProgram>> shared;
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (!RankProgram::isRankFunction(function))
      continue;
    FailureOr<RankProgram> program = RankProgram::match(function);
    if (failed(program))
      return signalPassFailure();
    FailureOr<func::FuncOp> local = localCaller(calls[function]);
    if (failed(local))
      return signalPassFailure();
    if (*local)
      shared[*local].push_back(*program);
    else if (failed(applyLayout(*program, attr, calls[function])))
      return signalPassFailure();
  }
  for (auto &[local, programs] : shared)
    if (!llvm::all_of(
            programs,
            [&](RankProgram &program) { return hasLayout(program, attr); }) &&
        failed(applySharedLayout(programs, attr, calls[local])))
      return signalPassFailure();
}
