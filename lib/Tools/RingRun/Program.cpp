//===- Program.cpp - A compiled program -----------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Program.h"

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"
#include "ring/Target/CPU/Compile.h"
#include "ring/Target/CPU/Header.h"
#include "ring/Target/CPU/Pipeline.h"
#include "ring/Target/GPU/Pipeline.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace ring::tools {

//===----------------------------------------------------------------------===//
// The entry function
//===----------------------------------------------------------------------===//

FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function || function.isExternal())
      return module.emitError("no function @") << name;
    return function;
  }
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.isPublic())
      candidates.push_back(function);
  if (candidates.size() != 1)
    return module.emitError("holds ")
           << candidates.size()
           << " public functions, expected one, or its name with --entry";
  return candidates.front();
}

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

/// Makes operands and results of each attention results of the function.
static FailureOr<std::vector<AttentionProbe>> addProbes(func::FuncOp function) {
  std::vector<AttentionProbe> probes;
  SmallVector<Value> extra;
  int first = function.getNumResults();
  bool valid = true;
  function.walk([&](mlir::ring::AttentionOp op) {
    if (op->getParentOp() != function) {
      op.emitError("cannot check attention inside another op");
      valid = false;
      return;
    }
    AttentionProbe probe;
    auto add = [&](Value value, int &place) {
      if (!value)
        return;
      place = first + static_cast<int>(extra.size());
      extra.push_back(value);
    };
    add(op.getQuery(), probe.query);
    add(op.getKey(), probe.key);
    add(op.getValue(), probe.value);
    add(op.getBias(), probe.bias);
    add(op.getQuerySegments(), probe.querySegments);
    add(op.getKeySegments(), probe.keySegments);
    add(op.getLengths(), probe.lengths);
    add(op.getOffsets(), probe.offsets);
    add(op.getSinks(), probe.sinks);
    if (op.hasScore()) {
      auto score = ScoreFunction::compile(op);
      valid &= succeeded(score);
      if (succeeded(score))
        probe.score = *score;
      for (Value capture : ScoreFunction::capturesAsTensors(op))
        add(capture, probe.captures.emplace_back(-1));
    }
    add(op.getOut(), probe.out);
    add(op.getLse(), probe.lse);
    mlir::ring::MaskAttr mask = op.getEffectiveMask();
    probe.spec.mask = mask.bind(0, 0);
    probe.bottomRight = mask.getAlign() == mlir::ring::Alignment::BottomRight;
    probe.spec.scale = op.getEffectiveScale();
    if (std::optional<APFloat> softcap = op.getSoftcap())
      probe.spec.softcap = softcap->convertToFloat();
    probe.spec.emptyRows = static_cast<EmptyRows>(
        op.getEmptyRows().value_or(mlir::ring::EmptyRows::Zero));
    probes.push_back(std::move(probe));
  });
  if (!valid)
    return failure();
  auto ret = cast<func::ReturnOp>(function.back().getTerminator());
  ret.getOperandsMutable().append(extra);
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(),
                                             ret.getOperandTypes()));
  return probes;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Bytes of a rank's own inputs and outputs; nothing where shapes or tables are
/// known at run time only.
static std::optional<int64_t> localBytes(mlir::ring::RankProgram &program) {
  if (!program.hasConstantTables())
    return std::nullopt;
  mlir::ring::SlicesArithmetic arithmetic(program.slices.front());
  int64_t queries = arithmetic.queryView().paddedSize(program.ranks());
  int64_t keys = arithmetic.keyView().paddedSize(program.ranks());
  int64_t total = 0;
  bool known = true;
  auto add = [&](Type type, int64_t positions) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return; // a scalar that the score region captures
    int64_t bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
    for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
      constexpr size_t kSequenceDim = 2;
      known &= !ShapedType::isDynamic(size) || dim == kSequenceDim;
      bytes *= ShapedType::isDynamic(size) ? positions : size;
    }
    total += bytes;
  };
  for (auto [index, type] :
       llvm::enumerate(program.function.getArgumentTypes()))
    add(type, index == 1 || index == 2 ? keys : queries);
  for (Type type : program.function.getResultTypes())
    add(type, queries);
  return known ? std::optional(total) : std::nullopt;
}

