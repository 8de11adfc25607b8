//===- LayoutTables.cpp - Layout tables that change -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutTables.h"

using namespace mlir;
using namespace mlir::ring;

void TableReplacer::replace(OpOperand &operand, Value table) {
  if (Operation *old = operand.get().getDefiningOp())
    replaced.insert(old);
  operand.set(table);
}

void TableReplacer::eraseDead() {
  while (!replaced.empty()) {
    Operation *old = replaced.pop_back_val();
    if (!isOpTriviallyDead(old))
      continue;
    for (Value operand : old->getOperands())
      if (Operation *source = operand.getDefiningOp())
        replaced.insert(source);
    old->erase();
  }
}

LogicalResult mlir::ring::retableCall(func::CallOp call, Value queries,
                                      Value keys, TableReplacer &replacer) {
  for (unsigned index = 0; index < call.getNumOperands(); ++index) {
    auto scatter = call.getOperand(index).getDefiningOp<ScatterOp>();
    if (!scatter && index < kInputCount)
      return call.emitError("operand ")
             << index << " of a rank function comes from no ring.scatter";
    if (!scatter) // the same on every rank, whatever the layout
      continue;
    // Other uses of the same local tensor keep their layout, also those of this
    // call: what is query and key needs both tables.
    if (!scatter.getLocal().hasOneUse()) {
      scatter = cast<ScatterOp>(OpBuilder(call).clone(*scatter));
      call.setOperand(index, scatter.getLocal());
    }
    scatter->moveBefore(call);
    bool isKeyOrValue = index == 1 || index == 2;
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

remark::RemarkOpts mlir::ring::layoutRemark(RankProgram &program) {
  return remark::RemarkOpts::name("ApplyLayout")
      .category("ring-apply-layout")
      .function(program.function.getName());
}

void mlir::ring::remarkBalance(RankProgram &program, LayoutAttr layout) {
  SlicesArithmetic arithmetic(program.slices.front());
  ::ring::RingCounts counts = ::ring::countRing(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  remark::passed(program.function.getLoc(), layoutRemark(program))
      << remark::metric("layout", layout.spelling())
      << remark::metric("balance", counts.balance)
      << remark::metric("round_balance", counts.roundBalance);
}

LogicalResult mlir::ring::checkLayoutCanChange(RankProgram &program) {
  func::FuncOp function = program.function;
  if (llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>))
    return function.emitError("the layout of a program on memrefs cannot "
                              "change");
  if (!program.isWhole())
    return function.emitError("the layout of a program whose blocks have been "
                              "classified cannot change");
  auto module = function->getParentOfType<ModuleOp>();
  if (std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(function, module))
    for (SymbolTable::SymbolUse use : *uses)
      if (isa<HostRunOp, mlir::ring::CallOp>(use.getUser()))
        return use.getUser()->emitError(
            "the layout of a program whose calls have been expanded cannot "
            "change");
  return success();
}
