//===- ScheduleLocalCalls.cpp - Checks what ranks give to attention -------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a local function a rank gives attention what it has made of its own
// positions. That is right where all that is cut for the function, and all that
// is joined of it, is cut and joined by the table that attention computes with.
//
//===----------------------------------------------------------------------===//

#include "ScheduleCalls.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
class LocalCallChecks {
public:
  LocalCallChecks(func::CallOp call, AttentionStep step)
      : call(call), step(std::move(step)),
        local(call->getParentOfType<func::FuncOp>()) {}

  LogicalResult run();

private:
  template <typename BoundaryOp>
  LogicalResult checkTable(BoundaryOp op, const FixedInput &expected);
  LogicalResult checkCut(int64_t argument, const FixedInput &table);
  LogicalResult checkWhole(const std::optional<FixedInput> &input);
  LogicalResult checkBias();
  LogicalResult checkBoundary(func::CallOp ofHost);
  /// The argument of the local function that `value` is; nothing where a rank
  /// computes it.
  std::optional<unsigned> argumentOf(Value value);
  bool isGivenToAttentionOnly(unsigned argument);

  func::CallOp call;
  AttentionStep step;
  func::FuncOp local;
  SmallVector<func::CallOp> hostCalls;
};
} // namespace

template <typename BoundaryOp>
LogicalResult LocalCallChecks::checkTable(BoundaryOp op,
                                          const FixedInput &expected) {
  Attribute got;
  if (matchPattern(op.getTable(), m_Constant(&got)) && got == expected.constant)
    return success();
  InFlightDiagnostic diag =
      op.emitError("layout table is not the one that the ranks compute with");
  diag.attachNote(step.work.op.getLoc()) << "the work list is here";
  return diag;
}

std::optional<unsigned> LocalCallChecks::argumentOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &local.front())
    return std::nullopt;
  return argument.getArgNumber();
}

LogicalResult LocalCallChecks::checkCut(int64_t argument,
                                        const FixedInput &table) {
  if (table.isArgument())
    return call.emitError("cannot verify: the layout table of a call among "
                          "local ops is no constant");
  Value operand = call.getOperand(argument);
  std::optional<unsigned> given = argumentOf(operand);
  if (!given) {
    if (cast<ShapedType>(operand.getType()).isDynamicDim(kSequenceDim))
      return success();
    return call.emitError("argument ")
           << argument << " is of " << operand.getType()
           << ", expected a local tensor";
  }
  for (func::CallOp ofHost : hostCalls) {
    auto scatter = ofHost.getOperand(*given).getDefiningOp<ScatterOp>();
    if (!scatter)
      return ofHost.emitError("cannot verify: argument ")
             << *given << " does not come from ring.scatter";
    if (scatter.getDim() != static_cast<uint64_t>(kSequenceDim))
      return scatter.emitError("is along dimension ")
             << scatter.getDim() << ", expected the sequence, dimension "
             << kSequenceDim;
    if (failed(checkTable(scatter, table)))
      return failure();
  }
  return success();
}

/// Every rank has the operand as it is: a constant, or what the host gives it
/// without cutting it.
LogicalResult
LocalCallChecks::checkWhole(const std::optional<FixedInput> &input) {
  if (!input || !input->isArgument())
    return success();
  Value operand = call.getOperand(input->argument);
  if (matchPattern(operand, m_Constant()))
    return success();
  std::optional<unsigned> given = argumentOf(operand);
  if (!given)
    return call.emitError("cannot verify: a rank computes argument ")
           << input->argument << ", which every rank needs whole";
  for (func::CallOp ofHost : hostCalls)
    if (auto scatter = ofHost.getOperand(*given).getDefiningOp<ScatterOp>()) {
      InFlightDiagnostic diag = scatter.emitError("cuts argument ")
                                << *given << ", which every rank needs whole";
      diag.attachNote(call.getLoc()) << "the ranks use it here";
      return diag;
    }
  return success();
}

LogicalResult LocalCallChecks::checkBias() {
  if (!step.event.bias)
    return success();
  OnlineAttentionOp op = step.event.op;
  if (cast<ShapedType>(op.getBias().getType()).getDimSize(kSequenceDim) == 1)
    return checkWhole(step.event.bias);
  return checkCut(step.event.bias->argument, *step.work.inputs[0]);
}

/// What is given to attentions directly is checked there, and may be of another
/// sequence.
bool LocalCallChecks::isGivenToAttentionOnly(unsigned argument) {
  return llvm::all_of(local.getArgument(argument).getUsers(),
                      llvm::IsaPred<func::CallOp>);
}

LogicalResult LocalCallChecks::checkBoundary(func::CallOp ofHost) {
  const FixedInput &table = *step.work.inputs[0];
  for (auto [index, operand] : llvm::enumerate(ofHost.getOperands()))
    if (auto scatter = operand.getDefiningOp<ScatterOp>();
        scatter && !isGivenToAttentionOnly(index) &&
        failed(checkTable(scatter, table)))
      return failure();
  for (Operation *user : ofHost->getUsers()) {
    auto gather = dyn_cast<GatherOp>(user);
    if (!gather)
      return user->emitError("cannot verify: a rank's result is used by '")
             << user->getName() << "', expected ring.gather";
    if (failed(checkTable(gather, table)))
      return failure();
  }
  return success();
}

LogicalResult LocalCallChecks::run() {
  auto module = local->getParentOfType<ModuleOp>();
  if (auto uses = SymbolTable::getSymbolUses(local, module))
    for (SymbolTable::SymbolUse use : *uses)
      if (auto ofHost = dyn_cast<func::CallOp>(use.getUser()))
        hostCalls.push_back(ofHost);
  const FixedInput &queryTable = *step.work.inputs[0],
                   &keyTable = *step.work.inputs[1];
  if (failed(checkCut(step.event.query.position, queryTable)) ||
      failed(checkCut(step.key, keyTable)) ||
      failed(checkCut(step.value, keyTable)) || failed(checkBias()))
    return failure();
  for (const std::optional<FixedInput> &input : step.work.inputs)
    if (failed(checkWhole(input)))
      return failure();
  for (const FixedInput &capture : step.event.captures)
    if (failed(checkWhole(capture)))
      return failure();
  if (failed(checkWhole(step.finalized.sinks)) ||
      failed(checkWhole(step.finalized.mean)))
    return failure();
  // What a rank computes is of its queries' positions: keys too, unless they
  // are given directly.
  bool ownKeys = !argumentOf(call.getOperand(step.key)) ||
                 !argumentOf(call.getOperand(step.value));
  if (ownKeys && queryTable != keyTable)
    return call.emitError("keys that the ranks compute are cut by the queries' "
                          "table, attention computes with another");
  for (func::CallOp ofHost : hostCalls)
    if (failed(checkBoundary(ofHost)))
      return failure();
  return success();
}

LogicalResult mlir::ring::checkLocalCall(func::CallOp call,
                                         const AttentionStep &step) {
  return LocalCallChecks(call, step).run();
}
