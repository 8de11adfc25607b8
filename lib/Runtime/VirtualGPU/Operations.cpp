//===- Operations.cpp - What streams execute ------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include <algorithm>
#include <cstring>

using namespace ring::vgpu;

/// What an operation touched goes into the memory's history; a race is a
/// failure.
static std::optional<Failure> commit(const Op &op, Footprint &footprint) {
  if (auto race = footprint.commit(op.accessor(), op.clock))
    return Failure{CUDA_ERROR_ILLEGAL_ADDRESS, *race};
  return std::nullopt;
}

static Failure illegalAddress(const Op &op, const std::string &why) {
  return {CUDA_ERROR_ILLEGAL_ADDRESS, op.info->text() + " accesses " + why};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelOp::KernelOp(const Function &function, LaunchShape shape,
                   const void *const *parameters)
    : Op("kernel '" + function.name + "'"), shape(shape),
      module(function.module->shared_from_this()), kernel(function.kernel) {
  const std::vector<size_t> &sizes = KernelModule::parameterBytes(*kernel);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto *bytes = static_cast<const std::byte *>(parameters[i]);
    values.emplace_back(bytes, bytes + sizes[i]);
  }
}

bool KernelOp::uses(uint64_t begin, uint64_t end) const {
  // Addresses lie aligned in parameters, and no other value looks like one.
  for (const std::vector<std::byte> &value : values)
    for (size_t at = 0; at + sizeof(uint64_t) <= value.size();
         at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, value.data() + at, sizeof(word));
      if (word >= begin && word < end)
        return true;
    }
  return false;
}

void KernelOp::start() {
  for (AllocationRef &allocation : Driver::get().space.all())
    if (allocation->pinned || allocation->context == context ||
        context->peers.count(allocation->context))
      reachable.push_back(std::move(allocation));
}

std::optional<Failure> KernelOp::run() {
  KernelMemory memory(std::move(reachable), Driver::get().space);
  std::vector<const void *> parameters;
  parameters.reserve(values.size());
  for (const std::vector<std::byte> &value : values)
    parameters.push_back(value.data());
  if (auto fault = launch(*kernel, shape, parameters.data(), memory))
    return Failure{CUDA_ERROR_LAUNCH_FAILED,
                   fault->text() + " (" + info->text() + ")"};
  Footprint footprint;
  memory.collect(footprint);
  return commit(*this, footprint);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

CopyOp::CopyOp(Rows target, Rows source, size_t width, size_t height)
    : Op(!target.onDevice   ? "copy to host"
         : !source.onDevice ? "copy from host"
                            : "copy"),
      target(target), source(source), width(width), height(height) {
  // Rows without gaps are one row.
  if (target.pitch == width && source.pitch == width && height > 1) {
    const_cast<size_t &>(this->width) = width * height;
    const_cast<size_t &>(this->height) = 1;
  }
}

OpRef CopyOp::replica() const {
  auto result = std::make_shared<CopyOp>(*this);
  result->isReplica = true;
  return result;
}

/// The pinned allocation that holds host memory; NULL: it is pageable.
static AllocationRef pinned(const Rows &rows) {
  if (rows.onDevice)
    return nullptr;
  AllocationRef found = Driver::get().space.find(rows.address);
  return found && found->pinned ? found : nullptr;
}

bool CopyOp::isBlocking() const { return !target.onDevice && !pinned(target); }

void CopyOp::enqueued(Scheduler &scheduler) {
  // A graph reads the host's memory when it runs.
  if (source.onDevice || isReplica || pinned(source))
    return;
  staged.resize(width * height);
  for (size_t row = 0; row < height; ++row)
    std::memcpy(staged.data() + row * width,
                reinterpret_cast<const std::byte *>(source.address) +
                    row * source.pitch,
                width);
}

bool CopyOp::uses(uint64_t begin, uint64_t end) const {
  auto overlaps = [&](const Rows &rows) {
    return rows.address < end &&
           begin < rows.address + (height - 1) * rows.pitch + width;
  };
  return width && height && (overlaps(target) || overlaps(source));
}

namespace {
/// One row of a copy: host bytes, or bytes of an allocation, or both.
struct Row {
  std::byte *bytes = nullptr;
  AllocationRef allocation;
  Interval range;
};
} // namespace

static std::optional<Row> findRow(const Rows &rows, size_t row, size_t width,
                                  std::string &why) {
  uint64_t address = rows.address + row * rows.pitch;
  Row result;
  if (rows.onDevice)
    result.allocation = Driver::get().space.find(address, width, why);
  else
    result.allocation = pinned(rows);
  if (!result.allocation) {
    if (rows.onDevice)
      return std::nullopt;
    result.bytes = reinterpret_cast<std::byte *>(address);
    return result;
  }
  uint64_t offset = address - result.allocation->base;
  result.range = {offset, offset + width};
  if (result.range.end > result.allocation->bytes) {
    why = Driver::get().space.explain(address, width);
    return std::nullopt;
  }
  result.bytes = result.allocation->at(offset);
  return result;
}

std::optional<Failure> CopyOp::run() {
  Footprint footprint;
  std::string why;
  for (size_t row = 0; width && row < height; ++row) {
    Row from;
    if (!staged.empty()) {
      from.bytes = staged.data() + row * width;
    } else {
      auto found = findRow(source, row, width, why);
      if (!found)
        return illegalAddress(*this, why);
      from = *found;
    }
    auto to = findRow(target, row, width, why);
    if (!to)
      return illegalAddress(*this, why);
    std::memmove(to->bytes, from.bytes, width);
    if (from.allocation)
      footprint.read(from.allocation, from.range);
    if (!to->allocation)
      continue;
    footprint.write(to->allocation, to->range);
    if (from.allocation)
      to->allocation->copyWritten(to->range, *from.allocation,
                                  from.range.begin);
    else
      to->allocation->setWritten(to->range);
  }
  staged = {};
  return commit(*this, footprint);
}

std::optional<Failure> MemsetOp::run() {
  size_t bytes = elementBytes * count;
  if (!bytes)
    return std::nullopt;
  std::string why;
  AllocationRef allocation = Driver::get().space.find(target, bytes, why);
  if (!allocation)
    return illegalAddress(*this, why);
  uint64_t offset = target - allocation->base;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(allocation->at(offset + i * elementBytes), &value,
                elementBytes);
  allocation->setWritten({offset, offset + bytes});
  Footprint footprint;
  footprint.write(allocation, {offset, offset + bytes});
  return commit(*this, footprint);
}

//===----------------------------------------------------------------------===//
// The host's functions, and memory in the order of streams
//===----------------------------------------------------------------------===//

std::optional<Failure> HostOp::run() {
  inHostFunction = true;
  function(data);
  inHostFunction = false;
  return std::nullopt;
}

void AllocateOp::enqueued(Scheduler &scheduler) {
  std::lock_guard<std::mutex> lock(allocation->historyMutex);
  Clock self;
  self.join(instant);
  allocation->history.write({0, allocation->bytes}, accessor(), self);
}

std::optional<Failure> FreeOp::run() {
  Footprint footprint;
  footprint.write(allocation, {0, allocation->bytes});
  std::optional<Failure> race = commit(*this, footprint);
  Driver::get().space.free(allocation);
  return race;
}
