//===- TorchToRing.cpp - Attention of the torch dialect -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlexAttention.h"
#include "TorchTensors.h"
#include "TorchTypes.h"

#include "../UnlinkedOp.h"

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTTORCHTORINGPASS
#include "ring/Conversion/TorchToRing/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static bool isNone(Operation *op, unsigned i) {
  return getTorchOperand(op, i, "constant.none");
}

static FailureOr<bool> booleanAt(Operation *op, unsigned i) {
  if (Operation *def = getTorchOperand(op, i, "constant.bool"))
    if (auto value = def->getAttrOfType<BoolAttr>("value"))
      return value.getValue();
  return emitNamedError(op)
         << "has operand " << i << " that is no constant boolean";
}

static FailureOr<double> floatAt(Operation *op, unsigned i) {
  if (Operation *def = getTorchOperand(op, i, "constant.float"))
    if (auto value = def->getAttrOfType<FloatAttr>("value"))
      return value.getValueAsDouble();
  return emitNamedError(op)
         << "has operand " << i << " that is no constant float";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
struct Attention {
  std::optional<double> scale;
  double softcap = 0;
  bool causal = false;
  std::optional<unsigned> mask; ///< operand
  EmptyRows emptyRows = EmptyRows::Zero;
};
} // namespace

/// A mask of up to four dimensions, as a bias; booleans are 0 or -inf.
static Value asBias(OpBuilder &b, Location loc, Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  if (type.getRank() < 4) {
    SmallVector<int64_t> shape(4 - type.getRank(), 1);
    llvm::append_range(shape, type.getShape());
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 4 - type.getRank(); dim < 4; ++dim)
      groups.push_back({dim});
    for (int64_t dim = 4 - type.getRank(); dim-- > 0;)
      groups[0].insert(groups[0].begin(), dim);
    mask =
        tensor::ExpandShapeOp::create(b, loc, type.clone(shape), mask, groups);
    type = cast<RankedTensorType>(mask.getType());
  }
  if (!type.getElementType().isInteger(1))
    return mask;
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value hidden = arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  Value init = tensor::EmptyOp::create(b, loc, type.getShape(), b.getF32Type());
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(4));
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, TypeRange(init.getType()), mask, ValueRange(init), maps,
             iterators,
             [&](OpBuilder &nested, Location at, ValueRange x) {
               Value bias =
                   arith::SelectOp::create(nested, at, x[0], zero, hidden);
               linalg::YieldOp::create(nested, at, bias);
             })
      ->getResult(0);
}

static FailureOr<Value> build(OpBuilder &b, Operation *op,
                              const Attention &attention) {
  FailureOr<SmallVector<RankedTensorType>> inputs = attentionInputs(op);
  if (failed(inputs))
    return failure();
  ArrayRef<RankedTensorType> types = *inputs;
  RankedTensorType result = toTensor(op->getResult(0).getType());
  SmallVector<int64_t> shape(types[0].getShape());
  shape[3] = types[2].getDimSize(3);
  if (!result || result != types[0].clone(shape))
    return emitNamedError(op)
           << "has a result of type " << op->getResult(0).getType()
           << ", expected " << types[0].clone(shape);
  Value bias;
  if (attention.mask) {
    auto type =
        dyn_cast<RankedTensorType>(op->getOperand(*attention.mask).getType());
    if (!type || !type.hasStaticShape() || type.getRank() < 2 ||
        type.getRank() > 4 || type.getDimSize(type.getRank() - 1) == 1)
      return emitNamedError(op)
             << "has a mask of type "
             << op->getOperand(*attention.mask).getType()
             << ", expected [..., queries, keys] of static shape";
    bias = asBias(b, op->getLoc(), op->getOperand(*attention.mask));
  }
  int64_t queries = types[0].getDimSize(2), keys = types[1].getDimSize(2);
  MaskAttr mask;
  if (attention.causal)
    mask = MaskAttr::get(op->getContext(), /*causal=*/true, std::nullopt,
                         std::nullopt, /*hasWindow=*/false, std::nullopt,
                         std::nullopt,
                         queries == keys && ShapedType::isStatic(queries)
                             ? std::optional<Alignment>()
                             : Alignment::TopLeft);
  FloatAttr scale, softcap;
  if (attention.scale)
    scale = b.getF32FloatAttr(static_cast<float>(*attention.scale));
  if (attention.softcap != 0)
    softcap = b.getF32FloatAttr(static_cast<float>(attention.softcap));
  EmptyRowsAttr emptyRows;
  if (attention.emptyRows != EmptyRows::Zero)
    emptyRows = EmptyRowsAttr::get(op->getContext(), attention.emptyRows);
  // What else is wrong with the shapes is for its verifier to say.
  return Value(AttentionOp::create(
                   b, op->getLoc(), result, /*lse=*/Type(), op->getOperand(0),
                   op->getOperand(1), op->getOperand(2), bias, nullptr, nullptr,
                   nullptr, nullptr, nullptr, mask, scale, softcap, emptyRows)
                   .getOut());
}

