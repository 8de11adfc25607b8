//===- DriverRecord.h - The calls of a program, written to a file -*- C++
//-*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RING_VGPU_RECORD=FILE: one JSON object a line for each call that enqueues or
// synchronises, in the order in which the calls took effect.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_DRIVERRECORD_H
#define RING_RUNTIME_VIRTUALGPU_DRIVERRECORD_H

#include "DriverState.h"

namespace ring::vgpu {

/// One line, written when this goes away. Under the driver's lock.
class CallRecord {
public:
  CallRecord(const char *call, const Context *context);
  /// Of a call on a stream, captured or not.
  CallRecord(const char *call, const Stream *stream);
  ~CallRecord();
  CallRecord(const CallRecord &) = delete;
  CallRecord &operator=(const CallRecord &) = delete;

  CallRecord &add(const char *key, int64_t value);
  CallRecord &add(const char *key, const std::string &value);
  CallRecord &add(const char *key, const std::array<uint32_t, 3> &value);

private:
  std::string line; ///< empty: nothing is recorded
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_DRIVERRECORD_H
