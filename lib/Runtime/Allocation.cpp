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
#include <new>
#include <utility>

using namespace ring::runtime;

static thread_local Account *currentAccount = nullptr;

namespace ring::runtime {
struct BlockHeader {
  void *block;
  int64_t bytes;
  Account *account; // NULL: not counted
  BlockHeader *previous, *next;
};
} // namespace ring::runtime

constexpr size_t kAlignment = 64;
static_assert(sizeof(BlockHeader) <= kAlignment);

void Account::add(BlockHeader *block) {
  retain();
  std::lock_guard<std::mutex> lock(mutex);
  block->previous = nullptr;
  block->next = blocks;
  if (blocks)
    blocks->previous = block;
  blocks = block;
  bytes += block->bytes;
  highest = std::max(highest, bytes);
}

void Account::remove(BlockHeader *block) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    (block->previous ? block->previous->next : blocks) = block->next;
    if (block->next)
      block->next->previous = block->previous;
    bytes -= block->bytes;
  }
  release();
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
      return;
    _mlir_memref_to_llvm_free(block + 1);
  }
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

extern "C" void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment,
                                                    size_t bytes) {
  alignment = std::max(alignment, kAlignment);
  // The header takes one unit of alignment, the block ends with the last byte:
  // so a sanitizer sees the first access past it.
  void *block = nullptr;
  if (bytes > PTRDIFF_MAX - alignment ||
      posix_memalign(&block, alignment, bytes + alignment) != 0)
    // Generated code does not look at the address, so this is the last place
    // where a message can be given.
    fatal("cannot allocate %zu bytes aligned to %zu", bytes, alignment);

  char *address = static_cast<char *>(block) + alignment;
  if (poisoned())
    std::memset(address, 0xFF, bytes); // a NaN in every floating-point type
  Account *account = currentAccount;
  auto *header = new (address - sizeof(BlockHeader)) BlockHeader{
      block, static_cast<int64_t>(bytes), account, nullptr, nullptr};
  if (account)
    account->add(header);
  return address;
}

extern "C" void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  return _mlir_memref_to_llvm_aligned_alloc(kAlignment, bytes);
}

extern "C" void _mlir_memref_to_llvm_free(void *address) {
  if (!address)
    return;
  BlockHeader *header = static_cast<BlockHeader *>(address) - 1;
  void *block = header->block;
  if (header->account)
    header->account->remove(header);
  std::free(block);
}
