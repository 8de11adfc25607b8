//===- RingRunMain.cpp - The ring-run tool --------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/RingRunMain.h"

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/BufferizableOpInterfaceImpl.h"
#include "ring/Runtime/Runtime.h"
#include "ring/Target/GPU/Passes.h"
#include "ring/Tools/RingRun/AttentionErrors.h"
#include "ring/Tools/RingRun/Compare.h"
#include "ring/Tools/RingRun/Execute.h"
#include "ring/Tools/RingRun/Npy.h"
#include "ring/Tools/RingRun/Report.h"
#include "ring/Tools/RingRun/VerifyEach.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace mlir;

namespace ring::tools {

namespace {
/// One line per diagnostic, and the feature of the first refusal.
class OneLineDiagnostics {
public:
  OneLineDiagnostics(MLIRContext *context, StringRef file)
      : file(file), handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          print(diagnostic, "error");
          for (Diagnostic &note : diagnostic.getNotes())
            if (note.str().find("see current operation") == std::string::npos)
              print(note, "note");
          if (refused.empty())
            refused = mlir::ring::refusedFeature(diagnostic.str()).str();
          return success();
        }) {}

  std::string refused;

private:
  void print(Diagnostic &diagnostic, StringRef severity) {
    auto where = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
    std::string text = diagnostic.str();
    std::replace(text.begin(), text.end(), '\n', ' ');
    // What belongs to no op in particular is located at the start of the file.
    if (where && where.getLine() > 0)
      llvm::errs() << where.getFilename().getValue() << ":" << where.getLine()
                   << ":" << where.getColumn();
    else
      llvm::errs() << file << ":1:1";
    llvm::errs() << ": " << severity << ": " << text << "\n";
  }

  std::string file;
  ScopedDiagnosticHandler handler;
};

/// Says on a terminal what is going on; silent elsewhere.
class Progress {
public:
  void operator()(StringRef what) {
    if (shown())
      llvm::errs() << "\r\x1b[K" << what << " ...";
  }
  ~Progress() {
    if (shown())
      llvm::errs() << "\r\x1b[K";
  }

private:
  static bool shown() { return llvm::sys::Process::StandardErrIsDisplayed(); }
};

class Run {
public:
  explicit Run(RunOptions options) : options(std::move(options)) {}
  int operator()();

private:
  /// Prints the error; the exit code it means.
  int fail(llvm::Error error, ExitCode code);
  int fail(const Twine &message, ExitCode code) {
    llvm::errs() << "ring-run: error: " << message << "\n";
    return code;
  }
  /// After a run: inputs that do not fit are refused, all else is wrong.
  int failRun(llvm::Error error);
  int refuse();
  llvm::Error compareWithFiles(const Program &program,
                               const std::vector<Array> &results, bool &equal);
  llvm::Error checkAttentions(const Program &program,
                              const std::vector<Array> &results, bool &right);
  /// Where each rank is a process: what cannot be done then, as the name of a
  /// feature; empty where all can be.
  std::string refusedInProcesses(const Program &program) const;
  bool countersAgree(const Program &program, const ring_counters &counters);
  /// True iff this is so in every process; all of them hear what is wrong.
  bool allAreRight(const Program &program, ring_host *host, bool right);
  void addCounts(const Program &program, const ring_counters &counters);
  void print();

  RunOptions options;
  RunReport report;
  Progress progress;
  std::string refusedFeature;
  /// Of this process, where each rank is one; else of all.
  int32_t rank = 0;
  bool isProcess = false;
};
} // namespace

int Run::fail(llvm::Error error, ExitCode code) {
  return fail(llvm::toString(std::move(error)), code);
}

/// Errors have been printed by the diagnostics handler.
int Run::failRun(llvm::Error error) {
  ExitCode code = WrongNumbers;
  error = llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<llvm::StringError> text) -> llvm::Error {
        if (text->convertToErrorCode() == std::errc::invalid_argument)
          code = Refused;
        return llvm::Error(std::move(text));
      });
  return fail(std::move(error), code);
}