/// query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa.
static FailureOr<Value> convertSDPA(OpBuilder &b, Operation *op) {
  if (op->getNumOperands() != 8 || op->getNumResults() != 1)
    return emitNamedError(op)
           << "has " << op->getNumOperands() << " operands, expected 8";
  FailureOr<double> dropout = floatAt(op, 4);
  FailureOr<bool> causal = booleanAt(op, 5);
  if (failed(dropout) || failed(causal))
    return failure();
  if (*dropout != 0)
    return emitNamedError(op) << "has dropout, which is not supported";
  Attention attention;
  attention.causal = *causal;
  if (!isNone(op, 3))
    attention.mask = 3;
  if (attention.mask && *causal)
    return emitNamedError(op)
           << "has a mask and is causal, which PyTorch refuses";
  if (!isNone(op, 6)) {
    FailureOr<double> scale = floatAt(op, 6);
    if (failed(scale))
      return failure();
    attention.scale = *scale;
  }
  return build(b, op, attention);
}

static FailureOr<Value> convertONNX(OpBuilder &b, Operation *op) {
  Attention attention;
  attention.emptyRows = EmptyRows::NaN;
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName().getValue();
    if (!name.consume_front("torch.onnx."))
      continue;
    auto integer = dyn_cast<IntegerAttr>(attribute.getValue());
    auto number = dyn_cast<FloatAttr>(attribute.getValue());
    if (name == "is_causal" && integer)
      attention.causal = !integer.getValue().isZero();
    else if (name == "scale" && number)
      attention.scale = number.getValueAsDouble();
    else if (name == "softcap" && number)
      attention.softcap = number.getValueAsDouble();
    // Says what a fourth result is, and there is none.
    else if (name != "qk_matmul_output_mode" || !integer)
      return emitNamedError(op) << "onnx.Attention has the attribute '" << name
                                << "', which is not understood";
  }
  if (op->getNumResults() != 1 || op->getNumOperands() < 3)
    return emitNamedError(op) << "onnx.Attention has " << op->getNumResults()
                              << " results, expected 1";
  for (unsigned i = 3; i < op->getNumOperands(); ++i)
    if (!isNone(op, i)) {
      if (i != 3)
        return emitNamedError(op)
               << "onnx.Attention has a past, which is not supported";
      attention.mask = i;
    }
  auto query = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto key = dyn_cast<RankedTensorType>(op->getOperand(1).getType());
  if (attention.causal && query && key && query.getRank() == 4 &&
      key.getRank() == 4 &&
      (query.getDimSize(2) != key.getDimSize(2) || query.isDynamicDim(2)))
    return emitNamedError(op)
           << "onnx.Attention is causal with other numbers of queries "
              "and keys, which is not supported";
  if (attention.softcap != 0 && (attention.causal || attention.mask))
    return emitNamedError(op)
           << "onnx.Attention has a softcap and a mask, which is not "
              "supported";
  return build(b, op, attention);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Constants, lists of them and shapes: ops that have them as operands look at
/// what makes them.
static bool isReadByOthers(Operation *op, StringRef name) {
  if (name.starts_with("constant.") || name == "prim.ListConstruct")
    return true;
  auto value = op->getAttrOfType<ElementsAttr>("torch.onnx.value");
  return name == "onnx.Constant" && value &&
         isa<IntegerType>(value.getElementType()) &&
         !value.getElementType().isInteger(1);
}

