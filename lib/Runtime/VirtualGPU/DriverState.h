//===- DriverState.h - The state of the virtual CUDA driver -----*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_VIRTUALGPU_DRIVERSTATE_H
#define RING_RUNTIME_VIRTUALGPU_DRIVERSTATE_H

#include "Stream.h"

#include <unordered_set>

namespace ring::vgpu {

/// What a device of a chip has.
struct Chip {
  const char *name;
  int major, minor;
  int multiprocessors;
  int threadsPerMultiprocessor;
  int blocksPerMultiprocessor;
  int sharedPerMultiprocessor;
  int sharedPerBlockOptIn;
};
inline constexpr int kSharedPerBlock = 48 << 10; ///< without opting in
inline constexpr int kSharedReserved = 1 << 10;  ///< of each block
inline constexpr int kMaxThreads = 1024;
inline constexpr int kRegisters = 64 << 10;
inline constexpr int kWarp = 32;
inline constexpr int kMaxBlockZ = 64;
inline constexpr int kMaxGridX = 0x7fffffff;
inline constexpr int kMaxGridYZ = 65535;

class Function {
public:
  Module *module = nullptr;
  std::string name;
  const Kernel *kernel = nullptr;
  int maxDynamicShared = kSharedPerBlock;
};

/// Operations that launch its kernels keep it alive.
class Module : public std::enable_shared_from_this<Module> {
public:
  Context *context = nullptr;
  std::unique_ptr<KernelModule> content;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// The primary context of a device. Guarded by the driver's lock.
class Context {
public:
  explicit Context(int device) : device(device) {}

  const int device;
  int users = 0;
  CUresult failed = CUDA_SUCCESS; ///< what all calls return from then on
  const char *report = nullptr;   ///< why
  /// The default stream first.
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<const Event *, std::unique_ptr<Event>> events;
  std::map<const Module *, std::shared_ptr<Module>> modules;
  std::set<const Context *> peers; ///< whose memory its kernels may access
  int streamCount = 0, eventCount = 0;
};

/// All of the virtual GPU. One in a process, which never goes away: threads may
/// still use it while the process ends.
class Driver {
public:
  static Driver &get();

  std::mutex mutex;
  AddressSpace space;
  Scheduler scheduler;
  bool initialized = false;
  Chip chip{};
  std::vector<std::unique_ptr<Context>> contexts; ///< by device
  std::map<const Graph *, std::unique_ptr<Graph>> graphs;
  std::map<const GraphExec *, std::unique_ptr<GraphExec>> graphExecs;

  bool owns(const Context *context) const;
  bool owns(const Stream *stream) const;
  bool owns(const Event *event) const;
  Module *find(const Module *module) const;
  Function *find(const Function *function) const;

  Stream &addStream(Context &context, unsigned flags);
  /// A stream that no one can name, for a branch of a graph.
  Stream &addBranch(Context &context, int number);
  /// Puts an operation after what the stream holds, or into its capture.
  CUresult enqueue(Stream &stream, const OpRef &op);
  /// Executes all that the stream holds and takes note that the host knows.
  CUresult synchronize(Scheduler::Lock &lock, Stream &stream);
  CUresult synchronize(Scheduler::Lock &lock, Op &op);
  /// Removes streams that were destroyed and have nothing left to do.
  void sweep(Context &context);
  void destroy(Scheduler::Lock &lock, Context &context);

  /// Something is wrong beyond repair: says so, and fails the context.
  CUresult fail(Context &context, CUresult code, std::string text);
  /// An operation not yet executed that may touch [begin, end).
  const Op *pendingUser(uint64_t begin, uint64_t end) const;

private:
  Driver();
  void failOp(Op &op, Failure failure);
};

/// Keeps a text for as long as the process, and prints it.
const char *addReport(std::string text);

extern thread_local Context *currentContext;
/// Whether this thread is in a function of cuLaunchHostFunc, which may not call
/// the driver.
extern thread_local bool inHostFunction;

/// The beginning of every call that needs the calling thread's context: takes
/// the lock, and tells what the call must return at once.
class Call {
public:
  Call();
  Scheduler::Lock lock;
  Driver &driver;
  Context *context;
  CUresult status;

  /// The stream of a handle; NULL, and `status` says why.
  Stream *stream(CUstream handle);
  /// For calls that may not be made during a capture: whether one forbids it,
  /// which then is invalid; `status` says so.
  bool unsafeInCapture();
  /// For calls that wait for all of the context.
  bool invalidatesCaptures();
};

} // namespace ring::vgpu

#endif // RING_RUNTIME_VIRTUALGPU_DRIVERSTATE_H
