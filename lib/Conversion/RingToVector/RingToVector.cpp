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

#include "llvm/ADT/SetVector.h"
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
  LogicalResult check(Operation *op);
  LogicalResult convert(OnlineAttentionOp op);
  LogicalResult convert(FinalizeOp op);
  LogicalResult convert(MergeOp op);
  LogicalResult convert(linalg::FillOp op);

  using Filler = llvm::function_ref<void(KernelBuilder &, func::FuncOp)>;
  /// The kernel for `op`, made by `fill` unless an equal op has one already. It
  /// takes an item and values of `operandTypes`.
  FailureOr<func::FuncOp> kernelFor(Operation *op, StringRef stem,
                                    TypeRange operandTypes, Filler fill);

  std::optional<TilePlan> plan;
  /// A kernel and the op that it was made for, which lives until the end.
  struct Kernel {
    Operation *op;
    func::FuncOp function;
  };
  /// By name, types and attributes of the op.
  llvm::StringMap<SmallVector<Kernel>> kernels;
};
} // namespace

/// True iff the `score` regions of two ops compute the same, if they have any.
static bool haveEqualRegions(Operation *a, Operation *b) {
  return llvm::all_of_zip(
      a->getRegions(), b->getRegions(), [](Region &first, Region &second) {
        return OperationEquivalence::isRegionEquivalentTo(
            &first, &second, OperationEquivalence::IgnoreLocations);
      });
}

FailureOr<func::FuncOp>
ConvertRingToVectorPass::kernelFor(Operation *op, StringRef stem,
                                   TypeRange operandTypes, Filler fill) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName() << op->getAttrDictionary();
  llvm::interleaveComma(operandTypes, os);
  for (const Kernel &made : kernels[key])
    if (haveEqualRegions(made.op, op))
      return made.function;

  auto parent = op->getParentOfType<func::FuncOp>();
  OpBuilder builder(op->getContext());
  SmallVector<Type> inputs = {builder.getIndexType()};
  for (Type type : operandTypes)
    inputs.push_back(isa<SlicesType>(type)
                         ? LLVM::LLVMPointerType::get(op->getContext())
                         : type);
  auto kernel =
      func::FuncOp::create(op->getLoc(), (parent.getName() + "_" + stem).str(),
                           builder.getFunctionType(inputs, {}));
  kernel.setPrivate();
  kernels[key].push_back({op, kernel});
  SymbolTable(getOperation()).insert(kernel, Block::iterator(parent));
  kernel.addEntryBlock();
  KernelBuilder b(op->getLoc(), kernel, *plan);
  fill(b, kernel);
  if (b.hasClash())
    return failure();
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
  SmallVector<Value> captures = getScoreCaptures(op.getScore());
  SmallVector<Value> operands(op->getOperands());
  llvm::append_range(operands, captures);
  FailureOr<func::FuncOp> kernel =
      kernelFor(op, "attention", ValueRange(operands).getTypes(),
                [&](KernelBuilder &b, func::FuncOp f) {
                  buildOnlineAttentionKernel(op, b, f, captures);
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
  llvm::replace(operands, Value(op.getSlices()), slices);
  ParallelCallOp::create(b, FlatSymbolRefAttr::get(*kernel), count, round,
                         operands);
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
}

LogicalResult ConvertRingToVectorPass::convert(FinalizeOp op) {
  FailureOr<func::FuncOp> kernel = kernelFor(
      op, "finalize", op->getOperandTypes(),
      [&](KernelBuilder &b, func::FuncOp f) { buildFinalizeKernel(op, b, f); });
  if (failed(kernel))
    return failure();
  callPerHead(op, *kernel, op.getAcc());
  return success();
}

LogicalResult ConvertRingToVectorPass::convert(MergeOp op) {
  FailureOr<func::FuncOp> kernel = kernelFor(
      op, "merge", op->getOperandTypes(),
      [&](KernelBuilder &b, func::FuncOp f) { buildMergeKernel(op, b, f); });
  if (failed(kernel))
    return failure();
  callPerHead(op, *kernel, op.getAcc());
  return success();
}

/// As long as the work of a sparse mask takes, the zeros of a long accumulator
/// are not written by one thread; nor is its memory touched first by one.
LogicalResult ConvertRingToVectorPass::convert(linalg::FillOp op) {
  FailureOr<func::FuncOp> kernel = kernelFor(
      op, "fill", op->getOperandTypes(),
      [&](KernelBuilder &b, func::FuncOp f) { buildFillKernel(op, b, f); });
  if (failed(kernel))
    return failure();
  callPerHead(op, *kernel, op.getOutputs().front());
  return success();
}

/// The fills that give accumulators of `states` their first content.
static SmallVector<linalg::FillOp> fillsOfAcc(ArrayRef<Operation *> states) {
  llvm::SetVector<linalg::FillOp> fills;
  for (Operation *op : states)
    if (auto state = dyn_cast<OnlineAttentionOp>(op))
      for (Operation *user : state.getAcc().getUsers())
        if (auto fill = dyn_cast<linalg::FillOp>(user);
            fill && fill.getInputs().front().getType().isF32())
          fills.insert(fill);
  return fills.takeVector();
}

/// What the kernels take for granted.
LogicalResult ConvertRingToVectorPass::check(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (!function || function->getParentOp() != getOperation())
    return op->emitError("expected in a 'func.func' of the module");
  // Of acc, [batch, heads, Lq, dv].
  auto state = cast<DestinationStyleOpInterface>(op).getDpsInits().front();
  auto shape = cast<ShapedType>(
      isa<FinalizeOp>(op) ? op->getOperand(0).getType() : state.getType());
  if (shape.isDynamicDim(1) || shape.isDynamicDim(3))
    return refuse(op, "dynamic head size", "by convert-ring-to-vector");
  if (op->getNumResults() != 0)
    return op->emitError("on tensors, expected memrefs: bufferize first");
  if (shape.getDimSize(1) == 0 || shape.getDimSize(3) == 0)
    return op->emitError("on ")
           << shape << ", expected 1 or more heads and columns";
  auto attention = dyn_cast<OnlineAttentionOp>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    if (!memref.isStrided() || memref.getMemorySpace())
      return op->emitError("on ")
             << type << ", expected strided memrefs in the default memory";
    // So that the scratch can be counted. A bias has the length of the keys.
    bool isBias = attention && attention.getBias() &&
                  &operand == &attention.getBiasMutable()[0];
    if (memref.getRank() == 4 && !isBias &&
        memref.getDimSize(3) > kMaxScratchBytes)
      return refuse(op, "head size", "by convert-ring-to-vector")
             << ": a row of " << type;
  }
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
    // A module inside this one has symbols of its own, and is left alone.
    if (isa<OnlineAttentionOp, FinalizeOp, MergeOp>(op) &&
        SymbolTable::getNearestSymbolTable(op) == getOperation())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (failed(check(op)))
      return signalPassFailure();
    LogicalResult converted =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<OnlineAttentionOp, FinalizeOp, MergeOp>(
                [&](auto typed) { return convert(typed); });
    if (failed(converted))
      return signalPassFailure();
  }
  SmallVector<linalg::FillOp> fills = fillsOfAcc(ops);
  for (linalg::FillOp fill : fills)
    if (failed(convert(fill)))
      return signalPassFailure();
  llvm::append_range(ops, fills);
  for (Operation *op : ops)
    op->erase();
}