/// How often local functions call `function`: a rank makes what it gives to it.
static int64_t callsByRanks(func::FuncOp function) {
  auto uses = SymbolTable::getSymbolUses(function,
                                         function->getParentOfType<ModuleOp>());
  if (!uses)
    return 0;
  return llvm::count_if(*uses, [](SymbolTable::SymbolUse use) {
    auto caller = use.getUser()->getParentOfType<func::FuncOp>();
    return caller && mlir::ring::isLocalFunction(caller);
  });
}

/// What no step of the pipeline would say clearly.
static LogicalResult checkRunnable(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return mlir::ring::refuse(function, "branches between blocks",
                              "by ring-run, expected structured control flow");
  WalkResult calls = function.walk([&](func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (callee && !callee.isExternal())
      return WalkResult::advance();
    call.emitError("calls @") << call.getCallee() << ", which has no body";
    return WalkResult::interrupt();
  });
  return failure(calls.wasInterrupted());
}

/// What the rank functions do, and that they agree with the command line.
static LogicalResult inspect(ModuleOp module, const RunOptions &options,
                             Program &program) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!mlir::ring::RankProgram::isRankFunction(function))
      continue;
    FailureOr<mlir::ring::RankProgram> rank =
        mlir::ring::RankProgram::match(function);
    if (failed(rank))
      return failure();
    if (options.ranks && *options.ranks != rank->ranks())
      return function.emitError("program compiled for ")
             << rank->ranks() << " ranks, asked to run on " << *options.ranks;
    program.ranks = rank->ranks();
    if (auto layout = function->getAttrOfType<mlir::ring::LayoutAttr>(
            mlir::ring::kLayoutAttrName))
      program.layout = layout.spelling();
    FailureOr<mlir::ring::ProgramCounts> counts =
        mlir::ring::countProgram(*rank);
    if (failed(counts))
      return failure();
    StaticCounts attention;
    attention.rounds = counts->rounds;
    attention.transfers = counts->transfers;
    attention.bytesPerRank = counts->bytesPerRank;
    attention.balance = counts->balance;
    attention.roundBalance = counts->roundBalance;
    attention.buffers = counts->slots;
    // What a rank makes for its attentions is counted while it runs.
    int64_t calls = callsByRanks(function);
    if (calls == 0)
      attention.localBytes = localBytes(*rank);
    program.counts.insert(program.counts.end(), std::max<int64_t>(calls, 1),
                          attention);
  }
  return success();
}

static bool isSharded(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp f) {
    return mlir::ring::RankProgram::isRankFunction(f);
  });
}

static bool isOnMemrefs(func::FuncOp function) {
  return llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>);
}

/// What can be done with tensors only: sizes of results do not follow from
/// those of arguments any more, and the C header is of tensors.
static LogicalResult checkFormFive(func::FuncOp function,
                                   const RunOptions &options,
                                   const Program &program) {
  if (!options.object.empty())
    return mlir::ring::refuse(function, "object files",
                              "by ring-run for a program on memrefs");
  for (const Signature &result : program.results)
    if (!result.isStatic())
      return mlir::ring::refuse(
          function, "dynamic sizes of results",
          "by ring-run for a program on memrefs, expected tensors");
  return success();
}

static LogicalResult printError(ModuleOp module, llvm::Error error) {
  return module.emitError(llvm::toString(std::move(error)));
}

/// FILE.o and FILE.h.
static LogicalResult emitObject(ModuleOp lowered, StringRef header,
                                const RunOptions &options,
                                llvm::TargetMachine &machine) {
  SmallString<128> path(options.object);
  llvm::sys::path::replace_extension(path, "h");
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return lowered.emitError("cannot write '")
           << path << "': " << code.message();
  os << header;
  if (llvm::Error error =
          mlir::ring::writeObject(lowered, machine, options.object))
    return printError(lowered, std::move(error));
  return success();
}

