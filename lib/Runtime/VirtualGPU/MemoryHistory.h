//===- MemoryHistory.h - Who touched which bytes, and in what order -*- C++
//-*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The happens-before order of stream operations as vector clocks, and for each
// allocation the last writer of every byte and its readers since.
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_MEMORYHISTORY_H
#define RING_RUNTIME_VIRTUALGPU_MEMORYHISTORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ring::vgpu {

/// The n-th operation (from 1) of a timeline; a stream has one.
struct Instant {
  size_t timeline = 0;
  uint64_t tick = 0;
};

/// For each timeline, how many of its operations come before.
class Clock {
public:
  void join(const Clock &other);
  void join(Instant instant);
  /// What comes before an operation, of a clock that includes it.
  Clock before(Instant instant) const;
  bool includes(Instant instant) const {
    return instant.timeline < ticks.size() &&
           ticks[instant.timeline] >= instant.tick;
  }

private:
  std::vector<uint64_t> ticks;
};

/// How reports name an operation.
struct OpInfo {
  std::string name; ///< "kernel 'f'"
  int device = 0;
  int stream = 0;
  bool replayed = false; ///< by a graph launch

  /// "kernel 'f' on stream 1 of device 0"
  std::string text() const;
};
using OpInfoRef = std::shared_ptr<const OpInfo>;

/// Bytes [begin, end) of an allocation that one operation touched.
struct Interval {
  uint64_t begin = 0, end = 0;
};

/// An access of an operation that no order separates from another one.
struct Conflict {
  uint64_t offset = 0;
  OpInfoRef other;
  bool otherWrites = false;
};

/// An operation, as the history of memory knows it.
struct Accessor {
  Instant instant;
  OpInfoRef info;
};

/// The accesses to one allocation. Not thread safe.
class MemoryHistory {
public:
  /// Adds an access by `by`, which comes after what `clock` includes; the first
  /// byte at which it conflicts with an earlier one.
  std::optional<Conflict> read(Interval bytes, const Accessor &by,
                               const Clock &clock);
  std::optional<Conflict> write(Interval bytes, const Accessor &by,
                                const Clock &clock);
  /// An access that `clock` does not include.
  OpInfoRef unordered(const Clock &clock) const;

private:
  struct Segment {
    uint64_t end = 0;
    std::optional<Accessor> writer;
    std::vector<Accessor> readers; ///< since that write
  };
  using Segments = std::map<uint64_t, Segment>;

  Segments::iterator splitAt(uint64_t offset);

  Segments segments; ///< disjoint, by their begin
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_MEMORYHISTORY_H
