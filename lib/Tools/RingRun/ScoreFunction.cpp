//===- ScoreFunction.cpp - A score region, pair by pair -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/ScoreFunction.h"

#include "ring/Target/CPU/Compile.h"
#include "ring/Target/CPU/Pipeline.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ring::tools {

static constexpr llvm::StringLiteral kName = "score";
/// What takes memrefs as pointers to descriptors.
static constexpr llvm::StringLiteral kWrapper = "_mlir_ciface_score";

/// What the function is given: captures, and constant tensors, which a function
/// on memrefs cannot hold.
static llvm::SmallVector<Value> capturesOf(Region &region) {
  llvm::SmallVector<Value> captures = mlir::ring::getScoreCaptures(region);
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(region, used);
  for (Value value : used)
    if (isa<RankedTensorType>(value.getType()) &&
        !llvm::is_contained(captures, value))
      captures.push_back(value);
  return captures;
}

llvm::SmallVector<Value>
ScoreFunction::capturesAsTensors(mlir::ring::AttentionOp attention) {
  OpBuilder b(attention);
  llvm::SmallVector<Value> tensors;
  for (Value capture : capturesOf(attention.getScore())) {
    if (capture.getType().isIndex())
      capture = arith::IndexCastOp::create(b, attention.getLoc(),
                                           b.getI64Type(), capture);
    if (!isa<RankedTensorType>(capture.getType()))
      capture = tensor::FromElementsOp::create(
          b, attention.getLoc(), RankedTensorType::get({}, capture.getType()),
          capture);
    tensors.push_back(capture);
  }
  return tensors;
}

/// func @score(f32, index, index, index, index, memref of each capture) -> f32.
static void buildFunction(mlir::ring::AttentionOp attention, ModuleOp module) {
  Region &region = attention.getScore();
  auto b =
      ImplicitLocOpBuilder::atBlockBegin(attention.getLoc(), module.getBody());
  SmallVector<Type> inputs(region.getArgumentTypes());
  llvm::SmallVector<Value> captures = capturesOf(region);
  for (Value capture : captures) {
    auto tensor = dyn_cast<RankedTensorType>(capture.getType());
    Type element = tensor ? tensor.getElementType() : capture.getType();
    inputs.push_back(
        MemRefType::get(tensor ? tensor.getShape() : ArrayRef<int64_t>(),
                        element.isIndex() ? b.getI64Type() : element));
  }
  auto function =
      func::FuncOp::create(b, kName, b.getFunctionType(inputs, b.getF32Type()));
  function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                    b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(region.getArguments(), function.getArguments().take_front(5));
  for (auto [capture, argument] :
       llvm::zip(captures, function.getArguments().drop_front(5))) {
    Value value = argument;
    if (!isa<RankedTensorType>(capture.getType())) {
      value = memref::LoadOp::create(b, argument, ValueRange());
      if (capture.getType().isIndex())
        value = arith::IndexCastOp::create(b, b.getIndexType(), value);
    }
    mapping.map(capture, value);
  }
  mlir::ring::cloneScoreConstants(b, region, mapping);
  for (Operation &op : region.front().without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : extract.getIndices())
        indices.push_back(mapping.lookup(index));
      mapping.map(extract.getResult(),
                  memref::LoadOp::create(b, mapping.lookup(extract.getTensor()),
                                         indices)
                      .getResult());
    } else {
      b.clone(op, mapping);
    }
  }
  auto yield = cast<mlir::ring::YieldOp>(region.front().getTerminator());
  func::ReturnOp::create(b, mapping.lookup(yield.getScore()));
}

FailureOr<std::shared_ptr<ScoreFunction>>
ScoreFunction::compile(mlir::ring::AttentionOp attention) {
  Block &block = attention.getScore().front();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (op.hasTrait<OpTrait::ConstantLike>() &&
        isa<RankedTensorType>(op.getResult(0).getType()))
      op.moveBefore(attention);
  OwningOpRef<ModuleOp> module = ModuleOp::create(attention.getLoc());
  buildFunction(attention, *module);
  PassManager pm(attention.getContext());
  mlir::ring::populateLLVMLowering(pm);
  if (failed(pm.run(*module)))
    return failure();
  auto machine = mlir::ring::CPUTarget{"native"}.machine();
  if (!machine)
    return attention.emitError(llvm::toString(machine.takeError()));
  auto engine = mlir::ring::jitCompile(*module, std::move(*machine));
  if (!engine)
    return attention.emitError(llvm::toString(engine.takeError()));
  auto score = std::make_shared<ScoreFunction>();
  score->engine = std::move(*engine);
  if (auto function = score->engine->lookupPacked(kWrapper); !function)
    return attention.emitError(llvm::toString(function.takeError()));
  return score;
}

std::function<double(double, int64_t, int64_t, int64_t, int64_t)>
ScoreFunction::bind(const std::vector<const Array *> &captures) const {
  auto descriptors = std::make_shared<std::vector<std::vector<int64_t>>>();
  for (const Array *capture : captures)
    descriptors->push_back(descriptor(*capture));
  auto function = llvm::cantFail(engine->lookupPacked(kWrapper));
  return [function, descriptors](double score, int64_t batch, int64_t head,
                                 int64_t query, int64_t key) {
    float x = static_cast<float>(score), result = 0;
    std::vector<void *> pointers;
    for (std::vector<int64_t> &words : *descriptors)
      pointers.push_back(words.data());
    // A packed call takes the address of each argument.
    std::vector<void *> packed = {&x, &batch, &head, &query, &key};
    for (void *&pointer : pointers)
      packed.push_back(&pointer);
    packed.push_back(&result);
    (*function)(packed.data());
    return static_cast<double>(result);
  };
}

} // namespace ring::tools
