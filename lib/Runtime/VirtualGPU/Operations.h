//===- Operations.h - What streams execute ----------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_OPERATIONS_H
#define RING_RUNTIME_VIRTUALGPU_OPERATIONS_H

#include "DriverState.h"

namespace ring::vgpu {

class KernelOp : public Op {
public:
  KernelOp(const Function &function, LaunchShape shape,
           const void *const *parameters);
  OpRef replica() const override { return std::make_shared<KernelOp>(*this); }
  void start() override;
  std::optional<Failure> run() override;
  bool uses(uint64_t begin, uint64_t end) const override;
  bool uses(const Module &module) const override {
    return this->module.get() == &module;
  }

  const LaunchShape shape;

private:
  std::shared_ptr<const Module> module;
  const Kernel *kernel;
  std::vector<std::vector<std::byte>> values; ///< of the parameters
  std::vector<AllocationRef> reachable;       ///< by address
};

/// Rows of memory of the host or of a device.
struct Rows {
  uint64_t address = 0; ///< of either
  size_t pitch = 0;     ///< bytes from row to row
  bool onDevice = false;
};

class CopyOp : public Op {
public:
  CopyOp(Rows target, Rows source, size_t width, size_t height);
  OpRef replica() const override;
  void enqueued(Scheduler &scheduler) override;
  std::optional<Failure> run() override;
  bool uses(uint64_t begin, uint64_t end) const override;
  /// A copy to host memory that is not pinned: the call returns at its end.
  bool isBlocking() const;

private:
  Rows target, source;
  const size_t width, height;
  bool isReplica = false;
  /// What the host's pageable memory held when the copy was enqueued.
  std::vector<std::byte> staged;
};

class MemsetOp : public Op {
public:
  MemsetOp(uint64_t target, uint32_t value, size_t elementBytes, size_t count)
      : Op("memset"), target(target), value(value), elementBytes(elementBytes),
        count(count) {}
  OpRef replica() const override { return std::make_shared<MemsetOp>(*this); }
  std::optional<Failure> run() override;
  bool uses(uint64_t begin, uint64_t end) const override {
    return target < end && begin < target + elementBytes * count;
  }

private:
  const uint64_t target;
  const uint32_t value;
  const size_t elementBytes, count;
};

class HostOp : public Op {
public:
  HostOp(CUhostFn function, void *data)
      : Op("host function"), function(function), data(data) {}
  OpRef replica() const override { return std::make_shared<HostOp>(*this); }
  std::optional<Failure> run() override;
  bool tellsHost() const override { return true; }

private:
  CUhostFn function;
  void *data;
};

/// From here on the stream may use an allocation; others have to wait for it.
class AllocateOp : public Op {
public:
  explicit AllocateOp(AllocationRef allocation)
      : Op("allocation"), allocation(std::move(allocation)) {}
  OpRef replica() const override { return nullptr; }
  void enqueued(Scheduler &scheduler) override;
  std::optional<Failure> run() override { return std::nullopt; }

private:
  AllocationRef allocation;
};

class FreeOp : public Op {
public:
  explicit FreeOp(AllocationRef allocation)
      : Op("free"), allocation(std::move(allocation)) {}
  OpRef replica() const override { return nullptr; }
  std::optional<Failure> run() override;
  bool uses(uint64_t begin, uint64_t end) const override {
    return allocation->base < end && begin < allocation->base + 1;
  }

private:
  AllocationRef allocation;
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_OPERATIONS_H
