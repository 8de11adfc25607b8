//===- SerializeKernels.cpp - Images of kernels ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "ring/Target/GPU/Passes.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

namespace mlir::ring {
#define GEN_PASS_DEF_SERIALIZEKERNELSPASS
#include "ring/Target/GPU/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct SerializeKernelsPass
    : mlir::ring::impl::SerializeKernelsPassBase<SerializeKernelsPass> {
  using SerializeKernelsPassBase::SerializeKernelsPassBase;
  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelTranslations(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult serialize(gpu::GPUModuleOp kernels);
  FailureOr<Attribute> image(gpu::GPUModuleOp kernels,
                             NVVM::NVVMTargetAttr target, StringRef format);
  FailureOr<std::string> ptxOf(gpu::GPUModuleOp kernels,
                               NVVM::NVVMTargetAttr target);
};
} // namespace

void mlir::ring::registerKernelTranslations(DialectRegistry &registry) {
  registry.insert<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerAllGPUToLLVMIRTranslations(registry);
}

static gpu::ObjectAttr object(NVVM::NVVMTargetAttr target, StringRef kind,
                              gpu::CompilationTarget format,
                              StringRef content) {
  Builder b(target.getContext());
  auto properties = b.getDictionaryAttr(
      {b.getNamedAttr("kind", b.getStringAttr(kind)),
       b.getNamedAttr("chip", b.getStringAttr(target.getChip()))});
  return gpu::ObjectAttr::get(b.getContext(), target, format,
                              b.getStringAttr(content), properties, nullptr);
}

FailureOr<std::string>
SerializeKernelsPass::ptxOf(gpu::GPUModuleOp kernels,
                            NVVM::NVVMTargetAttr target) {
  gpu::TargetOptions options({}, {}, {}, {}, gpu::CompilationTarget::Assembly);
  auto serializer = cast<gpu::TargetAttrInterface>(Attribute(target));
  std::optional<SmallVector<char, 0>> text =
      serializer.serializeToObject(kernels, options);
  if (!text)
    return kernels.emitError("no PTX for ") << target.getChip();
  return StringRef(text->data(), text->size()).rtrim('\0').str();
}

/// Null where it is left out.
FailureOr<Attribute> SerializeKernelsPass::image(gpu::GPUModuleOp kernels,
                                                 NVVM::NVVMTargetAttr target,
                                                 StringRef format) {
  if (format == "vgpu") {
    std::string bytecode;
    llvm::raw_string_ostream os(bytecode);
    if (failed(writeBytecodeToFile(kernels, os)))
      return kernels.emitError("cannot be written as bytecode");
    return Attribute(
        object(target, format, gpu::CompilationTarget::Offload, bytecode));
  }
  FailureOr<std::string> ptx = ptxOf(kernels, target);
  if (failed(ptx))
    return failure();
  if (format == "ptx")
    return Attribute(
        object(target, format, gpu::CompilationTarget::Assembly, *ptx));
  // At the location, not at the op: ring-opt would print all of the kernels.
  auto cannot = [&](llvm::Error error) -> FailureOr<Attribute> {
    std::string message = llvm::toString(std::move(error));
    if (!optional)
      return emitError(kernels.getLoc(), message);
    emitRemark(kernels.getLoc(), message) << "; the driver will compile PTX";
    return Attribute();
  };
  llvm::Expected<Ptxas> assembler = Ptxas::find(ptxas);
  if (!assembler)
    return cannot(assembler.takeError());
  llvm::Expected<Ptxas::Output> output =
      assembler->assemble(*ptx, target.getChip());
  if (!output)
    return cannot(output.takeError());
  if (!output->messages.empty())
    emitWarning(kernels.getLoc(), "ptxas ")
        << assembler->version << ": " << StringRef(output->messages).rtrim();
  return Attribute(
      object(target, format, gpu::CompilationTarget::Binary, output->cubin));
}

LogicalResult SerializeKernelsPass::serialize(gpu::GPUModuleOp kernels) {
  auto targets = kernels.getTargetsAttr();
  NVVM::NVVMTargetAttr target;
  if (targets && targets.size() == 1)
    target = dyn_cast<NVVM::NVVMTargetAttr>(targets[0]);
  if (!target)
    return kernels.emitError("expected one target, #nvvm.target");
  SmallVector<Attribute> objects;
  for (StringRef format : formats) {
    FailureOr<Attribute> made = image(kernels, target, format);
    if (failed(made))
      return failure();
    if (*made)
      objects.push_back(*made);
  }
  OpBuilder b(kernels);
  gpu::BinaryOp::create(b, kernels.getLoc(), kernels.getName(), nullptr,
                        b.getArrayAttr(objects));
  kernels.erase();
  return success();
}

void SerializeKernelsPass::runOnOperation() {
  for (StringRef format : formats)
    if (!llvm::is_contained({"vgpu", "ptx", "cubin"}, format)) {
      emitError(getOperation().getLoc(), "no image format '")
          << format << "', expected vgpu, ptx or cubin";
      return signalPassFailure();
    }
  for (auto kernels :
       llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
    if (failed(serialize(kernels)))
      return signalPassFailure();
}
