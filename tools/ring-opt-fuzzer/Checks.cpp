//===- Checks.cpp - What holds of every program ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Target/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::ring;

namespace ring::fuzz {

[[noreturn]] static void report(const Twine &what, const Twine &why,
                                ModuleOp module) {
  llvm::errs() << "ring-opt-fuzzer: " << what << ": " << why << "\n";
  module->print(llvm::errs(), OpPrintingFlags().printGenericOpForm());
  llvm::errs() << "\nring-opt-fuzzer: " << what << ": " << why << "\n";
  std::abort();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

std::vector<std::string> skippedPasses;

static bool isSkipped(StringRef name) {
  return llvm::is_contained(skippedPasses, name);
}

const std::vector<Step> &singlePasses() {
  static const std::vector<Step> steps = [] {
    std::vector<Step> steps;
    auto add = [&](std::string name,
                   std::function<void(OpPassManager &)> populate) {
      if (!isSkipped(name))
        steps.push_back({std::move(name), std::move(populate)});
    };
    add("canonicalize",
        [](OpPassManager &pm) { pm.addPass(createCanonicalizerPass()); });
    add("ring-raise-attention", [](OpPassManager &pm) {
      pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
    });
    for (int64_t ranks : {1, 3})
      add("ring-shard-attention", [ranks](OpPassManager &pm) {
        ShardAttentionPassOptions options;
        options.ranks = ranks;
        pm.addPass(createShardAttentionPass(options));
      });
    add("ring-shard-attention", [](OpPassManager &pm) {
      ShardAttentionPassOptions options;
      options.grid = "ring";
      pm.addPass(createShardAttentionPass(options));
    });
    for (const char *layout : {"contiguous", "striped:3", "balanced"})
      add("ring-apply-layout", [layout](OpPassManager &pm) {
        ApplyLayoutPassOptions options;
        options.layout = layout;
        pm.addPass(createApplyLayoutPass(options));
      });
    add("ring-classify-blocks",
        [](OpPassManager &pm) { pm.addPass(createClassifyBlocksPass()); });
    for (int64_t distance : {1, 3})
      add("ring-pipeline-rounds", [distance](OpPassManager &pm) {
        PipelineRoundsPassOptions options;
        options.prefetchDistance = distance;
        pm.addPass(createPipelineRoundsPass(options));
      });
    add("ring-verify-schedule",
        [](OpPassManager &pm) { pm.addPass(createVerifySchedulePass()); });
    add("ring-expand-host",
        [](OpPassManager &pm) { pm.addPass(createExpandHostPass()); });
    add("ring-bufferize-transfers",
        [](OpPassManager &pm) { pm.addPass(createBufferizeTransfersPass()); });
    add("ring-results-to-destinations", [](OpPassManager &pm) {
      pm.addPass(createResultsToDestinationsPass());
    });
    add("convert-ring-to-vector",
        [](OpPassManager &pm) { pm.addPass(createConvertRingToVectorPass()); });
    add("ring-shard-function",
        [](OpPassManager &pm) { pm.addPass(createShardFunctionPass()); });
    add("ring-unshare-destinations", [](OpPassManager &pm) {
      pm.addNestedPass<func::FuncOp>(createUnshareDestinationsPass());
    });
    add("ring-expand-reshapes",
        [](OpPassManager &pm) { pm.addPass(createExpandReshapesPass()); });
    add("fold-contraction-operands", [](OpPassManager &pm) {
      pm.addPass(createFoldContractionOperandsPass());
    });
    add("convert-contraction-to-vector", [](OpPassManager &pm) {
      pm.addPass(createConvertContractionToVectorPass());
    });
    add("convert-linalg-to-parallel", [](OpPassManager &pm) {
      pm.addPass(createConvertLinalgToParallelPass());
    });
    add("convert-ring-to-llvm",
        [](OpPassManager &pm) { pm.addPass(createConvertRingToLLVMPass()); });
    return steps;
  }();
  return steps;
}

const std::vector<Step> &pipeline() {
  static const std::vector<Step> steps = [] {
    ProgramOptions options;
    options.ranks = 2;
    options.layout = "zigzag";
    options.prefetchDistance = 2;
    std::vector<Step> steps;
    for (const PipelineStep &step : programSteps(options))
      if (!isSkipped(step.name))
        steps.push_back({step.name, step.populate});
    return steps;
  }();
  return steps;
}

LogicalResult run(const Step &step, ModuleOp module) {
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  step.populate(pm);
  return pm.run(module);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static std::string print(ModuleOp module, bool generic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  if (generic)
    flags.printGenericOpForm();
  module->print(os, flags);
  return text;
}

/// Whether our ops are the same ones. (Upstream's may have got attributes that
/// their custom form leaves out, as they are the default. That of linalg's
/// named ops leaves their regions out, whatever is in them.)
static bool sameOps(ModuleOp a, ModuleOp b) {
  auto collect = [](ModuleOp module) {
    std::vector<Operation *> ops;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa_and_nonnull<RingDialect>(op->getDialect()))
        ops.push_back(op);
      return isa<linalg::LinalgOp>(op) && !isa<linalg::GenericOp>(op)
                 ? WalkResult::skip()
                 : WalkResult::advance();
    });
    return ops;
  };
  return llvm::equal(
      collect(a), collect(b), [](Operation *left, Operation *right) {
        return left->getName() == right->getName() &&
               left->getAttrDictionary() == right->getAttrDictionary() &&
               left->getOperandTypes() == right->getOperandTypes() &&
               left->getResultTypes() == right->getResultTypes();
      });
}

