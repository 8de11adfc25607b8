//===- InputChecks.cpp - What the lowering to calls takes -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputChecks.h"

#include "../CalledFunctions.h"

#include "ring/Runtime/Runtime.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
/// Checks one function that is to be lowered.
class FunctionCheck {
public:
  FunctionCheck(func::FuncOp function, const LLVMTypeConverter &types,
                const llvm::DenseSet<Operation *> &lowered)
      : function(function), types(types), lowered(lowered) {}

  LogicalResult run();

private:
  LogicalResult checkSignature();
  LogicalResult checkFutures(Operation *op);
  LogicalResult checkOp(Operation *op);
  LogicalResult checkTypes(Operation *op);
  LogicalResult checkRanks(shard::ProcessLinearIndexOp op);
  LogicalResult checkDevice(Operation *op);
  LogicalResult checkImages(DeviceAttentionOp op);
  LogicalResult checkDeviceCallee(Operation *op, func::FuncOp callee);
  LogicalResult checkCallee(ParallelCallOp op);
  LogicalResult checkCallee(HostRunOp op);
  LogicalResult checkCallee(mlir::ring::CallOp op);
  FailureOr<func::FuncOp>
  findRankFunction(Operation *op, FlatSymbolRefAttr callee, size_t arguments);
  LogicalResult mismatch(Operation *op, func::FuncOp callee, size_t place,
                         Type given);

  func::FuncOp function;
  const LLVMTypeConverter &types;
  const llvm::DenseSet<Operation *> &lowered;
};
} // namespace

static bool isOurs(Operation *op) {
  return isa_and_nonnull<RingDialect, shard::ShardDialect>(op->getDialect());
}

/// The runtime sees an address, sizes and strides.
static bool isStrided(MemRefType type) {
  return type.isStrided() && !type.getMemorySpace();
}

LogicalResult FunctionCheck::checkSignature() {
  if (function.getNumResults() != 0)
    return function.emitError("returns ")
           << function.getResultTypes()
           << ", expected results as destinations among the arguments";
  for (Type type : function.getArgumentTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    if (isa<RingDialect>(type.getDialect()) ||
        (memref && (!isStrided(memref) || !types.convertType(memref))))
      return function.emitError("takes ")
             << type << ", expected strided memrefs in the default memory";
  }
  return success();
}

/// Futures become integers: where they are made, waited for and branched with.
LogicalResult FunctionCheck::checkFutures(Operation *op) {
  auto isFuture = [](Type type) { return isa<FutureType>(type); };
  bool inside = op->getParentRegion() != &function.getBody();
  bool makes =
      llvm::any_of(op->getResultTypes(), isFuture) && !isa<PermuteStartOp>(op);
  bool takes = llvm::any_of(op->getOperandTypes(), isFuture) &&
               !isa<PermuteStartOp, PermuteWaitOp>(op) &&
               (inside || !isa<BranchOpInterface>(op));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      makes |= llvm::any_of(block.getArgumentTypes(), isFuture);
  if (makes || takes)
    return op->emitError("'")
           << op->getName() << "' carries a transfer, expected control flow of "
           << "cf only";
  return success();
}

LogicalResult FunctionCheck::checkTypes(Operation *op) {
  bool passesOn = isa<ParallelCallOp, HostRunOp, mlir::ring::CallOp>(op);
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    if (isa<TensorType>(type))
      return op->emitError("on tensors, expected memrefs: bufferize first");
    auto memref = dyn_cast<MemRefType>(type);
    if (passesOn ? !types.convertType(type)
                 : memref && !types.convertType(memref))
      return op->emitError("on ") << type << ", expected a type that LLVM has";
    if (!memref)
      continue;
    if (!isStrided(memref))
      return op->emitError("on ")
             << type << ", expected strided memrefs in the default memory";
    if (passesOn)
      continue;
    if (memref.getRank() > RING_MAX_DIMS)
      return op->emitError("on ")
             << type << ", expected " << RING_MAX_DIMS << " dimensions or less";
    if (!memref.getElementType().isIntOrFloat())
      return op->emitError("on ")
             << type << ", expected elements that are integers or floats";
  }
  return success();
}

LogicalResult FunctionCheck::checkRanks(shard::ProcessLinearIndexOp op) {
  auto grid =
      SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, op.getGridAttr());
  int64_t ranks = 1;
  for (int64_t size : grid.getShape()) {
    if (size < 1 || size > kMaxRingSize) // also where it is dynamic
      return op->emitError("grid ")
             << op.getGridAttr() << " is no ring of 1 to " << kMaxRingSize
             << " ranks";
    ranks = ranks > kMaxRingSize ? ranks : ranks * size;
  }
  if (ranks > kMaxRingSize)
    return op->emitError("ranks is ")
           << ranks << ", expected 1 to " << kMaxRingSize;
  return success();
}

