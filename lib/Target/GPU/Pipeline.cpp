//===- Pipeline.cpp - Kernels for GPUs ------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/GPU/Pipeline.h"

#include "ring/Conversion/Passes.h"
#include "ring/Target/CPU/Pipeline.h"
#include "ring/Target/GPU/Passes.h"
#include "ring/Target/Pipeline.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ring;

void mlir::ring::populateKernels(OpPassManager &pm, const GPUOptions &options) {
  ConvertRingToGPUPassOptions convert;
  convert.chip = options.chip;
  convert.mixed = options.mixed;
  pm.addPass(createConvertRingToGPUPass(convert));
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  // Not canonicalized before: patterns of scf take seconds where ops have a
  // hundred results.
  kernels.addPass(createCSEPass());
  kernels.addPass(createExpandDeviceMathPass());
  kernels.addPass(createSCFToControlFlowPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  kernels.addPass(arith::createArithExpandOpsPass(expand));
  kernels.addPass(createDeviceToLLVMPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  if (options.formats.empty())
    return;
  SerializeKernelsPassOptions serialize;
  serialize.formats.assign(options.formats.begin(), options.formats.end());
  serialize.ptxas = options.ptxas;
  serialize.optional = options.cubinOptional;
  pm.addPass(createSerializeKernelsPass(serialize));
}

namespace {
struct RingToNVVMOptions : PassPipelineOptions<RingToNVVMOptions> {
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
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("What to make kernels for"),
                           llvm::cl::init("sm_80")};
  ListOption<std::string> formats{
      *this, "formats",
      llvm::cl::desc("Images of the kernels: vgpu, ptx, cubin (default: none, "
                     "they stay in the NVVM dialect)")};
  Option<std::string> ptxas{*this, "ptxas", llvm::cl::desc("Path of ptxas"),
                            llvm::cl::init("")};
};
} // namespace

void mlir::ring::registerGPUPipelines() {
  PassPipelineRegistration<RingToNVVMOptions>(
      "ring-to-nvvm",
      "From attention to kernels in the NVVM dialect and a host program in the "
      "LLVM dialect",
      [](OpPassManager &pm, const RingToNVVMOptions &options) {
        ProgramOptions program;
        program.ranks = options.ranks;
        program.layout = options.layout;
        program.variant = options.variant;
        program.prefetchDistance = options.prefetchDistance;
        for (const PipelineStep &step : programSteps(program))
          step.populate(pm);
        GPUOptions gpu;
        gpu.chip = options.chip;
        gpu.formats.assign(options.formats.begin(), options.formats.end());
        gpu.ptxas = options.ptxas;
        CPUOptions cpu;
        cpu.kernels = [gpu](OpPassManager &pm) { populateKernels(pm, gpu); };
        populateCPULowering(pm, cpu);
      });
}