static LogicalResult convertFunction(func::FuncOp function) {
  auto convertTypes = [&](TypeRange types,
                          SmallVector<Type> &converted) -> LogicalResult {
    for (Type type : types) {
      RankedTensorType tensor = toTensor(type);
      if (!tensor && !getTorchText(type).empty())
        return function.emitError("takes or gives ")
               << type << ", which is not understood";
      converted.push_back(tensor ? Type(tensor) : type);
    }
    return success();
  };
  SmallVector<Type> inputs, outputs;
  if (failed(convertTypes(function.getArgumentTypes(), inputs)) ||
      failed(convertTypes(function.getResultTypes(), outputs)))
    return failure();
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, outputs));
  if (function.isExternal())
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError("has several blocks, which is not supported for "
                              "the torch dialect");
  for (auto [argument, type] : llvm::zip(function.getArguments(), inputs))
    argument.setType(type);

  SmallVector<Operation *> constants;
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (!isTorch(&op)) {
      if (op.getNumRegions() != 0 ||
          llvm::any_of(op.getResultTypes(),
                       [](Type t) { return !getTorchText(t).empty(); }))
        return op.emitError("'")
               << op.getName() << "' among ops of torch is not supported";
      continue;
    }
    StringRef name = op.getName().stripDialect();
    auto called = op.getAttrOfType<StringAttr>("name");
    if (name == "operator" && called)
      name = called.getValue();
    if (isReadByOthers(&op, name)) {
      constants.push_back(&op);
      continue;
    }
    OpBuilder b(&op);
    FailureOr<Value> result = Value();
    RankedTensorType type = op.getNumResults() != 0
                                ? toTensor(op.getResult(0).getType())
                                : RankedTensorType();
    if (name == "aten.scaled_dot_product_attention")
      result = convertSDPA(b, &op);
    else if (name == "hop_flex_attention")
      result = convertFlexAttention(b, &op);
    else if (name == "onnx.Attention")
      result = convertONNX(b, &op);
    else if (type && type.hasStaticShape() && op.getNumResults() == 1)
      result = convertTensorOp(b, &op, name, type);
    if (failed(result))
      return failure();
    if (!*result || (*result).getType() != type) {
      InFlightDiagnostic diag = emitNamedError(&op);
      if (called)
        diag << called << " ";
      return diag << "is not supported";
    }
    op.getResult(0).replaceAllUsesWith(*result);
    op.erase();
  }
  for (Operation *constant : llvm::reverse(constants)) {
    if (!constant->use_empty())
      return emitNamedError(constant) << "is used by an op of another dialect";
    constant->erase();
  }
  return success();
}

namespace {
struct ConvertTorchToRingPass
    : mlir::ring::impl::ConvertTorchToRingPassBase<ConvertTorchToRingPass> {
  using ConvertTorchToRingPassBase::ConvertTorchToRingPassBase;

  void runOnOperation() override {
    auto isOfTorch = [](Type type) { return !getTorchText(type).empty(); };
    SmallVector<func::FuncOp> found;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (llvm::any_of(function.getArgumentTypes(), isOfTorch) ||
          llvm::any_of(function.getResultTypes(), isOfTorch) ||
          function
              .walk([](Operation *op) {
                return isTorch(op) ? WalkResult::interrupt()
                                   : WalkResult::advance();
              })
              .wasInterrupted())
        found.push_back(function);
    for (func::FuncOp function : found)
      for (Block &block : function.getBody())
        eraseDeadTorchOps(block);
    // What changes scores is written into their region, from torch.
    llvm::SetVector<func::FuncOp> inlined;
    for (func::FuncOp function : found) {
      WalkResult result = function.walk([&](Operation *op) {
        if (!isTorch(op) ||
            op->getName().stripDialect() != "hop_flex_attention")
          return WalkResult::advance();
        FailureOr<FlexFunctions> functions = getFlexFunctions(op);
        if (failed(functions))
          return WalkResult::interrupt();
        for (func::FuncOp called : {functions->score, functions->mask})
          if (called && called.isPrivate())
            inlined.insert(called);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    for (func::FuncOp function : found)
      if (!inlined.contains(function) && failed(convertFunction(function)))
        return signalPassFailure();
    for (func::FuncOp function : inlined)
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        function.erase();
      else if (failed(convertFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
