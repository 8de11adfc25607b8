//===- Faults.cpp - What sanitizers must see in generated code ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Compiles a rank program and runs it on memory that is as it says, or one
// element short, or written meanwhile. Without a sanitizer all of them succeed.

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

static std::unique_ptr<ExecutionEngine> compile() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<mlir::ring::RingDialect>();
  mlir::ring::registerBufferizableOpInterfaceExternalModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(kProgram, ParserConfig(&context));
  auto machine = llvm::cantFail(mlir::ring::CPUTarget().machine());
  mlir::ring::ProgramOptions program;
  program.ranks = 1;
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
/// [1][1][kKeys][kColumns], as MLIR lays a memref descriptor out.
struct Descriptor {
  float *allocated, *aligned;
  int64_t offset = 0;
  int64_t sizes[4] = {1, 1, kKeys, kColumns};
  int64_t strides[4] = {kKeys * kColumns, kKeys *kColumns, kColumns, 1};

  explicit Descriptor(float *data) : allocated(data), aligned(data) {}
};

struct Call {
  void (*function)(void **);
  float *query, *key, *value, *out;
};
} // namespace

/// One rank's program, on its own.
static ring_status runRank(ring_context *context, void *environment) {
  auto *call = static_cast<Call *>(environment);
  Descriptor query(call->query), key(call->key), value(call->value),
      out(call->out);
  // A packed call takes the address of each argument.
  void *pointers[] = {context, &query, &key, &value, &out};
  int32_t status = RING_OK;
  void *packed[] = {&pointers[0], &pointers[1], &pointers[2],
                    &pointers[3], &pointers[4], &status};
  call->function(packed);
  return status;
}

int main(int argc, char **argv) {
  llvm::StringRef what = argc == 2 ? argv[1] : "";
  std::unique_ptr<ExecutionEngine> engine = compile();
  if (!engine)
    return 2;
  Call call;
  call.function = llvm::cantFail(engine->lookupPacked("f_rank"));
  auto block = [](int64_t missing) {
    return std::make_unique<float[]>(kKeys * kColumns - missing);
  };
  auto query = block(what == "short-query"), key = block(what == "short-key"),
       value = block(what == "short-value"), out = block(what == "short-out");
  call.query = query.get();
  call.key = key.get();
  call.value = value.get();
  call.out = out.get();

  // A write that nothing orders with what the rank reads, in a row's tail.
  std::atomic<bool> written{what != "written-key"};
  std::thread writer([&, early = written.load()] {
    if (!early)
      key[20 * kColumns - 1] = 1;
    written.store(true, std::memory_order_relaxed);
  });
  while (!written.load(std::memory_order_relaxed))
    ;
  ring_host_options options{/*ranks=*/1, /*threads=*/1, /*deadline=*/60,
                            /*trace=*/0};
  ring_host *host = ring_host_create(&options, nullptr, 0);
  ring_status status = ring_host_run(host, 1, runRank, &call);
  if (status != RING_OK)
    llvm::errs() << ring_host_error(host) << "\n";
  ring_host_destroy(host);
  writer.join();
  return status == RING_OK ? 0 : 1;
}
