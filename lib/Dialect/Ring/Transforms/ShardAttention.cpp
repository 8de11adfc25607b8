//===- ShardAttention.cpp - From one op to a ring of ranks ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::ring {
#define GEN_PASS_DEF_SHARDATTENTIONPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

/// Dimension of query, key, value, out and lse that runs along the sequence.
static constexpr int64_t kSequenceDim = 2;

/// Counting the pairs that each rank sees in each round takes time and memory
/// in proportion to the square.
static constexpr int64_t kMaxRanks = 1024;

namespace {
/// The ring that attention is sharded over.
struct Ring {
  FlatSymbolRefAttr grid;
  IntegerAttr axis;
  int64_t ranks;
};

struct ShardAttentionPass
    : mlir::ring::impl::ShardAttentionPassBase<ShardAttentionPass> {
  using ShardAttentionPassBase::ShardAttentionPassBase;
  void runOnOperation() override;

private:
  FailureOr<Ring> findOrMakeGrid(Operation *user);
  void shard(AttentionOp attention, const Ring &ring, SymbolTable &symbols);
};
} // namespace

/// What the ring cannot carry yet is refused by name.
static LogicalResult checkSupported(AttentionOp op) {
  for (Value value : op->getOperands())
    if (!cast<ShapedType>(value.getType()).hasStaticShape())
      return refuse(op, "dynamic shapes", "by ring-shard-attention");
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// One operand of an attention, as its rank function takes it.
struct Operand {
  enum class Role {
    Query,
    Key,
    Value,
    Bias,
    QuerySegments,
    KeySegments,
    Lengths,
    Offsets,
    Sinks,
    Mean,
    Capture
  };
  Role role;
  Value whole;
  /// How it is cut: like the queries, like the keys, or not at all.
  enum class Cut { Queries, Keys, Replicated } cut;

  Type localType() const {
    return cut == Cut::Replicated
               ? whole.getType()
               : mlir::ring::localType(cast<RankedTensorType>(whole.getType()),
                                       kSequenceDim);
  }
};
} // namespace

/// The mean of value over all keys, [batch, kv_heads, dv] f32, summed in f64:
/// what `empty_rows(uniform)` gives.
static Value meanOfValues(ImplicitLocOpBuilder &b, Value value) {
  Type f64 = b.getF64Type(), f32 = b.getF32Type();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  SmallVector<OpFoldResult> kept = {sizes[0], sizes[1], sizes[3]};
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0.0));
  Value start = linalg::FillOp::create(
                    b, zero, Value(tensor::EmptyOp::create(b, kept, f64)))
                    .getResult(0);
  auto all = b.getMultiDimIdentityMap(4);
  auto withoutKeys = all.dropResult(kSequenceDim);
  using utils::IteratorType;
  SmallVector<IteratorType> loops(4, IteratorType::parallel);
  loops[kSequenceDim] = IteratorType::reduction;
  auto sums = linalg::GenericOp::create(
      b, start.getType(), value, start, ArrayRef<AffineMap>{all, withoutKeys},
      loops, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value x = args[0];
        if (x.getType() != f32)
          x = arith::ExtFOp::create(nested, loc, f32, x);
        x = arith::ExtFOp::create(nested, loc, f64, x);
        Value sum = arith::AddFOp::create(nested, loc, args[1], x);
        linalg::YieldOp::create(nested, loc, sum);
      });
  Value count = arith::IndexCastOp::create(
      b, b.getI64Type(),
      getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[kSequenceDim]));
  Value divisor = arith::SIToFPOp::create(b, f64, count);
  Value empty = tensor::EmptyOp::create(b, kept, f32);
  auto same = b.getMultiDimIdentityMap(3);
  return linalg::GenericOp::create(
             b, empty.getType(), sums.getResult(0), empty,
             ArrayRef<AffineMap>{same, same},
             SmallVector<IteratorType>(3, IteratorType::parallel),
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value mean =
                   arith::DivFOp::create(nested, loc, args[0], divisor);
               mean = arith::TruncFOp::create(nested, loc, f32, mean);
               linalg::YieldOp::create(nested, loc, mean);
             })
      .getResult(0);
}

