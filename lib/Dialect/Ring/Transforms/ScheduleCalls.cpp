//===- ScheduleCalls.cpp - Checks what the host gives to the ranks --------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleCalls.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
/// Checks that a call gives the ranks what they compute with.
class CallChecks {
public:
  CallChecks(func::CallOp call, AttentionStep step, int64_t ranks)
      : call(call), step(step), ranks(ranks) {}

  LogicalResult run();

private:
  /// A scatter or gather is along the sequence, by the work list's table.
  template <typename BoundaryOp>
  LogicalResult checkBoundary(BoundaryOp op, const FixedInput &expected);
  LogicalResult checkCut(int64_t argument, const FixedInput &table);
  LogicalResult checkBias();
  LogicalResult checkWhole(const FixedInput &input, Operation *user);

  func::CallOp call;
  AttentionStep step;
  int64_t ranks;
};
} // namespace

template <typename BoundaryOp>
LogicalResult CallChecks::checkBoundary(BoundaryOp op,
                                        const FixedInput &expected) {
  if (op.getDim() != static_cast<uint64_t>(kSequenceDim))
    return op.emitError("is along dimension ")
           << op.getDim() << ", expected the sequence, dimension "
           << kSequenceDim;
  Value table = withoutCasts(op.getTable());
  bool same = false;
  if (expected.isArgument()) {
    Value given = withoutCasts(call.getOperand(expected.argument));
    auto tables = given.getDefiningOp<TablesOp>();
    if (!tables)
      return call.emitError("cannot verify: argument ")
             << expected.argument << " does not come from ring.tables";
    if (tables.getRanks() != static_cast<uint64_t>(ranks))
      return tables.emitError("makes tables for ")
             << tables.getRanks() << " ranks, the program runs on " << ranks;
    same = given == table;
  } else {
    Attribute got;
    same = matchPattern(table, m_Constant(&got)) && got == expected.constant;
  }
  if (same)
    return success();
  InFlightDiagnostic diag =
      op.emitError("layout table is not the one that the ranks compute with");
  diag.attachNote(step.work.op.getLoc()) << "the work list is here";
  return diag;
}

LogicalResult CallChecks::checkCut(int64_t argument, const FixedInput &table) {
  auto scatter = call.getOperand(argument).getDefiningOp<ScatterOp>();
  if (!scatter)
    return call.emitError("cannot verify: argument ")
           << argument << " does not come from ring.scatter";
  return checkBoundary(scatter, table);
}

/// Every rank has an operand that is not cut as it is: what is known of
/// positions is of those of the whole sequences.
LogicalResult CallChecks::checkWhole(const FixedInput &input, Operation *user) {
  if (!input.isArgument())
    return success();
  auto scatter = call.getOperand(input.argument).getDefiningOp<ScatterOp>();
  if (!scatter)
    return success();
  InFlightDiagnostic diag = scatter.emitError("cuts argument ")
                            << input.argument
                            << ", which every rank needs whole";
  diag.attachNote(user->getLoc()) << "the ranks use it here";
  return diag;
}

/// A bias with a row for each query is cut like the queries.
LogicalResult CallChecks::checkBias() {
  if (!step.event.bias)
    return success();
  OnlineAttentionOp op = step.event.op;
  if (cast<ShapedType>(op.getBias().getType()).getDimSize(kSequenceDim) == 1)
    return checkWhole(*step.event.bias, op);
  return checkCut(step.event.bias->argument, *step.work.inputs[0]);
}

LogicalResult CallChecks::run() {
  const FixedInput &queryTable = *step.work.inputs[0],
                   &keyTable = *step.work.inputs[1];
  if (failed(checkCut(step.event.query.position, queryTable)) ||
      failed(checkCut(step.key, keyTable)) ||
      failed(checkCut(step.value, keyTable)) || failed(checkBias()))
    return failure();
  for (const std::optional<FixedInput> &input : step.work.inputs)
    if (input && failed(checkWhole(*input, step.work.op)))
      return failure();
  for (const FixedInput &capture : step.event.captures)
    if (failed(checkWhole(capture, step.event.op)))
      return failure();
  for (const std::optional<FixedInput> &input :
       {step.finalized.sinks, step.finalized.mean})
    if (input && failed(checkWhole(*input, step.finalized.op)))
      return failure();
  for (Operation *user : call->getUsers()) {
    auto gather = dyn_cast<GatherOp>(user);
    if (!gather)
      return user->emitError("cannot verify: a rank's result is used by '")
             << user->getName() << "', expected ring.gather";
    if (failed(checkBoundary(gather, queryTable)))
      return failure();
  }
  return success();
}

LogicalResult mlir::ring::checkCalls(func::FuncOp function,
                                     const AttentionStep &step, int64_t ranks) {
  auto module = function->getParentOfType<ModuleOp>();
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser())) {
      auto caller = call->getParentOfType<func::FuncOp>();
      if (failed(caller && isLocalFunction(caller)
                     ? checkLocalCall(call, step)
                     : CallChecks(call, step, ranks).run()))
        return failure();
    }
  return success();
}
