//===- ExportInterface.cpp - Symbols that others may link -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ring {
#define GEN_PASS_DEF_EXPORTINTERFACEPASS
#include "ring/Conversion/RingToLLVM/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

/// The prefix that the conversion of `func` gives to C interfaces.
static constexpr llvm::StringLiteral kPrefix = "_mlir_ciface_";

namespace {
struct ExportInterfacePass
    : mlir::ring::impl::ExportInterfacePassBase<ExportInterfacePass> {
  using ExportInterfacePassBase::ExportInterfacePassBase;
  void runOnOperation() override;
};
} // namespace

void ExportInterfacePass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  SmallVector<LLVM::LLVMFuncOp> functions(module.getOps<LLVM::LLVMFuncOp>());
  for (LLVM::LLVMFuncOp function : functions) {
    // The program has been read; translation knows none of our attributes.
    for (NamedAttribute attr : llvm::to_vector(function->getDiscardableAttrs()))
      if (attr.getNameDialect() &&
          attr.getNameDialect()->getNamespace() == "ring")
        function->removeDiscardableAttr(attr.getName());
    StringRef name = function.getName();
    if (function.isExternal())
      continue;
    if (!name.consume_front(kPrefix)) {
      function.setLinkage(LLVM::Linkage::Internal);
      continue;
    }
    std::string exported = name.str();
    if (auto body = symbols.lookup<LLVM::LLVMFuncOp>(exported))
      if (failed(symbols.rename(body, exported + ".body")))
        return signalPassFailure();
    if (failed(symbols.rename(function, exported)))
      return signalPassFailure();
    function.setLinkage(LLVM::Linkage::External);
  }
}
