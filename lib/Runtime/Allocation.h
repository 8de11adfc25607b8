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
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace ring::runtime {

/// A block of generated code: stands right before the bytes that it gets.
struct BlockHeader;

/// What one rank, or a host function, uses: bytes that it has allocated, and
/// pairs of a query and a key that its kernels found visible. Blocks refer to
/// their account, so that any thread may free them, also after the host is
/// gone: counted references.
///
/// Large blocks that are freed are kept for the next run, which asks for the
/// same ones: the pages of fresh memory cost as much time as the scores of a
/// sparse mask. What two runs in a row have not used is freed. Sanitized,
/// nothing is kept: a use after free has to be seen.
class Account {
public:
  Account();
  void add(BlockHeader *block);
  /// A kept block of exactly this size, which is in use then; or NULL.
  void *reuse(size_t alignment, int64_t bytes);
  /// Keeps or frees a block that is not used any more.
  void remove(BlockHeader *block);
  /// Memory of a device, which others allocate and free.
  void addDeviceBytes(int64_t count);
  void removeDeviceBytes(int64_t count);
  void resetPeak();
  int64_t peak() const;
  /// Frees what is left: a program that failed returns at once, without freeing
  /// what it holds. Nobody may use the blocks any more.
  void freeBlocks();
  /// Frees what is kept.
  void freeKept();
  /// Frees what is kept and was not used of late.
  void beginRun();

  void addVisiblePairs(int64_t count) { pairs.fetch_add(count); }
  /// Those since the last call.
  int64_t takeVisiblePairs() { return pairs.exchange(0); }

  void retain() { references.fetch_add(1); }
  void release();
  /// The host's release, after which nothing is kept.
  void close();

private:
  void count(BlockHeader *block);
  void discount(BlockHeader *block);

  mutable std::mutex mutex;      ///< guards what follows, up to `kept`
  BlockHeader *blocks = nullptr; ///< in use, a list
  int64_t bytes = 0;             ///< in use
  int64_t highest = 0;           ///< since resetPeak
  bool keeps;
  int64_t runs = 0;                ///< begun
  std::vector<BlockHeader *> kept; ///< the one freed last is the last
  std::atomic<int64_t> pairs{0}, references{1};
};

/// The host's reference to an account.
class AccountHandle {
public:
  AccountHandle() : account(new Account) {}
  ~AccountHandle() { account->close(); }
  AccountHandle(const AccountHandle &) = delete;
  AccountHandle &operator=(const AccountHandle &) = delete;

  Account *get() const { return account; }
  Account *operator->() const { return account; }

private:
  Account *account;
};

/// Adds to the account of this thread, if it has one.
void countVisiblePairs(int64_t count);

/// Makes `account` (NULL: none) the account of this thread; returns the last.
Account *setCurrentAccount(Account *account);

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
