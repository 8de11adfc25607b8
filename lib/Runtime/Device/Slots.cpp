//===- Slots.cpp - Where a rank receives blocks ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slots.h"

#include "TensorCopy.h"

#include <algorithm>

using namespace ring::runtime;
using namespace ring::cuda;

static int64_t denseBytes(const TensorGroup &group) {
  int64_t bytes = 0;
  for (const ring_tensor &tensor : group)
    bytes += ring::runtime::denseBytes(tensor);
  return bytes;
}

static bool haveSameSizes(const TensorGroup &a, const TensorGroup &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ring_tensor &x, const ring_tensor &y) {
                      return x.dims == y.dims &&
                             x.element_bytes == y.element_bytes &&
                             std::equal(x.sizes, x.sizes + x.dims, y.sizes);
                    });
}

//===----------------------------------------------------------------------===//
// On a GPU
//===----------------------------------------------------------------------===//

DeviceSlots::Slot *DeviceSlots::find(const void *address) {
  for (Slot &slot : slots)
    if (!slot.tensors.empty() && slot.tensors.front().data == address)
      return &slot;
  return nullptr;
}

Result DeviceSlots::pack(const TensorGroup &tensors, ParcelRef &parcel) {
  Slot *slot = find(tensors.front().data);
  if (slot && slot->origin) {
    parcel = slot->origin;
    return {};
  }
  auto fresh = std::make_shared<Parcel>();
  fresh->device = &device;
  for (const ring_tensor &tensor : tensors) {
    ring_tensor sent = tensor;
    Result result;
    if (!isDense(tensor)) {
      result = allocateLike(device, tensor, sent);
      if (!result.failed())
        result = device.check(copyTensor(device.driver, device.compute,
                                         Copy::WithinDevice, sent, tensor),
                              "a copy of what is sent");
    }
    if (result.failed())
      return result;
    fresh->tensors.push_back(sent);
  }
  Result result = device.record(device.compute, fresh->ready);
  parcel = std::move(fresh);
  return result;
}

Result DeviceSlots::allocate(Slot &slot, const TensorGroup &group) {
  count += slot.tensors.empty() ? 1 : 0;
  slot.tensors.clear();
  for (const ring_tensor &tensor : group) {
    slot.tensors.emplace_back();
    if (Result result = allocateLike(device, tensor, slot.tensors.back());
        result.failed())
      return result;
  }
  return {};
}

Result DeviceSlots::acquire(int64_t transfer, const TensorGroup &group,
                            TensorGroup &tensors) {
  Slot &slot = slots[next];
  if (slot.awaited)
    return {RING_ERROR_USAGE, "transfer " + std::to_string(transfer) +
                                  " needs a slot, and all " +
                                  std::to_string(slots.size()) +
                                  " have transfers that were not waited for"};
  Result result;
  // All at the first transfer: later an allocation might have to wait for one.
  for (Slot &each : slots)
    if (!result.failed() && each.tensors.empty())
      result = allocate(each, group);
  if (!result.failed() && !haveSameSizes(slot.tensors, group))
    result = allocate(slot, group);
  // All kernels that read the slot have been launched: nothing of the program
  // is given its address again before this transfer is waited for.
  CUevent free = nullptr;
  if (!result.failed())
    result = device.record(device.compute, free);
  if (!result.failed())
    result = device.waitFor(device.transfers, free);
  if (result.failed())
    return result;
  slot.awaited = true;
  slot.origin = nullptr;
  tensors = slot.tensors;
  flights[transfer] = next;
  next = (next + 1) % slots.size();
  return {};
}

Result DeviceSlots::arrived(int64_t transfer) {
  return device.record(device.transfers, slots[flights.at(transfer)].arrived);
}

Result DeviceSlots::copy(const Parcel &from, const TensorGroup &to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const ring_tensor &source = from.tensors[i];
    CUresult code = CUDA_SUCCESS;
    if (!from.device)
      code = copyTensor(device.driver, device.transfers, Copy::HostToDevice,
                        to[i], source);
    else if (elementCount(source) > 0)
      code = device.driver.memcpyPeerAsync(
          addressOf(to[i]), device.context, addressOf(source),
          from.device->context, ring::runtime::denseBytes(source),
          device.transfers);
    if (Result result = device.check(code, "a transfer"); result.failed())
      return result;
  }
  return {};
}

