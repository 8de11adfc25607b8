//===- RingToVector.cpp - Attention on memrefs to vector code -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "ring/Conversion/Passes.h"
#include "ring/Dialect/Ring/IR/Refusal.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTRINGTOVECTORPASS
#include "ring/Conversion/RingToVector/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

/// Scratch that a work item may take on its thread's stack, well below the
/// 16 MiB that the runtime gives its threads.
static constexpr int64_t kMaxScratchBytes = 12 << 20;

namespace {
struct ConvertRingToVectorPass
    : mlir::ring::impl::ConvertRingToVectorPassBase<ConvertRingToVectorPass> {
  using ConvertRingToVectorPassBase::ConvertRingToVectorPassBase;
  void runOnOperation() override;

private:
  LogicalResult convert(OnlineAttentionOp op);
  LogicalResult convert(FinalizeOp op);
  LogicalResult convert(MergeOp op);

  using Filler = llvm::function_ref<void(KernelBuilder &, func::FuncOp)>;
  /// The kernel for `op`, made by `fill` unless an equal op has one already.
  FailureOr<func::FuncOp> kernelFor(Operation *op, StringRef stem, Filler fill);

  std::optional<TilePlan> plan;
  /// By name, types and attributes of the op.
  llvm::StringMap<func::FuncOp> kernels;
};
} // namespace

FailureOr<func::FuncOp>
ConvertRingToVectorPass::kernelFor(Operation *op, StringRef stem, Filler fill) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName() << op->getAttrDictionary() << op->getOperandTypes();
  func::FuncOp &kernel = kernels[key];
  if (kernel)
    return kernel;

  auto parent = op->getParentOfType<func::FuncOp>();
  OpBuilder builder(op->getContext());
  SmallVector<Type> inputs = {builder.getIndexType()};
  for (Type type : op->getOperandTypes())
    inputs.push_back(isa<SlicesType>(type)
                         ? LLVM::LLVMPointerType::get(op->getContext())
                         : type);
  kernel =
      func::FuncOp::create(op->getLoc(), (parent.getName() + "_" + stem).str(),
                           builder.getFunctionType(inputs, {}));
  kernel.setPrivate();
  SymbolTable(getOperation()).insert(kernel, Block::iterator(parent));
  kernel.addEntryBlock();
  KernelBuilder b(op->getLoc(), kernel, *plan);
  fill(b, kernel);
  if (b.scratchBytes() > kMaxScratchBytes) {
    return refuse(op, "head size",
                  "by convert-ring-to-vector: it needs " +
                      std::to_string(b.scratchBytes()) +
                      " bytes of scratch a thread, the limit is " +
                      std::to_string(kMaxScratchBytes));
  }
  return kernel;
}

/// The round that a work list belongs to, for the trace; -1 where unknown.
static Value roundOf(OpBuilder &b, Location loc, Value slices) {
  if (auto op = slices.getDefiningOp<SlicesOp>())
    if (auto owner = op.getOwner().getDefiningOp<OwnerOp>())
      return owner.getRound();
  return arith::ConstantIndexOp::create(b, loc, -1);
}

LogicalResult ConvertRingToVectorPass::convert(OnlineAttentionOp op) {
  StringRef where = "by convert-ring-to-vector";
  if (op.getBias())
    return refuse(op, "bias", where);
  if (op.getSoftcap())
    return refuse(op, "softcap", where);
  if (op.hasScore())
    return refuse(op, "score", where);
  FailureOr<func::FuncOp> kernel =
      kernelFor(op, "attention", [&](KernelBuilder &b, func::FuncOp f) {
        buildOnlineAttentionKernel(op, b, f);
      });
  if (failed(kernel))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  Value slices = UnrealizedConversionCastOp::create(b, pointer, op.getSlices())
                     .getResult(0);
  Value tile =
      arith::ConstantOp::create(b, b.getI64IntegerAttr(plan->queryTile));
  auto call =
      func::CallOp::create(b, "ring_slices_query_ranges",
                           TypeRange(b.getI64Type()), ValueRange{slices, tile});
  Value tiles =
      arith::IndexCastOp::create(b, b.getIndexType(), call.getResult(0));
  Value batch = memref::DimOp::create(b, op.getQuery(), 0);
  Value heads = memref::DimOp::create(b, op.getQuery(), 1);
  Value count =
      arith::MulIOp::create(b, tiles, arith::MulIOp::create(b, batch, heads));
  Value round = roundOf(b, op.getLoc(), op.getSlices());
  // To a kernel a work list is the address of the runtime's struct.
  SmallVector<Value> operands(op->getOperands());
  llvm::replace(operands, Value(op.getSlices()), slices);
  ParallelCallOp::create(b, FlatSymbolRefAttr::get(*kernel), count, round,
                         operands);
  op.erase();
  return success();
}

/// One item per (batch, head).
static void callPerHead(Operation *op, func::FuncOp kernel, Value acc) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value batch = memref::DimOp::create(b, acc, 0);
  Value heads = memref::DimOp::create(b, acc, 1);
  Value count = arith::MulIOp::create(b, batch, heads);
  Value round = arith::ConstantIndexOp::create(b, -1);
  ParallelCallOp::create(b, FlatSymbolRefAttr::get(kernel), count, round,
                         op->getOperands());
  op->erase();
}

LogicalResult ConvertRingToVectorPass::convert(FinalizeOp op) {
  if (op.getSinks())
    return refuse(op, "sinks", "by convert-ring-to-vector");
  FailureOr<func::FuncOp> kernel =
      kernelFor(op, "finalize", [&](KernelBuilder &b, func::FuncOp f) {
        buildFinalizeKernel(op, b, f);
      });
  if (failed(kernel))
    return failure();
  callPerHead(op, *kernel, op.getAcc());
  return success();
}

LogicalResult ConvertRingToVectorPass::convert(MergeOp op) {
  FailureOr<func::FuncOp> kernel =
      kernelFor(op, "merge", [&](KernelBuilder &b, func::FuncOp f) {
        buildMergeKernel(op, b, f);
      });
  if (failed(kernel))
    return failure();
  callPerHead(op, *kernel, op.getAcc());
  return success();
}

void ConvertRingToVectorPass::runOnOperation() {
  if (!llvm::is_contained({128, 256, 512}, vectorBits)) {
    getOperation().emitError("vector-bits is ")
        << vectorBits.getValue() << ", expected 128, 256 or 512";
    return signalPassFailure();
  }
  if (keyTile < 1) {
    getOperation().emitError("key-tile is ")
        << keyTile.getValue() << ", expected 1 or more";
    return signalPassFailure();
  }
  plan = TilePlan::get(vectorBits, keyTile);
  kernels.clear();
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (isa<OnlineAttentionOp, FinalizeOp, MergeOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    // Of acc, [batch, heads, Lq, dv].
    auto state = cast<DestinationStyleOpInterface>(op).getDpsInits().front();
    auto shape = cast<ShapedType>(state.getType());
    if (shape.isDynamicDim(1) || shape.isDynamicDim(3)) {
      refuse(op, "dynamic head size", "by convert-ring-to-vector");
      return signalPassFailure();
    }
    if (op->getNumResults() != 0) {
      op->emitError("on tensors, expected memrefs: bufferize first");
      return signalPassFailure();
    }
    LogicalResult converted =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<OnlineAttentionOp, FinalizeOp, MergeOp>(
                [&](auto typed) { return convert(typed); });
    if (failed(converted))
      return signalPassFailure();
  }
}
