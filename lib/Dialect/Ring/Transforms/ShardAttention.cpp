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
#include "mlir/IR/Remarks.h"

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
  StringRef where = "by ring-shard-attention";
  MaskAttr mask = op.getEffectiveMask();
  std::pair<bool, StringRef> features[] = {
      {static_cast<bool>(op.getBias()), "bias"},
      {static_cast<bool>(op.getQuerySegments()), "segments"},
      {static_cast<bool>(op.getLengths()), "lengths"},
      {static_cast<bool>(op.getOffsets()), "offsets"},
      {static_cast<bool>(op.getSinks()), "sinks"},
      {mask.getChunk().has_value(), "chunk"},
      {mask.getPrefix().has_value(), "prefix"},
      {op.getSoftcap().has_value(), "softcap"},
      {op.getEmptyRows().value_or(EmptyRows::Zero) != EmptyRows::Zero,
       "empty_rows"},
      {op.hasScore(), "score"}};
  for (auto [present, feature] : features)
    if (present)
      return refuse(op, feature, where);
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    if (!cast<ShapedType>(value.getType()).hasStaticShape())
      return refuse(op, "dynamic shapes", where);
  return success();
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

/// The loop over the rounds: compute on the block in hand, then pass it on.
static SmallVector<Value> buildRounds(ImplicitLocOpBuilder &b,
                                      AttentionOp attention, const Ring &ring,
                                      Value query, Value key, Value value,
                                      Value queryTable, Value keyTable) {
  int64_t valueDepth = cast<ShapedType>(value.getType()).getDimSize(3);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value rounds = arith::ConstantIndexOp::create(b, ring.ranks);
  Value rank =
      shard::ProcessLinearIndexOp::create(b, b.getIndexType(), ring.grid);
  SmallVector<Value> carried = identityState(b, query, valueDepth);
  carried.append({key, value});

  auto loop = scf::ForOp::create(b, zero, rounds, one, carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value round = loop.getInductionVar();
    ValueRange args = loop.getRegionIterArgs();
    Value owner = OwnerOp::create(b, round, ring.grid, ring.axis);
    auto slices = SlicesOp::create(
        b, SlicesType::get(b.getContext()), rank, owner, queryTable, keyTable,
        /*query_segments=*/Value(), /*key_segments=*/Value(),
        /*lengths=*/Value(), /*offsets=*/Value(), attention.getMaskAttr(),
        /*whole=*/b.getUnitAttr());
    auto step = OnlineAttentionOp::create(
        b, TypeRange(args.take_front(3)), query, args[3], args[4], slices,
        /*bias=*/Value(), b.getF32FloatAttr(attention.getEffectiveScale()),
        /*softcap=*/FloatAttr(), args[0], args[1], args[2]);

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
  }
  return SmallVector<Value>(loop.getResults().take_front(3));
}

static func::FuncOp buildRankFunction(AttentionOp attention, const Ring &ring,
                                      func::FuncOp host,
                                      const ::ring::LayoutPair &tables) {
  MLIRContext *context = attention.getContext();
  auto local = [](Value whole) -> Type {
    return localType(cast<RankedTensorType>(whole.getType()), kSequenceDim);
  };
  SmallVector<Type> inputs = {local(attention.getQuery()),
                              local(attention.getKey()),
                              local(attention.getValue())};
  SmallVector<Type> results;
  for (Value result : attention->getResults())
    results.push_back(local(result));

  OpBuilder builder(context);
  auto function =
      func::FuncOp::create(attention.getLoc(), (host.getName() + "_rank").str(),
                           builder.getFunctionType(inputs, results));
  function.setPrivate();
  function->setAttr(kRankOfAttrName, FlatSymbolRefAttr::get(host));
  function->setAttr(kLayoutAttrName,
                    LayoutAttr::get(context, LayoutKind::Contiguous, 1));

  Block *body = function.addEntryBlock();
  auto b = ImplicitLocOpBuilder::atBlockBegin(attention.getLoc(), body);
  Value query = body->getArgument(0), key = body->getArgument(1),
        value = body->getArgument(2);
  Value queryTable =
      arith::ConstantOp::create(b, tableAttr(context, tables.queries));
  Value keyTable =
      arith::ConstantOp::create(b, tableAttr(context, tables.keys));
  SmallVector<Value> state =
      buildRounds(b, attention, ring, query, key, value, queryTable, keyTable);

  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), query);
  SmallVector<OpFoldResult> rows(sizes.begin(), std::prev(sizes.end()));
  auto outType = cast<ShapedType>(attention.getOut().getType());
  sizes.back() = b.getIndexAttr(outType.getDimSize(3));
  Value out = tensor::EmptyOp::create(b, sizes, outType.getElementType());
  Value lse;
  if (attention.getLse())
    lse = tensor::EmptyOp::create(b, rows, b.getF32Type());
  auto finalize =
      FinalizeOp::create(b, TypeRange(results), state[0], state[1], state[2],
                         /*sinks=*/Value(), out, lse);
  func::ReturnOp::create(b, finalize.getResults());
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
  func::FuncOp rankFunction = buildRankFunction(attention, ring, host, tables);
  symbols.insert(rankFunction, std::next(Block::iterator(host)));

  ImplicitLocOpBuilder b(attention.getLoc(), attention);
  Value queryTable =
      arith::ConstantOp::create(b, tableAttr(&getContext(), tables.queries));
  Value keyTable =
      arith::ConstantOp::create(b, tableAttr(&getContext(), tables.keys));
  auto scatter = [&](Value whole, Value table) -> Value {
    auto type = cast<RankedTensorType>(whole.getType());
    return ScatterOp::create(b, localType(type, kSequenceDim), whole, table,
                             b.getI64IntegerAttr(kSequenceDim), ring.grid,
                             ring.axis);
  };
  Value operands[] = {scatter(attention.getQuery(), queryTable),
                      scatter(attention.getKey(), keyTable),
                      scatter(attention.getValue(), keyTable)};
  auto call = func::CallOp::create(b, rankFunction, operands);
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