Result DeviceSlots::receive(const Transfer &transfer, const ParcelRef &parcel) {
  TensorGroup tensors;
  Result result = acquire(transfer.number, parcel->tensors, tensors);
  // A GPU of another driver is reached through the host only.
  ParcelRef from = parcel;
  HostSlots staging;
  if (!result.failed() && from->device &&
      &from->device->driver != &device.driver) {
    auto staged = std::make_shared<Parcel>();
    staging.begin(1);
    result = staging.receive(parcel, staged->tensors);
    from = staged;
  }
  if (!result.failed())
    result = device.makeCurrent();
  if (!result.failed() && from->device)
    result = device.waitFor(device.transfers, from->ready);
  if (!result.failed())
    result = timeline.open(device.transfers);
  if (!result.failed())
    result = copy(*from, tensors);
  if (!result.failed())
    result = timeline.closeTransfer(device.transfers, transfer,
                                    denseBytes(parcel->tensors));
  if (!result.failed())
    result = arrived(transfer.number);
  if (!result.failed())
    slots[flights.at(transfer.number)].origin = parcel;
  return result;
}

Result DeviceSlots::wait(int64_t transfer, TensorGroup &tensors) {
  auto flight = flights.find(transfer);
  Slot &slot = slots[flight->second];
  flights.erase(flight);
  slot.awaited = false;
  tensors = slot.tensors;
  return device.waitFor(device.compute, slot.arrived);
}

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

void HostSlots::begin(int32_t newCount) {
  release();
  slots.resize(std::max(newCount, 1));
}

void HostSlots::release() {
  for (Slot &slot : slots)
    for (void *memory : slot.memory)
      _mlir_memref_to_llvm_free(memory);
  slots.clear();
  next = 0;
  for (auto [device, stream] : streams) {
    ContextScope scope(device->driver, device->context);
    device->driver.streamDestroy(stream);
  }
  streams.clear();
}

ParcelRef HostSlots::pack(const TensorGroup &tensors) const {
  for (const Slot &slot : slots)
    if (slot.origin && slot.tensors.front().data == tensors.front().data)
      return slot.origin;
  auto parcel = std::make_shared<Parcel>();
  parcel->tensors = tensors;
  return parcel;
}

Result HostSlots::receive(const ParcelRef &parcel, TensorGroup &tensors) {
  Slot &slot = slots[next];
  next = (next + 1) % slots.size();
  if (!haveSameSizes(slot.tensors, parcel->tensors)) {
    count += slot.tensors.empty() ? 1 : 0;
    slot.tensors.clear();
    for (const ring_tensor &tensor : parcel->tensors) {
      slot.tensors.push_back(packedLike(tensor));
      slot.memory.push_back(_mlir_memref_to_llvm_alloc(elementCount(tensor) *
                                                       tensor.element_bytes));
      slot.tensors.back().data = slot.memory.back();
    }
  }
  slot.origin = parcel;
  // Not Device::check, which is of the sender's thread.
  const Device &device = *parcel->device;
  const Driver &driver = device.driver;
  ContextScope scope(driver, device.context);
  CUstream &stream = streams[parcel->device];
  CUresult code = CUDA_SUCCESS;
  if (!stream)
    code = driver.streamCreate(&stream, CU_STREAM_NON_BLOCKING, 0);
  if (code == CUDA_SUCCESS)
    code = driver.streamWaitEvent(stream, parcel->ready, 0);
  for (size_t i = 0; i < slot.tensors.size() && code == CUDA_SUCCESS; ++i)
    code = copyTensor(driver, stream, Copy::DeviceToHost, slot.tensors[i],
                      parcel->tensors[i]);
  if (code == CUDA_SUCCESS)
    code = driver.streamSynchronize(stream);
  tensors = slot.tensors;
  if (code == CUDA_SUCCESS)
    return {};
  return {RING_ERROR_DEVICE,
          "a copy from " + device.text() + ": " + driver.describe(code)};
}
