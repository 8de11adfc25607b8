//===- Footprint.cpp - What a block did to global memory ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"

#include <algorithm>

using namespace ring::vgpu;

void Footprint::clear() {
  pages.clear();
  recent = {};
}

Footprint::Page &Footprint::page(uint64_t number) {
  Recent &entry = recent[number % recent.size()];
  if (entry.number != number)
    entry = {number, &pages[number]};
  return *entry.page;
}

void Footprint::note(uint64_t address, uint64_t bytes,
                     DeviceMemory::Access kind, const Inst &inst) {
  const auto index = static_cast<unsigned>(kind);
  while (bytes) {
    Page &at = page(address / kPage);
    uint64_t first = address % 64, count = std::min(bytes, 64 - first);
    unsigned word = address % kPage / 64;
    uint64_t mask = count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
    at.touched[index][word] |= mask << first;
    at.last[index][word] = &inst;
    address += count;
    bytes -= count;
  }
}

std::optional<LaunchFootprint::Conflict>
LaunchFootprint::add(uint64_t block, const Footprint &footprint) {
  using Access = DeviceMemory::Access;
  // Mine and theirs; two reads, and two atomic updates, are none.
  constexpr std::pair<Access, Access> conflicts[] = {
      {Access::Write, Access::Write},  {Access::Write, Access::Read},
      {Access::Write, Access::Atomic}, {Access::Read, Access::Write},
      {Access::Read, Access::Atomic},  {Access::Atomic, Access::Write},
      {Access::Atomic, Access::Read}};
  std::optional<Conflict> first;
  for (const auto &[number, mine] : footprint.all()) {
    Page &theirs = pages[number];
    for (unsigned word = 0; word < Footprint::kWords; ++word) {
      for (auto [my, their] : conflicts) {
        const auto m = static_cast<unsigned>(my),
                   t = static_cast<unsigned>(their);
        uint64_t both = mine.touched[m][word] & theirs.touched[t][word];
        if (!both)
          continue;
        uint64_t address = number * Footprint::kPage + word * 64 +
                           static_cast<unsigned>(__builtin_ctzll(both));
        if (!first || address < first->address)
          first = Conflict{address, my, their, theirs.last[t][word],
                           mine.last[m][word]};
      }
      for (unsigned kind = 0; kind < Footprint::kKinds; ++kind) {
        if (!mine.touched[kind][word])
          continue;
        theirs.touched[kind][word] |= mine.touched[kind][word];
        theirs.last[kind][word] = block;
      }
    }
  }
  return first;
}
