//===- Faults.cpp - What sanitizers must see in generated code ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Compiles a rank program and runs it on memory that is as it says, or one
// element short, or written meanwhile, or received without a wait. Without a
// sanitizer all of them succeed.

#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/BufferizableOpInterfaceImpl.h"
#include "ring/Runtime/Host.h"
#include "ring/Target/CPU/Compile.h"
#include "ring/Target/CPU/Pipeline.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"

#include <atomic>
#include <memory>
#include <thread>

using namespace mlir;

// 37 keys and 13 columns: no whole number of vectors.
static constexpr int64_t kKeys = 37, kColumns = 13;
static constexpr llvm::StringLiteral kProgram = R"(
  func.func @f(%x: tensor<1x1x37x13xf32>) -> tensor<1x1x37x13xf32> {
    %o = ring.attention %x, %x, %x mask(<causal>)
      : (tensor<1x1x37x13xf32>, tensor<1x1x37x13xf32>, tensor<1x1x37x13xf32>)
      -> tensor<1x1x37x13xf32>
    return %o : tensor<1x1x37x13xf32>
  })";

static std::unique_ptr<ExecutionEngine> compile(int64_t ranks) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<mlir::ring::RingDialect>();
  mlir::ring::registerBufferizableOpInterfaceExternalModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(kProgram, ParserConfig(&context));
  auto machine = llvm::cantFail(mlir::ring::CPUTarget().machine());
  mlir::ring::ProgramOptions program;
  program.ranks = ranks;
  program.layout = "contiguous";
  mlir::ring::CPUOptions options;
  options.vectorBits = mlir::ring::vectorBits(*machine);
  PassManager pm(&context);
  for (const mlir::ring::PipelineStep &step : mlir::ring::programSteps(program))
    step.populate(pm);
  mlir::ring::populateCPULowering(pm, options);
  if (!module || failed(pm.run(*module)))
    return nullptr;
  return llvm::cantFail(mlir::ring::jitCompile(*module, std::move(machine)));
}

namespace {
/// [1][1][rows][kColumns], as MLIR lays a memref descriptor out.
struct Descriptor {
  float *allocated, *aligned;
  int64_t offset = 0;
  int64_t sizes[4], strides[4];

  Descriptor(float *data, int64_t rows)
      : allocated(data), aligned(data), sizes{1, 1, rows, kColumns},
        strides{rows * kColumns, rows * kColumns, kColumns, 1} {}
};

/// What one rank is called with.
struct Blocks {
  std::unique_ptr<float[]> query, key, value, out;

  explicit Blocks(int64_t rows, StringRef what = "") {
    auto block = [&](StringRef isShort) {
      return std::make_unique<float[]>(rows * kColumns - (what == isShort));
    };
    query = block("short-query");
    key = block("short-key");
    value = block("short-value");
    out = block("short-out");
  }
};

struct Call {
  void (*function)(void **);
  int64_t rows;
  std::vector<Blocks> blocks; ///< by rank

  Call(ExecutionEngine &engine, int64_t rows)
      : function(llvm::cantFail(engine.lookupPacked("f_rank"))), rows(rows) {}
};

/// Tells another thread without ordering any memory.
class Flag {
public:
  void raise() { raised.store(true, std::memory_order_relaxed); }
  void await() const {
    while (!raised.load(std::memory_order_relaxed))
      ;
  }

private:
  std::atomic<bool> raised{false};
};
} // namespace

/// One rank's program.
static ring_status runRank(ring_context *context, void *environment) {
  auto *call = static_cast<Call *>(environment);
  const Blocks &blocks = call->blocks[ring_rank(context)];
  Descriptor query(blocks.query.get(), call->rows),
      key(blocks.key.get(), call->rows), value(blocks.value.get(), call->rows),
      out(blocks.out.get(), call->rows);
  // A packed call takes the address of each argument.
  void *pointers[] = {context, &query, &key, &value, &out};
  int32_t status = RING_OK;
  void *packed[] = {&pointers[0], &pointers[1], &pointers[2],
                    &pointers[3], &pointers[4], &status};
  call->function(packed);
  return status;
}

