//===- RingToLLVM.cpp - Ring ops to runtime calls -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputChecks.h"
#include "RuntimeBuilder.h"

#include "ring/Conversion/Passes.h"
#include "ring/Runtime/Device.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTRINGTOLLVMPASS
#include "ring/Conversion/RingToLLVM/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ConvertRingToLLVMPass
    : mlir::ring::impl::ConvertRingToLLVMPassBase<ConvertRingToLLVMPass> {
  using ConvertRingToLLVMPassBase::ConvertRingToLLVMPassBase;
  void runOnOperation() override;
};

/// Lowers the ring ops of one function.
class FunctionLowering {
public:
  /// `items`: the callbacks made so far, by kernel.
  FunctionLowering(func::FuncOp function, const LLVMTypeConverter &types,
                   llvm::DenseMap<Operation *, func::FuncOp> &items)
      : function(function), types(types), items(items), b(function, types) {}

  LogicalResult run();

private:
  bool isRank() { return function->hasAttr(kRankOfAttrName); }
  /// It has no rounds, but may call functions that have.
  bool isLocal() { return isRank() && function->hasAttr(kLocalAttrName); }
  /// It computes on the rank's GPU.
  bool usesDevice() {
    return function
        .walk([](Operation *op) {
          return isa<DeviceImportOp, DeviceExportOp, DeviceHostCopyOp,
                     DeviceAttentionOp>(op)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }
  void addContextAndStatus();
  void begin();
  /// Calls `check` of the runtime for every tensor that the caller passed.
  void checkArguments(StringRef check);
  LogicalResult lower(Operation *op);
  LogicalResult lower(shard::ProcessLinearIndexOp op);
  LogicalResult lower(OwnerOp op);
  LogicalResult lower(SlicesOp op);
  LogicalResult lower(PermuteStartOp op);
  LogicalResult lower(PermuteWaitOp op);
  LogicalResult lower(ParallelCallOp op);
  LogicalResult lower(RanksOp op);
  LogicalResult lower(HostScatterOp op);
  LogicalResult lower(HostGatherOp op);
  LogicalResult lower(HostRunOp op);
  LogicalResult lower(mlir::ring::CallOp op);
  LogicalResult lower(TablesOp op);
  LogicalResult lower(PaddedSizeOp op);
  LogicalResult lower(RequireEqualOp op);
  LogicalResult lower(DeviceImportOp op);
  LogicalResult lower(DeviceExportOp op);
  LogicalResult lower(DeviceHostCopyOp op);
  LogicalResult lower(DeviceAttentionOp op);
  LogicalResult lower(DeviceRoundOp op);
  /// Calls `name` for a tensor, which makes another of it.
  Value copied(StringRef name, Value source, MemRefType type);
  /// The images of the kernels in the `gpu.binary` of this name, and how many.
  std::pair<Value, int64_t> images(StringAttr binary);
  /// A struct on the stack whose fields are these.
  Value structOf(ValueRange fields);
  /// Address and number of entries of a table, which lies in one piece.
  std::pair<Value, Value> table(Value memref);
  /// The address of a ring_visibility for the mask, ids, lengths and offsets.
  /// In a rank function, which has them as arguments, one serves all rounds.
  template <typename OpTy> Value visibility(OpTy op);
  LogicalResult move(StringRef name, Value from, Value table, int64_t dim,
                     Value to);

  func::FuncOp function;
  const LLVMTypeConverter &types;
  llvm::DenseMap<Operation *, func::FuncOp> &items;
  RuntimeBuilder b;
  /// Starts where the arguments have turned out to be what they should.
  Block *afterChecks = nullptr;
  /// Copies of arguments in host memory, which are as good as these.
  SmallVector<Value> hostCopies;
  /// Made there, by what it is made of.
  struct Visibility {
    MaskAttr mask;
    std::array<Value, 4> operands;
    Value address;
  };
  SmallVector<Visibility> visibilities;
};
} // namespace

//===----------------------------------------------------------------------===//
// The frame of a function
//===----------------------------------------------------------------------===//

/// f(inputs..., outputs...) becomes i32 f(context, inputs..., outputs...).
void FunctionLowering::addContextAndStatus() {
  (void)function.insertArgument(0, b.pointerType(), {}, function.getLoc());
  function.setFunctionType(
      b.getFunctionType(function.getArgumentTypes(), b.getI32Type()));
  SmallVector<func::ReturnOp> returns;
  for (Block &block : function)
    if (auto op = dyn_cast<func::ReturnOp>(block.back()))
      returns.push_back(op);
  for (func::ReturnOp op : returns) {
    b.setInsertionPoint(op);
    cf::BranchOp::create(b, b.exitBlock(), ValueRange(b.i32(0)));
    op.erase();
  }
  // One way out, for good and bad: a rank with rounds tells the others how it
  // ended, a host function frees what it may have left.
  b.setInsertionPointToEnd(b.exitBlock());
  Value status = b.exitBlock()->getArgument(0);
  if (usesDevice())
    status =
        b.call("ring_device_finish", b.getI32Type(), {b.context(), status});
  if (!isLocal())
    status = b.call(isRank() ? "ring_end" : "ring_host_end", b.getI32Type(),
                    {b.context(), status});
  func::ReturnOp::create(b, status);
  function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                    b.getUnitAttr());
}

