//===- Compile.cpp - Machine code from the LLVM dialect -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/CPU/Compile.h"

#include "ring/Target/CPU/Sanitize.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::ring;

static llvm::Error compileError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
CPUTarget::machine() const {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  if (cpu != "native") {
    // An unknown CPU would silently become a generic one.
    std::string error;
    const llvm::Target *target =
        llvm::TargetRegistry::lookupTarget(builder->getTargetTriple(), error);
    if (!target)
      return compileError(error);
    std::unique_ptr<llvm::MCSubtargetInfo> info(
        target->createMCSubtargetInfo(builder->getTargetTriple(), "", ""));
    if (!info->isCPUStringValid(cpu))
      return compileError("unknown CPU '" + cpu + "'");
    builder->setCPU(cpu);
    builder->getFeatures() = llvm::SubtargetFeatures();
  }
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  builder->setRelocationModel(llvm::Reloc::PIC_);
  auto machine = builder->createTargetMachine();
  // Rounding to an integer would be a call for each element.
  if (machine && (*machine)->getTargetTriple().isX86() &&
      !(*machine)->getMCSubtargetInfo()->checkFeatures("+sse4.1"))
    return compileError("CPU '" + cpu +
                        "' has no SSE4.1, expected x86-64-v2 or later");
  return machine;
}

int64_t mlir::ring::vectorBits(const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo *info = machine.getMCSubtargetInfo();
  if (!machine.getTargetTriple().isX86())
    return 128;
  if (info->checkFeatures("+avx512f"))
    return 512;
  return info->checkFeatures("+avx2") && info->checkFeatures("+fma") ? 256
                                                                     : 128;
}

/// Optimizes for `machine`. Without the attribute LLVM prefers 256 bits on
/// most machines that have 512. Code of a tool that a sanitizer watches is
/// watched as well.
static llvm::Error optimize(llvm::Module *module,
                            llvm::TargetMachine *machine) {
  std::string bits = std::to_string(vectorBits(*machine));
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", bits);
  if (llvm::Error error = makeOptimizingTransformer(
          /*optLevel=*/3, /*sizeLevel=*/0, machine)(module))
    return error;
  sanitize(*module, machine, kProcessSanitizer);
  return llvm::Error::success();
}

static void registerTranslations(MLIRContext *context) {
  DialectRegistry registry;
  registerAllToLLVMIRTranslations(registry);
  context->appendDialectRegistry(registry);
}

llvm::Expected<std::unique_ptr<ExecutionEngine>>
mlir::ring::jitCompile(ModuleOp module,
                       std::unique_ptr<llvm::TargetMachine> machine) {
  registerTranslations(module.getContext());
  llvm::TargetMachine *target = machine.get();
  auto transformer = [target](llvm::Module *llvmModule) {
    return optimize(llvmModule, target);
  };
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  return ExecutionEngine::create(module, options, std::move(machine));
}

llvm::Error mlir::ring::writeObject(ModuleOp module,
                                    llvm::TargetMachine &machine,
                                    llvm::StringRef path) {
  registerTranslations(module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return compileError("translation to LLVM IR failed");
  llvmModule->setDataLayout(machine.createDataLayout());
  llvmModule->setTargetTriple(machine.getTargetTriple());
  if (llvm::Error error = optimize(llvmModule.get(), &machine))
    return error;
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (code)
    return compileError("cannot write '" + path + "': " + code.message());
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, file.os(), nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return compileError("the target writes no object files");
  passes.run(*llvmModule);
  file.os().flush();
  if (file.os().has_error())
    return compileError("cannot write '" + path +
                        "': " + file.os().error().message());
  file.keep();
  return llvm::Error::success();
}
