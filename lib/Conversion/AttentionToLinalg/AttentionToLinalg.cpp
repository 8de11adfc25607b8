//===- AttentionToLinalg.cpp - Attention ops of other dialects ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scan.h"
#include "SoftmaxAttention.h"

#include "../UnlinkedOp.h"

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTATTENTIONTOLINALGPASS
#include "ring/Conversion/AttentionToLinalg/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

static bool isTensorOf(Value value, bool orBooleans = false) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() &&
         (type.getElementType().isF32() ||
          (orBooleans && type.getElementType().isInteger(1)));
}

/// Query, key, value and, as operand `mask` where that is not 0, a mask.
static FailureOr<SoftmaxAttention> readOperands(Operation *op, unsigned mask) {
  SoftmaxAttention attention;
  for (unsigned i : {0, 1, 2})
    if (!isTensorOf(op->getOperand(i)))
      return emitNamedError(op)
             << "has an operand of type " << op->getOperand(i).getType()
             << ", expected an f32 tensor of static shape";
  attention.query = op->getOperand(0);
  attention.key = op->getOperand(1);
  attention.value = op->getOperand(2);
  if (!mask)
    return attention;
  attention.mask = op->getOperand(mask);
  if (!isTensorOf(attention.mask, /*orBooleans=*/true))
    return emitNamedError(op)
           << "has a mask of type " << attention.mask.getType()
           << ", expected a tensor of f32 or i1 of static shape";
  return attention;
}

static LogicalResult replace(OpBuilder &b, Operation *op,
                             const SoftmaxAttention &attention) {
  std::string reason;
  Value result = attention.build(b, op->getLoc(), reason);
  if (!result)
    return emitNamedError(op) << reason;
  if (op->getNumResults() != 1 ||
      op->getResult(0).getType() != result.getType())
    return emitNamedError(op)
           << "has results of other types than " << result.getType();
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return success();
}

/// tm_tensor.attention(query, key, value[, mask], output).
static LogicalResult convertTMTensor(OpBuilder &b, Operation *op) {
  if (failed(checkAttributes(op, {"operandSegmentSizes", "scale"})))
    return failure();
  unsigned operands = op->getNumOperands();
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes");
  if ((operands != 4 && operands != 5) || !segments || segments.size() != 2 ||
      segments[1] != 1)
    return emitNamedError(op)
           << "has " << operands << " operands, expected query, key, "
           << "value, perhaps a mask, and the output";
  FailureOr<SoftmaxAttention> attention =
      readOperands(op, operands == 5 ? 3 : 0);
  if (failed(attention))
    return failure();
  int64_t rank = cast<RankedTensorType>(attention->query.getType()).getRank();
  if (rank < 3)
    return emitNamedError(op) << "of rank " << rank << " is not supported";
  double scale = 1 / std::sqrt(static_cast<double>(
                         cast<RankedTensorType>(attention->query.getType())
                             .getDimSize(rank - 1)));
  if (op->hasAttr("scale")) {
    auto given = op->getAttrOfType<FloatAttr>("scale");
    if (!given)
      return emitNamedError(op) << "has a scale that is no float";
    scale = given.getValueAsDouble();
  }
  attention->scale =
      arith::ConstantOp::create(b, op->getLoc(), b.getF32FloatAttr(scale));
  // Loops: batch, queries, channels of the values, those of the keys, keys.
  unsigned batch = rank - 2, loops = batch + 4;
  auto mapOf = [&](unsigned position, unsigned channel) {
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; i < batch; ++i)
      exprs.push_back(b.getAffineDimExpr(i));
    exprs.push_back(b.getAffineDimExpr(position));
    exprs.push_back(b.getAffineDimExpr(channel));
    return AffineMap::get(loops, 0, exprs, b.getContext());
  };
  unsigned query = batch, valueChannel = batch + 1, channel = batch + 2,
           key = batch + 3;
  attention->queryMap = mapOf(query, channel);
  attention->keyMap = mapOf(key, channel);
  attention->valueMap = mapOf(key, valueChannel);
  attention->maskMap = mapOf(query, key);
  attention->outputMap = mapOf(query, valueChannel);
  return replace(b, op, *attention);
}

/// iree_linalg_ext.attention(query, key, value, scale[, mask], output).
static LogicalResult convertIREE(OpBuilder &b, Operation *op) {
  if (failed(checkAttributes(op, {"indexing_maps"})))
    return failure();
  unsigned operands = op->getNumOperands();
  auto maps = op->getAttrOfType<ArrayAttr>("indexing_maps");
  if ((operands != 5 && operands != 6) || !maps || maps.size() != operands ||
      !llvm::all_of(maps, llvm::IsaPred<AffineMapAttr>))
    return emitNamedError(op)
           << "has " << operands << " operands, expected query, key, "
           << "value, scale, perhaps a mask, and the output, each "
              "with an indexing map";
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() ||
      op->getRegion(0).getNumArguments() != 1 ||
      op->getRegion(0).front().getOperations().size() != 1 ||
      !llvm::equal(op->getRegion(0).front().back().getOperands(),
                   op->getRegion(0).getArguments()))
    return emitNamedError(op)
           << "changes scores in its region, which is not supported";
  FailureOr<SoftmaxAttention> attention =
      readOperands(op, operands == 6 ? 4 : 0);
  if (failed(attention))
    return failure();
  attention->scale = op->getOperand(3);
  if (!attention->scale.getType().isF32())
    return emitNamedError(op) << "has a scale of type "
                              << attention->scale.getType() << ", expected f32";
  auto mapAt = [&](unsigned i) {
    return cast<AffineMapAttr>(maps[i]).getValue();
  };
  attention->queryMap = mapAt(0);
  attention->keyMap = mapAt(1);
  attention->valueMap = mapAt(2);
  if (operands == 6)
    attention->maskMap = mapAt(4);
  attention->outputMap = mapAt(operands - 1);
  return replace(b, op, *attention);
}

namespace {
struct ConvertAttentionToLinalgPass
    : mlir::ring::impl::ConvertAttentionToLinalgPassBase<
          ConvertAttentionToLinalgPass> {
  using ConvertAttentionToLinalgPassBase::ConvertAttentionToLinalgPassBase;

  void runOnOperation() override {
    using Convert = LogicalResult (*)(OpBuilder &, Operation *);
    SmallVector<std::pair<Operation *, Convert>> found;
    getOperation().walk([&](Operation *op) {
      if (op->isRegistered())
        return;
      StringRef name = op->getName().getStringRef();
      if (name == "tm_tensor.attention")
        found.push_back({op, convertTMTensor});
      else if (name == "iree_linalg_ext.attention")
        found.push_back({op, convertIREE});
      else if (name == "tm_tensor.scan")
        found.push_back({op, convertScan});
    });
    for (auto [op, convert] : found) {
      OpBuilder b(op);
      if (failed(convert(b, op)))
        return signalPassFailure();
    }
  }
};
} // namespace