void FunctionLowering::begin() {
  if (isLocal()) {
    b.setInsertionPointToStart(&function.front());
    checkArguments("ring_check_argument");
    return;
  }
  if (!isRank()) {
    // A host has one number of ranks, so the first run speaks for all.
    int64_t ranks = 0;
    function.walk([&](HostRunOp op) {
      ranks = op.getRanks();
      return WalkResult::interrupt();
    });
    b.setInsertionPointToStart(&function.front());
    b.checkedCall("ring_host_begin",
                  {b.context(), b.i32(RING_ABI_VERSION), b.i32(ranks)});
    checkArguments("ring_host_check_argument");
    return;
  }
  auto integer = [&](StringRef name, int64_t otherwise) {
    auto attr = function->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  };
  int64_t ranks = 1;
  function.walk([&](shard::ProcessLinearIndexOp op) {
    auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(
        op, op.getGridAttr());
    ranks = ShapedType::getNumElements(grid.getShape());
  });
  b.setInsertionPointToStart(&function.front());
  Value fingerprint = b.i64(integer(kFingerprintAttrName, 0));
  auto program = function->getAttrOfType<StringAttr>(kProgramAttrName);
  b.checkedCall("ring_begin",
                {b.context(), b.i32(ranks), b.i32(integer(kSlotsAttrName, 1)),
                 fingerprint, program ? b.string(program) : b.null()});
  checkArguments("ring_check_argument");
  if (usesDevice()) {
    b.checkedCall("ring_device_begin", {b.context()});
    afterChecks = b.getInsertionBlock();
  }
}

void FunctionLowering::checkArguments(StringRef check) {
  for (BlockArgument argument : function.getArguments().drop_front()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    RuntimeBuilder::DataAndSizes passed = b.dataAndSizes(argument);
    std::string name = "ring_sizes";
    for (int64_t size : type.getShape())
      name += "_" + (size < 0 ? "any" : std::to_string(size));
    b.checkedCall(check, {b.context(), b.i32(argument.getArgNumber() - 1),
                          passed.data, b.i32(type.getRank()), passed.sizes,
                          b.constants(name, type.getShape())});
  }
  afterChecks = b.getInsertionBlock();
}

//===----------------------------------------------------------------------===//
// Rank ops
//===----------------------------------------------------------------------===//

/// Memory for a struct of the runtime, all of whose fields are words or pairs
/// of half words.
static Type wordsFor(Builder &b, int64_t bytes) {
  return LLVM::LLVMArrayType::get(b.getI64Type(), llvm::divideCeil(bytes, 8));
}

LogicalResult FunctionLowering::lower(shard::ProcessLinearIndexOp op) {
  Value rank = b.call("ring_rank", b.getI32Type(), b.context());
  op.getResult().replaceAllUsesWith(
      arith::IndexCastOp::create(b, b.getIndexType(), rank));
  op.erase();
  return success();
}

