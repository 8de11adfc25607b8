//===- RunTimeTables.cpp - Layout tables that the host computes -----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutTables.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
class RunTimeTables {
public:
  RunTimeTables(RankProgram &program, LayoutAttr layout)
      : program(program), layout(layout), slices(program.slices.front()) {}

  LogicalResult apply(ArrayRef<func::CallOp> calls);

private:
  void addArguments();
  LogicalResult computeTables(func::CallOp call);
  /// What the call gives for a value of the rank function; null for null.
  FailureOr<Value> onHost(func::CallOp call, Value value);

  RankProgram &program;
  LayoutAttr layout;
  SlicesOp slices;
  int64_t queryCount = 0, keyCount = 0; ///< where the tables were constants
  bool hadConstants = false;
  TableReplacer replacer;
};
} // namespace

void RunTimeTables::addArguments() {
  SlicesArithmetic old(slices);
  queryCount = old.queryCount;
  keyCount = old.keyCount;
  hadConstants = true;
  func::FuncOp function = program.function;
  Type type = runTimeTableType(function.getContext());
  unsigned first = function.getNumArguments();
  for (unsigned index : {first, first + 1})
    (void)function.insertArgument(index, type, {}, function.getLoc());
  for (SlicesOp op : program.slices) {
    replacer.replace(op.getQueryTableMutable(), function.getArgument(first));
    replacer.replace(op.getKeyTableMutable(), function.getArgument(first + 1));
  }
}

FailureOr<Value> RunTimeTables::onHost(func::CallOp call, Value value) {
  if (!value)
    return Value();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &program.function.front() ||
      argument.getArgNumber() >= call.getNumOperands())
    return slices.emitError("ids, lengths, offsets or tables of a work list "
                            "are no arguments of the rank function");
  return call.getOperand(argument.getArgNumber());
}

LogicalResult RunTimeTables::computeTables(func::CallOp call) {
  RunTimeVisibility visibility;
  for (auto [ofRank, ofHost] :
       {std::pair<Value, Value *>(slices.getQuerySegments(),
                                  &visibility.querySegments),
        {slices.getKeySegments(), &visibility.keySegments},
        {slices.getLengths(), &visibility.lengths},
        {slices.getOffsets(), &visibility.offsets}}) {
    FailureOr<Value> found = onHost(call, ofRank);
    if (failed(found))
      return failure();
    *ofHost = *found;
  }
  ImplicitLocOpBuilder b(call.getLoc(), call);
  Value sizes[2];
  if (hadConstants) {
    sizes[0] = arith::ConstantIndexOp::create(b, queryCount);
    sizes[1] = arith::ConstantIndexOp::create(b, keyCount);
  } else {
    FailureOr<Value> table = onHost(call, slices.getQueryTable());
    if (failed(table))
      return failure();
    auto old = withoutCasts(*table).getDefiningOp<TablesOp>();
    if (!old)
      return call.emitError("a layout table comes from no ring.tables");
    sizes[0] = old.getQueryCount();
    sizes[1] = old.getKeyCount();
  }
  TablesOp tables = createTables(b, layout, program.ranks(), sizes[0], sizes[1],
                                 visibility, slices.getMaskAttr());
  Value queries = tables.getResult(0), keys = tables.getResult(1);
  if (hadConstants) {
    call.getOperandsMutable().append({queries, keys});
  } else {
    for (auto [ofRank, table] :
         {std::pair<Value, Value>(slices.getQueryTable(), queries),
          {slices.getKeyTable(), keys}})
      replacer.replace(
          call->getOpOperand(cast<BlockArgument>(ofRank).getArgNumber()),
          table);
  }
  return retableCall(call, queries, keys, replacer);
}

LogicalResult RunTimeTables::apply(ArrayRef<func::CallOp> calls) {
  if (program.hasConstantTables())
    addArguments();
  for (func::CallOp call : calls)
    if (failed(computeTables(call)))
      return failure();
  replacer.eraseDead();
  remark::passed(program.function.getLoc(), layoutRemark(program))
      << remark::add("tables are computed at run time")
      << remark::metric("layout", layout.spelling());
  return success();
}

LogicalResult mlir::ring::applyRunTimeLayout(RankProgram &program,
                                             LayoutAttr layout,
                                             ArrayRef<func::CallOp> calls) {
  return RunTimeTables(program, layout).apply(calls);
}