static bool isLocal(func::FuncOp function) {
  return function->hasAttr(kRankOfAttrName) &&
         function->hasAttr(kLocalAttrName);
}

/// A rank has a GPU between its begin and its end.
LogicalResult FunctionCheck::checkDevice(Operation *op) {
  if (!function->hasAttr(kRankOfAttrName) || isLocal(function))
    return op->emitError("outside a rank function with rounds");
  auto attention = dyn_cast<DeviceAttentionOp>(op);
  if (!attention)
    return success();
  for (Type type : attention.getCaptures().getTypes())
    if (!isa<MemRefType>(type) && !type.isIntOrIndexOrFloat())
      return op->emitError("captures ")
             << type << ", expected memrefs, integers, indices or floats";
  return checkImages(attention);
}

/// The runtime chooses an image by what its properties say.
LogicalResult FunctionCheck::checkImages(DeviceAttentionOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  auto binary =
      module.lookupSymbol<gpu::BinaryOp>(op.getKernel().getRootReference());
  if (!binary)
    return success();
  for (Attribute attr : binary.getObjects()) {
    auto object = dyn_cast<gpu::ObjectAttr>(attr);
    DictionaryAttr properties = object ? object.getProperties() : nullptr;
    if (properties && properties.getAs<StringAttr>("kind") &&
        properties.getAs<StringAttr>("chip"))
      continue;
    InFlightDiagnostic diag =
        op.emitError("has an image without the properties 'kind' and 'chip'");
    diag.attachNote(binary.getLoc()) << "the images are here";
    return diag;
  }
  return success();
}

LogicalResult FunctionCheck::checkCallee(ParallelCallOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  if (module.lookupSymbol<func::FuncOp>(op.getCallee()))
    return success();
  return op.emitError("calls ")
         << op.getCalleeAttr() << ", expected a 'func.func'";
}

/// True iff a callback can take a rank's part of `stack` as `type`, whose
/// layout must leave strides and offset open.
static bool isPartOf(MemRefType type, MemRefType stack) {
  int64_t offset;
  SmallVector<int64_t> strides;
  if (!isStrided(type) || failed(type.getStridesAndOffset(strides, offset)) ||
      !ShapedType::isDynamic(offset) ||
      !llvm::all_of(strides, ShapedType::isDynamic) ||
      type.getElementType() != stack.getElementType() ||
      type.getRank() + 1 != stack.getRank())
    return false;
  return llvm::all_of_zip(type.getShape(), stack.getShape().drop_front(),
                          [](int64_t part, int64_t whole) {
                            return part == whole ||
                                   ShapedType::isDynamic(part) ||
                                   ShapedType::isDynamic(whole);
                          });
}

/// What runs on ranks with a GPU takes the same.
LogicalResult FunctionCheck::checkDeviceCallee(Operation *op,
                                               func::FuncOp callee) {
  auto symbol = op->getAttrOfType<FlatSymbolRefAttr>(kDeviceCalleeAttrName);
  if (!symbol)
    return success();
  FailureOr<func::FuncOp> onDevice =
      findRankFunction(op, symbol, callee.getNumArguments());
  if (failed(onDevice))
    return failure();
  if (onDevice->getArgumentTypes() == callee.getArgumentTypes())
    return success();
  InFlightDiagnostic diag = op->emitError("runs ")
                            << symbol << " on GPUs, expected the arguments of @"
                            << callee.getName();
  diag.attachNote(onDevice->getLoc())
      << "the function takes " << onDevice->getArgumentTypes();
  return diag;
}

/// The rank function that `op` runs with so many arguments.
FailureOr<func::FuncOp>
FunctionCheck::findRankFunction(Operation *op, FlatSymbolRefAttr symbol,
                                size_t arguments) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(symbol.getValue());
  if (!callee || !callee->hasAttr(kRankOfAttrName) || !lowered.contains(callee))
    return op->emitError("runs ")
           << symbol << ", expected a rank function that nothing else calls";
  if (arguments != callee.getNumArguments())
    return op->emitError("gives ") << arguments << " arguments to " << symbol
                                   << ", expected " << callee.getNumArguments();
  return callee;
}