int Run::refuse() {
  if (options.json && !refusedFeature.empty() && rank == 0) {
    report.ok = false;
    report.ranks = options.ranks.value_or(1);
    report.layout = options.layout.value_or("zigzag");
    report.variant = options.variant;
    report.refused = refusedFeature;
    report.printJson(llvm::outs());
  }
  return Refused;
}

llvm::Error Run::compareWithFiles(const Program &program,
                                  const std::vector<Array> &results,
                                  bool &equal) {
  for (auto &[index, path] : options.expected) {
    auto expected = readNpy(path);
    if (!expected)
      return expected.takeError();
    std::string what = "result " + std::to_string(index);
    std::optional<OwnPositions> own;
    if (isProcess)
      own = program.joined.of(index, results[index], rank);
    auto comparison =
        compare(results[index], *expected, options.atol, options.rtol,
                what + " against " + path, own ? &*own : nullptr);
    if (!comparison)
      return comparison.takeError();
    if (!comparison->equal()) {
      equal = false;
      llvm::errs() << "ring-run: " << what << ": " << comparison->message()
                   << "\n";
    }
  }
  return llvm::Error::success();
}

llvm::Error Run::checkAttentions(const Program &program,
                                 const std::vector<Array> &results,
                                 bool &right) {
  report.maxError.emplace();
  for (auto [index, probe] : llvm::enumerate(program.probes)) {
    auto at = [&](int place) { return place < 0 ? nullptr : &results[place]; };
    AttentionOperands operands{
        at(probe.query),   at(probe.key),           at(probe.value),
        at(probe.bias),    at(probe.querySegments), at(probe.keySegments),
        at(probe.lengths), at(probe.offsets),       at(probe.sinks)};
    AttentionSpec spec = probe.spec;
    if (probe.bottomRight)
      spec.mask.shift = operands.key->dim(2) - operands.query->dim(2);
    if (probe.score) {
      std::vector<const Array *> captures;
      captures.reserve(probe.captures.size());
      for (int place : probe.captures)
        captures.push_back(at(place));
      spec.score = probe.score->bind(captures);
    }
    std::optional<OwnPositions> own;
    if (isProcess)
      own = program.joined.of(probe.out, *at(probe.out), rank);
    auto errors = checkAttention(operands, spec, *at(probe.out), at(probe.lse),
                                 static_cast<unsigned>(options.threads),
                                 own ? &own->has : nullptr);
    if (!errors)
      return errors.takeError();
    report.maxError->push_back({errors->out, errors->lse});
    if (!errors->withinTolerance()) {
      right = false;
      llvm::errs() << "ring-run: attention " << index << ": "
                   << errors->message() << "\n";
    }
  }
  return llvm::Error::success();
}

/// What the IR says of a run is what the runtime saw.
bool Run::countersAgree(const Program &program, const ring_counters &counters) {
  int64_t transfers = 0, bytes = 0;
  double balance = 1, roundBalance = 1;
  bool allBytes = true, allBalances = true;
  for (const StaticCounts &attention : program.counts) {
    transfers += attention.transfers;
    bytes += attention.bytesPerRank.value_or(0);
    allBytes &= attention.bytesPerRank.has_value();
    balance = std::max(balance, attention.balance.value_or(1));
    roundBalance = std::max(roundBalance, attention.roundBalance.value_or(1));
    allBalances &= attention.balance && attention.roundBalance;
  }
  bool right = true;
  auto compare = [&](const char *what, double expected, double got) {
    if (std::fabs(expected - got) <= 1e-9 * std::fabs(expected))
      return;
    right = false;
    llvm::errs() << llvm::format("ring-run: %s: the program has %.12g, the "
                                 "runtime counted %.12g\n",
                                 what, expected, got);
  };
  auto runs = static_cast<double>(options.repeat);
  compare("transfers", transfers * runs, counters.transfers);
  if (allBytes)
    compare("bytes sent", bytes * runs, counters.bytes_sent);
  // A process has counted its own rank's pairs only.
  if (allBalances && !isProcess) {
    compare("balance", balance, counters.balance);
    compare("round balance", roundBalance, counters.round_balance);
  }
  return right;
}

