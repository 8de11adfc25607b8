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

using namespace ring::runtime;

static thread_local Account *currentAccount = nullptr;

void Account::add(int64_t count) {
  int64_t now = bytes.fetch_add(count) + count;
  int64_t seen = highest.load();
  while (seen < now && !highest.compare_exchange_weak(seen, now))
    ;
}

void Account::remove(int64_t count) { bytes.fetch_sub(count); }

void Account::release() {
  if (references.fetch_sub(1) == 1)
    delete this;
}

void ring::runtime::countVisiblePairs(int64_t count) {
  if (currentAccount && count > 0)
    currentAccount->addVisiblePairs(count);
}

AccountScope::AccountScope(Account *account) : previous(currentAccount) {
  currentAccount = account;
}

AccountScope::~AccountScope() { currentAccount = previous; }

namespace {
/// Stands right before the bytes that the program gets.
struct Header {
  void *block;
  int64_t bytes;
  Account *account; // NULL: not counted
};
constexpr size_t kAlignment = 64;
static_assert(sizeof(Header) <= kAlignment);
} // namespace

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
  if (account) {
    account->retain();
    account->add(static_cast<int64_t>(bytes));
  }
  new (address - sizeof(Header))
      Header{block, static_cast<int64_t>(bytes), account};
  return address;
}

extern "C" void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  return _mlir_memref_to_llvm_aligned_alloc(kAlignment, bytes);
}

extern "C" void _mlir_memref_to_llvm_free(void *address) {
  if (!address)
    return;
  Header header;
  std::memcpy(&header, static_cast<char *>(address) - sizeof(Header),
              sizeof(Header));
  if (header.account) {
    header.account->remove(header.bytes);
    header.account->release();
  }
  std::free(header.block);
}