LogicalResult FunctionCheck::mismatch(Operation *op, func::FuncOp callee,
                                      size_t place, Type given) {
  InFlightDiagnostic diag = op->emitError("argument ")
                            << place << " is " << given
                            << ", which does not fit @" << callee.getName();
  diag.attachNote(callee.getLoc())
      << "the function takes " << callee.getArgumentTypes();
  return diag;
}

LogicalResult FunctionCheck::checkCallee(HostRunOp op) {
  SmallVector<Value> values(op.getInputs());
  llvm::append_range(values, op.getReplicated());
  llvm::append_range(values, op.getOutputs());
  FailureOr<func::FuncOp> callee =
      findRankFunction(op, op.getCalleeAttr(), values.size());
  if (failed(callee))
    return failure();
  size_t firstReplicated = op.getInputs().size();
  size_t firstOutput = firstReplicated + op.getReplicated().size();
  for (auto [place, value] : llvm::enumerate(values)) {
    Type given = value.getType(), taken = callee->getArgumentTypes()[place];
    bool isStack = place < firstReplicated || place >= firstOutput;
    auto memref = dyn_cast<MemRefType>(taken);
    if (isStack ? !memref || !isPartOf(memref, cast<MemRefType>(given))
                : given != taken &&
                      !memref::CastOp::areCastCompatible(given, taken))
      return mismatch(op, *callee, place, given);
  }
  return checkDeviceCallee(op, *callee);
}

/// Programs with rounds run one after another, and nothing calls itself.
LogicalResult FunctionCheck::checkCallee(mlir::ring::CallOp op) {
  if (!isLocal(function))
    return op.emitError("outside a local rank function");
  FailureOr<func::FuncOp> callee =
      findRankFunction(op, op.getCalleeAttr(), op->getNumOperands());
  if (failed(callee))
    return failure();
  if (isLocal(*callee))
    return op.emitError("calls the local function ")
           << op.getCalleeAttr() << ", expected one with rounds";
  for (auto [place, given] : llvm::enumerate(op->getOperandTypes())) {
    Type taken = callee->getArgumentTypes()[place];
    if (given != taken && !memref::CastOp::areCastCompatible(given, taken))
      return mismatch(op, *callee, place, given);
  }
  return checkDeviceCallee(op, *callee);
}

LogicalResult FunctionCheck::checkOp(Operation *op) {
  if (!isa<shard::ProcessLinearIndexOp, OwnerOp, SlicesOp, PermuteStartOp,
           PermuteWaitOp, ParallelCallOp, RanksOp, HostScatterOp, HostGatherOp,
           HostRunOp, mlir::ring::CallOp, TablesOp, PaddedSizeOp,
           RequireEqualOp, DeviceImportOp, DeviceExportOp, DeviceHostCopyOp,
           DeviceAttentionOp, DeviceRoundOp>(op))
    return op->emitError("no lowering to the runtime for '")
           << op->getName() << "'";
  if (op->getParentRegion() != &function.getBody())
    return op->emitError("inside '") << op->getParentOp()->getName()
                                     << "', expected control flow of cf only";
  if (failed(checkTypes(op)))
    return failure();
  if (isa<DeviceImportOp, DeviceExportOp, DeviceHostCopyOp, DeviceAttentionOp,
          DeviceRoundOp>(op))
    return checkDevice(op);
  if (auto rank = dyn_cast<shard::ProcessLinearIndexOp>(op))
    return checkRanks(rank);
  if (auto call = dyn_cast<ParallelCallOp>(op))
    return checkCallee(call);
  if (auto run = dyn_cast<HostRunOp>(op))
    return checkCallee(run);
  if (auto call = dyn_cast<mlir::ring::CallOp>(op))
    return checkCallee(call);
  return success();
}

LogicalResult FunctionCheck::run() {
  WalkResult result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    if ((isOurs(op) && failed(checkOp(op))) || failed(checkFutures(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted() ? failure() : checkSignature();
}

FailureOr<SmallVector<func::FuncOp>>
mlir::ring::functionsToLower(ModuleOp module, const LLVMTypeConverter &types) {
  llvm::DenseSet<Operation *> called = findCalledFunctions(module), lowered;
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!called.contains(function)) {
      functions.push_back(function);
      lowered.insert(function);
      continue;
    }
    // It gets no context, so nothing in it can call the runtime.
    WalkResult result = function.walk([&](Operation *op) {
      if (!isOurs(op))
        return WalkResult::advance();
      op->emitError("'") << op->getName()
                         << "' in a function that others call, expected it in "
                            "a host or rank function";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (func::FuncOp function : functions)
    if (failed(FunctionCheck(function, types, lowered).run()))
      return failure();
  return functions;
}
