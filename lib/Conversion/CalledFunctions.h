//===- CalledFunctions.h - Where the runtime can be called ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_CALLEDFUNCTIONS_H
#define RING_LIB_CONVERSION_CALLEDFUNCTIONS_H

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ring {

/// The functions that something refers to, other than to run them on ranks.
/// They get no context, so nothing in them can call the runtime.
inline llvm::DenseSet<Operation *> findCalledFunctions(ModuleOp module) {
  llvm::DenseSet<Operation *> called;
  SymbolTable symbols(module);
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && op->hasTrait<OpTrait::SymbolTable>())
      return WalkResult::skip(); // has symbols of its own
    if (!isa<HostRunOp, mlir::ring::CallOp, func::FuncOp>(op))
      op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
        if (auto function =
                symbols.lookup<func::FuncOp>(symbol.getRootReference()))
          called.insert(function);
      });
    return WalkResult::advance();
  });
  return called;
}

/// True iff loops and branches around `op` are such that turn into a graph of
/// blocks, so that it may call the runtime.
inline bool becomesPartOfBlocks(Operation *op, func::FuncOp function) {
  for (op = op->getParentOp(); op != function; op = op->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp>(op))
      return false;
  return true;
}

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_CALLEDFUNCTIONS_H
