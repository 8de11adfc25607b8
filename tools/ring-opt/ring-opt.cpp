//===- ring-opt.cpp - The pass driver -------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/BufferizableOpInterfaceImpl.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Target/CPU/Pipeline.h"
#include "ring/Target/GPU/Passes.h"
#include "ring/Target/GPU/Pipeline.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::ring::RingDialect>();
  mlir::ring::registerKernelTranslations(registry);
  mlir::ring::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::registerAllPasses();
  mlir::ring::registerRingTransformsPasses();
  mlir::ring::registerAttentionToLinalgPasses();
  mlir::ring::registerContractionToVectorPasses();
  mlir::ring::registerLinalgToParallelPasses();
  mlir::ring::registerRingToGPUPasses();
  mlir::ring::registerRingToVectorPasses();
  mlir::ring::registerRingToLLVMPasses();
  mlir::ring::registerStableHLOToLinalgPasses();
  mlir::ring::registerRingTosaToLinalgPasses();
  mlir::ring::registerTorchToRingPasses();
  mlir::ring::registerRingTargetGPUPasses();
  mlir::ring::registerCPUPipelines();
  mlir::ring::registerGPUPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Ring optimizer driver\n", registry));
}
