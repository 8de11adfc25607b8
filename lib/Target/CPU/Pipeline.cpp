//===- Pipeline.cpp - Rank programs for the CPU ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/CPU/Pipeline.h"

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ring;

/// Tensors to memrefs (form 5).
static void populateBufferization(OpPassManager &pm) {
  pm.addPass(createExpandHostPass());
  pm.addPass(createBufferizeTransfersPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // After CSE, which would let products share their zeros.
  pm.addPass(createFoldContractionOperandsPass());
  pm.addNestedPass<func::FuncOp>(createUnshareDestinationsPass());
  // Before results have memory: it would give one tensor's to two results.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  // After CSE, which would let results share what they start from.
  pm.addPass(createResultsToDestinationsPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::FullyDynamicLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass());
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Memory has been freed at the end of its block.
  pm.addPass(createFreeEarlyPass());
}

void mlir::ring::populateLLVMLowering(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createConvertMathToLLVMPass());
  // Takes vectors of a `score` region apart, so before what lowers vectors.
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memref;
  // Allocation goes through the runtime, which counts it.
  memref.useGenericFunctions = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memref));
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void mlir::ring::populateCPULowering(OpPassManager &pm,
                                     const CPUOptions &options) {
  populateBufferization(pm);
  if (options.kernels)
    options.kernels(pm);
  ConvertRingToVectorPassOptions vector;
  vector.vectorBits = options.vectorBits;
  vector.keyTile = options.keyTile;
  pm.addPass(createConvertRingToVectorPass(vector));
  ConvertContractionToVectorPassOptions contraction;
  contraction.vectorBits = options.vectorBits;
  pm.addPass(createConvertContractionToVectorPass(contraction));
  // After the kernels, which take fills.
  pm.addPass(createConvertLinalgToParallelPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  // Loop-invariant address arithmetic leaves the kernels' inner loops.
  pm.addPass(createExpandReshapesPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertRingToLLVMPass());
  // Among the rest are views of stacks, which host ops have left behind.
  populateLLVMLowering(pm);
  pm.addPass(createExportInterfacePass());
  pm.addPass(createSplitConstantsPass());
}

namespace {
struct RingToCPUOptions : PassPipelineOptions<RingToCPUOptions> {
  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("Number of ranks"),
                        llvm::cl::init(1)};
  Option<std::string> layout{
      *this, "layout",
      llvm::cl::desc("contiguous, zigzag, striped[:G] or balanced"),
      llvm::cl::init("zigzag")};
  Option<std::string> variant{*this, "variant",
                              llvm::cl::desc("auto or pass-kv"),
                              llvm::cl::init("auto")};
  Option<int64_t> prefetchDistance{
      *this, "prefetch-distance",
      llvm::cl::desc("Transfers in flight while a round computes"),
      llvm::cl::init(1)};
  Option<int64_t> blockwiseFfn{
      *this, "blockwise-ffn",
      llvm::cl::desc("Positions of a block of a feed-forward; 0: all at once"),
      llvm::cl::init(0)};
  Option<int64_t> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("Width of a vector register: 128, 256 or 512"),
      llvm::cl::init(512)};
};
} // namespace

void mlir::ring::registerCPUPipelines() {
  PassPipelineRegistration<RingToCPUOptions>(
      "ring-to-cpu", "From attention to a rank program in the LLVM dialect",
      [](OpPassManager &pm, const RingToCPUOptions &options) {
        ProgramOptions program;
        program.ranks = options.ranks;
        program.layout = options.layout;
        program.variant = options.variant;
        program.prefetchDistance = options.prefetchDistance;
        program.blockwiseFfn = options.blockwiseFfn;
        for (const PipelineStep &step : programSteps(program))
          step.populate(pm);
        CPUOptions cpu;
        cpu.vectorBits = options.vectorBits;
        populateCPULowering(pm, cpu);
      });
}
