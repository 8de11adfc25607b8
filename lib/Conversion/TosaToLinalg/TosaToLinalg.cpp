//===- TosaToLinalg.cpp - TOSA by upstream's passes -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Conversion/Passes.h"

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTTOSAPASS
#include "ring/Conversion/TosaToLinalg/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;

namespace {
struct ConvertTosaPass
    : mlir::ring::impl::ConvertTosaPassBase<ConvertTosaPass> {
  using ConvertTosaPassBase::ConvertTosaPassBase;

  void runOnOperation() override {
    OpPassManager passes(func::FuncOp::getOperationName());
    passes.addPass(tosa::createTosaMakeBroadcastablePass());
    passes.addPass(tosa::createTosaToLinalgNamed());
    passes.addPass(tosa::createTosaToLinalg());
    passes.addPass(createTosaToArithPass());
    passes.addPass(createTosaToTensorPass());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool hasTosa =
          function
              .walk([](Operation *op) {
                return isa_and_nonnull<tosa::TosaDialect>(op->getDialect())
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
      if (hasTosa && failed(runPipeline(passes, function)))
        return signalPassFailure();
    }
  }
};
} // namespace
