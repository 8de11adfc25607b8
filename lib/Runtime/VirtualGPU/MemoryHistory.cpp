//===- MemoryHistory.cpp - Who touched which bytes, and in what order -----===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryHistory.h"

#include <algorithm>

using namespace ring::vgpu;

void Clock::join(const Clock &other) {
  if (ticks.size() < other.ticks.size())
    ticks.resize(other.ticks.size());
  for (size_t i = 0; i < other.ticks.size(); ++i)
    ticks[i] = std::max(ticks[i], other.ticks[i]);
}

void Clock::join(Instant instant) {
  if (ticks.size() <= instant.timeline)
    ticks.resize(instant.timeline + 1);
  ticks[instant.timeline] = std::max(ticks[instant.timeline], instant.tick);
}

Clock Clock::before(Instant instant) const {
  Clock result = *this;
  result.ticks[instant.timeline] = instant.tick - 1;
  return result;
}

std::string OpInfo::text() const {
  return name + " on stream " + std::to_string(stream) + " of device " +
         std::to_string(device) + (replayed ? " (in a graph)" : "");
}

/// A segment begins at `offset` afterwards, where one covers it.
MemoryHistory::Segments::iterator MemoryHistory::splitAt(uint64_t offset) {
  auto next = segments.lower_bound(offset);
  if (next == segments.begin() ||
      (next != segments.end() && next->first == offset))
    return next;
  auto previous = std::prev(next);
  if (previous->second.end <= offset)
    return next;
  Segment rest = previous->second;
  previous->second.end = offset;
  return segments.emplace_hint(next, offset, std::move(rest));
}

std::optional<Conflict> MemoryHistory::read(Interval bytes, const Accessor &by,
                                            const Clock &clock) {
  std::optional<Conflict> conflict;
  uint64_t at = bytes.begin;
  auto next = splitAt(at);
  splitAt(bytes.end);
  while (at < bytes.end) {
    if (next == segments.end() || next->first > at) {
      uint64_t end =
          next == segments.end() ? bytes.end : std::min(bytes.end, next->first);
      segments.emplace_hint(next, at, Segment{end, std::nullopt, {by}});
      at = end;
      continue;
    }
    Segment &segment = next->second;
    if (!conflict && segment.writer && !clock.includes(segment.writer->instant))
      conflict = Conflict{at, segment.writer->info, true};
    // A write without an order to a reader that comes before this one has none
    // to this one either.
    auto earlier = [&](const Accessor &reader) {
      return clock.includes(reader.instant);
    };
    segment.readers.erase(
        std::remove_if(segment.readers.begin(), segment.readers.end(), earlier),
        segment.readers.end());
    segment.readers.push_back(by);
    at = segment.end;
    ++next;
  }
  return conflict;
}

std::optional<Conflict> MemoryHistory::write(Interval bytes, const Accessor &by,
                                             const Clock &clock) {
  std::optional<Conflict> conflict;
  auto first = splitAt(bytes.begin), last = splitAt(bytes.end);
  // The second split may have divided the segment that the first one returned,
  // whose begin stays.
  for (auto it = first; it != last; ++it) {
    const Segment &segment = it->second;
    auto check = [&](const Accessor &other, bool writes) {
      if (!conflict && !clock.includes(other.instant))
        conflict = Conflict{it->first, other.info, writes};
    };
    if (segment.writer)
      check(*segment.writer, true);
    for (const Accessor &reader : segment.readers)
      check(reader, false);
  }
  segments.erase(first, last);
  segments.emplace(bytes.begin, Segment{bytes.end, by, {}});
  return conflict;
}

OpInfoRef MemoryHistory::unordered(const Clock &clock) const {
  for (const auto &[begin, segment] : segments) {
    if (segment.writer && !clock.includes(segment.writer->instant))
      return segment.writer->info;
    for (const Accessor &reader : segment.readers)
      if (!clock.includes(reader.instant))
        return reader.info;
  }
  return nullptr;
}
