//===- Allocation.h - Memory of generated code, counted by rank -*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_ALLOCATION_H
#define RING_RUNTIME_ALLOCATION_H

#include <atomic>
#include <cstdint>

namespace ring::runtime {

/// What one rank uses: bytes that it has allocated, and pairs of a query and a
/// key that its kernels found visible. Blocks refer to their account, so that
/// any thread may free them, also after the host is gone: counted references.
class Account {
public:
  void add(int64_t bytes);
  void remove(int64_t bytes);
  void resetPeak() { highest.store(bytes.load()); }
  int64_t peak() const { return highest.load(); }

  void addVisiblePairs(int64_t count) { pairs.fetch_add(count); }
  /// Those since the last call.
  int64_t takeVisiblePairs() { return pairs.exchange(0); }

  void retain() { references.fetch_add(1); }
  void release();

private:
  std::atomic<int64_t> bytes{0}, highest{0}, pairs{0}, references{1};
};

/// The host's reference to an account.
class AccountHandle {
public:
  AccountHandle() : account(new Account) {}
  ~AccountHandle() { account->release(); }
  AccountHandle(const AccountHandle &) = delete;
  AccountHandle &operator=(const AccountHandle &) = delete;

  Account *get() const { return account; }
  Account *operator->() const { return account; }

private:
  Account *account;
};

/// Adds to the account of this thread, if it has one.
void countVisiblePairs(int64_t count);

/// While it lives, what this thread uses goes to `account` (NULL: to none).
class AccountScope {
public:
  explicit AccountScope(Account *account);
  ~AccountScope();
  AccountScope(const AccountScope &) = delete;
  AccountScope &operator=(const AccountScope &) = delete;

private:
  Account *previous;
};

} // namespace ring::runtime

#endif // RING_RUNTIME_ALLOCATION_H
