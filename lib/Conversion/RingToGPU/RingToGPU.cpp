//===- RingToGPU.cpp - Attention on memrefs to GPU kernels ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "ring/Conversion/Passes.h"
#include "ring/Conversion/RingToGPU/Chips.h"
#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"
#include "ring/Runtime/Device.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTRINGTOGPUPASS
#include "ring/Conversion/RingToGPU/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

static constexpr StringLiteral kWhere = "by convert-ring-to-gpu";

namespace {
/// The rounds of one state, up to its result.
struct Attention {
  FinalizeOp finalize;
  SmallVector<OnlineAttentionOp> rounds; ///< in their order in the function
  SmallVector<linalg::FillOp> fills;     ///< of the state
};

struct ConvertRingToGPUPass
    : mlir::ring::impl::ConvertRingToGPUPassBase<ConvertRingToGPUPass> {
  using ConvertRingToGPUPassBase::ConvertRingToGPUPassBase;
  void runOnOperation() override;

private:
  LogicalResult convert(func::FuncOp function);
  /// A copy of a rank function, for ranks on a GPU, and told to what runs it.
  func::FuncOp cloneForDevice(func::FuncOp function);
  LogicalResult convert(func::FuncOp function, Attention &attention);
  /// The kernel for the rounds of `attention`, and its plan.
  FailureOr<std::pair<SymbolRefAttr, GPUTilePlan>>
  kernelFor(Attention &attention);

  std::optional<ChipLimits> limits;
  gpu::GPUModuleOp kernels; ///< null: none made so far
};
} // namespace

//===----------------------------------------------------------------------===//
// What belongs together
//===----------------------------------------------------------------------===//

/// The rounds and fills of the state that `finalize` reads; an error where
/// something else touches it.
static FailureOr<Attention> collect(FinalizeOp finalize) {
  Attention attention{finalize, {}, {}};
  for (Value memref :
       {finalize.getAcc(), finalize.getMax(), finalize.getSum()}) {
    if (!memref.getDefiningOp<memref::AllocOp>())
      return refuse(finalize, "a state that is not allocated here", kWhere);
    for (Operation *user : memref.getUsers()) {
      if (user == finalize || isa<memref::DeallocOp, memref::DimOp,
                                  memref::ExtractAlignedPointerAsIndexOp>(user))
        continue;
      if (auto fill = dyn_cast<linalg::FillOp>(user)) {
        attention.fills.push_back(fill);
        continue;
      }
      auto round = dyn_cast<OnlineAttentionOp>(user);
      if (!round || round.getAcc() != finalize.getAcc() ||
          round.getMax() != finalize.getMax() ||
          round.getSum() != finalize.getSum())
        return refuse(user, user->getName().getStringRef(), kWhere)
               << ": on the state of a ring.finalize";
      if (memref == finalize.getAcc())
        attention.rounds.push_back(round);
    }
  }
  llvm::sort(attention.rounds, [&](Operation *a, Operation *b) {
    Block *block = finalize->getBlock();
    Operation *first = block->findAncestorOpInBlock(*a);
    Operation *second = block->findAncestorOpInBlock(*b);
    if (!first || !second || first == second)
      return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
    return first->isBeforeInBlock(second);
  });
  if (attention.rounds.empty())
    return refuse(finalize, "a state without rounds", kWhere);
  return attention;
}

/// Two rounds of one attention: they may differ in keys, values and work lists
/// only.
static bool areAlike(OnlineAttentionOp a, OnlineAttentionOp b) {
  auto same = [](std::optional<APFloat> x, std::optional<APFloat> y) {
    return x.has_value() == y.has_value() && (!x || x->bitwiseIsEqual(*y));
  };
  return a.getQuery() == b.getQuery() && a.getBias() == b.getBias() &&
         a.getScale().bitwiseIsEqual(b.getScale()) &&
         same(a.getSoftcap(), b.getSoftcap()) &&
         cast<ShapedType>(a.getKey().getType()).getDimSize(1) ==
             cast<ShapedType>(b.getKey().getType()).getDimSize(1) &&
         a.hasScore() == b.hasScore() &&
         (!a.hasScore() || OperationEquivalence::isRegionEquivalentTo(
                               &a.getScore(), &b.getScore(),
                               OperationEquivalence::IgnoreLocations));
}

