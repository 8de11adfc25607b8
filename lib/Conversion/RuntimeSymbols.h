//===- RuntimeSymbols.h - The runtime's names in a program ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RUNTIMESYMBOLS_H
#define RING_LIB_CONVERSION_RUNTIMESYMBOLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ring {

/// What the conversions add to a module, by name. A program may have symbols of
/// its own with such a name: then it is refused.
class RuntimeSymbols {
public:
  /// The symbol `name`, or null where the module has none yet. One that is not
  /// `usable` is a clash, and an error at it.
  template <typename Op>
  Op find(ModuleOp module, StringRef name,
          llvm::function_ref<bool(Op)> usable) {
    Operation *found = module.lookupSymbol(name);
    auto op = llvm::dyn_cast_or_null<Op>(found);
    if (found && !clash && (!op || !usable(op))) {
      clash = true;
      found->emitError("'@") << name << "' is a name of the runtime";
    }
    return op;
  }

  /// Declares a function, unless that has been done.
  void declare(ModuleOp module, Location loc, StringRef name,
               FunctionType type) {
    if (find<func::FuncOp>(module, name, [&](func::FuncOp function) {
          return function.isExternal() && function.getFunctionType() == type;
        }))
      return;
    auto b = OpBuilder::atBlockEnd(module.getBody());
    func::FuncOp::create(b, loc, name, type).setPrivate();
  }

  /// The error has been emitted.
  bool hasClash() const { return clash; }

private:
  bool clash = false;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RUNTIMESYMBOLS_H