static void checkText(Session &session, ModuleOp module, StringRef origin) {
  session.collecting = false;
  for (bool generic : {true, false}) {
    std::string text = print(module, generic);
    session.forgetErrors();
    OwningOpRef<ModuleOp> again = session.parsePrinted(text);
    const char *form = generic ? "the generic form" : "the custom form";
    if (!again)
      report(Twine("after ") + origin,
             Twine(form) + " does not parse: " + session.firstError, module);
    if (!sameOps(module, *again))
      report(Twine("after ") + origin,
             Twine(form) + " parses as another program", module);
    if (print(*again, generic) != text)
      report(Twine("after ") + origin, Twine(form) + " prints in another way",
             module);
  }
  session.collecting = true;
}

/// Runs the step on `module` and says whether it succeeded.
static bool checkStep(Session &session, const Step &step, ModuleOp module) {
  session.stage = step.name.c_str();
  session.forgetErrors();
  OperationFingerPrint before(module);
  if (failed(run(step, module))) {
    if (session.errors == 0)
      report(step.name, "fails without an error", module);
    return false;
  }
  if (before == OperationFingerPrint(module)) {
    addFeature(step.name, "unchanged");
    return true;
  }
  addFeature(step.name, "changed");
  session.forgetErrors();
  if (failed(verify(module)))
    report(step.name, "leaves what does not verify: " + session.firstError,
           module);
  checkText(session, module, step.name);
  return true;
}

/// Structure of the program, for the fuzzer's sense of what is new.
static void addFeatures(ModuleOp module) {
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    Operation *parent = op->getParentOp();
    addFeature(name, parent ? parent->getName().getStringRef() : "");
    for (NamedAttribute attribute : op->getAttrs())
      addFeature(name, attribute.getName().getValue());
  });
}

/// Symbols without a name are valid upstream, but `@` does not parse.
static bool hasNamelessSymbol(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        auto name =
            op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
        return name && name.empty() ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

void check(Session &session, ModuleOp module) {
  if (hasNamelessSymbol(module))
    return;
  addFeatures(module);
  checkText(session, module, "parsing");
  for (const Step &step : singlePasses()) {
    OwningOpRef<ModuleOp> copy(module.clone());
    if (!checkStep(session, step, *copy))
      continue;
    // A second time; what a conversion leaves is not its input.
    if (StringRef(step.name).starts_with("convert-"))
      continue;
    OwningOpRef<ModuleOp> once(copy->clone());
    session.forgetErrors();
    session.collecting = false;
    if (failed(run(step, *copy)))
      report(step.name, "fails the second time: " + session.firstError, *once);
    session.collecting = true;
    if (print(*once, true) != print(*copy, true))
      report(step.name, "changes its own result", *once);
  }
  OwningOpRef<ModuleOp> copy(module.clone());
  for (const Step &step : pipeline())
    if (!checkStep(session, step, *copy))
      return;
}

} // namespace ring::fuzz
