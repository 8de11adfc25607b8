//===- Timeline.h - When a GPU did what -------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_TIMELINE_H
#define RING_RUNTIME_DEVICE_TIMELINE_H

#include "../Trace.h"
#include "Device.h"

namespace ring::runtime {

/// Events around what one program enqueues, read when all is done. Records
/// nothing unless the rank is traced.
class Timeline {
public:
  Timeline(Device &device, RankTrace &trace) : device(device), trace(trace) {}

  /// The program begins: now, for the host's clock and for the device's.
  Result begin();
  /// Before and after work on a stream.
  Result open(cuda::CUstream stream);
  Result closeCompute(cuda::CUstream stream, const char *name, int64_t round);
  Result closeTransfer(cuda::CUstream stream, const Transfer &transfer,
                       int64_t bytes);
  /// The streams are empty: tells the trace.
  Result report();

private:
  struct Span {
    cuda::CUevent begin, end;
    std::string name; ///< empty: a transfer
    int64_t round;
    Transfer transfer;
    int64_t bytes;
  };
  Result timeOf(cuda::CUevent event, Clock::time_point &time);
  Result close(cuda::CUstream stream, Span span);

  Device &device;
  RankTrace &trace;
  Clock::time_point origin;
  cuda::CUevent first = nullptr, opened = nullptr;
  std::vector<Span> spans;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_DEVICE_TIMELINE_H
