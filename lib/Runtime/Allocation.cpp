//===- Allocation.cpp - Memory of generated code, counted by rank ---------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Allocation.h"
#include "Fatal.h"
#include "ring/Runtime/Runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

using namespace ring::runtime;

static thread_local Account *currentAccount = nullptr;

namespace ring::runtime {
struct BlockHeader {
  void *block;
  int64_t bytes;
  size_t alignment;
  int64_t lastRun;  // of the account, in which it was freed
  Account *account; // NULL: not counted
  BlockHeader *previous, *next;
};
} // namespace ring::runtime

constexpr size_t kAlignment = 64;
static_assert(sizeof(BlockHeader) <= kAlignment);

/// What smaller blocks cost, malloc keeps by itself.
constexpr int64_t kSmallestKept = 128 << 10;

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool kKeepBlocks = false;
#else
constexpr bool kKeepBlocks = true;
#endif

Account::Account() : keeps(kKeepBlocks) {}

void Account::count(BlockHeader *block) {
  retain();
  block->previous = nullptr;
  block->next = blocks;
  if (blocks)
    blocks->previous = block;
  blocks = block;
  bytes += block->bytes;
  highest = std::max(highest, bytes);
}

void Account::discount(BlockHeader *block) {
  (block->previous ? block->previous->next : blocks) = block->next;
  if (block->next)
    block->next->previous = block->previous;
  bytes -= block->bytes;
}

void Account::add(BlockHeader *block) {
  std::lock_guard<std::mutex> lock(mutex);
  count(block);
}

void *Account::reuse(size_t alignment, int64_t bytes) {
  if (bytes < kSmallestKept)
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  // The one used last: of its bytes most are still in a cache.
  auto found =
      std::find_if(kept.rbegin(), kept.rend(), [&](const BlockHeader *block) {
        return block->bytes == bytes && block->alignment == alignment;
      });
  if (found == kept.rend())
    return nullptr;
  BlockHeader *block = *found;
  kept.erase(std::prev(found.base()));
  count(block);
  return block + 1;
}

void Account::remove(BlockHeader *block) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    discount(block);
    if (keeps && block->bytes >= kSmallestKept) {
      block->lastRun = runs;
      kept.push_back(block);
    } else {
      std::free(block->block);
    }
  }
  release();
}

void Account::addDeviceBytes(int64_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  bytes += count;
  highest = std::max(highest, bytes);
}

void Account::removeDeviceBytes(int64_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  bytes -= count;
}

void Account::resetPeak() {
  std::lock_guard<std::mutex> lock(mutex);
  highest = bytes;
}

int64_t Account::peak() const {
  std::lock_guard<std::mutex> lock(mutex);
  return highest;
}

void Account::freeBlocks() {
  while (true) {
    BlockHeader *block;
    {
      std::lock_guard<std::mutex> lock(mutex);
      block = blocks;
    }
    if (!block)
      break;
    _mlir_memref_to_llvm_free(block + 1);
  }
  freeKept();
}

void Account::freeKept() {
  std::lock_guard<std::mutex> lock(mutex);
  for (BlockHeader *block : kept)
    std::free(block->block);
  kept.clear();
}

void Account::beginRun() {
  std::lock_guard<std::mutex> lock(mutex);
  ++runs;
  size_t left = 0;
  for (BlockHeader *block : kept) {
    if (block->lastRun + 2 >= runs)
      kept[left++] = block;
    else
      std::free(block->block);
  }
  kept.resize(left);
}

void Account::close() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    keeps = false;
  }
  freeKept();
  release();
}

void Account::release() {
  if (references.fetch_sub(1) == 1)
    delete this;
}

void ring::runtime::countVisiblePairs(int64_t count) {
  if (currentAccount && count > 0)
    currentAccount->addVisiblePairs(count);
}

Account *ring::runtime::setCurrentAccount(Account *account) {
  return std::exchange(currentAccount, account);
}

AccountScope::AccountScope(Account *account)
    : previous(setCurrentAccount(account)) {}

AccountScope::~AccountScope() { setCurrentAccount(previous); }

static bool poisoned() {
  static const bool value = [] {
    const char *text = std::getenv("RING_POISON");
    return text && std::strcmp(text, "1") == 0;
  }();
  return value;
}

/// Generated code does not look at the address, so this is the last place where
/// a message can be given.
[[noreturn]] static void outOfMemory(size_t alignment, size_t bytes) {
  fatal("cannot allocate %zu bytes aligned to %zu", bytes, alignment);
}

/// The header takes one unit of alignment, the block ends with the last byte:
/// so a sanitizer sees the first access past it.
static BlockHeader *allocate(size_t alignment, int64_t bytes,
                             Account *account) {
  void *block = nullptr;
  if (posix_memalign(&block, alignment, bytes + alignment) != 0)
    outOfMemory(alignment, bytes);
  char *address = static_cast<char *>(block) + alignment;
  return new (address - sizeof(BlockHeader))
      BlockHeader{block, bytes, alignment, 0, account, nullptr, nullptr};
}

extern "C" void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment,
                                                    size_t bytes) {
  alignment = std::max(alignment, kAlignment);
  if (bytes > PTRDIFF_MAX - alignment)
    outOfMemory(alignment, bytes);
  Account *account = currentAccount;
  auto size = static_cast<int64_t>(bytes);
  void *address = account ? account->reuse(alignment, size) : nullptr;
  if (!address) {
    BlockHeader *header = allocate(alignment, size, account);
    if (account)
      account->add(header);
    address = header + 1;
  }
  if (poisoned())
    std::memset(address, 0xFF, bytes); // a NaN in every floating-point type
  return address;
}

extern "C" void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  return _mlir_memref_to_llvm_aligned_alloc(kAlignment, bytes);
}

extern "C" void _mlir_memref_to_llvm_free(void *address) {
  if (!address)
    return;
  BlockHeader *header = static_cast<BlockHeader *>(address) - 1;
  if (header->account)
    header->account->remove(header);
  else
    std::free(header->block);
}