/// Whether the round of `op` is the last one, as an i1 at `op`. Null, and an
/// error, where it cannot be told.
static Value isLast(OnlineAttentionOp op, Attention &attention) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto constant = [&](bool value) -> Value {
    return arith::ConstantOp::create(b, b.getBoolAttr(value));
  };
  if (op != attention.rounds.back())
    return constant(false);
  Block *block = attention.finalize->getBlock();
  if (op->getBlock() == block && op->isBeforeInBlock(attention.finalize))
    return constant(true);
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (loop && loop->getBlock() == block &&
      loop->isBeforeInBlock(attention.finalize)) {
    Value next =
        arith::AddIOp::create(b, loop.getInductionVar(), loop.getStep());
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, next,
                                 loop.getUpperBound());
  }
  refuse(op, "rounds under other control flow than one loop", kWhere)
          .attachNote(attention.finalize.getLoc())
      << "the state is finished here";
  return {};
}

//===----------------------------------------------------------------------===//
// Memory of the device
//===----------------------------------------------------------------------===//

static MemRefType dynamicLayout(MemRefType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

namespace {
/// The device's and the host's versions of what a rank function was given.
class DeviceTensors {
public:
  explicit DeviceTensors(func::FuncOp function) : function(function) {}

  /// The value for an operand of a kernel; null, after an error at `user`,
  /// where it is no argument or constant.
  Value import(Operation *user, Value value) {
    return made<DeviceImportOp>(imported, user, value);
  }
  Value exported(Operation *user, Value value) {
    return made<DeviceExportOp>(exportedTo, user, value);
  }
  Value onHost(Operation *user, Value value) {
    return made<DeviceHostCopyOp>(copied, user, value);
  }
  /// Uses the device's versions wherever blocks travel.
  LogicalResult replaceTravelling();

private:
  template <typename OpTy>
  Value made(llvm::DenseMap<Value, Value> &values, Operation *user,
             Value value) {
    auto [place, isNew] = values.try_emplace(value);
    if (!isNew)
      return place->second;
    auto type = dyn_cast<MemRefType>(value.getType());
    auto argument = dyn_cast<BlockArgument>(value);
    bool isArgument = argument && argument.getOwner() == &function.front();
    if (!type || !(isArgument || value.getDefiningOp<memref::GetGlobalOp>())) {
      refuse(user, "a tensor that is no argument of the rank function", kWhere);
      return {};
    }
    OpBuilder b(user->getContext());
    if (isArgument)
      b.setInsertionPointToStart(&function.front());
    else
      b.setInsertionPointAfterValue(value);
    Value result = OpTy::create(b, value.getLoc(), dynamicLayout(type), value);
    return values[value] = result;
  }

  func::FuncOp function;
  llvm::DenseMap<Value, Value> imported, exportedTo, copied;
};
} // namespace

/// Blocks travel from the arguments through transfers and loops to the rounds:
/// all of the way is device memory.
LogicalResult DeviceTensors::replaceTravelling() {
  for (auto [value, device] : imported) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<DeviceImportOp, DeviceExportOp, DeviceHostCopyOp, memref::DimOp,
              SlicesOp, memref::ExtractStridedMetadataOp,
              memref::ExtractAlignedPointerAsIndexOp>(user))
        continue;
      if (!isa<PermuteStartOp, scf::ForOp, scf::IfOp, scf::YieldOp,
               OnlineAttentionOp, FinalizeOp, DeviceRoundOp, DeviceAttentionOp>(
              user) &&
          !user->getParentOfType<OnlineAttentionOp>())
        return refuse(user, user->getName().getStringRef(), kWhere)
               << ": on a tensor that travels";
      uses.push_back(&use);
    }
    for (OpOperand *use : uses) {
      Value replacement = device;
      if (replacement.getType() != value.getType()) {
        OpBuilder b(use->getOwner());
        replacement =
            memref::CastOp::create(b, value.getLoc(), value.getType(), device);
      }
      use->set(replacement);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static std::optional<AttentionShape> shapeOf(Attention &attention) {
  OnlineAttentionOp op = attention.rounds.front();
  auto type = [](Value value) { return cast<MemRefType>(value.getType()); };
  AttentionShape shape;
  shape.elementBytes =
      type(op.getQuery()).getElementType().getIntOrFloatBitWidth() / 8;
  shape.depth = type(op.getQuery()).getDimSize(3);
  shape.valueDepth = type(op.getValue()).getDimSize(3);
  shape.heads = type(op.getQuery()).getDimSize(1);
  shape.kvHeads = type(op.getKey()).getDimSize(1);
  for (int64_t size :
       {shape.depth, shape.valueDepth, shape.heads, shape.kvHeads})
    if (ShapedType::isDynamic(size) || size < 1)
      return std::nullopt;
  return shape;
}

FailureOr<std::pair<SymbolRefAttr, GPUTilePlan>>
ConvertRingToGPUPass::kernelFor(Attention &attention) {
  OnlineAttentionOp op = attention.rounds.front();
  std::optional<AttentionShape> shape = shapeOf(attention);
  if (!shape)
    return refuse(op, "dynamic or empty heads or head size", kWhere);
  AttentionKernelSpec spec;
  spec.element = cast<MemRefType>(op.getQuery().getType()).getElementType();
  spec.out =
      cast<MemRefType>(attention.finalize.getOut().getType()).getElementType();
  if (op.getBias())
    spec.bias = cast<MemRefType>(op.getBias().getType()).getElementType();
  spec.scale = op.getScale().convertToFloat();
  if (std::optional<APFloat> softcap = op.getSoftcap())
    spec.softcap = softcap->convertToFloat();
  spec.score = op.hasScore() ? &op.getScore() : nullptr;
  spec.emptyRows = attention.finalize.getEmptyRows().value_or(EmptyRows::Zero);
  shape->transformsScores = spec.transformsScores();
  shape->hasScoreRegion = spec.score != nullptr;

  std::string why;
  std::optional<GPUTilePlan> plan = planTiles(*shape, *limits, why);
  if (!plan)
    return refuse(op, "head size", kWhere) << " for " << chip << ": " << why;
  spec.plan = *plan;
  auto function = op->getParentOfType<func::FuncOp>();
  remark::passed(op.getLoc(), remark::RemarkOpts::name("TilePlan")
                                  .category("convert-ring-to-gpu")
                                  .function(function.getName()))
      << plan->describe();

  auto b = OpBuilder::atBlockBegin(getOperation().getBody());
  if (!kernels) {
    kernels = gpu::GPUModuleOp::create(b, op.getLoc(), "ring_kernels");
    SymbolTable(getOperation()).insert(kernels);
    auto target = NVVM::NVVMTargetAttr::get(
        &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip, "+ptx80");
    kernels.setTargetsAttr(b.getArrayAttr({target}));
    b.setInsertionPointToStart(kernels.getBody());
    auto shared = LLVM::GlobalOp::create(
        b, op.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, "ring_shared",
        Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
    (void)shared;
  }
  b.setInsertionPointToEnd(kernels.getBody());
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  auto kernel = LLVM::LLVMFuncOp::create(
      b, op.getLoc(), (function.getName() + "_attention").str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                  {pointer}));
  SymbolTable(kernels).insert(kernel);
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      b.getDenseI32ArrayAttr({static_cast<int32_t>(plan->threads())}));
  Type words = LLVM::LLVMStructType::getLiteral(
      &getContext(), {LLVM::LLVMArrayType::get(
                         b.getI64Type(), sizeof(ring_attention_params) / 8)});
  kernel.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(),
                    TypeAttr::get(words));
  kernel.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(8));
  kernel.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(),
                    b.getUnitAttr());
  kernel.addEntryBlock(b);
  auto shared = kernels.lookupSymbol<LLVM::GlobalOp>("ring_shared");
  if (!buildAttentionKernel(spec, kernel, shared))
    return failure();
  auto symbol = SymbolRefAttr::get(kernels.getSymNameAttr(),
                                   {FlatSymbolRefAttr::get(kernel)});
  return std::pair(symbol, *plan);
}