/// From the IR where it is static, from the runtime where it is measured.
void Run::addCounts(const Program &program, const ring_counters &counters) {
  report.ranks = program.ranks;
  report.layout = program.layout;
  report.variant = "pass-kv";
  int64_t local = 0;
  bool allLocal = true;
  for (const StaticCounts &attention : program.counts) {
    report.add({attention.rounds, attention.transfers, attention.buffers});
    local = std::max(local, attention.localBytes.value_or(0));
    allLocal &= attention.localBytes.has_value();
  }
  if (!allLocal)
    local = counters.local_bytes / options.repeat;
  report.bytesPerRank = counters.bytes_sent / options.repeat;
  report.balance = counters.balance;
  report.roundBalance = counters.round_balance;
  for (const StaticCounts &attention : program.counts)
    if (isProcess) {
      report.balance = std::max(report.balance, attention.balance.value_or(1));
      report.roundBalance =
          std::max(report.roundBalance, attention.roundBalance.value_or(1));
    }
  report.buffersAllocated = counters.buffers_allocated;
  report.peakBytesPerRank = local + counters.peak_bytes;
}

std::string Run::refusedInProcesses(const Program &program) const {
  const JoinedResults &joined = program.joined;
  if (!joined.refused.empty())
    return joined.refused;
  if (!options.outputs.empty())
    return "--output";
  if (!options.trace.empty())
    return "--trace";
  auto isKnown = [&](unsigned result) {
    return !joined.isJoined(result) || joined.results[result]->table;
  };
  for (const auto &expected : options.expected)
    if (!isKnown(expected.first))
      return "--expect of a layout that is known at run time only";
  for (const AttentionProbe &probe : program.probes) {
    if (!isKnown(probe.out))
      return "--check of a layout that is known at run time only";
    std::vector<int> operands = {
        probe.query,   probe.key,         probe.value,
        probe.bias,    probe.keySegments, probe.querySegments,
        probe.lengths, probe.offsets,     probe.sinks};
    operands.insert(operands.end(), probe.captures.begin(),
                    probe.captures.end());
    if (llvm::any_of(operands,
                     [&](int place) { return joined.isJoined(place); }))
      return "--check of an attention whose operands ranks compute";
  }
  return "";
}

bool Run::allAreRight(const Program &program, ring_host *host, bool right) {
  struct Verdict {
    int32_t ranks;
    bool right;
  } verdict{static_cast<int32_t>(program.ranks), right};
  // A rank that fails is heard of by all.
  ring_status status = ring_host_run(
      host, verdict.ranks,
      [](ring_context *context, void *environment) -> ring_status {
        auto &verdict = *static_cast<Verdict *>(environment);
        ring_status status = ring_begin(context, verdict.ranks, /*slots=*/0,
                                        /*fingerprint=*/0, "the verdict");
        if (status == RING_OK && !verdict.right)
          status = RING_ERROR_PEER;
        return ring_end(context, status);
      },
      &verdict);
  if (status != RING_OK && right)
    llvm::errs() << "ring-run: another process is wrong: "
                 << ring_host_error(host) << "\n";
  return status == RING_OK;
}

void Run::print() {
  if (rank > 0)
    return;
  if (options.json)
    report.printJson(llvm::outs());
  else
    report.printTable(llvm::outs());
}

static double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - since)
      .count();
}