/// The rank `shift` places before this one, from a constant table of places.
static Value rankBefore(RuntimeBuilder &b, shard::GridOp grid, int64_t axis,
                        Value shift) {
  ::ring::RingOrder order = getRingOrder(grid, axis);
  int64_t n = order.size();
  Value size = b.i64(n);
  Value rank = arith::ExtSIOp::create(
      b, b.getI64Type(), b.call("ring_rank", b.getI32Type(), b.context()));
  bool identity = true;
  for (int64_t r = 0; r < n; ++r)
    identity &= order.successor(r) == (r + 1) % n;
  // (place - shift) mod n, for 0 <= shift <= n.
  auto before = [&](Value place) -> Value {
    Value moved = arith::AddIOp::create(
        b, Value(arith::SubIOp::create(b, place, shift)), size);
    return arith::RemUIOp::create(b, moved, size);
  };
  if (identity)
    return before(rank);

  // Row 0 the place of each rank, row 1 the rank at each place.
  SmallVector<int64_t> placeOf(n), rankAt(n);
  for (int64_t place = 0, r = 0; place < n; ++place, r = order.successor(r)) {
    placeOf[r] = place;
    rankAt[place] = r;
  }
  SmallVector<int64_t> both(placeOf);
  llvm::append_range(both, rankAt);
  Value base = b.constants(
      ("ring_order_" + grid.getSymName() + "_" + Twine(axis)).str(), both);
  auto at = [&](Value index) -> Value {
    Value place = LLVM::GEPOp::create(b, b.pointerType(), b.getI64Type(), base,
                                      ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(b, b.getI64Type(), place);
  };
  return at(arith::AddIOp::create(b, before(at(rank)), size));
}

static shard::GridOp gridOf(Operation *op, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, symbol);
}

LogicalResult FunctionLowering::lower(OwnerOp op) {
  Value owner = rankBefore(b, gridOf(op, op.getGridAttr()), op.getAxis(),
                           b.asI64(op.getRound()));
  op.getOwner().replaceAllUsesWith(
      arith::IndexCastOp::create(b, b.getIndexType(), owner));
  op.erase();
  return success();
}

std::pair<Value, Value> FunctionLowering::table(Value memref) {
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value pointer = LLVM::IntToPtrOp::create(b, b.pointerType(), b.asI64(base));
  Value first = LLVM::GEPOp::create(
      b, b.pointerType(), b.getI64Type(), pointer,
      ArrayRef<LLVM::GEPArg>{b.asI64(metadata.getOffset())});
  Value entries = b.asI64(memref::DimOp::create(b, memref, 0));
  return {first, entries};
}

template <typename OpTy> Value FunctionLowering::visibility(OpTy op) {
  MaskAttr attr = op.getMaskAttr();
  std::array<Value, 4> operands = {op.getQuerySegments(), op.getKeySegments(),
                                   op.getLengths(), op.getOffsets()};
  bool forAllRounds =
      isRank() && llvm::all_of(operands, [&](Value operand) {
        auto argument = dyn_cast_or_null<BlockArgument>(operand);
        return !operand || llvm::is_contained(hostCopies, operand) ||
               (argument && argument.getOwner() == &function.front());
      });
  if (forAllRounds)
    for (const Visibility &made : visibilities)
      if (made.mask == attr && made.operands == operands)
        return made.address;
  Value address = b.slot(wordsFor(b, sizeof(ring_visibility)));
  OpBuilder::InsertionGuard guard(b);
  if (forAllRounds) {
    b.setInsertionPointToStart(afterChecks);
    if (!hostCopies.empty())
      b.setInsertionPointAfterValue(hostCopies.back());
    visibilities.push_back({attr, operands, address});
  }
  ::ring::PositionalMask mask =
      attr ? attr.bind(0, 0) : ::ring::PositionalMask();
  bool bottomRight = attr && attr.getAlign() == Alignment::BottomRight;
  SmallVector<Value> arguments = {address,           b.i32(mask.causal),
                                  b.i64(mask.left),  b.i64(mask.right),
                                  b.i64(mask.chunk), b.i64(mask.prefix),
                                  b.i32(bottomRight)};
  for (Value tensor : operands)
    arguments.push_back(tensor ? b.tensors(tensor) : b.null());
  b.call("ring_visibility_init", {}, arguments);
  return address;
}

