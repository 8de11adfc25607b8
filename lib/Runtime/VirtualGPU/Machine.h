//===- Machine.h - A SIMT machine for NVVM kernels --------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes kernels of the LLVM and NVVM dialects as the PTX ISA defines them,
// and reports what a GPU would do without saying so: accesses out of bounds or
// misaligned, reads of what was never written or not yet waited for, races,
// divergent barriers, deadlocks.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MACHINE_H
#define RING_RUNTIME_VIRTUALGPU_MACHINE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ring::vgpu {

/// The global memory of one device, as kernels see it.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;

  enum class Access { Read, Write, Atomic };
  /// Host memory behind the device's [address, address + bytes); NULL, and why,
  /// where the access is wrong. Called from several threads at once.
  virtual std::byte *access(uint64_t address, size_t bytes, Access kind,
                            std::string &why) = 0;
};

struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1};  ///< blocks
  std::array<uint32_t, 3> block = {1, 1, 1}; ///< threads
  uint32_t dynamicSharedBytes = 0;
};

/// What a kernel did wrong, and where.
struct Fault {
  std::string kernel;
  std::array<uint32_t, 3> block = {};
  int64_t thread = -1; ///< linear index in the block; -1: no single one
  std::string op;      ///< with its location
  std::string message;

  /// "kernel 'f', block (0, 1, 0), thread 33: MESSAGE, at OP", one line.
  std::string text() const;
};

class Kernel;

/// What launches of a kernel have to keep to.
struct KernelLimits {
  std::array<uint32_t, 3> block = {}; ///< threads; 0: any
  uint32_t maxThreads = 1024;         ///< of a block
  uint32_t staticSharedBytes = 0;
};

/// The kernels of one image: MLIR text or bytecode of a module with a
/// `gpu.module`, or of the `gpu.module` alone, lowered to LLVM and NVVM.
class KernelModule {
public:
  /// NULL, and why: an image that does not parse, an op that the machine does
  /// not know (named, with its location).
  static std::unique_ptr<KernelModule> load(std::string_view image,
                                            std::string &error);
  ~KernelModule();

  const Kernel *find(std::string_view name) const;
  std::vector<std::string> kernels() const;
  /// Bytes of each parameter of a kernel.
  static const std::vector<size_t> &parameterBytes(const Kernel &kernel);
  static KernelLimits limits(const Kernel &kernel);

private:
  KernelModule();
  struct Content;
  std::unique_ptr<Content> content;
};

/// Runs every block of a launch; `parameters[i]` points to the i-th
/// parameter's value. Nothing: it ended well. Otherwise the first fault in the
/// order of blocks, the same in every run.
std::optional<Fault> launch(const Kernel &kernel, const LaunchShape &shape,
                            const void *const *parameters,
                            DeviceMemory &memory);

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MACHINE_H
