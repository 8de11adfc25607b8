//===- Slots.h - Where a rank receives blocks -------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory for what travels, as many slots as a program has transfers in flight.
// One is written again by the transfer that comes so many later, when the
// program has no use for the block any more.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_SLOTS_H
#define RING_RUNTIME_DEVICE_SLOTS_H

#include "Timeline.h"

#include <map>

namespace ring::runtime {

/// A message group, and where it lives.
struct Parcel {
  TensorGroup tensors;
  Device *device = nullptr;      ///< NULL: host memory
  cuda::CUevent ready = nullptr; ///< of the device: it may be read after this
};
using ParcelRef = std::shared_ptr<const Parcel>;

/// Slots in the memory of the rank's GPU. Transfers run on its stream for them.
/// Both waits between the streams are here: computation for what arrives, the
/// transfer for the kernels that read what it overwrites.
class DeviceSlots {
public:
  DeviceSlots(Device &device, Timeline &timeline, int32_t count)
      : device(device), timeline(timeline), slots(std::max(count, 1)) {}

  /// What the rank sends, its own or what stands in a slot, laid out densely.
  /// A block in a slot is that of the rank it came from.
  Result pack(const TensorGroup &tensors, ParcelRef &parcel);
  /// A slot for a transfer that brings the like of `group`; the transfers'
  /// stream may write it from here on.
  Result acquire(int64_t transfer, const TensorGroup &group,
                 TensorGroup &tensors);
  /// What `acquire` gave is written by what was enqueued since.
  Result arrived(int64_t transfer);
  /// Enqueues the copy of a block into a slot.
  Result receive(const Transfer &transfer, const ParcelRef &parcel);
  /// Kernels launched from here on wait for the transfer.
  Result wait(int64_t transfer, TensorGroup &tensors);

  int64_t allocated() const { return count; }

private:
  struct Slot {
    TensorGroup tensors; ///< empty: not allocated yet
    ParcelRef origin;    ///< what was copied here, if it was
    cuda::CUevent arrived = nullptr;
    bool awaited = false; ///< a transfer was started and not waited for
  };
  Slot *find(const void *address);
  Result allocate(Slot &slot, const TensorGroup &group);
  Result copy(const Parcel &from, const TensorGroup &to);

  Device &device;
  Timeline &timeline;
  std::vector<Slot> slots;
  size_t next = 0;                   ///< slot to use
  std::map<int64_t, size_t> flights; ///< slots by transfer, unwaited
  int64_t count = 0;                 ///< slots allocated
};

/// Slots in host memory, for what comes from a GPU: the rank's thread waits
/// until it is there.
class HostSlots {
public:
  HostSlots() = default;
  ~HostSlots() { release(); }
  HostSlots(const HostSlots &) = delete;
  HostSlots &operator=(const HostSlots &) = delete;

  /// What the rank sends: a block in a slot is that of the rank it came from.
  ParcelRef pack(const TensorGroup &tensors) const;
  Result receive(const ParcelRef &parcel, TensorGroup &tensors);
  void begin(int32_t count);
  /// The program ends: the GPUs that sent something may go after this.
  void release();

  int64_t allocated() const { return count; }

private:
  struct Slot {
    TensorGroup tensors;
    std::vector<void *> memory;
    ParcelRef origin;
  };
  std::vector<Slot> slots;
  size_t next = 0;
  int64_t count = 0;
  /// A stream of ours on each GPU that sent something.
  std::map<Device *, cuda::CUstream> streams;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_SLOTS_H
