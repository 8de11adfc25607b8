//===- FoldContractionOperands.cpp - Products of what others copy ---------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"

namespace mlir::ring {
#define GEN_PASS_DEF_FOLDCONTRACTIONOPERANDSPASS
#include "ring/Conversion/ContractionToVector/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct FoldContractionOperandsPass
    : mlir::ring::impl::FoldContractionOperandsPassBase<
          FoldContractionOperandsPass> {
  using FoldContractionOperandsPassBase::FoldContractionOperandsPassBase;
  void runOnOperation() override;
};

/// An operand of a contraction: a tensor and where loops read it.
struct Operand {
  Value tensor;
  AffineMap map;
};
} // namespace

/// True iff `op` gives each element of its result one element of its input, as
/// it is or extended to f32.
static bool isCopy(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !isa<RankedTensorType>(op->getOperand(0).getType()))
    return false;
  Value value = op.getBlock()->getTerminator()->getOperand(0);
  if (auto extension = value.getDefiningOp<arith::ExtFOp>();
      extension && extension.getType().isF32())
    value = extension.getIn();
  return value == op.getBlock()->getArgument(0);
}

/// Steps back over the op that copies what `operand` is, if it is one.
static bool readThrough(Operand &operand) {
  auto op = operand.tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || !isCopy(op))
    return false;
  OpOperand *input = op.getDpsInputOperand(0);
  Type element = getElementTypeOrSelf(input->get().getType());
  AffineMap from = op.getMatchingIndexingMap(input),
            to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!(element.isF32() || element.isBF16() || element.isF16()) ||
      !to.isPermutation() ||
      !from.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  operand.tensor = input->get();
  operand.map = from.compose(inversePermutation(to)).compose(operand.map);
  return true;
}

/// True iff each loop walks along two operands at least, as kernels want it.
static bool fitKernels(ArrayRef<AffineMap> maps) {
  for (unsigned loop = 0; loop < maps.front().getNumDims(); ++loop)
    if (llvm::count_if(
            maps, [&](AffineMap map) { return map.isFunctionOfDim(loop); }) < 2)
      return false;
  return true;
}

/// Inserts the extension of the `number`-th argument, which becomes `element`.
static void extendArgument(Block &body, unsigned number, Type element) {
  BlockArgument argument = body.getArgument(number);
  Type wide = argument.getType();
  if (element == wide)
    return;
  argument.setType(element);
  auto b = OpBuilder::atBlockBegin(&body);
  auto extension = arith::ExtFOp::create(b, argument.getLoc(), wide, argument);
  argument.replaceAllUsesExcept(extension, extension);
}

static void foldOperands(linalg::LinalgOp op) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool changed = false;
  for (int64_t number = 0; number < 2; ++number) {
    Operand operand{op->getOperand(number), maps[number]};
    inputs.push_back(operand.tensor);
    while (readThrough(operand)) {
      AffineMap before = std::exchange(maps[number], operand.map);
      if (!fitKernels(maps)) {
        maps[number] = before;
        break;
      }
      inputs[number] = operand.tensor;
      changed = true;
    }
  }
  if (!changed)
    return;
  OpBuilder b(op);
  auto generic = linalg::GenericOp::create(b, op.getLoc(), op->getResultTypes(),
                                           inputs, op.getDpsInits(), maps,
                                           op.getIteratorTypesArray());
  generic.getRegion().takeBody(op->getRegion(0));
  for (auto [number, input] : llvm::enumerate(inputs))
    extendArgument(generic.getRegion().front(), number,
                   getElementTypeOrSelf(input.getType()));
  op->replaceAllUsesWith(generic);
  op->erase();
}

/// Zeros that others start from as well would have to be copied; right before
/// the op they can become part of the kernel.
static void ownZeros(linalg::LinalgOp op) {
  OpOperand *init = op.getDpsInitOperand(0);
  auto fill = init->get().getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_AnyZeroFloat()))
    return;
  if (fill->hasOneUse())
    fill->moveBefore(op);
  else
    init->set(OpBuilder(op).clone(*fill)->getResult(0));
}

void FoldContractionOperandsPass::runOnOperation() {
  SmallVector<linalg::LinalgOp> ops;
  getOperation().walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics() && addsProduct(op))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    ownZeros(op);
    foldOperands(op);
  }
  // Nobody may need any more what was read through: it would be computed still.
  getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<linalg::LinalgOp, tensor::EmptyOp>(op) && isOpTriviallyDead(op))
      op->erase();
  });
}