int Run::operator()() {
  if (options.transport == "mpi") {
    refusedFeature = "mpi";
    fail("feature 'mpi' is not supported by ring-run, expected --transport "
         "threads or nccl",
         Refused);
    return refuse();
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<mlir::ring::RingDialect>();
  mlir::ring::registerKernelTranslations(registry);
  mlir::ring::registerBufferizableOpInterfaceExternalModels(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  OneLineDiagnostics diagnostics(&context, options.file);

  std::string message;
  auto buffer = openInputFile(options.file, &message);
  if (!buffer)
    return fail(message, Refused);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return Refused;
  auto finish = [&] {
    refusedFeature = diagnostics.refused;
    return refuse();
  };
  if (options.verifyEach)
    if (std::optional<int> code = verifyEach(*module, options, progress))
      return *code;

  auto start = std::chrono::steady_clock::now();
  progress("compiling");
  FailureOr<Program> program = compileProgram(*module, options, nullptr);
  if (failed(program))
    return finish();
  report.compileMs = milliseconds(start);
  if (!options.object.empty())
    return Right;

  if (size_t devices = options.devices.kinds.size();
      devices != 1 && devices != static_cast<size_t>(program->ranks))
    return fail("--device names " + Twine(devices) + " for " +
                    Twine(program->ranks) +
                    " ranks, expected one for all or one a rank",
                Usage);
  for (auto *files : {&options.outputs, &options.expected})
    if (!files->empty() && files->rbegin()->first >= program->ownResults)
      return fail("@" + program->entry + " has " + Twine(program->ownResults) +
                      " results, there is no " + Twine(files->rbegin()->first),
                  Usage);
  if (!options.inputs.empty() &&
      options.inputs.rbegin()->first >= program->arguments.size())
    return fail(
        "@" + program->entry + " has " + Twine(program->arguments.size()) +
            " arguments, there is no " + Twine(options.inputs.rbegin()->first),
        Usage);
  for (size_t i = 0; i < program->arguments.size(); ++i)
    if (!options.random && !options.inputs.count(i))
      return fail("no value for argument " + Twine(i) +
                      ": give --input or --random",
                  Usage);
  auto arguments = makeArguments(*program, options);
  if (!arguments)
    return fail(arguments.takeError(), Refused);

  auto host = makeHost(*program, options);
  if (!host) {
    // Of what the command line asks for, the machine lacks the GPUs.
    if (options.devices.anyGPU())
      refusedFeature = options.devices.any("cuda") ? "cuda" : "vgpu";
    fail(host.takeError(), Refused);
    return refuse();
  }
  rank = ring_host_first_rank(host->get());
  isProcess = ring_host_local_ranks(host->get()) < program->ranks;
  if (isProcess)
    refusedFeature = refusedInProcesses(*program);
  if (!refusedFeature.empty()) {
    fail("feature '" + Twine(refusedFeature) +
             "' is not supported by ring-run with a process for each rank",
         Refused);
    return refuse();
  }

  std::vector<double> times;
  std::vector<Array> results;
  for (int64_t k = 0; k < options.repeat; ++k) {
    progress("running " + std::to_string(k + 1) + " of " +
             std::to_string(options.repeat));
    auto outcome = runProgram(*program, host->get(), *arguments);
    if (!outcome)
      return failRun(outcome.takeError());
    times.push_back(outcome->seconds * 1e3);
    results = std::move(outcome->results);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  report.timeMs = times[times.size() / 2];
  ring_counters counters;
  ring_host_counters(host->get(), &counters);
  addCounts(*program, counters);

  for (auto &[index, path] : options.outputs)
    if (llvm::Error error = writeNpy(path, results[index]))
      return fail(std::move(error), Refused);
  if (!options.trace.empty() &&
      !ring_host_write_trace(host->get(), options.trace.c_str()))
    return fail("cannot write '" + options.trace + "'", Refused);
  bool right = countersAgree(*program, counters);
  if (llvm::Error error = compareWithFiles(*program, results, right))
    return fail(std::move(error), Refused);
  if (options.check) {
    progress("checking against dense float64");
    if (llvm::Error error = checkAttentions(*program, results, right))
      return fail(std::move(error), Refused);
  }
  if (isProcess)
    right = allAreRight(*program, host->get(), right);
  report.ok = right;
  print();
  return right ? Right : WrongNumbers;
}

int ringRunMain(int argc, char **argv) {
  auto options = parseOptions(argc, argv);
  if (!options) {
    // LLVM has printed what is wrong with a value itself.
    std::string message = llvm::toString(options.takeError());
    if (!message.empty())
      llvm::errs() << "ring-run: error: " << message << "\n";
    return Usage;
  }
  return Run(std::move(*options))();
}

} // namespace ring::tools
