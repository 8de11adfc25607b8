//===- ResultsToDestinations.cpp - Callers own the results ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ring {
#define GEN_PASS_DEF_RESULTSTODESTINATIONSPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ResultsToDestinationsPass
    : mlir::ring::impl::ResultsToDestinationsPassBase<
          ResultsToDestinationsPass> {
  using ResultsToDestinationsPassBase::ResultsToDestinationsPassBase;
  void runOnOperation() override;
};
} // namespace

/// The most general memref of a tensor: any strides, any offset.
static MemRefType destinationType(RankedTensorType tensor) {
  auto layout = StridedLayoutAttr::get(
      tensor.getContext(), ShapedType::kDynamic,
      SmallVector<int64_t>(tensor.getRank(), ShapedType::kDynamic));
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// What a result of an op in destination style, or of a loop, starts from.
static OpOperand *startOf(OpResult result) {
  if (auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner()))
    return op.getTiedOpOperand(result);
  if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
    return &loop.getInitArgsMutable()[result.getResultNumber()];
  return nullptr;
}

/// Lets the ops of which `value` is the last compute in `memory`, where they
/// would in an empty tensor. Of what they make nobody else may be a user:
/// bufferization does not know that the last one is written over the others at
/// the function's end. (Upstream's elimination of empty tensors looks for no
/// other users.) A fill is cheap, so each user gets its own.
static void computeIn(Value memory, Value value) {
  Block *block = value.getParentBlock();
  Value current = value;
  while (auto result = dyn_cast<OpResult>(current)) {
    OpOperand *init = startOf(result);
    if (!init)
      return;
    current = init->get();
    if (current.getType() != value.getType() ||
        current.getParentBlock() != block)
      return;
    if (current.getDefiningOp<tensor::EmptyOp>()) {
      auto b = OpBuilder::atBlockBegin(block);
      init->set(bufferization::ToTensorOp::create(
          b, value.getLoc(), value.getType(), memory, /*restrict=*/true,
          /*writable=*/true));
      return;
    }
    if (current.hasOneUse())
      continue;
    auto fill = current.getDefiningOp<linalg::FillOp>();
    if (!fill)
      return;
    current = OpBuilder(result.getOwner()).clone(*fill)->getResult(0);
    init->set(current);
  }
}

/// Tensor results become trailing arguments.
static LogicalResult moveResults(func::FuncOp function) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::none_of(function.getResultTypes(), isTensor))
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError(
        "expected one block in a function with tensor results");
  auto ret = dyn_cast<func::ReturnOp>(function.front().getTerminator());
  if (!ret)
    return function.emitError(
        "expected a return in a function with tensor results");
  OpBuilder b(ret);
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) {
      kept.push_back(value);
      continue;
    }
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(position, destinationType(type),
                                       function.getResultAttrDict(index),
                                       function.getLoc())))
      return failure();
    auto write = bufferization::MaterializeInDestinationOp::create(
        b, ret.getLoc(), value, function.getArgument(position));
    write.setRestrict(true);
    write.setWritable(true);
    if (value.getParentBlock() == ret->getBlock())
      computeIn(function.getArgument(position), value);
  }
  ret.getOperandsMutable().assign(kept);
  function.setFunctionType(b.getFunctionType(function.getArgumentTypes(),
                                             ValueRange(kept).getTypes()));
  function.removeResAttrsAttr();
  return success();
}

static LogicalResult rewrite(func::FuncOp function) {
  if (failed(moveResults(function)))
    return failure();
  for (BlockArgument arg : function.getArguments())
    if (isa<TensorType>(arg.getType()))
      function.setArgAttr(
          arg.getArgNumber(),
          bufferization::BufferizationDialect::kWritableAttrName,
          BoolAttr::get(function.getContext(), false));
  return success();
}

void ResultsToDestinationsPass::runOnOperation() {
  // A function that others call keeps its signature: bufferization of the
  // call sees to its results.
  llvm::DenseSet<StringRef> called;
  getOperation().walk(
      [&](func::CallOp call) { called.insert(call.getCallee()); });
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && !called.contains(function.getName()) &&
        failed(rewrite(function)))
      return signalPassFailure();
}
