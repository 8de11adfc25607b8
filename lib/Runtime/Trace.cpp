//===- Trace.cpp - Events of one rank -------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is Chrome's "Trace Event Format", JSON object form: metadata
// events (ph M) that name processes and threads, complete events (ph X) with
// microseconds.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include <algorithm>
#include <cinttypes>

using namespace ring::runtime;

/// Rows of a rank: the thread ids of its process.
enum : int { kComputeRow = 1, kTransferRow = 2 };

void RankTrace::add(Kind kind, std::string name, Clock::time_point begin,
                    Clock::time_point end, int64_t bytes) {
  auto nanoseconds = [&](Clock::time_point time) {
    return static_cast<int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin)
            .count());
  };
  events.push_back(
      {kind, std::move(name), nanoseconds(begin), nanoseconds(end), bytes});
}

void RankTrace::compute(const char *name, int64_t round,
                        Clock::time_point begin, Clock::time_point end) {
  if (!enabled)
    return;
  std::string label = name ? name : "compute";
  if (round >= 0)
    label = "round " + std::to_string(round) + " " + label;
  add(Kind::Compute, std::move(label), begin, end);
}

void RankTrace::wait(const std::string &name, Clock::time_point begin,
                     Clock::time_point end) {
  if (enabled)
    add(Kind::Wait, "wait for " + name, begin, end);
}

void RankTrace::transfer(const Transfer &transfer, int64_t bytes,
                         Clock::time_point begin, Clock::time_point end) {
  if (!enabled)
    return;
  begin = std::max(begin, lastTransferEnd);
  end = std::max(begin, end);
  lastTransferEnd = end;
  add(Kind::Transfer,
      "transfer " + std::to_string(transfer.number) + " from rank " +
          std::to_string(transfer.from),
      begin, end, bytes);
}

static void writeString(std::FILE *file, const std::string &text) {
  std::fputc('"', file);
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      std::fprintf(file, "\\%c", c);
    else if (c < 0x20)
      std::fprintf(file, "\\u%04x", c);
    else
      std::fputc(c, file);
  }
  std::fputc('"', file);
}

/// Integers only: %f would follow the locale of the process.
static void writeMicroseconds(std::FILE *file, const char *key,
                              int64_t nanoseconds) {
  std::fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, nanoseconds / 1000,
               static_cast<int>(nanoseconds % 1000));
}

static void writeName(std::FILE *file, const char *what, int32_t rank, int row,
                      const std::string &name) {
  std::fprintf(file,
               "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
               "\"args\":{\"name\":",
               what, rank, row);
  writeString(file, name);
  std::fputs("}}", file);
}

void RankTrace::write(std::FILE *file, int32_t rank) const {
  writeName(file, "process_name", rank, 0, "rank " + std::to_string(rank));
  std::fputs(",\n", file);
  writeName(file, "thread_name", rank, kComputeRow, "compute");
  std::fputs(",\n", file);
  writeName(file, "thread_name", rank, kTransferRow, "transfer");
  for (const Event &event : events) {
    static const char *const categories[] = {"compute", "wait", "transfer"};
    bool isTransfer = event.kind == Kind::Transfer;
    std::fputs(",\n{\"name\":", file);
    writeString(file, event.name);
    std::fprintf(file, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d",
                 categories[static_cast<int>(event.kind)], rank,
                 isTransfer ? kTransferRow : kComputeRow);
    writeMicroseconds(file, "ts", event.begin);
    writeMicroseconds(file, "dur", event.end - event.begin);
    if (isTransfer)
      std::fprintf(file, ",\"args\":{\"bytes\":%" PRId64 "}", event.bytes);
    std::fputc('}', file);
  }
}
