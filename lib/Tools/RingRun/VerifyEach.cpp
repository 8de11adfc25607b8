//===- VerifyEach.cpp - Running a program after each pass -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/VerifyEach.h"

#include "ring/Tools/RingRun/Compare.h"
#include "ring/Tools/RingRun/Execute.h"
#include "ring/Tools/RingRun/RingRunMain.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace ring::tools {

/// How far two exact programs may be apart: a few roundings of the type, as
/// multiples of the largest finite value.
static double tolerance(const Array &array) {
  double largest = 0;
  for (int64_t i = 0; i < array.size(); ++i)
    if (double value = std::fabs(array.at(i)); std::isfinite(value))
      largest = std::max(largest, value);
  switch (array.elementType()) {
  case ElementType::BF16:
    return 0x1p-7 * largest;
  case ElementType::F16:
    return 0x1p-10 * largest;
  case ElementType::F32:
    return 2e-5 * largest;
  case ElementType::F64:
    return 1e-12 * largest;
  default:
    return 0;
  }
}

/// Results of `module` compiled with the first `optional` optional steps.
static llvm::Expected<std::vector<Array>>
runPrefix(ModuleOp module, const RunOptions &options, size_t optional) {
  OwningOpRef<ModuleOp> copy = module.clone();
  size_t seen = 0;
  auto skip = [&](const mlir::ring::PipelineStep &step) {
    return !step.required && seen++ >= optional;
  };
  RunOptions plain = options;
  plain.check = false;
  plain.object.clear();
  FailureOr<Program> program = compileProgram(*copy, plain, skip);
  if (failed(program))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "it does not compile");
  auto arguments = makeArguments(*program, options);
  if (!arguments)
    return arguments.takeError();
  auto host = makeHost(*program, options);
  if (!host)
    return host.takeError();
  if (ring_host_local_ranks(host->get()) < program->ranks)
    return llvm::createStringError(
        "feature '--verify-each' is not supported by ring-run with a process "
        "for each rank");
  auto outcome = runProgram(*program, host->get(), *arguments);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->results);
}

std::optional<int> verifyEach(ModuleOp module, const RunOptions &options,
                              llvm::function_ref<void(StringRef)> say) {
  mlir::ring::ProgramOptions shape;
  shape.layout = options.layout.value_or("zigzag");
  std::vector<std::string> names = {"no optional pass"};
  for (const mlir::ring::PipelineStep &step : mlir::ring::programSteps(shape))
    if (!step.required)
      names.push_back(step.name);

  std::vector<Array> first;
  for (size_t k = 0; k < names.size(); ++k) {
    say("verifying after " + names[k]);
    auto results = runPrefix(module, options, k);
    if (!results) {
      llvm::errs() << "ring-run: after " << names[k] << ": "
                   << llvm::toString(results.takeError()) << "\n";
      return Refused;
    }
    if (k == 0) {
      first = std::move(*results);
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) {
      auto comparison = compare((*results)[i], first[i], tolerance(first[i]),
                                /*rtol=*/0, "result " + std::to_string(i));
      if (!comparison || !comparison->equal()) {
        llvm::errs() << "ring-run: " << names[k]
                     << " changes the numbers of result " << i << ": "
                     << (comparison ? comparison->message()
                                    : llvm::toString(comparison.takeError()))
                     << "\n";
        return WrongNumbers;
      }
    }
  }
  return std::nullopt;
}

} // namespace ring::tools
