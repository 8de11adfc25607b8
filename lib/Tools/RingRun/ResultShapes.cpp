//===- ResultShapes.cpp - Sizes of results, before a run ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/ResultShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ring::tools {

/// Folds sizes as far as they go. What nobody asks for any more disappears.
static void foldSizes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  for (StringRef dialect : {"arith", "tensor"})
    context->getLoadedDialect(dialect)->getCanonicalizationPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  // What does not converge is not constant, and is reported as such.
  (void)applyPatternsGreedily(function, std::move(patterns));
}

ResultShapes::ResultShapes(func::FuncOp function) {
  OpBuilder b(function.getContext());
  module = ModuleOp::create(function.getLoc());
  b.setInsertionPointToStart(module->getBody());
  auto copy = cast<func::FuncOp>(b.clone(*function));
  std::vector<Signature> arguments;
  (void)readSignatures(copy, arguments, results);
  auto ret = cast<func::ReturnOp>(copy.back().getTerminator());
  b.setInsertionPoint(ret);
  SmallVector<Value> sizes;
  for (Value result : ret.getOperands())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim))
          sizes.push_back(tensor::DimOp::create(b, ret.getLoc(), result, dim));
  ret.getOperandsMutable().assign(sizes);
  copy.setFunctionType(FunctionType::get(copy.getContext(),
                                         copy.getArgumentTypes(),
                                         ValueRange(sizes).getTypes()));
  foldSizes(copy);
}

llvm::Expected<std::vector<Signature>>
ResultShapes::resolve(const std::vector<Array> &arguments) const {
  OwningOpRef<ModuleOp> bound(cast<ModuleOp>(module.get()->clone()));
  auto function = *bound->getOps<func::FuncOp>().begin();
  function.walk([&](tensor::DimOp op) {
    auto argument = dyn_cast<BlockArgument>(op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!argument || argument.getOwner() != &function.front() || !dim)
      return;
    OpBuilder b(op);
    op.replaceAllUsesWith(Value(arith::ConstantIndexOp::create(
        b, op.getLoc(), arguments[argument.getArgNumber()].dim(*dim))));
  });
  foldSizes(function);
  auto ret = cast<func::ReturnOp>(function.back().getTerminator());
  std::vector<Signature> resolved = results;
  unsigned next = 0;
  for (auto [index, result] : llvm::enumerate(resolved))
    for (auto [dim, size] : llvm::enumerate(result.shape)) {
      if (size >= 0)
        continue;
      IntegerAttr value;
      if (!matchPattern(ret.getOperand(next++), m_Constant(&value)))
        return llvm::createStringError(
            std::make_error_code(std::errc::invalid_argument),
            "size " + llvm::Twine(dim) + " of result " + llvm::Twine(index) +
                " does not follow from the shapes of the arguments");
      size = value.getInt();
    }
  return resolved;
}

} // namespace ring::tools