/// The operands, in the order of the rank function's arguments: those that are
/// cut come first. Computes, in the host function, what the ranks need besides.
static SmallVector<Operand> collectOperands(ImplicitLocOpBuilder &b,
                                            AttentionOp op) {
  using Role = Operand::Role;
  using Cut = Operand::Cut;
  SmallVector<Operand> operands = {{Role::Query, op.getQuery(), Cut::Queries},
                                   {Role::Key, op.getKey(), Cut::Keys},
                                   {Role::Value, op.getValue(), Cut::Keys}};
  auto add = [&](Role role, Value whole, Cut cut = Cut::Replicated) {
    if (whole)
      operands.push_back({role, whole, cut});
  };
  if (Value bias = op.getBias()) {
    bool oneRow =
        cast<ShapedType>(bias.getType()).getDimSize(kSequenceDim) == 1;
    add(Role::Bias, bias, oneRow ? Cut::Replicated : Cut::Queries);
  }
  add(Role::QuerySegments, op.getQuerySegments());
  add(Role::KeySegments, op.getKeySegments());
  add(Role::Lengths, op.getLengths());
  add(Role::Offsets, op.getOffsets());
  add(Role::Sinks, op.getSinks());
  if (op.getEmptyRows() == EmptyRows::Uniform)
    add(Role::Mean, meanOfValues(b, op.getValue()));
  for (Value capture : getScoreCaptures(op.getScore()))
    add(Role::Capture, capture);
  return operands;
}

//===----------------------------------------------------------------------===//
// The rank function
//===----------------------------------------------------------------------===//

/// The state (acc, max, sum) = (0, -inf, 0) for the rows of `query`.
static SmallVector<Value> identityState(ImplicitLocOpBuilder &b, Value query,
                                        int64_t valueDepth) {
  Type f32 = b.getF32Type();
  SmallVector<OpFoldResult> rows = tensor::getMixedSizes(b, b.getLoc(), query);
  rows.pop_back();
  SmallVector<OpFoldResult> wide(rows);
  wide.push_back(b.getIndexAttr(valueDepth));
  auto filled = [&](ArrayRef<OpFoldResult> sizes, float value) -> Value {
    Value empty = tensor::EmptyOp::create(b, sizes, f32);
    Value scalar = arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    return linalg::FillOp::create(b, scalar, empty).getResult(0);
  };
  return {filled(wide, 0.0f),
          filled(rows, -std::numeric_limits<float>::infinity()),
          filled(rows, 0.0f)};
}

namespace {
/// Builds the rank function of one attention.
class RankFunctionBuilder {
public:
  RankFunctionBuilder(AttentionOp attention, const Ring &ring,
                      ArrayRef<Operand> operands)
      : attention(attention), ring(ring), operands(operands),
        b(attention.getLoc(), attention.getContext()) {}

  func::FuncOp build(func::FuncOp host, const ::ring::LayoutPair &tables);

private:
  /// The argument of that role; null where the attention has none.
  Value argument(Operand::Role role);
  SmallVector<Value> buildRounds(Value queryTable, Value keyTable);
  void cloneScore(OnlineAttentionOp step);
  void buildResult(ArrayRef<Value> state);

  AttentionOp attention;
  const Ring &ring;
  ArrayRef<Operand> operands;
  ImplicitLocOpBuilder b;
  func::FuncOp function;
};
} // namespace

Value RankFunctionBuilder::argument(Operand::Role role) {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand.role == role)
      return function.getArgument(index);
  return {};
}

/// Copies the `score` region; what it captures has become arguments, constants
/// are copied.
void RankFunctionBuilder::cloneScore(OnlineAttentionOp step) {
  if (!attention.hasScore())
    return;
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand.role == Operand::Role::Capture)
      mapping.map(operand.whole, function.getArgument(index));
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(attention.getScore(), used);
  for (Value value : used)
    if (!mapping.contains(value)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(step);
      b.clone(*value.getDefiningOp(), mapping);
    }
  attention.getScore().cloneInto(&step.getScore(), mapping);
}