//===----------------------------------------------------------------------===//
// Rank functions
//===----------------------------------------------------------------------===//

/// The round that a work list belongs to; -1 where unknown.
static Value roundOf(OpBuilder &b, Location loc, Value slices) {
  if (auto op = slices.getDefiningOp<SlicesOp>())
    if (auto owner = op.getOwner().getDefiningOp<OwnerOp>())
      return owner.getRound();
  return arith::ConstantIndexOp::create(b, loc, -1);
}

/// The state is the runtime's: what held it keeps no memory.
static void emptyState(Value memref) {
  auto alloc = memref.getDefiningOp<memref::AllocOp>();
  if (alloc.getDynamicSizes().empty())
    return;
  OpBuilder b(alloc);
  Value zero = arith::ConstantIndexOp::create(b, alloc.getLoc(), 0);
  for (OpOperand &size : alloc.getDynamicSizesMutable())
    size.set(zero);
}

LogicalResult ConvertRingToGPUPass::convert(func::FuncOp function,
                                            Attention &attention) {
  OnlineAttentionOp first = attention.rounds.front();
  FinalizeOp finalize = attention.finalize;
  for (OnlineAttentionOp op : ArrayRef(attention.rounds).drop_front())
    if (!areAlike(first, op)) {
      InFlightDiagnostic diag = refuse(op, "rounds that differ", kWhere);
      diag.attachNote(first.getLoc()) << "the first round is here";
      return diag;
    }
  FailureOr<std::pair<SymbolRefAttr, GPUTilePlan>> made = kernelFor(attention);
  if (failed(made))
    return failure();
  const auto &[kernel, plan] = *made;

  DeviceTensors tensors(function);
  bool valid = true;
  auto import = [&](Operation *user, Value value) -> Value {
    if (!value)
      return value;
    Value device = tensors.import(user, value);
    valid &= device != nullptr;
    return device;
  };
  // Ids of all rounds are the same: they are arguments.
  Value querySegments, keySegments;
  for (OnlineAttentionOp op : attention.rounds) {
    auto slices = op.getSlices().getDefiningOp<SlicesOp>();
    if (!slices)
      return refuse(op, "a work list that is not made here", kWhere);
    if (slices.getQuerySegments()) {
      querySegments = import(slices, slices.getQuerySegments());
      keySegments = import(slices, slices.getKeySegments());
    }
    for (OpOperand &operand : slices->getOpOperands()) {
      bool isTable = operand.get() == slices.getQueryTable() ||
                     operand.get() == slices.getKeyTable();
      if (isTable || !isa<MemRefType>(operand.get().getType()))
        continue;
      Value host = tensors.onHost(slices, operand.get());
      if (!host)
        return failure();
      operand.set(host);
    }
  }
  if (!valid)
    return failure();
  Value query = import(first, first.getQuery()),
        bias = import(first, first.getBias()),
        sinks = import(finalize, finalize.getSinks()),
        mean = import(finalize, finalize.getMean());
  SmallVector<Value> captures;
  if (first.hasScore())
    for (Value capture : getScoreCaptures(first.getScore()))
      captures.push_back(isa<MemRefType>(capture.getType())
                             ? import(first, capture)
                             : capture);
  // What travels starts as an argument.
  for (unsigned argument : {1, 2})
    if (function.getNumArguments() > argument &&
        isa<MemRefType>(function.getArgument(argument).getType()))
      import(first, function.getArgument(argument));
  if (!valid)
    return failure();
  Value out = tensors.exported(finalize, finalize.getOut());
  Value lse = finalize.getLse() ? tensors.exported(finalize, finalize.getLse())
                                : Value();
  if (!out || (finalize.getLse() && !lse))
    return failure();

  Operation *firstAncestor =
      function.front().findAncestorOpInBlock(*first.getOperation());
  ImplicitLocOpBuilder b(first.getLoc(), firstAncestor);
  auto handle = DeviceAttentionOp::create(
      b, DeviceAttentionType::get(&getContext()), kernel, query, bias, sinks,
      mean, querySegments, keySegments, out, lse, captures, plan.threads(),
      plan.sharedBytes(), plan.queryTile(), plan.keyTile, plan.shape.heads,
      plan.headBlocks(), plan.stateFloats());
  for (OnlineAttentionOp op : attention.rounds) {
    Value last = isLast(op, attention);
    if (!last)
      return failure();
    b.setInsertionPoint(op);
    b.setLoc(op.getLoc());
    DeviceRoundOp::create(b, handle, roundOf(b, op.getLoc(), op.getSlices()),
                          op.getKey(), op.getValue(), op.getSlices(), last);
  }
  SmallVector<Value> state = {finalize.getAcc(), finalize.getMax(),
                              finalize.getSum()};
  for (linalg::FillOp fill : attention.fills)
    fill.erase();
  for (OnlineAttentionOp op : attention.rounds)
    op.erase();
  finalize.erase();
  llvm::for_each(state, emptyState);
  return tensors.replaceTravelling();
}

