//===- Pipeline.cpp - From attention to rank programs ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/Pipeline.h"

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ring;

std::vector<PipelineStep>
mlir::ring::programSteps(const ProgramOptions &options) {
  std::vector<PipelineStep> steps;
  auto add = [&](std::string name, bool required,
                 std::function<void(OpPassManager &)> populate) {
    steps.push_back({std::move(name), std::move(populate), required});
  };
  add("convert-stablehlo-to-linalg", true, [](OpPassManager &pm) {
    pm.addPass(createConvertStableHLOToLinalgPass());
  });
  add("convert-tosa", true,
      [](OpPassManager &pm) { pm.addPass(createConvertTosaPass()); });
  add("convert-torch-to-ring", true,
      [](OpPassManager &pm) { pm.addPass(createConvertTorchToRingPass()); });
  add("convert-attention-to-linalg", true, [](OpPassManager &pm) {
    pm.addPass(createConvertAttentionToLinalgPass());
  });
  add("convert-elementwise-to-linalg", true, [](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  });
  // Attention in a function that another calls must see the host's context.
  add("inline", true, [](OpPassManager &pm) {
    pm.addPass(createRefuseUnknownRegionsPass());
    pm.addPass(createInlinerPass());
    pm.addPass(createSymbolDCEPass());
  });
  add("ring-raise-attention", false, [](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
  });
  add("ring-shard-attention", true, [options](OpPassManager &pm) {
    ShardAttentionPassOptions shard;
    shard.ranks = options.ranks;
    shard.variant = options.variant;
    pm.addPass(createShardAttentionPass(shard));
  });
  // Before the layout: positions that are shared have one table.
  add("ring-shard-function", false, [options](OpPassManager &pm) {
    ShardFunctionPassOptions shard;
    shard.partial = true;
    shard.blockwiseFfn = options.blockwiseFfn;
    pm.addPass(createShardFunctionPass(shard));
  });
  if (!options.layout.empty())
    add("ring-apply-layout", false, [options](OpPassManager &pm) {
      ApplyLayoutPassOptions layout;
      layout.layout = options.layout;
      pm.addPass(createApplyLayoutPass(layout));
    });
  add("ring-classify-blocks", false,
      [](OpPassManager &pm) { pm.addPass(createClassifyBlocksPass()); });
  add("ring-pipeline-rounds", false, [options](OpPassManager &pm) {
    PipelineRoundsPassOptions pipeline;
    pipeline.prefetchDistance = options.prefetchDistance;
    pm.addPass(createPipelineRoundsPass(pipeline));
  });
  // Whatever went before, a program that is wrong does not go on.
  add("ring-verify-schedule", true,
      [](OpPassManager &pm) { pm.addPass(createVerifySchedulePass()); });
  return steps;
}