/// The loop over the rounds: compute on the block in hand, then pass it on.
SmallVector<Value> RankFunctionBuilder::buildRounds(Value queryTable,
                                                    Value keyTable) {
  using Role = Operand::Role;
  Value query = argument(Role::Query);
  int64_t valueDepth = attention.getValue().getType().getDimSize(3);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value rounds = arith::ConstantIndexOp::create(b, ring.ranks);
  Value rank =
      shard::ProcessLinearIndexOp::create(b, b.getIndexType(), ring.grid);
  SmallVector<Value> carried = identityState(b, query, valueDepth);
  carried.append({argument(Role::Key), argument(Role::Value)});

  auto loop = scf::ForOp::create(b, zero, rounds, one, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value round = loop.getInductionVar();
  ValueRange args = loop.getRegionIterArgs();
  Value owner = OwnerOp::create(b, round, ring.grid, ring.axis);
  auto slices = SlicesOp::create(
      b, SlicesType::get(b.getContext()), rank, owner, queryTable, keyTable,
      argument(Role::QuerySegments), argument(Role::KeySegments),
      argument(Role::Lengths), argument(Role::Offsets), attention.getMaskAttr(),
      /*whole=*/b.getUnitAttr());
  auto step = OnlineAttentionOp::create(
      b, TypeRange(args.take_front(3)), query, args[3], args[4], slices,
      argument(Role::Bias), b.getF32FloatAttr(attention.getEffectiveScale()),
      attention.getSoftcapAttr(), args[0], args[1], args[2]);
  cloneScore(step);

  Value next = arith::AddIOp::create(b, round, one);
  Value more =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, rounds);
  auto guarded = scf::IfOp::create(
      b, more,
      [&](OpBuilder &nested, Location loc) {
        Value blocks[] = {args[3], args[4]};
        auto start =
            PermuteStartOp::create(nested, loc, blocks, ring.grid, ring.axis);
        auto wait = PermuteWaitOp::create(nested, loc, start.getFuture());
        scf::YieldOp::create(nested, loc, wait.getReceived());
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, args.drop_front(3));
      });
  SmallVector<Value> yielded(step.getResults());
  llvm::append_range(yielded, guarded.getResults());
  scf::YieldOp::create(b, yielded);
  return SmallVector<Value>(loop.getResults().take_front(3));
}

void RankFunctionBuilder::buildResult(ArrayRef<Value> state) {
  using Role = Operand::Role;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), argument(Role::Query));
  SmallVector<OpFoldResult> rows(sizes.begin(), std::prev(sizes.end()));
  RankedTensorType outType = attention.getOut().getType();
  sizes.back() = b.getIndexAttr(outType.getDimSize(3));
  Value out = tensor::EmptyOp::create(b, sizes, outType.getElementType());
  Value lse;
  if (attention.getLse())
    lse = tensor::EmptyOp::create(b, rows, b.getF32Type());
  auto finalize =
      FinalizeOp::create(b, function.getResultTypes(), state[0], state[1],
                         state[2], argument(Role::Sinks), argument(Role::Mean),
                         out, lse, attention.getEmptyRowsAttr());
  func::ReturnOp::create(b, finalize.getResults());
}

