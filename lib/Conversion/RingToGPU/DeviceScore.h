//===- DeviceScore.h - A score region on the GPU ----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_DEVICESCORE_H
#define RING_LIB_CONVERSION_RINGTOGPU_DEVICESCORE_H

#include "DeviceBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::ring {

/// Copies a `score` region to the place of each score. What it captures is
/// read through the parameters' `captures`, an array of ring_tensor: tensors
/// where it loads from them, scalars (tensors without dimensions) at once.
class DeviceScore {
public:
  /// `region` may be null.
  DeviceScore(Region *region, DeviceBuilder &b);

  /// The region's result for the score `x` (f32) of a pair. Indices are i32.
  Value apply(Value x, Value batch, Value head, Value queryPosition,
              Value keyPosition, Value captures);
  /// An op could not be copied; the error has been emitted.
  bool failed() const { return hasFailed; }

private:
  Value loadFrom(Operation &load, int64_t capture, const IRMapping &mapping,
                 Value captures);
  Value captureField(Value captures, int64_t capture, size_t offset, Type type);

  Region *region;
  DeviceBuilder &b;
  SmallVector<Value> captured;
  bool hasFailed = false;
};

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_DEVICESCORE_H