static int run(Call &call) {
  ring_host_options options{};
  options.ranks = static_cast<int32_t>(call.blocks.size());
  options.threads = 1;
  ring_host *host = ring_host_create(&options, nullptr, 0);
  ring_status status = ring_host_run(host, options.ranks, runRank, &call);
  if (status != RING_OK)
    llvm::errs() << ring_host_error(host) << "\n";
  ring_host_destroy(host);
  return status == RING_OK ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// A wait taken out
//===----------------------------------------------------------------------===//
//
// Rank 0 fills its keys just before it sends them to rank 1. Without the wait
// rank 0 stays there until rank 1 is through, so that nothing else orders the
// two, and the race happens in every run.

static Call *exchange;
static Flag filled, used;
static ring_tensor receivedByRank1[2]; // and the ticket, are its thread's own
static ring_ticket ticketOfRank1;

static void fillKeys(ring_context *context) {
  if (ring_rank(context) == 0)
    std::fill_n(exchange->blocks[0].key.get(), exchange->rows * kColumns, 1.0f);
}

static ring_status startFilled(ring_context *context, int32_t to, int32_t from,
                               int32_t count, const ring_tensor *tensors,
                               ring_ticket *ticket) {
  fillKeys(context);
  return ring_permute_start(context, to, from, count, tensors, ticket);
}

static ring_status startHeld(ring_context *context, int32_t to, int32_t from,
                             int32_t count, const ring_tensor *tensors,
                             ring_ticket *ticket) {
  fillKeys(context);
  if (ring_rank(context) == 0) {
    filled.raise();
    used.await();
  } else {
    std::copy_n(tensors, 2, receivedByRank1);
    receivedByRank1[0].data = exchange->blocks[0].key.get();
    receivedByRank1[1].data = exchange->blocks[0].value.get();
  }
  return ring_permute_start(context, to, from, count, tensors, ticket);
}

/// Says at once where the block is going to be.
static ring_status waitForNothing(ring_context *context, ring_ticket ticket,
                                  int32_t count, ring_tensor *received) {
  if (ring_rank(context) == 0)
    return ring_permute_wait(context, ticket, count, received);
  filled.await();
  ticketOfRank1 = ticket;
  std::copy_n(receivedByRank1, 2, received);
  return RING_OK;
}

/// The ring does not end without the wait.
static ring_status endAfterWait(ring_context *context, ring_status status) {
  if (ring_rank(context) == 1) {
    used.raise();
    ring_tensor received[2];
    ring_permute_wait(context, ticketOfRank1, 2, received);
  }
  return ring_end(context, status);
}

static int runExchange(bool waits) {
  std::unique_ptr<ExecutionEngine> engine = compile(/*ranks=*/2);
  if (!engine)
    return 2;
  engine->registerSymbols([&](llvm::orc::MangleAndInterner mangle) {
    llvm::orc::SymbolMap symbols;
    auto call = [&](StringRef name, auto *function) {
      symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                               llvm::JITSymbolFlags::Exported};
    };
    call("ring_permute_start", waits ? startFilled : startHeld);
    if (!waits) {
      call("ring_permute_wait", waitForNothing);
      call("ring_end", endAfterWait);
    }
    return symbols;
  });
  Call call(*engine, (kKeys + 1) / 2);
  call.blocks.emplace_back(call.rows);
  call.blocks.emplace_back(call.rows);
  exchange = &call;
  return run(call);
}

int main(int argc, char **argv) {
  StringRef what = argc == 2 ? argv[1] : "";
  if (what == "wait" || what == "no-wait")
    return runExchange(what == "wait");
  std::unique_ptr<ExecutionEngine> engine = compile(/*ranks=*/1);
  if (!engine)
    return 2;
  Call call(*engine, kKeys);
  call.blocks.emplace_back(kKeys, what);

  // A write that nothing orders with what the rank reads, in a row's tail.
  Flag written;
  std::thread writer([&, isFault = what == "written-key"] {
    if (isFault)
      call.blocks[0].key[20 * kColumns - 1] = 1;
    written.raise();
  });
  written.await();
  int code = run(call);
  writer.join();
  return code;
}
