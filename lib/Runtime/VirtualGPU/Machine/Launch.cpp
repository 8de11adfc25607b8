//===- Launch.cpp - All blocks of a launch --------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

using namespace ring::vgpu;

namespace ring::vgpu {
const Program &programOf(const Kernel &kernel);
} // namespace ring::vgpu

static uint64_t readVariable(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  char *end = nullptr;
  uint64_t value = text ? std::strtoull(text, &end, 10) : 0;
  return text && *text && !*end && value ? value : otherwise;
}

/// A fault of no thread.
static Fault refuse(const Program &program, std::string message) {
  return {program.name, {}, -1, "", std::move(message)};
}

static std::optional<Fault> checkShape(const Program &program,
                                       const LaunchShape &shape) {
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; ++i) {
    threads *= shape.block[i];
    if (!shape.grid[i] || !shape.block[i])
      return refuse(program, "a launch without blocks or threads");
    if (program.requiredBlock[0] && program.requiredBlock[i] &&
        program.requiredBlock[i] != shape.block[i])
      return refuse(program, "launched with " + std::to_string(shape.block[i]) +
                                 " threads in dimension " + std::to_string(i) +
                                 ", the kernel demands " +
                                 std::to_string(program.requiredBlock[i]));
  }
  if (threads > 1024 || threads > program.maxThreads)
    return refuse(program,
                  "launched with blocks of " + std::to_string(threads) +
                      " threads, at most " +
                      std::to_string(std::min(1024u, program.maxThreads)) +
                      " are possible");
  return std::nullopt;
}

/// Parameter memory, and the first registers of every warp.
static void setParameters(Launch &launch, const void *const *parameters) {
  const Program &program = launch.program;
  launch.parameters.resize(program.parameterMemory);
  launch.constants.resize(size_t(program.constantWords) * 4);
  auto fill = [&](const Program::Constant &constant) {
    std::byte *out = launch.constants.data() + size_t(constant.reg) * 4;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      size_t bytes = constant.wide ? 8 : 4;
      std::memcpy(out + lane * bytes, &constant.value, bytes);
    }
  };
  for (const Program::Constant &constant : program.constants)
    fill(constant);
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Program::Parameter &parameter = program.parameters[i];
    const auto *value = static_cast<const std::byte *>(parameters[i]);
    if (parameter.byval)
      std::memcpy(launch.parameters.data() + parameter.offset, value,
                  parameter.bytes);
    for (size_t j = 0; j < parameter.registers.size(); ++j) {
      Program::Constant part = parameter.registers[j];
      const std::byte *at = value + part.value;
      part.value = 0;
      std::memcpy(&part.value, at, parameter.pieceBytes[j]);
      fill(part);
    }
  }
}

namespace {
/// Blocks in order, for several threads of the host.
class Blocks {
public:
  explicit Blocks(const Launch &launch) : launch(launch) {
    for (uint32_t size : launch.shape.grid)
      count *= size;
  }

  std::optional<Fault> run() {
    unsigned most =
        readVariable("RING_VGPU_THREADS", std::thread::hardware_concurrency());
    auto helpers = std::min<uint64_t>(std::max(most, 1u), count) - 1;
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < helpers; ++i)
      threads.emplace_back([this] { work(); });
    work();
    for (std::thread &thread : threads)
      thread.join();
    return std::move(first);
  }

private:
  void work() {
    Block block(launch);
    const auto &grid = launch.shape.grid;
    for (;;) {
      uint64_t number = next++;
      // Blocks behind a fault need not run; those before it may have one, too.
      if (number >= count || number > firstNumber)
        return;
      std::optional<Fault> fault =
          block.run({static_cast<uint32_t>(number % grid[0]),
                     static_cast<uint32_t>(number / grid[0] % grid[1]),
                     static_cast<uint32_t>(number / grid[0] / grid[1])});
      if (!fault)
        continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (number < firstNumber) {
        firstNumber = number;
        first = std::move(fault);
      }
    }
  }

  const Launch &launch;
  uint64_t count = 1;
  std::atomic<uint64_t> next{0}, firstNumber{~uint64_t(0)};
  std::mutex mutex;
  std::optional<Fault> first;
};
} // namespace

std::optional<Fault> ring::vgpu::launch(const Kernel &kernel,
                                        const LaunchShape &shape,
                                        const void *const *parameters,
                                        DeviceMemory &memory) {
  const Program &program = programOf(kernel);
  if (std::optional<Fault> fault = checkShape(program, shape))
    return fault;
  Launch launch{
      program, shape, memory,
      {},      {},    readVariable("RING_VGPU_MAX_STEPS", uint64_t(1) << 33)};
  setParameters(launch, parameters);
  return Blocks(launch).run();
}
