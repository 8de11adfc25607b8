//===- RingRuntimeOps.cpp - Ops next to the runtime -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Host ops
//===----------------------------------------------------------------------===//

/// `stack` is [local ranks, ...`whole` with `dim` padded...].
static LogicalResult verifyStack(DestinationStyleOpInterface op, Value whole,
                                 Value stack, Value table, int64_t dim) {
  auto wholeType = cast<ShapedType>(whole.getType());
  auto stackType = cast<ShapedType>(stack.getType());
  if (dim < 0 || dim >= wholeType.getRank())
    return op->emitOpError("dim is ")
           << dim << ", expected a dimension of " << wholeType;
  if (stackType.getElementType() != wholeType.getElementType())
    return op->emitOpError("stack is of ")
           << stackType.getElementType() << ", expected "
           << wholeType.getElementType();
  if (stackType.getRank() != wholeType.getRank() + 1)
    return op->emitOpError("stack has ")
           << stackType.getRank() << " dimensions, expected "
           << wholeType.getRank() + 1;
  SmallVector<int64_t> expected = {ShapedType::kDynamic};
  llvm::append_range(expected, wholeType.getShape());
  expected[dim + 1] = ShapedType::kDynamic;
  if (failed(expectShape(op, "the stack", stackType, expected)) ||
      failed(verifyTable(op, table)))
    return failure();
  return verifyOneSemantics(op, {whole, stack});
}

LogicalResult HostScatterOp::verify() {
  return verifyStack(*this, getSource(), getStacked(), getTable(), getDim());
}
void HostScatterOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}

LogicalResult HostGatherOp::verify() {
  return verifyStack(*this, getWhole(), getStacked(), getTable(), getDim());
}
void HostGatherOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}

LogicalResult HostRunOp::verify() {
  if (failed(verifyRanks(*this, getRanks())))
    return failure();
  int64_t localRanks = ShapedType::kDynamic;
  SmallVector<Value> stacks(getInputs());
  llvm::append_range(stacks, getOutputs());
  for (auto [index, type] : llvm::enumerate(ValueRange(stacks).getTypes())) {
    auto shaped = cast<ShapedType>(type);
    if (shaped.getRank() == 0)
      return emitOpError("stack ")
             << index << " is " << type << ", expected a leading dimension";
    int64_t size = shaped.getDimSize(0);
    if (!areCompatible(size, localRanks))
      return emitOpError("stacks have leading sizes ")
             << localRanks << " and " << size << ", expected one";
    if (!ShapedType::isDynamic(size))
      localRanks = size;
  }
  return verifyOneSemantics(*this, {});
}
void HostRunOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}

LogicalResult CallOp::verify() { return verifyOneSemantics(*this, {}); }
void CallOp::getEffects(MemoryEffectList &effects) {
  addDestinationEffects(*this, /*readsDestinations=*/false, effects);
}

//===----------------------------------------------------------------------===//
// Callees
//===----------------------------------------------------------------------===//

/// The function that `symbol` names.
static FailureOr<FunctionOpInterface>
lookupCallee(Operation *op, FlatSymbolRefAttr symbol,
             SymbolTableCollection &tables) {
  Operation *target = tables.lookupNearestSymbolFrom(op, symbol);
  if (!target)
    return op->emitOpError("unknown function ") << symbol;
  auto function = dyn_cast<FunctionOpInterface>(target);
  if (!function) {
    InFlightDiagnostic diag = op->emitOpError() << symbol << " is no function";
    diag.attachNote(target->getLoc()) << "the symbol is here";
    return diag;
  }
  return function;
}

LogicalResult HostRunOp::verifySymbolUses(SymbolTableCollection &tables) {
  // The signature differs between the forms of the rank function.
  return lookupCallee(*this, getCalleeAttr(), tables);
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &tables) {
  // The signature differs between the forms of the rank function.
  return lookupCallee(*this, getCalleeAttr(), tables);
}

LogicalResult ParallelCallOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<FunctionOpInterface> function =
      lookupCallee(*this, getCalleeAttr(), tables);
  if (failed(function))
    return failure();
  // A function that is lowered already takes its memrefs in parts.
  auto callee = dyn_cast<func::FuncOp>(function->getOperation());
  if (!callee)
    return success();
  SmallVector<Type> expected = {IndexType::get(getContext())};
  llvm::append_range(expected, getArguments().getTypes());
  auto type = FunctionType::get(getContext(), expected, {});
  if (callee.getFunctionType() == type)
    return success();
  InFlightDiagnostic diag = emitOpError("calls a function of type ")
                            << callee.getFunctionType() << ", expected "
                            << type;
  diag.attachNote(callee.getLoc()) << "the function is here";
  return diag;
}
