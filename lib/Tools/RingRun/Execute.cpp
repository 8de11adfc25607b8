//===- Execute.cpp - Running a compiled program ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Execute.h"

#include "ring/Tools/RingRun/Npy.h"
#include "ring/Tools/RingRun/Random.h"

#include <chrono>

namespace ring::tools {

llvm::Expected<std::vector<Array>> makeArguments(const Program &program,
                                                 const RunOptions &options) {
  std::vector<Array> arguments;
  for (auto [index, signature] : llvm::enumerate(program.arguments)) {
    std::string what = "input " + std::to_string(index);
    auto file = options.inputs.find(index);
    if (file != options.inputs.end()) {
      auto array = readNpy(file->second);
      if (!array)
        return array.takeError();
      if (llvm::Error error = coerce(*array, signature.type, signature.shape,
                                     what, file->second))
        return std::move(error);
      arguments.push_back(std::move(*array));
      continue;
    }
    if (!signature.isStatic())
      return llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          what + " has dynamic sizes: give it with --input");
    auto array = Array::allocate(signature.type, signature.shape);
    if (!array)
      return array.takeError();
    if (llvm::Error error =
            fillNormal(*array, options.random.value_or(0), index))
      return std::move(error);
    arguments.push_back(std::move(*array));
  }
  return arguments;
}

llvm::Expected<HostPointer> makeHost(const Program &program,
                                     const RunOptions &options) {
  char error[512];
  ring_host_options host = {};
  host.ranks = static_cast<int32_t>(program.ranks);
  host.threads = static_cast<int32_t>(options.threads);
  host.deadline = options.deadline;
  host.trace = !options.trace.empty();
  std::string devices = options.devices.spelling();
  host.devices = devices.c_str();
  host.transport = options.transport.c_str();
  host.graph = options.graph;
  // There 0 asks for the default, and -1 for none.
  if (options.smMargin)
    host.sm_margin =
        *options.smMargin == 0 ? -1 : static_cast<int32_t>(*options.smMargin);
  // The virtual GPU is what the kernels have been made for.
  if (options.devices.any("vgpu"))
    setenv("RING_VGPU_CHIP", options.devices.chip.c_str(), /*overwrite=*/1);
  HostPointer pointer(ring_host_create(&host, error, sizeof(error)),
                      ring_host_destroy);
  if (!pointer)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
  return pointer;
}

llvm::Expected<RunOutcome> runProgram(Program &program, ring_host *host,
                                      const std::vector<Array> &arguments) {
  RunOutcome outcome;
  std::vector<Signature> signatures = program.results;
  if (program.resultShapes) {
    auto resolved = program.resultShapes->resolve(arguments);
    if (!resolved)
      return resolved.takeError();
    signatures = std::move(*resolved);
  }
  for (const Signature &result : signatures) {
    auto array = Array::allocate(result.type, result.shape);
    if (!array)
      return array.takeError();
    outcome.results.push_back(std::move(*array));
  }
  auto function = program.engine->lookupPacked(program.entry);
  if (!function)
    return function.takeError();

  std::vector<std::vector<int64_t>> descriptors;
  for (const Array &array : arguments)
    descriptors.push_back(descriptor(array));
  for (const Array &array : outcome.results)
    descriptors.push_back(descriptor(array));
  // A packed call takes the address of each argument, which is a pointer.
  std::vector<void *> pointers = {host};
  for (std::vector<int64_t> &words : descriptors)
    pointers.push_back(words.data());
  int32_t status = 0;
  std::vector<void *> packed;
  for (void *&pointer : pointers)
    packed.push_back(&pointer);
  packed.push_back(&status);

  ring_counters before, after;
  ring_host_counters(host, &before);
  auto called = std::chrono::steady_clock::now();
  (*function)(packed.data());
  std::chrono::duration<double> ofCall =
      std::chrono::steady_clock::now() - called;
  ring_host_counters(host, &after);
  outcome.seconds = after.runs == before.runs ? ofCall.count()
                                              : after.seconds - before.seconds;
  if (status != RING_OK)
    return llvm::createStringError(
        status == RING_ERROR_USAGE
            ? std::make_error_code(std::errc::invalid_argument)
            : llvm::inconvertibleErrorCode(),
        ring_host_error(host));
  return outcome;
}

} // namespace ring::tools