LogicalResult ConvertRingToGPUPass::convert(func::FuncOp function) {
  SmallVector<FinalizeOp> finalizes;
  function.walk([&](FinalizeOp op) { finalizes.push_back(op); });
  SmallVector<Attention> attentions;
  for (FinalizeOp op : finalizes) {
    if (op->getNumResults() != 0)
      return op->emitError("on tensors, expected memrefs: bufferize first");
    FailureOr<Attention> attention = collect(op);
    if (failed(attention))
      return failure();
    attentions.push_back(std::move(*attention));
  }
  for (Attention &attention : attentions)
    if (failed(convert(function, attention)))
      return failure();
  WalkResult left = function.walk([&](Operation *op) {
    if (!isa<OnlineAttentionOp, MergeOp>(op))
      return WalkResult::advance();
    refuse(op, op->getName().getStringRef(), kWhere)
        << ": on a state that no ring.finalize of the function reads";
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}

func::FuncOp ConvertRingToGPUPass::cloneForDevice(func::FuncOp function) {
  ModuleOp module = getOperation();
  auto copy = cast<func::FuncOp>(function->clone());
  copy.setName((function.getName() + "_gpu").str());
  SymbolTable(module).insert(copy, std::next(Block::iterator(function)));
  module.walk([&](Operation *op) {
    StringRef callee;
    if (auto run = dyn_cast<HostRunOp>(op))
      callee = run.getCallee();
    else if (auto call = dyn_cast<mlir::ring::CallOp>(op))
      callee = call.getCallee();
    if (callee == function.getName())
      op->setAttr(kDeviceCalleeAttrName, FlatSymbolRefAttr::get(copy));
  });
  return copy;
}

void ConvertRingToGPUPass::runOnOperation() {
  limits = ChipLimits::of(chip);
  if (!limits) {
    refuse(getOperation().getLoc(), "chip " + chip, kWhere)
        << ", expected " << kernelChips();
    return signalPassFailure();
  }
  kernels = nullptr;
  SmallVector<func::FuncOp> functions;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (RankProgram::isRankFunction(function))
      functions.push_back(function);
  if (mixed)
    for (func::FuncOp &function : functions)
      function = cloneForDevice(function);
  for (func::FuncOp function : functions)
    if (failed(convert(function)))
      return signalPassFailure();
}
