//===- Sanitize.cpp - Checked memory accesses in generated code -----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/CPU/Sanitize.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace mlir::ring;

namespace {
/// An access that ThreadSanitizerPass does not instrument.
struct WideAccess {
  Instruction *instruction;
  Value *pointers; ///< one, or a vector of them
  Type *type;
  Value *mask = nullptr; ///< none: all elements
  bool isWrite;
};
} // namespace

/// The access of `instruction`, where it is one that the pass leaves out: it
/// knows 1, 2, 4, 8 and 16 bytes.
static std::optional<WideAccess> wideAccess(Instruction &instruction) {
  const DataLayout &layout = instruction.getDataLayout();
  auto plain = [&](Value *pointer, Type *type,
                   bool isWrite) -> std::optional<WideAccess> {
    TypeSize size = layout.getTypeStoreSize(type);
    if (size.isScalable() || (isPowerOf2_64(size) && size <= 16))
      return std::nullopt;
    return WideAccess{&instruction, pointer, type, nullptr, isWrite};
  };
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return plain(load->getPointerOperand(), load->getType(), false);
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return plain(store->getPointerOperand(),
                 store->getValueOperand()->getType(), true);
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return std::nullopt;
  switch (call->getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_gather:
    return WideAccess{call, call->getArgOperand(0), call->getType(),
                      call->getArgOperand(1), false};
  case Intrinsic::masked_store:
  case Intrinsic::masked_scatter:
    return WideAccess{call, call->getArgOperand(1),
                      call->getArgOperand(0)->getType(), call->getArgOperand(2),
                      true};
  default:
    return std::nullopt;
  }
}

/// Reports the access to ThreadSanitizer's runtime before it happens.
static void announce(const WideAccess &access) {
  Module *module = access.instruction->getModule();
  const DataLayout &layout = module->getDataLayout();
  Type *word = layout.getIntPtrType(module->getContext());
  FunctionCallee range = module->getOrInsertFunction(
      access.isWrite ? "__tsan_write_range" : "__tsan_read_range",
      Type::getVoidTy(module->getContext()),
      PointerType::getUnqual(module->getContext()), word);
  auto call = [&](IRBuilderBase &builder, Value *pointer, Type *type) {
    builder.CreateCall(
        range,
        {pointer, ConstantInt::get(word, layout.getTypeStoreSize(type))});
  };
  IRBuilder<> before(access.instruction);
  if (!access.mask)
    return call(before, access.pointers, access.type);
  auto *vector = cast<FixedVectorType>(access.type);
  SplitBlockAndInsertForEachLane(
      vector->getElementCount(), word, access.instruction->getIterator(),
      [&](IRBuilderBase &builder, Value *lane) {
        Value *seen = builder.CreateExtractElement(access.mask, lane);
        Instruction *then = SplitBlockAndInsertIfThen(
            seen, builder.GetInsertPoint(), /*Unreachable=*/false);
        IRBuilder<> inside(then);
        Value *pointer =
            access.pointers->getType()->isVectorTy()
                ? inside.CreateExtractElement(access.pointers, lane)
                : inside.CreateGEP(vector->getElementType(), access.pointers,
                                   lane);
        call(inside, pointer, vector->getElementType());
      });
}

static void announceWideAccesses(Function &function) {
  SmallVector<WideAccess> accesses;
  for (Instruction &instruction : instructions(function))
    if (std::optional<WideAccess> access = wideAccess(instruction))
      // The stack is the thread's own.
      if (access->pointers->getType()->isVectorTy() ||
          !isa<AllocaInst>(getUnderlyingObject(access->pointers)))
        accesses.push_back(*access);
  for (const WideAccess &access : accesses)
    announce(access);
}

void mlir::ring::sanitize(Module &module, TargetMachine *machine,
                          Sanitizer sanitizer) {
  if (sanitizer == Sanitizer::None)
    return;
  bool address = sanitizer == Sanitizer::Address;
  for (Function &function : module)
    if (!function.isDeclaration()) {
      function.addFnAttr(address ? llvm::Attribute::SanitizeAddress
                                 : llvm::Attribute::SanitizeThread);
      // Otherwise ThreadSanitizer leaves functions by landing pads, too, whose
      // personality the JIT does not find.
      function.setDoesNotThrow();
    }
  // No constructors: the JIT would have to run them. Both runtimes have been
  // started by the process.
  ModulePassManager passes;
  if (address) {
    for (GlobalVariable &global : module.globals()) {
      GlobalValue::SanitizerMetadata metadata;
      metadata.NoAddress = true;
      global.setSanitizerMetadata(metadata);
    }
    AddressSanitizerOptions options;
    options.UseAfterScope = true;
    passes.addPass(AddressSanitizerPass(
        options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
        AsanDtorKind::None, AsanCtorKind::None));
  } else {
    for (Function &function : module)
      announceWideAccesses(function);
    passes.addPass(createModuleToFunctionPassAdaptor(ThreadSanitizerPass()));
  }
  PassBuilder builder(machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  passes.run(module, modules);
}