LogicalResult FunctionLowering::lower(SlicesOp op) {
  Value visible = visibility(op);
  Value slices = b.slot(wordsFor(b, sizeof(ring_slices)));
  auto [queryTable, queryEntries] = table(op.getQueryTable());
  auto [keyTable, keyEntries] = table(op.getKeyTable());
  b.call("ring_slices_init", {},
         {slices, queryTable, queryEntries, keyTable, keyEntries,
          b.asI64(op.getRank()), b.asI64(op.getOwner()), b.i32(!op.getWhole()),
          visible});
  Value result = UnrealizedConversionCastOp::create(
                     b, SlicesType::get(b.getContext()), slices)
                     .getResult(0);
  op.getSlices().replaceAllUsesWith(result);
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(PermuteStartOp op) {
  shard::GridOp grid = gridOf(op, op.getGridAttr());
  int64_t ranks = grid.getShape()[op.getAxis()];
  auto neighbour = [&](int64_t shift) -> Value {
    return arith::TruncIOp::create(
        b, b.getI32Type(), rankBefore(b, grid, op.getAxis(), b.i64(shift)));
  };
  Value from = neighbour(1), to = neighbour(ranks - 1);
  Value ticket = b.slot(b.getI64Type());
  // A future has become a ticket by now, so the op's own test is of no use.
  if (Value source = op.getSources().front();
      !isa<MemRefType>(source.getType())) {
    b.checkedCall("ring_permute_forward",
                  {b.context(), to, from, source, ticket});
  } else {
    Value count = b.i32(op.getSources().size());
    b.checkedCall("ring_permute_start", {b.context(), to, from, count,
                                         b.tensors(op.getSources()), ticket});
  }
  op->getResult(0).replaceAllUsesWith(
      LLVM::LoadOp::create(b, b.getI64Type(), ticket));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(PermuteWaitOp op) {
  auto received = llvm::map_to_vector(
      op.getReceived().getTypes(), [](Type t) { return cast<MemRefType>(t); });
  Value tensors = b.slot(wordsFor(b, sizeof(ring_tensor) * received.size()));
  b.checkedCall("ring_permute_wait", {b.context(), op->getOperand(0),
                                      b.i32(received.size()), tensors});
  for (auto [index, type] : llvm::enumerate(received))
    op.getReceived()[index].replaceAllUsesWith(
        b.memrefFrom(tensors, index, type));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Ops of a GPU
//===----------------------------------------------------------------------===//

Value FunctionLowering::copied(StringRef name, Value source, MemRefType type) {
  Value made = b.slot(wordsFor(b, sizeof(ring_tensor)));
  b.checkedCall(name, {b.context(), b.tensors(source), made});
  return b.memrefFrom(made, 0, type);
}

LogicalResult FunctionLowering::lower(DeviceImportOp op) {
  op.getTarget().replaceAllUsesWith(
      copied("ring_device_import", op.getSource(), op.getTarget().getType()));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(DeviceExportOp op) {
  op.getTarget().replaceAllUsesWith(
      copied("ring_device_export", op.getSource(), op.getTarget().getType()));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(DeviceHostCopyOp op) {
  hostCopies.push_back(copied("ring_device_host_copy", op.getSource(),
                              op.getTarget().getType()));
  op.getTarget().replaceAllUsesWith(hostCopies.back());
  op.erase();
  return success();
}

Value FunctionLowering::structOf(ValueRange fields) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(fields.getTypes()));
  Value content = LLVM::PoisonOp::create(b, type);
  for (auto [index, field] : llvm::enumerate(fields))
    content = LLVM::InsertValueOp::create(b, content, field,
                                          static_cast<int64_t>(index));
  Value address = b.slot(type);
  LLVM::StoreOp::create(b, content, address);
  return address;
}

std::pair<Value, int64_t> FunctionLowering::images(StringAttr name) {
  auto module = function->getParentOfType<ModuleOp>();
  auto binary = module.lookupSymbol<gpu::BinaryOp>(name);
  // Without one the kernels have only been lowered, to be looked at.
  if (!binary || binary.getObjects().empty())
    return {b.null(), 0};
  SmallVector<Value> fields;
  for (auto [index, object] :
       llvm::enumerate(binary.getObjects().getAsRange<gpu::ObjectAttr>())) {
    StringRef content = object.getObject().getValue();
    DictionaryAttr properties = object.getProperties();
    auto property = [&](StringRef key) {
      return b.string(properties.getAs<StringAttr>(key).getValue());
    };
    Value data = b.bytes(
        ("ring_image_" + name.getValue() + "_" + Twine(index)).str(), content);
    llvm::append_values(fields, property("kind"), property("chip"), data,
                        b.i64(content.size()));
  }
  // An array of structs of four words is a struct of their fields.
  return {structOf(fields), static_cast<int64_t>(binary.getObjects().size())};
}

LogicalResult FunctionLowering::lower(DeviceAttentionOp op) {
  std::pair<Value, int64_t> images =
      this->images(op.getKernel().getRootReference());
  Value kernel = structOf(
      {b.string(op.getKernel().getLeafReference().getValue()), images.first,
       b.i32(images.second), b.i32(op.getThreads()), b.i32(op.getSharedBytes()),
       b.i32(op.getQueryTile()), b.i32(op.getKeyTile()), b.i32(op.getHeads()),
       b.i32(op.getHeadBlocks()), b.i32(op.getStateFloats())});
  auto tensor = [&](Value memref) {
    return memref ? b.tensors(memref) : b.null();
  };
  // Scalars lie where a tensor without dimensions would.
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures()) {
    if (!isa<MemRefType>(capture.getType())) {
      if (capture.getType().isIndex())
        capture = b.asI64(capture);
      auto type = MemRefType::get({}, capture.getType());
      Value place = b.stackMemref(type);
      memref::StoreOp::create(b, capture, place);
      auto layout =
          StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {});
      capture = copied("ring_device_import", place,
                       MemRefType::get({}, capture.getType(), layout));
    }
    captures.push_back(capture);
  }
  Value operands = structOf(
      {tensor(op.getQuery()), tensor(op.getBias()), tensor(op.getSinks()),
       tensor(op.getMean()), tensor(op.getQuerySegments()),
       tensor(op.getKeySegments()), tensor(op.getOut()), tensor(op.getLse()),
       captures.empty() ? b.null() : b.tensors(captures),
       b.i32(captures.size())});
  Value handle = b.slot(b.pointerType());
  b.checkedCall("ring_device_attention_begin",
                {b.context(), kernel, operands, handle});
  Value attention = LLVM::LoadOp::create(b, b.pointerType(), handle);
  op.getAttention().replaceAllUsesWith(
      UnrealizedConversionCastOp::create(
          b, DeviceAttentionType::get(b.getContext()), attention)
          .getResult(0));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(DeviceRoundOp op) {
  auto pointerTo = [&](Value value) -> Value {
    return UnrealizedConversionCastOp::create(b, b.pointerType(), value)
        .getResult(0);
  };
  Value last = arith::ExtUIOp::create(b, b.getI32Type(), op.getLast());
  b.checkedCall("ring_device_attention_round",
                {b.context(), pointerTo(op.getAttention()),
                 b.asI64(op.getRound()), b.tensors(op.getKey()),
                 b.tensors(op.getValue()), pointerTo(op.getSlices()), last});
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

LogicalResult FunctionLowering::lower(ParallelCallOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  auto kernel = module.lookupSymbol<func::FuncOp>(op.getCallee());
  func::FuncOp &body = items[kernel];
  if (!body) {
    body = addCallback(module, (op.getCallee() + "_item").str(),
                       b.getFunctionType({b.pointerType(), b.getI64Type()}, {}),
                       op.getLoc());
    auto inner = ImplicitLocOpBuilder::atBlockBegin(op.getLoc(), &body.front());
    SmallVector<Value> operands = {arith::IndexCastOp::create(
        inner, inner.getIndexType(), body.getArgument(1))};
    llvm::append_range(operands, RuntimeBuilder::unpackEnvironment(
                                     inner, types, body.getArgument(0),
                                     op.getArguments().getTypes()));
    func::CallOp::create(inner, kernel, operands);
    func::ReturnOp::create(inner);
  }
  Value environment = b.packEnvironment(op.getArguments());
  SmallVector<Value> arguments = {b.context()};
  if (isRank()) {
    arguments.push_back(b.string(op.getCallee().rsplit('_').second));
    arguments.push_back(b.asI64(op.getRound()));
  }
  arguments.push_back(b.asI64(op.getCount()));
  arguments.push_back(functionAddress(b, body));
  arguments.push_back(environment);
  b.checkedCall(isRank() ? "ring_parallel_for" : "ring_host_parallel_for",
                arguments);
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(RanksOp op) {
  Value ranks = b.call("ring_host_local_ranks", b.getI32Type(), b.context());
  op.getRanks().replaceAllUsesWith(
      arith::IndexCastOp::create(b, b.getIndexType(), ranks));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::move(StringRef name, Value from, Value tableOf,
                                     int64_t dim, Value to) {
  auto [address, entries] = table(tableOf);
  b.checkedCall(name, {b.context(), address, entries, b.i32(dim),
                       b.tensors(from), b.tensors(to)});
  return success();
}

LogicalResult FunctionLowering::lower(HostScatterOp op) {
  LogicalResult moved = move("ring_host_scatter", op.getSource(), op.getTable(),
                             op.getDim(), op.getStacked());
  op.erase();
  return moved;
}

LogicalResult FunctionLowering::lower(HostGatherOp op) {
  LogicalResult moved = move("ring_host_gather", op.getStacked(), op.getTable(),
                             op.getDim(), op.getWhole());
  op.erase();
  return moved;
}

/// Calls the rank function of `op`, ring.host.run or ring.call, with a context
/// and what is given to it. Where there is one for GPUs the context decides.
static Value callRankFunction(ImplicitLocOpBuilder &b, Operation *op,
                              StringRef callee, ValueRange operands,
                              llvm::function_ref<Value()> device) {
  auto onDevice = op->getAttrOfType<FlatSymbolRefAttr>(kDeviceCalleeAttrName);
  Type status = b.getI32Type();
  if (!onDevice)
    return func::CallOp::create(b, callee, TypeRange(status), operands)
        .getResult(0);
  auto type = b.getFunctionType(operands.getTypes(), status);
  Value cpu = func::ConstantOp::create(
      b, type, FlatSymbolRefAttr::get(b.getContext(), callee));
  Value gpu = func::ConstantOp::create(b, type, onDevice);
  Value isCPU = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq, device(),
      arith::ConstantOp::create(b, b.getI32IntegerAttr(RING_DEVICE_CPU)));
  Value chosen = arith::SelectOp::create(b, isCPU, cpu, gpu);
  return func::CallIndirectOp::create(b, chosen, operands).getResult(0);
}

/// The part of a stack that belongs to local rank `index`, in the type of the
/// rank function's argument. (Not a subview: those refuse empty dimensions.)
static Value partOf(ImplicitLocOpBuilder &b, Value stack, Value index,
                    Type argument) {
  auto type = cast<MemRefType>(argument);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, stack);
  Value before = arith::MulIOp::create(b, index, metadata.getStrides().front());
  Value offset = arith::AddIOp::create(b, metadata.getOffset(), before);
  SmallVector<OpFoldResult> sizes, strides;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    sizes.push_back(type.isDynamicDim(dim)
                        ? OpFoldResult(metadata.getSizes()[dim + 1])
                        : OpFoldResult(b.getIndexAttr(type.getDimSize(dim))));
    strides.push_back(metadata.getStrides()[dim + 1]);
  }
  return memref::ReinterpretCastOp::create(
      b, type, metadata.getBaseBuffer(), OpFoldResult(offset), sizes, strides);
}

LogicalResult FunctionLowering::lower(HostRunOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  SmallVector<Value> values(op.getInputs());
  llvm::append_range(values, op.getReplicated());
  llvm::append_range(values, op.getOutputs());
  size_t firstReplicated = op.getInputs().size();
  size_t firstOutput = firstReplicated + op.getReplicated().size();

  auto body = addCallback(
      module, (op.getCallee() + "_body").str(),
      b.getFunctionType({b.pointerType(), b.pointerType()}, b.getI32Type()),
      op.getLoc());
  auto inner = ImplicitLocOpBuilder::atBlockBegin(op.getLoc(), &body.front());
  SmallVector<Value> inBody = RuntimeBuilder::unpackEnvironment(
      inner, types, body.getArgument(1), ValueRange(values).getTypes());
  RuntimeBuilder runtime(body, types);
  runtime.setInsertionPointToEnd(&body.front());
  Value local = runtime.call("ring_local_index", runtime.getI32Type(),
                             body.getArgument(0));
  Value device;
  if (op->hasAttr(kDeviceCalleeAttrName))
    device =
        runtime.call("ring_device", runtime.getI32Type(), body.getArgument(0));
  if (runtime.hasClash())
    return failure();
  inner.setInsertionPointToEnd(&body.front());
  Value index = arith::IndexCastOp::create(inner, inner.getIndexType(), local);
  SmallVector<Value> operands = {body.getArgument(0)};
  // The callee may or may not have got its context argument yet.
  ArrayRef<Type> parameters =
      callee.getArgumentTypes().take_back(inBody.size());
  for (auto [place, value] : llvm::enumerate(inBody)) {
    Type type = parameters[place];
    bool isStack = place < firstReplicated || place >= firstOutput;
    if (isStack)
      value = partOf(inner, value, index, type);
    else if (value.getType() != type)
      value = memref::CastOp::create(inner, type, value);
    operands.push_back(value);
  }
  Value status = callRankFunction(inner, op, callee.getName(), operands,
                                  [&] { return device; });
  func::ReturnOp::create(inner, status);

  b.checkedCall("ring_host_run",
                {b.context(), b.i32(op.getRanks()), functionAddress(b, body),
                 b.packEnvironment(values)});
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(mlir::ring::CallOp op) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  SmallVector<Value> operands = {b.context()};
  // The callee may or may not have got its context argument yet.
  ArrayRef<Type> parameters =
      callee.getArgumentTypes().take_back(op->getNumOperands());
  for (auto [value, type] : llvm::zip_equal(op->getOperands(), parameters))
    operands.push_back(value.getType() == type
                           ? value
                           : memref::CastOp::create(b, type, value));
  b.check(callRankFunction(b, op, callee.getName(), operands, [&] {
    return b.call("ring_device", b.getI32Type(), b.context());
  }));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(TablesOp op) {
  Value visible = visibility(op);
  LayoutAttr layout = op.getLayout();
  b.checkedCall("ring_host_tables",
                {b.context(), b.i32(static_cast<int64_t>(layout.getKind())),
                 b.i64(layout.getGranularity()), b.i32(op.getRanks()),
                 b.asI64(op.getQueryCount()), b.asI64(op.getKeyCount()),
                 visible, b.tensors(op.getDpsInits())});
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(PaddedSizeOp op) {
  auto [address, entries] = table(op.getTable());
  Value size = b.call("ring_padded_size", b.getI64Type(),
                      {address, entries, b.i32(op.getRanks())});
  op.getSize().replaceAllUsesWith(
      arith::IndexCastOp::create(b, b.getIndexType(), size));
  op.erase();
  return success();
}

LogicalResult FunctionLowering::lower(RequireEqualOp op) {
  b.checkedCall("ring_host_require_equal",
                {b.context(), b.asI64(op.getLhs()), b.asI64(op.getRhs()),
                 b.string(op.getWhat())});
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult FunctionLowering::lower(Operation *op) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<shard::ProcessLinearIndexOp, OwnerOp, SlicesOp, PermuteStartOp,
            PermuteWaitOp, ParallelCallOp, RanksOp, HostScatterOp, HostGatherOp,
            HostRunOp, mlir::ring::CallOp, TablesOp, PaddedSizeOp,
            RequireEqualOp, DeviceImportOp, DeviceExportOp, DeviceHostCopyOp,
            DeviceAttentionOp, DeviceRoundOp>(
          [&](auto typed) { return lower(typed); })
      .DefaultUnreachable("functionsToLower has let it through");
}

LogicalResult FunctionLowering::run() {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa_and_nonnull<RingDialect, shard::ShardDialect>(op->getDialect()))
      ops.push_back(op);
  });
  // Futures are tickets from here on, also where branches carry them.
  auto toTicket = [&](Value value) {
    if (isa<FutureType>(value.getType()))
      value.setType(b.getI64Type());
  };
  for (Block &block : function)
    llvm::for_each(block.getArguments(), toTicket);
  for (Operation *op : ops)
    llvm::for_each(op->getResults(), toTicket);
  addContextAndStatus();
  begin();
  for (Operation *op : ops)
    if (failed(lower(op)))
      return failure();
  return success(!b.hasClash());
}

void ConvertRingToLLVMPass::runOnOperation() {
  ModuleOp module = getOperation();
  LLVMTypeConverter types(&getContext());
  FailureOr<SmallVector<func::FuncOp>> functions =
      functionsToLower(module, types);
  if (failed(functions))
    return signalPassFailure();
  llvm::DenseMap<Operation *, func::FuncOp> items;
  for (func::FuncOp function : *functions)
    if (failed(FunctionLowering(function, types, items).run()))
      return signalPassFailure();
  // What the program keeps of it are the images.
  for (auto binary : llvm::make_early_inc_range(module.getOps<gpu::BinaryOp>()))
    if (SymbolTable::symbolKnownUseEmpty(binary, module))
      binary.erase();
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      grid.erase();
}