func::FuncOp RankFunctionBuilder::build(func::FuncOp host,
                                        const ::ring::LayoutPair &tables) {
  MLIRContext *context = attention.getContext();
  SmallVector<Type> inputs, results;
  for (const Operand &operand : operands)
    inputs.push_back(operand.localType());
  for (Value result : attention->getResults())
    results.push_back(
        localType(cast<RankedTensorType>(result.getType()), kSequenceDim));
  function =
      func::FuncOp::create(attention.getLoc(), (host.getName() + "_rank").str(),
                           b.getFunctionType(inputs, results));
  function.setPrivate();
  function->setAttr(kRankOfAttrName, FlatSymbolRefAttr::get(host));
  function->setAttr(kLayoutAttrName,
                    LayoutAttr::get(context, LayoutKind::Contiguous, 1));

  b.setInsertionPointToStart(function.addEntryBlock());
  Value queryTable =
      arith::ConstantOp::create(b, tableAttr(context, tables.queries));
  Value keyTable =
      arith::ConstantOp::create(b, tableAttr(context, tables.keys));
  buildResult(buildRounds(queryTable, keyTable));
  return function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<Ring> ShardAttentionPass::findOrMakeGrid(Operation *user) {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  if (grid.empty()) {
    if (ranks < 1) {
      user->emitError("neither a number of ranks nor a grid is given");
      return failure();
    }
    SymbolTable symbols(module);
    auto b = OpBuilder::atBlockBegin(module.getBody());
    auto op = shard::GridOp::create(b, user->getLoc(), "ring",
                                    ArrayRef<int64_t>(ranks.getValue()));
    StringAttr name = symbols.insert(op);
    return Ring{FlatSymbolRefAttr::get(name), builder.getI64IntegerAttr(0),
                ranks};
  }
  auto op = module.lookupSymbol<shard::GridOp>(grid);
  if (!op)
    return user->emitError("unknown grid @") << grid.getValue();
  ArrayRef<int64_t> shape = op.getShape();
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
    return user->emitError("axis ")
           << axis.getValue() << " of grid @" << grid.getValue()
           << " does not exist, it has " << shape.size();
  if (ShapedType::isDynamic(shape[axis]))
    return user->emitError("axis ") << axis.getValue() << " of grid @"
                                    << grid.getValue() << " has no static size";
  for (auto [other, size] : llvm::enumerate(shape))
    if (static_cast<int64_t>(other) != axis && size != 1)
      return refuse(user, "grid with several axes",
                    "by ring-shard-attention, all axes but one must be 1");
  if (ranks > 0 && ranks != shape[axis])
    return user->emitError("ranks is ")
           << ranks.getValue() << ", but axis " << axis.getValue()
           << " of grid @" << grid.getValue() << " has " << shape[axis];
  return Ring{FlatSymbolRefAttr::get(op), builder.getI64IntegerAttr(axis),
              shape[axis]};
}

void ShardAttentionPass::shard(AttentionOp attention, const Ring &ring,
                               SymbolTable &symbols) {
  auto host = attention->getParentOfType<func::FuncOp>();
  int64_t queries = attention.getQuery().getType().getDimSize(kSequenceDim);
  int64_t keys = attention.getKey().getType().getDimSize(kSequenceDim);
  auto layout = LayoutAttr::get(&getContext(), LayoutKind::Contiguous, 1);
  ::ring::LayoutPair tables =
      layout.tables(ring.ranks, queries, keys,
                    attention.getEffectiveMask().bind(queries, keys));
  ImplicitLocOpBuilder b(attention.getLoc(), attention);
  SmallVector<Operand> operands = collectOperands(b, attention);
  func::FuncOp rankFunction =
      RankFunctionBuilder(attention, ring, operands).build(host, tables);
  symbols.insert(rankFunction, std::next(Block::iterator(host)));

  Value queryTable =
      arith::ConstantOp::create(b, tableAttr(&getContext(), tables.queries));
  Value keyTable =
      arith::ConstantOp::create(b, tableAttr(&getContext(), tables.keys));
  SmallVector<Value> locals;
  for (const Operand &operand : operands) {
    if (operand.cut == Operand::Cut::Replicated) {
      locals.push_back(operand.whole);
      continue;
    }
    Value table = operand.cut == Operand::Cut::Queries ? queryTable : keyTable;
    locals.push_back(ScatterOp::create(b, operand.localType(), operand.whole,
                                       table, b.getI64IntegerAttr(kSequenceDim),
                                       ring.grid, ring.axis));
  }
  auto call = func::CallOp::create(b, rankFunction, locals);
  for (auto [whole, local] :
       llvm::zip_equal(attention->getResults(), call.getResults()))
    whole.replaceAllUsesWith(GatherOp::create(
        b, whole.getType(), local, queryTable,
        b.getI64IntegerAttr(kSequenceDim), ring.grid, ring.axis));
  remark::passed(attention.getLoc(), remark::RemarkOpts::name("ShardAttention")
                                         .category("ring-shard-attention")
                                         .function(host.getName()))
      << remark::add("sharded over ranks")
      << remark::metric("ranks", ring.ranks)
      << remark::metric("variant", "pass-kv");
  attention.erase();
}

void ShardAttentionPass::runOnOperation() {
  SmallVector<AttentionOp> attentions;
  // A module inside this one has symbols of its own, and is left alone.
  getOperation().walk([&](AttentionOp op) {
    if (SymbolTable::getNearestSymbolTable(op) == getOperation())
      attentions.push_back(op);
  });
  if (attentions.empty())
    return;
  if (variant != "auto" && variant != "pass-kv") {
    refuse(attentions.front(), variant, "by ring-shard-attention");
    return signalPassFailure();
  }
  for (AttentionOp attention : attentions) {
    if (!isa<func::FuncOp>(attention->getParentOp())) {
      refuse(attention, "attention inside another op",
             "by ring-shard-attention, expected it in a function");
      return signalPassFailure();
    }
    if (failed(checkSupported(attention)))
      return signalPassFailure();
  }
  FailureOr<Ring> ring = findOrMakeGrid(attentions.front());
  if (failed(ring))
    return signalPassFailure();
  if (ring->ranks > kMaxRanks) {
    attentions.front().emitError("ranks is ")
        << ring->ranks << ", expected " << kMaxRanks << " or less";
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  for (AttentionOp attention : attentions)
    shard(attention, *ring, symbols);
}
