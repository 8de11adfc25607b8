//===- Timeline.cpp - When a GPU did what ---------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

using namespace ring::runtime;
using namespace ring::cuda;

Result Timeline::begin() {
  if (!trace.isEnabled())
    return {};
  origin = Clock::now();
  return device.recordTime(device.compute, first);
}

Result Timeline::open(CUstream stream) {
  return trace.isEnabled() ? device.recordTime(stream, opened) : Result{};
}

Result Timeline::close(CUstream stream, Span span) {
  if (!trace.isEnabled())
    return {};
  span.begin = opened;
  Result result = device.recordTime(stream, span.end);
  spans.push_back(std::move(span));
  return result;
}

Result Timeline::closeCompute(CUstream stream, const char *name,
                              int64_t round) {
  return close(stream, {nullptr, nullptr, name, round, {}, 0});
}

Result Timeline::closeTransfer(CUstream stream, const Transfer &transfer,
                               int64_t bytes) {
  return close(stream, {nullptr, nullptr, "", -1, transfer, bytes});
}

Result Timeline::timeOf(CUevent event, Clock::time_point &time) {
  float milliseconds = 0;
  Result result =
      device.check(device.driver.eventElapsedTime(&milliseconds, first, event),
                   "cuEventElapsedTime");
  time = origin + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<float, std::milli>(milliseconds));
  return result;
}

Result Timeline::report() {
  for (const Span &span : spans) {
    Clock::time_point begin, end;
    Result result = timeOf(span.begin, begin);
    if (!result.failed())
      result = timeOf(span.end, end);
    if (result.failed())
      return result;
    if (span.name.empty())
      trace.transfer(span.transfer, span.bytes, begin, end);
    else
      trace.compute(span.name.c_str(), span.round, begin, end);
  }
  spans.clear();
  return {};
}
