//===- Trace.h - Events of one rank -----------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_TRACE_H
#define RING_RUNTIME_TRACE_H

#include "Transport.h"

#include <cstdio>
#include <string>
#include <vector>

namespace ring::runtime {

/// Records what one rank did when. Used by the rank's thread, and read when no
/// rank runs.
class RankTrace {
public:
  RankTrace(bool enabled, Clock::time_point origin)
      : enabled(enabled), origin(origin) {}

  bool isEnabled() const { return enabled; }
  /// A call of ring_parallel_for, or the kernels of a round.
  void compute(const char *name, int64_t round, Clock::time_point begin,
               Clock::time_point end);
  /// Time that the rank's thread spent waiting: what was not hidden.
  void wait(const std::string &name, Clock::time_point begin,
            Clock::time_point end);
  /// Transfers of a rank run one after the other, so the event begins when the
  /// one before has ended.
  void transfer(const Transfer &transfer, int64_t bytes,
                Clock::time_point begin, Clock::time_point end);
  void clear() { events.clear(); }

  /// Writes the events of `rank` as elements of a JSON array, commas
  /// between them.
  void write(std::FILE *file, int32_t rank) const;

private:
  enum class Kind { Compute, Wait, Transfer };
  struct Event {
    Kind kind;
    std::string name;
    int64_t begin, end; ///< nanoseconds since `origin`
    int64_t bytes;
  };
  void add(Kind kind, std::string name, Clock::time_point begin,
           Clock::time_point end, int64_t bytes = 0);

  bool enabled;
  Clock::time_point origin;
  Clock::time_point lastTransferEnd;
  std::vector<Event> events;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_TRACE_H
