//===- LayoutTables.h - Layout tables that change ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_LAYOUTTABLES_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_LAYOUTTABLES_H

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {

/// Gives tables to operands.
class TableReplacer {
public:
  void replace(OpOperand &operand, Value table);
  /// Erases what nobody uses any more: constants, and computed tables with
  /// their casts. Not earlier: one operand may be given a table twice.
  void eraseDead();

private:
  llvm::SetVector<Operation *> replaced;
};

/// Gives the scatters of the operands and the gathers of the results of one
/// call these tables, which are known before it.
LogicalResult retableCall(func::CallOp call, Value queries, Value keys,
                          TableReplacer &replacer);

/// What a remark of ring-apply-layout on this program begins with.
remark::RemarkOpts layoutRemark(RankProgram &program);
/// Says how even the work of the ranks is, now.
void remarkBalance(RankProgram &program, LayoutAttr layout);

/// Fails where the program is past the changes of its layout.
LogicalResult checkLayoutCanChange(RankProgram &program);

/// Tables that the host function computes and gives to the ranks, as the last
/// two arguments of the rank function.
LogicalResult applyRunTimeLayout(RankProgram &program, LayoutAttr layout,
                                 ArrayRef<func::CallOp> calls);

/// The attentions that a local function calls: what a rank has of one it gives
/// to the next, so that each sequence has one table for all of them.
/// `hostCalls` are those of the local function.
LogicalResult applySharedLayout(MutableArrayRef<RankProgram> programs,
                                LayoutAttr layout,
                                ArrayRef<func::CallOp> hostCalls);

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_LAYOUTTABLES_H