static mlir::ring::GPUOptions kernelOptions(const RunOptions &options) {
  mlir::ring::GPUOptions gpu;
  gpu.chip = options.devices.chip;
  gpu.ptxas = options.ptxas;
  gpu.mixed = options.devices.any("cpu");
  if (options.devices.any("vgpu"))
    gpu.formats.push_back("vgpu");
  if (options.devices.any("cuda"))
    gpu.formats.insert(gpu.formats.end(), {"cubin", "ptx"});
  // A driver compiles PTX as well, but a tool that was named has to do.
  gpu.cubinOptional = options.ptxas.empty();
  return gpu;
}

FailureOr<Program> compileProgram(
    ModuleOp module, const RunOptions &options,
    llvm::function_ref<bool(const mlir::ring::PipelineStep &)> skip) {
  FailureOr<func::FuncOp> entry = findEntry(module, options.entry);
  if (failed(entry))
    return failure();
  if (failed(checkRunnable(*entry)))
    return failure();
  // In an object file `main` is C's.
  if (!options.object.empty() && entry->getName() == "main" &&
      failed(SymbolTable(module).rename(*entry, "ring_main")))
    return failure();
  Program program;
  program.entry = entry->getName().str();
  bool sharded = isSharded(module);

  // A file that is sharded already keeps its ranks and, unless told otherwise,
  // its layout.
  mlir::ring::ProgramOptions shape;
  shape.ranks = options.ranks.value_or(1);
  shape.layout = options.layout.value_or(sharded ? "" : "zigzag");
  shape.variant = options.variant;
  shape.prefetchDistance = options.prefetchDistance;
  shape.blockwiseFfn = options.blockwiseFfn;
  for (const mlir::ring::PipelineStep &step : mlir::ring::programSteps(shape)) {
    if (skip && skip(step))
      continue;
    if (options.check && step.name == "ring-shard-attention") {
      program.ownResults = entry->getNumResults();
      FailureOr<std::vector<AttentionProbe>> probes = addProbes(*entry);
      if (failed(probes))
        return failure();
      program.probes = std::move(*probes);
    }
    PassManager pm(module.getContext());
    step.populate(pm);
    if (failed(pm.run(module)))
      return failure();
  }
  if (failed(readSignatures(*entry, program.arguments, program.results)))
    return failure();
  if (!options.check)
    program.ownResults = program.results.size();
  if (isOnMemrefs(*entry) && failed(checkFormFive(*entry, options, program)))
    return failure();
  if (!llvm::all_of(program.results,
                    [](const Signature &result) { return result.isStatic(); }))
    program.resultShapes = std::make_shared<ResultShapes>(*entry);
  if (options.check && program.probes.empty()) {
    InFlightDiagnostic diag =
        entry->emitError("--check found no ring.attention in @")
        << entry->getName();
    if (sharded)
      diag << ", which has been sharded already; --expect compares with a file";
    return failure();
  }
  program.ranks = options.ranks.value_or(1);
  program.layout = shape.layout.empty() ? "zigzag" : shape.layout;
  if (failed(inspect(module, options, program)))
    return failure();
  program.joined = findJoinedResults(*entry);

  std::string header;
  if (!options.object.empty()) {
    llvm::raw_string_ostream os(header);
    mlir::ring::printHeader(module, "RING_PROGRAM_" + program.entry + "_H", os);
  }
  auto machine = mlir::ring::CPUTarget{options.cpu}.machine();
  if (!machine)
    return printError(module, machine.takeError());
  PassManager lowering(module.getContext());
  mlir::ring::CPUOptions cpu;
  cpu.vectorBits = mlir::ring::vectorBits(**machine);
  if (options.devices.anyGPU())
    cpu.kernels = [&](OpPassManager &pm) {
      mlir::ring::populateKernels(pm, kernelOptions(options));
    };
  mlir::ring::populateCPULowering(lowering, cpu);
  if (failed(lowering.run(module)))
    return failure();
  if (!options.object.empty()) {
    if (failed(emitObject(module, header, options, **machine)))
      return failure();
    return program;
  }
  auto engine = mlir::ring::jitCompile(module, std::move(*machine));
  if (!engine)
    return printError(module, engine.takeError());
  program.engine = std::move(*engine);
  // Code is made at the first look-up; that is compile time too.
  if (auto function = program.engine->lookupPacked(program.entry); !function)
    return printError(module, function.takeError());
  return program;
}

} // namespace ring::tools
